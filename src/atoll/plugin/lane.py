"""The lane door: one compiler's spelling. A lane describes actions and runs nothing of a build.

It may run its compiler to state a fact (a version, a dry run); it never compiles a unit itself.
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum
from pathlib import Path
from typing import Protocol

from atoll._util.values import dataclass, field
from atoll.accel import AccelSet, BackendRules, Entry
from atoll.artifact import Fact
from atoll.boundary import Entry as BoundaryEntry
from atoll.diagnostics import Diagnostic, Span
from atoll.graph import Action
from atoll.store import Payload, PayloadRoot


class UnitKind(StrEnum):
    """What a lane does with an extension: compiles it, tracks it as a header, or refuses it."""

    UNIT = "unit"
    HEADER = "header"
    REFUSED = "refused"


@dataclass(frozen=True, slots=True, kw_only=True)
class Unit:
    """One source file to compile, for one entry of the build's set.

    Attributes:
        path: Relative to the project root, forward slashes.
        target: The target of the manifest that owns it.
        root: The boundary root it lies under, or empty.
        entry: The build's entry it is compiled for; None for a unit of the host lane. A unit of a
            lane that serves many backends (Python kernels) comes once per entry, and once with
            None for the processor.
        archs: What `archs = [...]` of its glob leaves of the entry's archs; None for all.
        defines: ``NAME`` or ``NAME=VALUE``, manifest order.
        flags: Flags of this lane from the source entry.
        includes: Include folders relative to the project root.
        force_include: Generated headers to include before the first line, relative to the root.
        reads: Files that the compiler reads and names in no depfile, made by other actions or authored.
        position_independent: True where the object may enter a shared object.
        hidden: True where symbols stay inside the image unless a declaration makes them visible.
        named: The path that names its outputs and its edge, where one source is compiled several times;
            `path` where empty.
    """

    path: str
    target: str
    root: str = ""
    entry: Entry | None = None
    archs: tuple[str, ...] | None = None
    defines: tuple[str, ...] = ()
    flags: tuple[str, ...] = ()
    includes: tuple[str, ...] = ()
    force_include: tuple[str, ...] = ()
    reads: tuple[str, ...] = ()
    position_independent: bool = True
    hidden: bool = False
    named: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class LaneRequest:
    """Everything a lane may look at to plan.

    Attributes:
        root: The project root, absolute.
        build: The build folder relative to the root; every output of the lane lies below
            ``{build}/{lane name}/``.
        package: The package name.
        units: The units of this lane, in sorted order.
        accel: The whole set of the build.
        options: ``[lane.NAME]`` of the manifest.
        places: Where each of those keys stands, for a refusal; an overlay's are not told.
        optimise: The profile's optimisation level, ``0`` to ``3``.
        debug: Whether debug information is asked for.
        cflags / cxxflags / cxx_standard: The project's general flags.
        host: ``linux``, ``macos`` or ``windows``.
        host_compiler: What ``[lane.host] compiler`` names; empty where the host lane chooses.
        links: For each target that links others of this project, those targets; they are found transitively.
        kinds: The kind of each target, as the manifest names kinds.
        tools: The payloads that :meth:`Lane.payloads` asked for, by payload name.
        environment: The environment to look programs up in; never `os.environ`.
    """

    root: Path
    build: str
    package: str
    units: tuple[Unit, ...] = ()
    accel: AccelSet = field(default_factory=AccelSet)
    options: Mapping[str, object] = field(default_factory=dict)
    places: Mapping[str, Span] = field(default_factory=dict, compare=False)
    optimise: str = "2"
    debug: bool = False
    cflags: tuple[str, ...] = ()
    cxxflags: tuple[str, ...] = ()
    cxx_standard: str = "c++20"
    host: str = "linux"
    host_compiler: str = ""
    links: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    kinds: Mapping[str, str] = field(default_factory=dict)
    tools: Mapping[str, PayloadRoot] = field(default_factory=dict)
    environment: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolChoice:
    """Which tool was chosen and why; printed, and recorded in ``resolution.json``."""

    name: str
    path: str
    version: str
    why: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ObjectProduct:
    """An object file that enters the link of its unit's target.

    Attributes:
        path: The object, written by an action of the lane.
        unit: The unit it was made from.
        clang_argv: The same compilation in clang's spelling, for editors; empty where the action's own is.
    """

    path: str
    unit: Unit
    clang_argv: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class DataProduct:
    """A file whose bytes are embedded behind an accessor (04, data boundary).

    Attributes:
        path: The file the lane's action writes.
        unit: The unit it was made from; its path names the accessor.
        backend / entry_point / form: What the bytes are for, recorded beside them; `form` is the
            stage that an emitter would name (``spirv``, ``text``).
        declared: True where readers cannot see the backend in the bytes.
        clang_argv: How clang would compile the unit, for editors; empty where it knows no such language.
    """

    path: str
    unit: Unit
    backend: str
    entry_point: str = "main"
    form: str = ""
    declared: bool = False
    clang_argv: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class SourceProduct:
    """A generated source that the host lane compiles into the target; entries it defines.

    Attributes:
        path: The generated file (``.c``), written by an action of the lane.
        unit: The unit it came from.
        root: The boundary root it joins (``vulkan``, ``cpu`` …).
        entries: Exported functions it defines, already suffixed as the registry expects.
        includes: Include folders it needs.
        declared: True where the device code it embeds is source that says no device.
    """

    path: str
    unit: Unit
    root: str
    entries: tuple[BoundaryEntry, ...] = ()
    includes: tuple[str, ...] = ()
    declared: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class RuntimeFolder:
    """A folder of shared libraries that what is linked with a lane's objects needs when it runs.

    Attributes:
        path: Where it lies on this machine, absolute: what is built here finds it there.
        requirement: The distribution that brings the libraries to a machine where a wheel is installed
            (PEP 508); empty where none does.
        inside: Where that distribution puts them, below ``site-packages``.
        environment: ``NAME=VALUE`` of what the libraries read when a program of this project starts here;
            the loader is then told the folder too, for libraries that open others by name.
    """

    path: str
    requirement: str = ""
    inside: str = ""
    environment: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class LanePlan:
    """What a lane answers."""

    actions: tuple[Action, ...] = ()
    objects: tuple[ObjectProduct, ...] = ()
    data: tuple[DataProduct, ...] = ()
    sources: tuple[SourceProduct, ...] = ()
    link_args: tuple[str, ...] = ()
    runtime: tuple[RuntimeFolder, ...] = ()
    tools: tuple[ToolChoice, ...] = ()
    facts: tuple[Fact, ...] = ()
    floors: tuple[Fact, ...] = ()
    diagnostics: tuple[Diagnostic, ...] = ()
    planner_inputs: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class LaneStatus:
    """One row of `atoll doctor` for a lane: an empty cell has its reason and its fix.

    Attributes:
        found: What was found (``g++ 12.2.0 at /usr/bin/g++``), or empty.
        payload: The payload that would serve, and whether it is in the store; or empty.
        can_build: True, False, or None where it cannot be told without fetching.
        reason: Why not, where `can_build` is not True.
        fix: What to type, where `can_build` is not True.
    """

    lane: str
    found: str = ""
    payload: str = ""
    can_build: bool | None = None
    reason: str = ""
    fix: str = ""


class Lane(Protocol):
    """A plugin that compiles one device language.

    Three members may be left out and so are not listed: ``processor``, true where its units are also compiled
    for the processor, in every build; ``through``, the backends of another entry that its units can be
    compiled for beside their own (``NAME, OTHER1.0+{arch}``); and ``tied``, true where its units need the C++
    library whatever their author writes, and the lane keeps inside what they throw.
    """

    @property
    def name(self) -> str:
        """The name that ``[build] lanes`` lists."""
        ...

    @property
    def extensions(self) -> Mapping[str, UnitKind]:
        """What it does with each extension it claims (``.cu``)."""
        ...

    @property
    def backends(self) -> Mapping[str, BackendRules]:
        """The accel backends it can compile for, with what it knows about each."""
        ...

    def payloads(self, request: LaneRequest) -> tuple[Payload, ...]:
        """Return what must be in the store before planning; empty where the host or an override serves."""
        ...

    def plan(self, request: LaneRequest) -> LanePlan:
        """Return the actions that compile the units.

        Raises:
            LaneError: Where it refuses, naming both sides.
        """
        ...

    def status(self, environment: Mapping[str, str], stored: frozenset[str]) -> LaneStatus:
        """Return its row of `atoll doctor`; `stored` names the payloads already in the store."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class LinkRequest:
    """One link.

    Attributes:
        request: The lane's general facts, as for :meth:`Lane.plan`.
        kind: ``executable``, ``shared``, ``static`` or ``module`` (a Python extension).
        output: The file to write, relative to the root.
        inputs: Objects, in order.
        args: What lanes and the manifest add (``-lm``), after the inputs.
        exports: Symbols to keep visible in a shared object; None for all.
    """

    request: LaneRequest
    kind: str
    output: str
    inputs: tuple[str, ...]
    args: tuple[str, ...] = ()
    exports: tuple[str, ...] | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class HostTools:
    """What the host compiler of a build is, for build programs and for matching prebuilt files.

    Attributes:
        cc / cxx: The C and the C++ driver.
        family: ``gcc`` or ``clang``.
        version: As it states it.
        cxx_library: The C++ library in use, as ``libstdc++ 12``; empty where it could not be told.
        abi: The ABI tag of what it makes, as :class:`atoll.artifact.Abi` reads it; empty where not told.
    """

    cc: str
    cxx: str
    family: str
    version: str
    cxx_library: str = ""
    abi: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class FoundPackage:
    """A library of this machine that a target names in `links`.

    Attributes:
        kind / name: As the manifest asks for it.
        version: As its own description states it; empty where it states none.
        flags: What compiling against it needs.
        libraries: What linking it needs.
        requires: How another project asks for it, for what this project installs: the kind's own names.
        why: Which program said so, and from what.
        inputs: Files and folders whose change makes the answer stale.
    """

    kind: str
    name: str
    version: str
    flags: tuple[str, ...] = ()
    libraries: tuple[str, ...] = ()
    requires: tuple[str, ...] = ()
    why: str = ""
    inputs: tuple[str, ...] = ()


#: The name of the one lane that every build has.
HOST = "host"


class HostLane(Lane, Protocol):
    """The lane that also links and archives; it is registered as `HOST`."""

    def fallback(self, request: LaneRequest) -> tuple[Payload, ...]:
        """Return what brings a compiler where none is installed; empty where one is, or another is named."""
        ...

    def package(self, request: LaneRequest, kind: str, name: str) -> FoundPackage:
        """Return what a library of this machine needs; `kind` is a key of `links`.

        Raises:
            LaneError: Where it is not there, or the tool that knows it is not.
        """
        ...

    def describe(self, request: LaneRequest) -> HostTools:
        """Return the compilers of a build, its C++ library and its ABI tag."""
        ...

    def family(self, request: LaneRequest) -> str:
        """Return the host compiler's family for ``cfg(compiler = "…")``: ``gcc`` or ``clang``."""
        ...

    def link(self, link: LinkRequest) -> LanePlan:
        """Return the actions of one link."""
        ...
