"""What does a prebuilt dependency offer, and which of it does this build take?

An *offer* is an index of artifacts beside the files it names: those of a wheel, or of an ``index.json``. Of
its artifacts the roles ``library`` (linked) and ``include`` (a folder of headers) concern a build. What does
not fit is refused in the one text of :mod:`atoll.artifact`, its subject being the link.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path, PurePosixPath

from atoll._util.values import dataclass
from atoll.accel import AccelSet, BackendRules
from atoll.artifact import Abi, BuildRequest, Descriptor, Index, Subject, choose, read_index, refusal
from atoll.artifact.descriptor import MAX_BYTES
from atoll.diagnostics import Diagnostic
from atoll.errors import ArtifactMismatchError, UnreadableError
from atoll.manifest import Manifest
from atoll.manifest.model import Package

LIBRARY, INCLUDE = "library", "include"


@dataclass(frozen=True, slots=True, kw_only=True)
class Offer:
    """An index of artifacts and where its paths begin.

    Attributes:
        index: The artifacts.
        folder: What their paths are relative to.
        place: The index's own file.
    """

    index: Index
    folder: Path
    place: Path

    @property
    def include(self) -> tuple[str, ...]:
        """The folders of headers, absolute."""
        return tuple(str(self.folder / item.path) for item in self.index.artifacts if item.role == INCLUDE)

    @property
    def libraries(self) -> tuple[Descriptor, ...]:
        """The artifacts that can be linked, in the publisher's order."""
        return tuple(item for item in self.index.artifacts if item.role == LIBRARY)

    def manifest(self, name: str) -> Manifest:
        """Return the manifest of a package that brings no sources."""
        return Manifest(package=Package(name=name, version=self.index.version or "0.0.0"))


def offer_of(place: Path, folder: Path, package: str) -> Offer:
    """Read an index of artifacts.

    Raises:
        UnreadableError: Where it cannot be read, or a path in it leaves its folder.
    """
    try:
        with place.open("rb") as stream:
            data = stream.read(MAX_BYTES + 1)
    except OSError as error:
        raise UnreadableError(
            Diagnostic(
                code="ATL0002",
                message=f"the index of `{package}` could not be read",
                notes=(f"file: {place}", f"reason: {error.strerror or error}"),
            )
        ) from error
    index = read_index(data, str(place))
    for item in index.artifacts:
        if item.role in (LIBRARY, INCLUDE) and not _inside(item.path):
            raise UnreadableError(
                Diagnostic(
                    code="ATL0547",
                    message=f"an artifact of `{package}` has a path that leaves its folder",
                    notes=(f"index: {place}", f"path: {item.path[:200]!r}"),
                )
            )
    return Offer(index=index, folder=folder, place=place)


def _inside(path: str) -> bool:
    place = PurePosixPath(path)
    plain = bool(path) and not place.is_absolute() and ".." not in place.parts
    return plain and "\\" not in path and "\n" not in path and "\0" not in path


@dataclass(frozen=True, slots=True)
class Taken:
    """What a build takes of an offer.

    Attributes:
        paths: The library to link; empty where the offer has none.
        notes: The variants with device code that were passed over, and why.
    """

    paths: tuple[str, ...] = ()
    notes: tuple[Diagnostic, ...] = ()


def taken(
    offer: Offer,
    package: str,
    accel: AccelSet | None,
    abi: str,
    rules: Mapping[str, BackendRules] | None,
) -> Taken:
    """Return the library of an offer that this build links; nothing where it offers none.

    Args:
        offer: What the package offers.
        package: Its name, for the refusal.
        accel: The set of the build; empty where it asks for none; None where it says nothing.
        abi: The ABI tag of the build.
        rules: What the lanes know of their backends.

    Raises:
        ArtifactMismatchError: Where it offers libraries and none fits.
        UnreadableError: Where the one that fits is not there.
    """
    candidates = offer.libraries
    if not candidates:
        return Taken()
    request = BuildRequest(accel=accel, abi=Abi.parse(abi))
    choice = choose(candidates, request, rules)
    if not choice:
        raise ArtifactMismatchError(
            refusal(Subject.LINK, offer.index.package or package, offer.index.version, request, choice)
        )
    place = offer.folder / choice.accepted[0].path
    if not place.is_file():
        raise UnreadableError(
            Diagnostic(
                code="ATL0548",
                message=f"a prebuilt library of `{package}` is not there",
                notes=(f"index: {offer.place}", f"it names: {choice.accepted[0].path}"),
                hint="report it to the package's publisher",
            )
        )
    return Taken(paths=(str(place),), notes=choice.notes)
