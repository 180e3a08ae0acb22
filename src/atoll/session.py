"""What is this project, on this machine, now? The one place that joins manifest, registry, store and graph.

A :class:`Session` is lazy: a build with nothing to do reads neither the manifest nor a plugin.
"""

from __future__ import annotations

import os
import sys
import time
from collections import ChainMap
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from functools import cached_property
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING, Any, cast

from atoll._util.machine import machine
from atoll._util.spelling import search_path, this_python
from atoll._util.values import dataclass, field
from atoll.diagnostics import Diagnostic
from atoll.errors import BuildError, mendable, refused_by_system

if TYPE_CHECKING:
    from atoll.accel import AccelSet
    from atoll.build import BuildPlan, BuildRequest, Output
    from atoll.build.contributions import Packages
    from atoll.build.lock import Lock, Locked
    from atoll.build.prebuilt import Offer, Taken
    from atoll.errors import UsageError
    from atoll.graph import Event, Result
    from atoll.manifest import Manifest, Profile
    from atoll.packaging import Metadata, Packed
    from atoll.packaging.variants import Labelled
    from atoll.plugin import HostLane, LaneRequest, Registry
    from atoll.store import Payload, PayloadRoot, Store

FILES = ("atoll.toml", "pyproject.toml")
# Where the tools that know libraries of this machine look; another value is another question.
SEARCHED = ("PKG_CONFIG_PATH", "PKG_CONFIG_LIBDIR", "PKG_CONFIG_SYSROOT_DIR", "CMAKE_PREFIX_PATH")


@dataclass(frozen=True, slots=True, kw_only=True)
class Built:
    """What a build left behind.

    Attributes:
        root: The project root.
        folder: The build folder relative to it; ``resolution.json`` lies in it.
        outputs: What each target became.
        result: What ran.
        diagnostics: Warnings and notes; errors are raised.
        planned: False where the last plan still held.
        key: The call's record of its plan.
        engine: The stamp of the engine that planned it.
        floors: Whether the machine is looked at before each build.
    """

    root: Path
    folder: str
    outputs: tuple[Output, ...]
    result: Result
    diagnostics: tuple[Diagnostic, ...] = ()
    planned: bool = True
    key: str = ""
    engine: str = ""
    floors: bool = False

    def output(self, target: str) -> Output | None:
        """Return what a target became, or None."""
        return next((output for output in self.outputs if output.target == target), None)

    @property
    def modules(self) -> tuple[Output, ...]:
        """The targets that are Python packages."""
        return tuple(output for output in self.outputs if output.kind == "python")

    @property
    def tree(self) -> Path:
        """The folder that holds the Python packages, as they lie in ``site-packages``."""
        return self.root / PurePosixPath(self.modules[0].path).parent


