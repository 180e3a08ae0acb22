"""What do dependencies and build programs add to a build? The values that a plan is made with.

Finding dependencies is :mod:`atoll.build.packages`, running build programs :mod:`atoll.build.programs`: a
plan that has neither imports neither.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from atoll._util.values import dataclass, field

if TYPE_CHECKING:
    from atoll.artifact import Fact
    from atoll.build.lock import Locked
    from atoll.build.request import BuildRequest
    from atoll.diagnostics import Diagnostic
    from atoll.graph import Action
    from atoll.manifest import Manifest


@dataclass(frozen=True, slots=True, kw_only=True)
class Owner:
    """One package with a build program.

    Attributes:
        program: The program, relative to the package's folder.
        files: The package's folder, absolute.
        base: That folder as actions name it; empty for the project itself.
        package / version: The package.
        features: The features that are on.
        targets: Its targets that take part, by their own names, with their kinds.
        prefix: What stands before those names in the whole build.
    """

    program: str
    files: Path
    package: str
    version: str
    base: str = ""
    features: tuple[str, ...] = ()
    targets: Mapping[str, str] = field(default_factory=dict)
    prefix: str = ""

    def below(self, folder: str) -> str:
        """Return the folder of this program below a folder of the build."""
        return f"{folder}/program/{self.package}" if self.base else f"{folder}/program"


@dataclass(frozen=True, slots=True, kw_only=True)
class ProgramSource:
    """One file that a build program has compiled into a target."""

    path: str
    target: str
    defines: tuple[str, ...] = ()
    flags: tuple[str, ...] = ()
    includes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Declared:
    """What a build program declared.

    Attributes:
        actions: What it has run.
        sources: What it has compiled.
        generated: Text of files it writes, by path.
        defines: For each target what its sources are compiled with.
        headers: For each target the made files that its sources may include.
        folders: The include folders that those are found from.
        facts / floors: What it states.
        warnings: What it warns of.
        inputs: Files and folders that its answer was made from.
        probes: The commands that it asked, for `resolution.json`.
    """

    actions: tuple[Action, ...] = ()
    sources: tuple[ProgramSource, ...] = ()
    generated: Mapping[str, str] = field(default_factory=dict)
    defines: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    headers: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    folders: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    facts: tuple[Fact, ...] = ()
    floors: tuple[Fact, ...] = ()
    warnings: tuple[Diagnostic, ...] = ()
    inputs: tuple[str, ...] = ()
    probes: tuple[str, ...] = ()

    def defined(self, target: str) -> tuple[str, ...]:
        """Return what it adds to the defines of a target's sources."""
        return self.defines.get(target, ())

    def included(self, target: str) -> tuple[str, ...]:
        """Return the made files that the sources of a target may include."""
        return self.headers.get(target, ())

    def include_folders(self, target: str) -> tuple[str, ...]:
        """Return the folders that those files are found from."""
        return tuple(dict.fromkeys(self.folders.get(target, ())))


def joined(found: Iterable[Declared]) -> Declared:
    """Return what several build programs declared, as one."""
    listed = list(found)
    return Declared(
        actions=tuple(action for each in listed for action in each.actions),
        sources=tuple(source for each in listed for source in each.sources),
        generated={path: text for each in listed for path, text in each.generated.items()},
        defines={name: texts for each in listed for name, texts in each.defines.items()},
        headers={name: paths for each in listed for name, paths in each.headers.items()},
        folders={name: paths for each in listed for name, paths in each.folders.items()},
        facts=tuple(fact for each in listed for fact in each.facts),
        floors=tuple(floor for each in listed for floor in each.floors),
        warnings=tuple(item for each in listed for item in each.warnings),
        inputs=tuple(path for each in listed for path in each.inputs),
        probes=tuple(dict.fromkeys(text for each in listed for text in each.probes)),
    )


def program_owners(request: BuildRequest) -> tuple[Owner, ...]:
    """Return the packages of a build that have a build program, the project's own first."""
    manifest, rows = request.manifest, []
    if manifest.build.program is not None:
        rows.append(
            Owner(
                program=manifest.build.program,
                files=request.root,
                package=manifest.package.name,
                version=manifest.package.version,
                features=tuple(manifest.features),
                targets={name: str(t.kind) for name, t in manifest.targets.items() if not t.origin.package},
            )
        )
    return (*rows, *(request.packages.programs if request.packages is not None else ()))


@dataclass(frozen=True, slots=True, kw_only=True)
class Packages:
    """What a project depends on, resolved.

    Attributes:
        manifest: The project's, with what it gets of its dependencies.
        rows: For `resolution.json`: each package with version, source and reason.
        warnings: What was asked for and not taken.
        inputs: Files that this was read from.
        locked: Rows for the lock.
        programs: The packages with a build program.
    """

    manifest: Manifest
    rows: Mapping[str, Any] = field(default_factory=dict)
    warnings: tuple[Diagnostic, ...] = ()
    inputs: tuple[str, ...] = ()
    locked: tuple[Locked, ...] = ()
    programs: tuple[Owner, ...] = ()
