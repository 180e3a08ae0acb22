"""Which packages does a project depend on, where do they lie, and what does it get of each?

One package, one version: the nearest declaration wins, and what another one asked for is reported. Features
add up over all who ask. Sources are a folder, a source distribution, or the user's own package index, through
the store; a wheel and an index of artifacts bring prebuilt files, matched by :mod:`atoll.artifact`. Merging
is :mod:`atoll.manifest.merge`'s matter, the lock :mod:`atoll.build.lock`'s.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Mapping
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any

from atoll._util.values import dataclass, field
from atoll.build.contributions import Owner, Packages
from atoll.build.lock import Lock, Locked
from atoll.diagnostics import Diagnostic, Severity
from atoll.errors import AtollError, BuildError
from atoll.manifest import Dependency, Manifest, enable, manifest_in, read
from atoll.manifest.merge import LIBRARIES, Part, merge_packages, with_data_target
from atoll.store import Payload

if TYPE_CHECKING:
    from atoll.build.prebuilt import Offer, Taken
    from atoll.store import Store

ARCHIVES = (".tar.gz", ".tgz", ".tar.xz", ".tar.bz2", ".zip", ".whl")
MAX_PACKAGES = 1000


@dataclass(frozen=True, slots=True, kw_only=True)
class World:
    """What resolving needs of the session.

    Attributes:
        root: The project root.
        resolve: Applies the overlays of this build to a manifest.
        store: Opens the store.
        lock: What was locked.
        say: Called with talk while something is fetched.
        matched: Chooses among prebuilt artifacts for this build, or refuses.
    """

    root: Path
    resolve: Callable[[Manifest], Manifest]
    store: Callable[[], Store]
    lock: Lock
    matched: Callable[[Offer, str], Taken]
    say: Callable[[str], None] | None = None


@dataclass(slots=True)
class _Found:
    """One package as far as it is known."""

    name: str
    declared_by: str
    table: Dependency
    folder: Path
    source: str
    why: str
    manifest: Manifest | None = None
    offer: Offer | None = None
    digest: str = ""
    version: str = ""
    locked: Locked | None = None
    features: dict[str, None] = field(default_factory=dict)
    enabled: Manifest | None = None
    uses: tuple[str, ...] = ()


def resolve(manifest: Manifest, world: World) -> Packages:
    """Return what a project depends on.

    Args:
        manifest: The project's, overlays applied and features on.
        world: What is needed to look further.

    Raises:
        BuildError: With every package that cannot be had, and every circle.
    """
    if not manifest.dependencies:
        return Packages(manifest=manifest)
    work = _Work(manifest, world)
    work.walk()
    _refuse_circles(manifest, work.found)
    return work.packages()


class _Work:
    def __init__(self, manifest: Manifest, world: World) -> None:
        self.project, self.world = manifest, world
        self.found: dict[str, _Found] = {}
        self.faults: list[Diagnostic] = []
        self.notes: dict[tuple[str, str], Diagnostic] = {}

    def walk(self) -> None:
        """Go through the declarations, nearest first, until no feature adds another one."""
        todo = [(self.project.package.name, self.world.root, self.project)]
        while todo:
            consumer, folder, manifest = todo.pop(0)
            for name, table in sorted(manifest.dependencies.items()):
                try:
                    again = self.declare(consumer, folder, name, table)
                except AtollError as error:
                    # One package is refused, the others are looked at.
                    self.faults += [fault for fault in error.diagnostics if fault not in self.faults]
                    self.found.setdefault(name, _Found(name, consumer, table, folder, "", "refused"))
                    continue
                if again:
                    package = self.found[name]
                    assert package.enabled is not None
                    todo.append((name, package.folder, package.enabled))
            if len(self.found) > MAX_PACKAGES:
                raise BuildError(_too_many(len(self.found)))
        if self.faults:
            raise BuildError(*self.faults)

    def declare(self, consumer: str, folder: Path, name: str, table: Dependency) -> bool:
        """Take one declaration; tell whether the package has to be looked at (again)."""
        if name == self.project.package.name:
            return False  # a circle, which is named whole once every package is known
        package = self.found.get(name)
        fresh = package is None
        if package is None:
            package = self.found[name] = self.bring(consumer, folder, name, table)
        elif package.why != "refused":
            self.compare(consumer, folder, package, table)
        if package.manifest is None:
            return False
        asked = [feature for feature in table.features if feature not in package.features]
        package.features |= dict.fromkeys(table.features)
        if fresh or asked:
            by = f"`[dependencies]` of {consumer}"
            enabled = enable(package.manifest, package.features, by=by, span=table.span)
            package.enabled = with_data_target(enabled)
            package.uses = tuple(sorted(package.enabled.dependencies))
        return fresh or bool(asked)

    def bring(self, consumer: str, folder: Path, name: str, table: Dependency) -> _Found:
        """Bring a package here and read its manifest."""
        found = self.located(consumer, folder, name, table)
        if found.manifest is not None:
            _check_name(found, found.manifest)
            found.version = found.manifest.package.version
            found.manifest = self.world.resolve(found.manifest)
        _check_version(found)
        return found

    def located(self, consumer: str, folder: Path, name: str, table: Dependency) -> _Found:
        if table.path is not None:
            place = _there(folder, table.path)
            if place.is_dir():
                why = f"a folder, as {consumer} declares it"
                found = _Found(name, consumer, table, place, table.path, why)
                own = manifest_in(place)
                # What lies above is another package's, most often the consumer's own.
                if own is None:
                    raise BuildError(_no_manifest(found, f"folder `{place}`", "atoll.toml, or [tool.atoll]"))
                found.manifest = read(own)
                return found
            if place.is_file() and place.name.endswith(ARCHIVES):
                root = self.world.store().take(place, name, say=self.world.say)
                self.world.lock.taken(name, place.name, root.distributions)
                why = f"a distribution, as {consumer} declares it"
                found = _Found(name, consumer, table, root.root, table.path, why, digest=root.digest)
                found.locked = Locked(name=name, requirement=place.name, sha256=root.distributions)
                return _opened(found, place.name)
            raise BuildError(_no_source(consumer, name, table, place))
        assert table.index is not None
        if table.index.endswith(".json"):
            place = _there(folder, table.index)
            why = f"an index of artifacts, as {consumer} declares it"
            found = _Found(name, consumer, table, place.parent, table.index, why)
            from atoll.build.prebuilt import offer_of

            found.offer = offer_of(place, place.parent, name)
            found.version = found.offer.index.version
            return found
        return self.fetched(consumer, name, table)

    def fetched(self, consumer: str, name: str, table: Dependency) -> _Found:
        """Bring a package from the user's own index, by the locked version where it still serves."""
        asked = f"{table.index}{_specifier(table.version)}"
        kept = self.world.lock.package(name, asked)
        store = self.world.store()
        if kept is None:
            version, sdist = store.newest(name, asked, say=self.world.say)
        else:
            version, sdist = kept.version, kept.sdist
        payload = Payload(name=f"package-{name}", requirements=(f"{table.index}=={version}",), sdist=sdist)
        root = store.ensure(payload, say=self.world.say)
        if kept is not None:
            self.world.lock.check(name, kept.sha256, root.distributions)
        locked = Locked(name=name, requirement=asked, version=version, sdist=sdist, sha256=root.distributions)
        why = f"the user's package index, as {consumer} declares it"
        source = f"{table.index}=={version}"
        found = _Found(name, consumer, table, root.root, source, why, digest=root.digest, locked=locked)
        return _opened(found, next(iter(root.distributions)))

    def compare(self, consumer: str, folder: Path, package: _Found, table: Dependency) -> None:
        """Report a further declaration that asks for something else."""
        same_place = table.path is not None and _there(folder, table.path) == package.folder
        same = table.path == package.table.path and table.index == package.table.index
        if not (same_place or same) or not _contains(table.version, package.version):
            self.notes.setdefault((consumer, package.name), _not_taken(consumer, package, table))

    def packages(self) -> Packages:
        """Return the whole, merged."""
        parts = [self.part(package) for package in self.found.values()]
        project = Part(manifest=self.project, uses=tuple(sorted(self.project.dependencies)))
        inputs = [str(part.manifest.path) for part in parts if part.manifest.path]
        inputs += [str(package.folder) for package in self.found.values()]
        return Packages(
            manifest=merge_packages(project, parts),
            rows={package.name: self.row(package) for package in self.found.values()},
            warnings=tuple(self.notes.values()),
            inputs=tuple(dict.fromkeys(inputs)),
            programs=tuple(
                _owner(package, part)
                for package, part in zip(self.found.values(), parts, strict=True)
                if part.manifest.build.program is not None
            ),
            locked=tuple(package.locked for package in self.found.values() if package.locked is not None),
        )

    def part(self, package: _Found) -> Part:
        base = Path(os.path.relpath(package.folder, self.world.root)).as_posix()
        if package.digest:
            base = str(package.folder)
        if package.offer is None:
            assert package.enabled is not None
            return Part(manifest=package.enabled, base=base, uses=package.uses)
        taken = self.world.matched(package.offer, package.name)
        for note in taken.notes:
            self.notes[package.name, note.message] = note
        return Part(
            manifest=package.offer.manifest(package.name),
            base=base,
            prebuilt=taken.paths,
            include=package.offer.include,
        )

    def row(self, package: _Found) -> dict[str, Any]:
        manifest = package.enabled
        row: dict[str, Any] = {
            "version": package.version,
            "source": package.source,
            "why": package.why,
            "features": sorted(manifest.features) if manifest is not None else [],
        }
        return row | ({"digest": package.digest} if package.digest else {})