@dataclass(kw_only=True)
class Session:
    """One project with the options of one call.

    Attributes:
        start: A folder of the project.
        accel_option: The text of ``--accel``, or None for the manifest's set.
        no_accel: Whether ``--no-accel`` empties the set.
        profile_name: The profile.
        features: Features that are on beside the default ones.
        offline: Whether nothing may be fetched.
        environment: Where programs and settings are looked up.
        say: Called with lines of talk while something is fetched.
    """

    start: Path
    accel_option: str | None = None
    no_accel: bool = False
    profile_name: str = "release"
    features: tuple[str, ...] = ()
    offline: bool = False
    environment: Mapping[str, str] = field(default_factory=lambda: dict(os.environ))
    say: Callable[[str], None] | None = None
    _fetched: list[Locked] = field(default_factory=list)

    @cached_property
    def manifest_path(self) -> Path:
        """The manifest's file."""
        from atoll.manifest import find

        return find(self.start)

    @property
    def root(self) -> Path:
        """The project root."""
        return self.manifest_path.parent

    @property
    def searched(self) -> Mapping[str, str]:
        """The environment with its PATH in one spelling: shells that reach the same tools ask the same."""
        path = {"PATH": search_path(self.environment.get("PATH", ""))}
        return ChainMap(path, cast("dict[str, str]", self.environment))

    @cached_property
    def unresolved(self) -> Manifest:
        """The manifest as written, its overlays apart."""
        from atoll.manifest import read

        return read(self.manifest_path)

    @cached_property
    def registry(self) -> Registry:
        """The installed plugins."""
        from atoll.plugin import registry

        return registry()

    @cached_property
    def accel(self) -> AccelSet:
        """The set of this build: the option's, or the manifest's."""
        from atoll.accel import AccelSet, parse_option

        if self.no_accel:
            return AccelSet()
        if self.accel_option is not None:
            return parse_option(self.accel_option)
        return AccelSet.parse(self.unresolved.build.accel, source=f"{self.manifest_path.name}: [build] accel")

    @property
    def accel_source(self) -> str:
        """Where the set came from, for people."""
        if self.no_accel:
            return "--no-accel"
        if self.accel_option is not None:
            return "--accel"
        name = self.manifest_path.name
        return f"[build] accel of {name}" if self.unresolved.build.accel else f"{name} names none"

    @cached_property
    def manifest(self) -> Manifest:
        """The manifest with the overlays of this set, system and compiler applied, and its features on."""
        from atoll.manifest import enable
        from atoll.manifest.merge import with_data_target

        return with_data_target(enable(self._overlaid(self.unresolved), self.features))

    @cached_property
    def lock(self) -> Lock:
        """What ``atoll.lock`` says."""
        from atoll.build.lock import read_lock

        return read_lock(self.root)

    @cached_property
    def packages(self) -> Packages:
        """The dependencies, resolved and merged into the manifest.

        Raises:
            BuildError: With every package that cannot be had.
        """
        from atoll.build.contributions import Packages

        if not self.manifest.dependencies:
            return Packages(manifest=self.manifest)
        from atoll.build.packages import World, resolve

        return resolve(
            self.manifest,
            World(
                root=self.root,
                resolve=self._overlaid,
                store=self._store,
                lock=self.lock,
                matched=self._matched,
                say=self.say,
            ),
        )

    def _overlaid(self, manifest: Manifest) -> Manifest:
        compiler = ""
        if any("compiler" in overlay.text for overlay in manifest.overlays):
            compiler = self._compiler_family()
        return manifest.resolve(self.accel, self.host, machine(), compiler)

    def _matched(self, offer: Offer, package: str) -> Taken:
        """Return what this build links of a prebuilt package."""
        from atoll.build.prebuilt import taken
        from atoll.plugin.rules import backend_rules

        lane = cast("HostLane", self.registry.lanes["host"])
        abi = lane.describe(self._host_request()).abi
        asked = self.accel if self.accel or self.no_accel else None
        return taken(offer, package, asked, abi, backend_rules())

    @property
    def abi(self) -> str:
        """The ABI tag of what the host compiler makes; empty where it is not told."""
        return cast("HostLane", self.registry.lanes["host"]).describe(self._host_request()).abi

    def _store(self) -> Store:
        from atoll.store import Store

        return Store.open(self.environment, offline=self.offline)

    @property
    def host(self) -> str:
        """The system: ``linux``, ``macos`` or ``windows``."""
        return {"darwin": "macos", "win32": "windows"}.get(sys.platform, "linux")

    @cached_property
    def profile(self) -> Profile:
        """The profile of this build.

        Raises:
            BuildError: Where there is none of that name.
        """
        found = self.manifest.profile_named(self.profile_name)
        if found is None:
            known = sorted({"debug", "release", *self.manifest.profile})
            raise BuildError(
                Diagnostic(
                    code="ATL0561",
                    message=f"there is no profile `{self.profile_name}`",
                    notes=(f"profiles: {', '.join(known)}",),
                    hint="name one of them, or add `[profile.NAME]`",
                )
            )
        return found

    def _compiler_family(self) -> str:
        return cast("HostLane", self.registry.lanes["host"]).family(self._host_request())

    def _host_request(self) -> LaneRequest:
        from atoll.plugin import LaneRequest

        build = self.unresolved.build
        asked = LaneRequest(
            root=self.root,
            build="",
            package="",
            options=self.unresolved.lane_options("host"),
            cxxflags=build.cxxflags,
            cxx_standard=build.cxx_std,
            host=self.host,
            environment=self.searched,
        )
        wanted = cast("HostLane", self.registry.lanes["host"]).fallback(asked)
        if not wanted:
            return asked
        from dataclasses import replace

        return replace(asked, tools={payload.name: self.ensure(payload) for payload in wanted})

    def request(self) -> BuildRequest:
        """Return what the planner decides from."""
        from atoll.build import BuildRequest

        return BuildRequest(
            root=self.root,
            manifest=self.packages.manifest,
            packages=self.packages,
            accel=self.accel,
            accel_source=self.accel_source,
            profile_name=self.profile_name,
            profile=self.profile,
            registry=self.registry,
            environment=self.searched,
            ensure=self.ensure,
            host=self.host,
            features=self.features,
        )

    def ensure(self, payload: Payload) -> PayloadRoot:
        """Bring a payload into the store and return where it lies.

        Raises:
            StoreError: Where it cannot be had.
        """
        from atoll.build.lock import payload_row

        root = self._store().ensure(payload, say=self.say)
        self.lock.payload(root)
        self._fetched.append(payload_row(root))
        return root

    def build(
        self,
        *,
        targets: tuple[str, ...] = (),
        elsewhere: bool = False,
        jobs: int | None = None,
        on_event: Callable[[Event], None] | None = None,
        on_plan: Callable[[BuildPlan], None] | None = None,
    ) -> Built:
        """Plan, unless the last plan still holds, and run what must run.

        Args:
            targets: The targets to build; all of them where empty.
            elsewhere: Whether the result runs on another machine, so that a missed floor only warns.
            jobs: How many actions run at once.
            on_event: Called for everything that happens.
            on_plan: Called with a new plan before it is carried out; not where the last one still holds.

        Raises:
            AtollError: Where something refuses or fails; every diagnostic is in it.
        """
        with _on_disk():
            return self._build(targets, elsewhere, jobs, on_event, on_plan)

    def _build(
        self,
        targets: tuple[str, ...],
        elsewhere: bool,
        jobs: int | None,
        on_event: Callable[[Event], None] | None,
        on_plan: Callable[[BuildPlan], None] | None,
    ) -> Built:
        from atoll.build import carry_out
        from atoll.build.fresh import call_key, engine_stamp, recall

        engine = engine_stamp()
        key = call_key(self._asked(), engine)
        plan = recall(self.root, key)
        planned = plan is None
        if plan is None:
            plan = self._plan(key)
            if on_plan is not None:
                on_plan(plan)
        warnings = self._floors(plan, elsewhere)
        try:
            result = carry_out(self.root, plan, targets=targets, jobs=jobs, on_event=on_event)
        except BuildError as error:
            # A glob that matches nothing is told here, and is why the link lacks what it lacks.
            raise BuildError(*error.diagnostics, *plan.diagnostics, *warnings) from error
        return Built(
            root=self.root,
            folder=plan.folder,
            outputs=plan.outputs,
            result=result,
            diagnostics=(*plan.diagnostics, *warnings, *self._tied(plan, result)),
            planned=planned,
            key=key,
            engine=engine,
            floors=bool(plan.floors),
        )

    def _tied(self, plan: BuildPlan, result: Result) -> tuple[Diagnostic, ...]:
        """Return what is to be said of islands that were compiled in this build."""
        if not result.ran:
            return ()
        from atoll.build.islands import island_objects, notes

        ran = set(result.ran)
        made = [action for action in plan.graph.actions if action.name in ran]
        # Nothing of the manifest is read where only the host compiled.
        if not island_objects(made, plan.folder, {"host"}) or not self.accel:
            return ()
        lanes = self.registry.lanes
        tied = {name for name in self.manifest.build.lanes if getattr(lanes[name], "tied", False)}
        return notes(self.root, island_objects(made, plan.folder, {"host", *tied}))

    def metadata(self, *, more: tuple[str, ...] = ()) -> Metadata:
        """Return what the package says of itself; `more` are requirements beside its own.

        Raises:
            UsageError: Where `[project]` breaks the standards, or says otherwise than the manifest.
        """
        from atoll.packaging.project import Stated, project_metadata

        package = self.manifest.package
        stated = Stated(
            name=package.name,
            version=package.version,
            has_version=self.manifest.states_version,
            summary=package.description,
            license=package.license,
            python=package.python,
        )
        return project_metadata(self.root, stated, more=more)

    def requirements(self) -> tuple[str, ...]:
        """Return the distributions that bring what is linked its libraries; plans where no plan holds.

        Raises:
            AtollError: Where the planner refuses.
        """
        import json

        from atoll.build.fresh import call_key, engine_stamp, recall

        if not self.accel:
            return ()
        key = call_key(self._asked(), engine_stamp())
        plan = recall(self.root, key) or self._plan(key)
        found = json.loads((self.root / plan.folder / "resolution.json").read_text(encoding="utf-8"))
        rows = (row for lane in found["lanes"].values() for row in lane.get("runtime", ()))
        return tuple(sorted({row["requirement"] for row in rows} - {""}))

    def pack(self, built: Built, out: Path, *, variant: Labelled | None = None) -> Packed:
        """Write the wheel of what was built, measured first; a variant wheel, where it is to be one.

        Raises:
            ArtifactMismatchError: Where what was measured may not be shipped.
            UsageError: Where nothing can be, or tree, metadata or tag cannot be.
        """
        from atoll.packaging import pack_tree
        from atoll.plugin.rules import backend_rules

        outputs = built.modules
        if not outputs:
            raise self._nothing_to_ship()
        paths = [path for output in outputs for path in (output.path, *_tops(output))]
        return pack_tree(
            built.tree,
            self.metadata(more=self.requirements()),
            out,
            declared=self.accel,
            rules=backend_rules(),
            packages=self._shipped(paths),
            variant=variant,
        )

    def _shipped(self, paths: list[str]) -> list[str]:
        """Return the names in the tree that belong to the package: those built and those authored."""
        from atoll.build.packagetree import place

        names = {PurePosixPath(path).name: None for path in paths}
        for target in self.manifest.targets.values():
            if str(target.kind) == "python" and target.boundary is not None:
                module = self.manifest.boundary[target.boundary].module
                names.update({place(each, module).partition("/")[0]: None for each in target.packages})
        return list(names)

    def _nothing_to_ship(self) -> UsageError:
        from atoll.errors import UsageError

        kinds = sorted({str(target.kind) for target in self.manifest.targets.values()})
        return UsageError(
            Diagnostic(
                code="ATL0468",
                message=f"`{self.manifest.package.name}` has nothing to ship",
                notes=(
                    f"kinds of its targets: {', '.join(kinds) or 'none'}",
                    "a wheel ships targets of kind python, a folder those of kind static and shared",
                ),
                hint='add a target with `kind = "python"`',
            )
        )

    def _floors(self, plan: BuildPlan, elsewhere: bool) -> tuple[Diagnostic, ...]:
        if not plan.floors:
            return ()
        from atoll.build import check_floors

        return check_floors(plan, self.registry, self.environment, elsewhere=elsewhere)

    def add(self) -> Mapping[str, Any]:
        """Fetch what the lanes need for the set, lock it and build nothing; return what was decided.

        Raises:
            AtollError: Where the planner refuses, or something cannot be had.
        """
        from atoll.build import plan

        planned = plan(self.request())
        self.lock.with_rows((*self._fetched, *self.packages.locked)).write()
        return planned.resolution

    def _plan(self, key: str) -> BuildPlan:
        from atoll.build import plan, write_plan
        from atoll.build.fresh import remember, stamps

        begin = time.time_ns()
        planned = plan(self.request())
        write_plan(self.root, planned)
        before = stamps(self.root, planned.inputs)
        self.lock.with_rows((*self._fetched, *self.packages.locked)).write()
        # What changed while the plan was made may have been read as it was before.
        if all(was is None or was[0] < begin for was in before.values()):
            remember(self.root, key, planned, before)
        return planned

    def _asked(self) -> dict[str, Any]:
        return {
            # `compile_commands.json` names it: a project that was moved is planned anew.
            "root": str(self.root),
            "accel": self.accel_option,
            "no_accel": self.no_accel,
            "profile": self.profile_name,
            "features": sorted(self.features),
            "path": self.searched.get("PATH", ""),
            "store": self.environment.get("ATOLL_STORE", ""),
            "python": this_python(),
            "searched": {name: self.environment.get(name, "") for name in SEARCHED},
        }


