"""What an author may write: one model for the reader, the JSON schema and the reference page.

Words: a *table* is one dataclass below; a *key* is one of its fields, spelled with hyphens in TOML; the
text of each key stands in its metadata, so that the page cannot differ from the reader.
Reading lives in :mod:`atoll.manifest.reader`, merging of overlays in :mod:`atoll.manifest.overlay`.
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum
from typing import TYPE_CHECKING, Any

from atoll._util.values import dataclass, field
from atoll.diagnostics import Span

if TYPE_CHECKING:
    from atoll.accel import AccelSet
    from atoll.manifest.document import Node
    from atoll.manifest.overlay import Overlay


def key(doc: str, *, default: Any = ..., factory: Any = ..., spelled: str = "") -> Any:
    """Return a field of the model: its text, its default (none = required) and, rarely, its spelling."""
    metadata = {"doc": doc, "key": spelled}
    if factory is not ...:
        return field(default_factory=factory, metadata=metadata)
    if default is not ...:
        return field(default=default, metadata=metadata)
    return field(metadata=metadata)


def place() -> Any:
    """Return a field that is no key: where the table stands. No part of equality."""
    return field(default=None, compare=False, repr=False, metadata={"hidden": True})


class TargetKind(StrEnum):
    """What a target becomes."""

    EXECUTABLE = "executable"
    STATIC = "static"
    SHARED = "shared"
    PYTHON = "python"
    TEST = "test"


class Shape(StrEnum):
    """How many roots of a boundary enter: one per link, or every one behind a registry."""

    LINK = "link"
    REGISTRY = "registry"


class Storage(StrEnum):
    """How embedded bytes are kept."""

    AUTO = "auto"
    HEADER = "header"
    OBJECT = "object"
    FILE = "file"


@dataclass(frozen=True, slots=True, kw_only=True)
class Origin:
    """Says which package a table of a merged manifest came from; empty for the project's own.

    Attributes:
        package: The package.
        base: Where it lies, relative to the project root or absolute.
        accelerators: What it declares to be written for.
        flags: Its own flags by lane, and its general ones under ``cflags`` and ``cxxflags``.
    """

    package: str = ""
    base: str = ""
    accelerators: tuple[str, ...] = ()
    flags: Mapping[str, tuple[str, ...]] = field(default_factory=dict)


def _origin() -> Any:
    return field(default_factory=Origin, repr=False, metadata={"hidden": True})


@dataclass(frozen=True, slots=True, kw_only=True)
class Package:
    """Names the package. In `pyproject.toml` the keys that `[project]` states too may be left out."""

    name: str = key("The package name; also the root of names of a boundary.")
    version: str = key("The version (PEP 440).", default="0.0.0")
    description: str = key("One line.", default="")
    license: str = key("An SPDX expression.", default="")
    python: str = key("The Python versions it supports, as a specifier.", default=">=3.11")
    requires_atoll: str = key(
        "The Atoll versions that can build this package, as a specifier. A client that is too old is refused "
        "for this package with both versions.",
        default="",
    )
    accelerators: tuple[str, ...] = key(
        "The backends this package is written for. Where not empty it gates the package's own globs; it "
        "never stops a consumer's `--accel`.",
        default=(),
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class Build:
    """States what is built for which devices, and the general flags."""

    accel: str = key("The accel set; `--accel` and `--no-accel` override it for one call.", default="")
    lanes: tuple[str, ...] = key(
        "The lanes that serve this project beside the host lane; a lane that is not listed takes no unit.",
        default=(),
    )
    include: tuple[str, ...] = key(
        "Include folders relative to the project root, for every unit.", default=()
    )
    defines: tuple[str, ...] = key("`NAME` or `NAME=VALUE`, for every unit.", default=())
    cflags: tuple[str, ...] = key("Flags for C sources of the host lane.", default=())
    cxxflags: tuple[str, ...] = key("Flags for C++ sources of the host lane.", default=())
    ldflags: tuple[str, ...] = key("Flags for every link.", default=())
    cxx_std: str = key("The C++ standard.", default="c++20")
    program: str | None = key("A build program, run in its own process.", default=None)
    accel_span: Span | None = place()


@dataclass(frozen=True, slots=True, kw_only=True)
class Source:
    """Names files by a glob, and says for which devices and with which flags they are compiled.

    A plain string is the same as `{ glob = "…" }`.
    """

    glob: str = key("Files relative to the project root; `*`, `?`, `[…]` and `**` as a whole component.")
    accel: str | None = key(
        "A constraint: the files take part only in builds that name one of these entries.", default=None
    )
    archs: tuple[str, ...] | None = key(
        "Compile for the intersection with the build's archs; an empty one leaves the files out.",
        default=None,
    )
    defines: tuple[str, ...] = key("`NAME` or `NAME=VALUE`, for these files.", default=())
    flags: Mapping[str, tuple[str, ...]] = key("Flags by lane, for these files.", factory=dict)
    span: Span | None = place()
    accel_span: Span | None = place()


@dataclass(frozen=True, slots=True, kw_only=True)
class Link:
    """Names a library to link. A plain string is the name for the linker (`m`)."""

    name: str | None = key("The library's name for the linker.", default=None)
    pkg_config: str | None = key("A pkg-config package.", default=None)
    cmake: str | None = key("A CMake package.", default=None)
    span: Span | None = place()


@dataclass(frozen=True, slots=True, kw_only=True)
class Target:
    """Describes one thing that is built."""

    kind: TargetKind = key("What it becomes.")
    sources: tuple[Source, ...] | None = key(
        "What it is compiled from. Without the key: every host source below `src/`; `[]` compiles nothing.",
        default=None,
    )
    links: tuple[Link, ...] = key("Libraries.", default=())
    include: tuple[str, ...] = key("Include folders relative to the project root.", default=())
    defines: tuple[str, ...] = key("`NAME` or `NAME=VALUE`.", default=())
    args: tuple[str, ...] = key("Arguments that `run` and `test` start it with.", default=())
    timeout: float | None = key("Seconds after which a test is stopped.", default=None)
    exclusive: bool = key("Whether a test runs alone.", default=False)
    boundary: str | None = key("The boundary (`[boundary.NAME]`) whose entries it carries.", default=None)
    packages: tuple[str, ...] = key(
        "Python package folders that a `python` target ships, each under its own name; a path that names the "
        "module's top package starts there (`src/acme/blur` ships as `acme/blur`).",
        default=(),
    )
    added: tuple[Source, ...] = field(default=(), metadata={"hidden": True})
    prebuilt: tuple[str, ...] = field(default=(), metadata={"hidden": True})
    origin: Origin = _origin()
    span: Span | None = place()


@dataclass(frozen=True, slots=True, kw_only=True)
class Boundary:
    """Describes one boundary: the marked entries of one or more roots as a header and a module."""

    module: str = key("The module's dotted name (`thread.kernels`).")
    roots: tuple[str, ...] = key("Folders (or single files) that hold marked entries.")
    layout_root: str | None = key(
        "The root whose folders give the namespaces; the first of `roots` where left out.", default=None
    )
    strip_prefix: str = key("A prefix that the short names leave out.", default="")
    marker: str = key("The stem of the markers: `STEM_C` and `STEM_AS(…)`.", default="ATOLL_EXPORT")
    shape: Shape = key("Whether one root enters a link, or every root a registry.", default=Shape.LINK)
    declared: tuple[str, ...] = key("Headers that declare further entries by hand.", default=())
    origin: Origin = _origin()
    span: Span | None = place()


@dataclass(frozen=True, slots=True, kw_only=True)
class Data:
    """Embeds files behind accessors."""

    files: tuple[str, ...] = key("Globs of the files.")
    base: str = key("The folder that names are relative to.", default="")
    storage: Storage = key("How the bytes are kept.", default=Storage.AUTO)
    origin: Origin = _origin()
    span: Span | None = place()


@dataclass(frozen=True, slots=True, kw_only=True)
class Feature:
    """Gates an optional part; a build that does not name it resolves nothing of it."""

    default: bool = key("Whether it is on unless a consumer says otherwise.", default=False)
    lanes: tuple[str, ...] = key("Lanes it adds.", default=())
    sources: tuple[Source, ...] = key("Sources it adds.", default=())
    dependencies: tuple[str, ...] = key("Dependencies it turns on.", default=())
    span: Span | None = place()


@dataclass(frozen=True, slots=True, kw_only=True)
class Dependency:
    """Names another package: a folder or source distribution, or an index."""

    path: str | None = key("A folder or a source distribution.", default=None)
    index: str | None = key("An index of packages.", default=None)
    version: str | None = key("A specifier.", default=None)
    features: tuple[str, ...] = key("Its features that this package wants.", default=())
    span: Span | None = place()


@dataclass(frozen=True, slots=True, kw_only=True)
class LaneTable:
    """Sets what one lane reads. Further keys belong to the lane, which checks them."""

    compiler: str | None = key("The compiler to take, by name or path.", default=None)
    version: str | None = key("A pin of the lane's toolchain.", default=None)
    flags: tuple[str, ...] = key("Flags for every unit of the lane.", default=())
    time_limit: float | None = key(
        "Seconds after which an action of the lane is stopped with all below it; `0` for no limit. Without "
        "the key, an hour.",
        default=None,
    )
    extra: Mapping[str, object] = field(default_factory=dict, metadata={"open": True})
    span: Span | None = place()

    def options(self) -> dict[str, object]:
        """Return the keys that were written, as the lane reads them."""
        known = {"compiler": self.compiler, "version": self.version, "flags": self.flags or None}
        return {name: value for name, value in known.items() if value is not None} | dict(self.extra)


@dataclass(frozen=True, slots=True, kw_only=True)
class Profile:
    """Sets how far code is optimised."""

    opt: str = key("The optimisation level, `0` to `3`.", default="2")
    debug: bool = key("Whether debug information is made.", default=False)
    span: Span | None = place()


@dataclass(frozen=True, slots=True, kw_only=True)
class Variant:
    """Describes one wheel variant."""

    label: str = key("The variant's label.")
    accel: str = key("Its accel set; empty for the one without device code.", default="")
    features: tuple[str, ...] = key("Features it is built with.", default=())
    span: Span | None = place()


@dataclass(frozen=True, slots=True, kw_only=True)
class Pack:
    """Says what `atoll pack --variants` writes."""

    variant: tuple[Variant, ...] = key("The variants.", default=())


@dataclass(frozen=True, slots=True, kw_only=True)
class RuntimeArtifact:
    """Describes a prebuilt file that belongs to the package."""

    role: str = key("What it is for.")
    path: str = key("The file.")
    provenance: str = key("Where it came from.", default="")
    abi: str = key("Its ABI tag.", default="")
    accel: str | None = key("The accel set it declares; checked against the measured one.", default=None)
    requires: tuple[str, ...] = key("Facts that must hold where it runs.", default=())
    span: Span | None = place()


@dataclass(frozen=True, slots=True, kw_only=True)
class Runtime:
    """Lists prebuilt files."""

    artifacts: tuple[RuntimeArtifact, ...] = key("The files.", default=())


@dataclass(frozen=True, slots=True, kw_only=True)
class Overlaid:
    """Holds what an overlay `[target.'cfg(…)'.…]` may add to: lists append, tables merge."""

    build: Build = key("As `[build]`.", factory=Build)
    targets: Mapping[str, Target] = key("As `[targets.NAME]`.", factory=dict)
    dependencies: Mapping[str, Dependency] = key("As `[dependencies]`.", factory=dict)
    lane: Mapping[str, LaneTable] = key("As `[lane.NAME]`.", factory=dict)


DEFAULT_PROFILES: Mapping[str, Profile] = {
    "debug": Profile(opt="0", debug=True),
    "release": Profile(opt="2"),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Manifest:
    """Describes a project: the whole of `atoll.toml`, or of `[tool.atoll]`."""

    package: Package = key("The package.")
    build: Build = key("What is built, for which devices.", factory=Build)
    targets: Mapping[str, Target] = key("The targets by name.", factory=dict)
    boundary: Mapping[str, Boundary] = key("The boundaries by name.", factory=dict)
    data: Mapping[str, Data] = key("Embedded files by name.", factory=dict)
    features: Mapping[str, Feature] = key("Features by name.", factory=dict)
    dependencies: Mapping[str, Dependency] = key("Other packages by name.", factory=dict)
    lane: Mapping[str, LaneTable] = key("What lanes read, by lane.", factory=dict)
    profile: Mapping[str, Profile] = key(
        "Profiles by name; `debug` and `release` always exist.", factory=dict
    )
    pack: Pack = key("What is packed.", factory=Pack)
    runtime: Runtime = key("Prebuilt files.", factory=Runtime)
    target: Mapping[str, Overlaid] = key(
        "Overlays by predicate, `cfg(…)`; the keys of one apply where its predicate is true.", factory=dict
    )
    path: str = field(default="", metadata={"hidden": True})
    overlays: tuple[Overlay, ...] = field(default=(), compare=False, repr=False, metadata={"hidden": True})
    document: Node | None = field(default=None, compare=False, repr=False, metadata={"hidden": True})

    @property
    def states_version(self) -> bool:
        """Whether its author wrote a version, and not only left it to the default."""
        return self.document is None or "version" in self.document.value["package"].value

    def resolve(self, accel: AccelSet, os: str, arch: str, compiler: str) -> Manifest:
        """Return the manifest with every overlay applied whose predicate holds; it has none left.

        Raises:
            ManifestError: Where what the overlays leave is not a manifest.
        """
        from atoll.manifest.overlay import resolve

        return resolve(self, accel, os=os, arch=arch, compiler=compiler)

    def accel_set(self, floor_words: Mapping[str, str] | None = None) -> AccelSet:
        """Return the set that `[build] accel` spells.

        Raises:
            ManifestError: With the place in the manifest.
        """
        from atoll.manifest.overlay import parse_accel

        return parse_accel(self.build.accel, self.build.accel_span, self.path, floor_words)

    def lane_options(self, lane: str) -> Mapping[str, object]:
        """Return `[lane.NAME]` as the lane reads it; empty where there is none."""
        table = self.lane.get(lane)
        return {} if table is None else table.options()

    def lane_places(self, lane: str) -> Mapping[str, Span]:
        """Return where each key of `[lane.NAME]` stands; those of an overlay are left out."""
        node = self.document
        for name in ("lane", lane):
            node = node.value.get(name) if node is not None and isinstance(node.value, dict) else None
        keys = node.value if node is not None and isinstance(node.value, dict) else {}
        return {name: item.span for name, item in keys.items()}

    def lane_limit(self, lane: str) -> float | None:
        """Return the seconds that `[lane.NAME]` gives an action; 0 for no limit, None where unsaid."""
        table = self.lane.get(lane)
        return None if table is None else table.time_limit

    def profile_named(self, name: str) -> Profile | None:
        """Return a profile by name, the two that always exist included, or None."""
        return self.profile.get(name) or DEFAULT_PROFILES.get(name)