def _there(folder: Path, path: str) -> Path:
    return Path(os.path.normpath(folder.absolute() / path))


def _owner(package: _Found, part: Part) -> Owner:
    manifest = part.manifest
    assert manifest.build.program is not None
    return Owner(
        program=manifest.build.program,
        files=package.folder,
        package=package.name,
        version=package.version,
        base=part.base,
        features=tuple(manifest.features),
        targets={
            name: str(table.kind) for name, table in manifest.targets.items() if table.kind in LIBRARIES
        },
        prefix=f"{package.name}.",
    )


def _opened(found: _Found, file: str) -> _Found:
    """Look into an unpacked distribution: a package to build, or prebuilt files."""
    if not file.endswith(".whl"):
        tops = [found.folder, *sorted(path for path in found.folder.iterdir() if path.is_dir())]
        for top in tops:
            if (top / "atoll.toml").is_file() or (top / "pyproject.toml").is_file():
                found.folder, found.manifest = top, read(top)
                return found
        raise BuildError(_no_manifest(found, f"distribution `{file}`", "atoll.toml, or pyproject.toml"))
    descriptors = sorted(found.folder.glob("*.dist-info/atoll.json"))
    if not descriptors:
        raise BuildError(_no_manifest(found, f"distribution `{file}`", "*.dist-info/atoll.json"))
    from atoll.build.prebuilt import offer_of

    found.offer = offer_of(descriptors[0], found.folder, found.name)
    found.version = found.offer.index.version
    return found