def _tops(output: Output) -> list[str]:
    """Return the folders directly below the tree that something of a target lies in."""
    tree = PurePosixPath(output.path).parent
    inside = [PurePosixPath(path) for path in output.files if PurePosixPath(path).is_relative_to(tree)]
    return [path.relative_to(tree).parts[0] for path in inside if len(path.relative_to(tree).parts) > 1]


@contextmanager
def _on_disk() -> Iterator[None]:
    """Refuse where the system refuses a file of the build."""
    try:
        yield
    except OSError as error:
        if mendable(error):
            raise refused_by_system(error) from error
        raise


def open_session(
    start: Path,
    *,
    accel: str | None = None,
    no_accel: bool = False,
    profile: str = "release",
    features: tuple[str, ...] = (),
    offline: bool = False,
    environment: Mapping[str, str] | None = None,
    say: Callable[[str], None] | None = None,
) -> Session:
    """Return the session of the project that `start` lies in. Nothing is read yet.

    Raises:
        UsageError: Where both a set and none are asked for.
    """
    from atoll.errors import UsageError

    if accel is not None and no_accel:
        raise UsageError(
            Diagnostic(
                code="ATL0001",
                message="`--accel` and `--no-accel` exclude each other",
                notes=(f"--accel: {accel}",),
                hint="leave one of them out",
            )
        )
    found = dict(os.environ) if environment is None else dict(environment)
    return Session(
        start=start,
        accel_option=accel,
        no_accel=no_accel,
        profile_name=profile,
        features=tuple(sorted(set(features))),
        offline=offline or found.get("ATOLL_OFFLINE") == "1",
        environment=found,
        say=say,
    )