def _specifier(version: str | None) -> str:
    if version is None:
        return ""
    return version if re.match(r"[<>=!~]", version) else f"=={version}"


def _contains(specifier: str | None, version: str) -> bool:
    from packaging.specifiers import InvalidSpecifier, SpecifierSet

    if specifier is None or not version:
        return True
    try:
        return SpecifierSet(_specifier(specifier)).contains(version, prereleases=True)
    except InvalidSpecifier:
        return False


def _check_version(found: _Found) -> None:
    if not _contains(found.table.version, found.version):
        raise BuildError(
            Diagnostic(
                code="ATL0541",
                message=f"the package `{found.name}` has another version than the one asked for",
                span=found.table.span,
                notes=(
                    f"asked for by {found.declared_by}: {found.table.version}",
                    f"found: {found.version} in {found.source}",
                ),
                hint="loosen `version`, or name a source that has it",
            )
        )


def _check_name(found: _Found, manifest: Manifest) -> None:
    if manifest.package.name != found.name:
        raise BuildError(
            Diagnostic(
                code="ATL0542",
                message=f"the dependency `{found.name}` is another package",
                span=found.table.span,
                notes=(f"declared as: {found.name}", f"its manifest says: {manifest.package.name}"),
                hint=f"write `{manifest.package.name} = {{ … }}`",
            )
        )


def _no_source(consumer: str, name: str, table: Dependency, place: Path) -> Diagnostic:
    return Diagnostic(
        code="ATL0540",
        message=f"the dependency `{name}` is not there",
        span=table.span,
        notes=(
            f"declared by: {consumer}",
            f"looked for: {place}",
            f"a folder, or one of: {' '.join(ARCHIVES)}",
        ),
        hint="mend `path`",
    )


def _no_manifest(found: _Found, what: str, wanted: str) -> Diagnostic:
    folder = what.startswith("folder")
    return Diagnostic(
        code="ATL0543",
        message=f"the {what} is no package that Atoll can use",
        span=found.table.span,
        notes=(f"dependency: {found.name}, declared by {found.declared_by}", f"looked for: {wanted}"),
        hint="name the folder that has it, or give it one: `atoll new` shows how"
        if folder
        else "take a distribution that has it; ordinary Python packages are no dependencies of a build",
    )


def _not_taken(consumer: str, package: _Found, table: Dependency) -> Diagnostic:
    asked = [text for text in (table.path or table.index, table.version) if text]
    return Diagnostic(
        code="ATL0544",
        severity=Severity.WARNING,
        message=f"one version of `{package.name}` is taken, and not the one that `{consumer}` asks for",
        span=table.span,
        notes=(
            f"asked for by {consumer}: {' '.join(asked)}",
            f"taken: {package.version or 'no version'} from {package.source}, {package.why}",
        ),
        hint="the nearest declaration wins: declare it in the project to choose",
    )


def _too_many(count: int) -> Diagnostic:
    return Diagnostic(
        code="ATL0545",
        message="the project depends on more packages than are looked at",
        notes=(f"found: {count}", f"bound: {MAX_PACKAGES}"),
    )


def _refuse_circles(project: Manifest, found: Mapping[str, _Found]) -> None:
    uses = {name: package.uses for name, package in found.items()}
    uses[project.package.name] = tuple(sorted(project.dependencies))
    done: set[str] = set()
    # Without recursion: a chain of packages may be as long as the bound on their number.
    trail = {project.package.name: iter(uses[project.package.name])}
    while trail:
        name, rest = next(reversed(trail.items()))
        other = next((each for each in rest if each not in done), None)
        if other is None:
            done.add(name)
            del trail[name]
        elif other in trail:
            names = list(trail)
            raise BuildError(_circle([*names[names.index(other) :], other]))
        else:
            trail[other] = iter(uses.get(other, ()))


def _circle(names: list[str]) -> Diagnostic:
    return Diagnostic(
        code="ATL0546",
        message="packages depend on each other in a circle",
        notes=tuple(f"`{one}` depends on `{other}`" for one, other in pairwise(names)),
        hint="move what they share into a package of its own",
    )
