"""The lane of the host compiler: C and C++ units, links, archives, Python extension modules.

Its units are not device units. Which compiler is taken is :mod:`atoll_plugins.formats.host_compilers`.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from atoll.accel import BackendRules
from atoll.diagnostics import Diagnostic
from atoll.errors import LaneError
from atoll.graph import Action, Role
from atoll.plugin import (
    FoundPackage,
    HostTools,
    LanePlan,
    LaneRequest,
    LaneStatus,
    LinkRequest,
    ObjectProduct,
    ToolChoice,
    Unit,
    UnitKind,
)
from atoll.plugin.options import check_options, list_option, text_option
from atoll.plugin.tools import argument, output_path
from atoll.plugin.values import dataclass, replace
from atoll.store import Payload, PayloadRoot
from atoll_plugins.formats.host_compilers import (
    Compiler,
    choose,
    identity,
    read_compiler,
    stages,
    tool_path,
)
from atoll_plugins.formats.hosts import LINUX, WINDOWS
from atoll_plugins.host import zig
from atoll_plugins.host.linking import plan_link
from atoll_plugins.host.modules import plan_modules
from atoll_plugins.host.names import shown
from atoll_plugins.host.platforms import PLATFORMS

OPTIONS = ("compiler", "flags")
# Flags that would move code of ordinary units to a device: no unit, so no island.
_OFFLOAD = ("-fopenmp-targets", "-foffload", "-stdpar", "--stdpar", "-fsycl", "--hipstdpar")
_UNITS = (".c", ".cc", ".cpp", ".cxx", ".cppm")
#: Where `<atoll/target.h>` lies.
_TARGET_HEADER = str(Path(__file__).resolve().with_name("include"))
_HEADERS = (".h", ".hh", ".hpp", ".hxx", ".inl", ".ipp")


class HostLane:
    """Compiles and links with g++ or clang."""

    name = "host"
    extensions: Mapping[str, UnitKind] = {
        **dict.fromkeys(_UNITS, UnitKind.UNIT),
        **dict.fromkeys(_HEADERS, UnitKind.HEADER),
    }
    backends: Mapping[str, BackendRules] = {}

    def payloads(self, request: LaneRequest) -> tuple[Payload, ...]:
        """Return nothing: the host compiler is the host's, or comes by :meth:`fallback`."""
        return ()

    def fallback(self, request: LaneRequest) -> tuple[Payload, ...]:
        """Return the wheel of a host compiler, where the project names it or nothing else is on PATH."""
        named = text_option(self.name, request, "compiler") if "compiler" in request.options else None
        if request.host != LINUX or named not in (None, zig.NAME):
            return ()
        return (zig.PAYLOAD,) if named == zig.NAME or choose(None, request.environment) is None else ()

    def plan(self, request: LaneRequest) -> LanePlan:
        """Return one object for each unit.

        Raises:
            LaneError: Where there is no compiler, a flag offloads, or modules cannot be built.
        """
        check_options(self.name, request, OPTIONS)
        _refuse_offload(request)
        if not request.units:
            return LanePlan()
        compiler, tool = chosen(request)
        key = identity(compiler, request.environment)
        programs = tuple(str(path) for path in stages(compiler, request.environment))
        flags = list_option(self.name, request, "flags")
        how = _How(compiler, key, programs, tool_environment(request), flags)
        built = [_compile(request, unit, how) for unit in request.units]
        modules = plan_modules(request, compiler, built)
        return LanePlan(
            actions=modules.actions,
            objects=modules.objects,
            tools=(tool, *modules.tools),
            planner_inputs=(*programs, *modules.planner_inputs),
        )

    def link(self, link: LinkRequest) -> LanePlan:
        """Return the actions of one link or archive."""
        _refuse_offload(link.request, link.args)
        compiler, tool = chosen(link.request)
        return plan_link(link, compiler, tool)

    def describe(self, request: LaneRequest) -> HostTools:
        """Return the compilers of a build, its C++ library and its ABI tag.

        Raises:
            LaneError: Where there is no host compiler.
        """
        from atoll_plugins.host.describe import describe

        return describe(chosen(request)[0], request)

    def package(self, request: LaneRequest, kind: str, name: str) -> FoundPackage:
        """Return what a library of this machine needs.

        Raises:
            LaneError: Where pkg-config or CMake is missing or does not know it.
        """
        # Most projects name no library of the machine.
        from atoll_plugins.host.packages import find_package

        return find_package(request, chosen(request)[0], kind, name)

    def family(self, request: LaneRequest) -> str:
        """Return ``gcc`` or ``clang``.

        Raises:
            LaneError: Where there is no host compiler.
        """
        return chosen(request)[0].family

    def status(self, environment: Mapping[str, str], stored: frozenset[str]) -> LaneStatus:
        """Say which compiler would be taken: one on PATH, else the wheel's where this machine has one."""
        found = choose(None, environment)
        if found is not None:
            return LaneStatus(lane=self.name, found=str(found[0]), can_build=True)
        import platform
        import sys

        name, reason = zig.PAYLOAD.name, "no g++ and no clang++ on PATH"
        if name in stored:
            payload = f"{name} (in the store)"
            return LaneStatus(lane=self.name, found=f"{name} in the store", payload=payload, can_build=True)
        served = sys.platform == LINUX and platform.machine() == zig.MACHINE
        return LaneStatus(
            lane=self.name,
            payload=f"{name} (not in the store)" if served else "",
            can_build=None if served else False,
            reason=f"{reason}; the payload is not fetched yet" if served else reason,
            fix="install g++ (Debian: apt-get install g++)" + (", or build: it is fetched" if served else ""),
        )


def chosen(request: LaneRequest) -> tuple[Compiler, ToolChoice]:
    """Return the host compiler of a build and how it is recorded.

    Raises:
        LaneError: Where there is none.
    """
    wanted = text_option("host", request, "compiler") if "compiler" in request.options else None
    stored = request.tools.get(zig.PAYLOAD.name)
    if stored is not None:
        return _of_payload(stored, wanted, request)
    found = choose(wanted, request.environment, PLATFORMS[request.host].families)
    if found is None:
        raise LaneError(_no_compiler(wanted, request))
    compiler, why = found
    return compiler, ToolChoice(
        name="host compiler", path=str(compiler.cxx), version=f"{compiler.family} {compiler.version}", why=why
    )


def _of_payload(stored: PayloadRoot, wanted: str | None, request: LaneRequest) -> tuple[Compiler, ToolChoice]:
    """Return the compiler of the wheel, which calls itself clang."""
    cxx, cc = zig.programs(stored, request.environment)
    compiler = read_compiler(cxx, request.environment)
    if compiler is None:
        raise LaneError(_no_compiler(wanted, request))
    why = f"the project names `{wanted}`" if wanted else "no host compiler on PATH"
    return replace(compiler, cc=cc), ToolChoice(
        name="host compiler",
        path=str(cxx),
        version=f"{zig.PAYLOAD.name}, clang {compiler.version}",
        why=f"{why}; {stored.why}",
    )


def _no_compiler(wanted: str | None, request: LaneRequest) -> Diagnostic:
    path = f"PATH is: {request.environment.get('PATH') or '(empty)'}"
    families = PLATFORMS[request.host].families
    # Elsewhere both are driven, and nobody has to be told.
    alone = () if "gcc" in families else (f"on {request.host} it drives: {', '.join(families)}",)
    if wanted is not None:
        return Diagnostic(
            code="ATL0509",
            message=f"the host compiler `{wanted}` is not there or is no C++ compiler",
            notes=(f"`[lane.host] compiler` names: {wanted}", *alone, path),
            hint="name an installed compiler, or remove the key",
        )
    first = "g++" if "gcc" in families else "clang++"
    looked = ("g++, g++-N, " if "gcc" in families else "") + "clang++, clang++-N"
    how = "g++ (Debian: apt-get install g++)" if request.host == LINUX else first
    return Diagnostic(
        code="ATL0500",
        message="no host compiler was found",
        notes=(f"looked for: {looked}", *alone, path),
        hint=f"install {how}, or set `[lane.host] compiler`",
    )


def _refuse_offload(request: LaneRequest, ldflags: tuple[str, ...] = ()) -> None:
    given = [("cflags", flag) for flag in request.cflags] + [("cxxflags", flag) for flag in request.cxxflags]
    given += [("ldflags", flag) for flag in ldflags]
    given += [("flags", flag) for flag in list_option("host", request, "flags")]
    given += [(unit.path, flag) for unit in request.units for flag in unit.flags]
    offload = {flag for flag in {flag for _, flag in given} if is_offload(flag)}
    wrong = [(place, flag) for place, flag in given if flag in offload]
    if wrong:
        raise LaneError(*(_offload(place, flag) for place, flag in dict.fromkeys(wrong)))


def is_offload(flag: str) -> bool:
    """Tell whether a general flag moves code of ordinary units to a device."""
    if flag.startswith(("-foffload=disable", "-foffload-options")):
        return False
    return any(flag == word or flag.startswith((f"{word}=", f"{word}-")) for word in _OFFLOAD)


def _offload(place: str, flag: str) -> Diagnostic:
    return Diagnostic(
        code="ATL0501",
        message=f"the flag `{flag}` would move code of ordinary units to a device",
        notes=(f"it stands in: {place}", "no unit can be named for it, so no island exists"),
        hint="put the device code into units of a lane; docs/explanation/no-island.md says why",
    )


@dataclass(frozen=True, slots=True)
class _How:
    """What all compilations of a build have: compiler, identity, stages, what they see, further flags."""

    compiler: Compiler
    key: str
    programs: tuple[str, ...]
    env: tuple[tuple[str, str], ...]
    flags: tuple[str, ...]


def _compile(request: LaneRequest, unit: Unit, how: _How) -> tuple[Action, ObjectProduct]:
    named = unit.named or unit.path
    out = output_path(request.build, "host", unit.target, named) + ".o"
    depfile = out[:-2] + ".d"
    is_c = unit.path.endswith(".c")
    driver = how.compiler.cc if is_c else how.compiler.cxx
    argv = (
        str(driver),
        *(request.cflags if is_c else (f"-std={request.cxx_standard}", *request.cxxflags)),
        *compile_flags(request, unit),
        *how.flags,
        *unit.flags,
        *("-MD", "-MF", depfile, "-c", argument(unit.path), "-o", out),
    )
    action = Action(
        name=f"host {unit.target} {shown(named)}",
        argv=argv,
        inputs=(unit.path, *unit.force_include, *unit.reads, *how.programs),
        outputs=(out,),
        role=Role.OBJECT,
        depfile=depfile,
        env=how.env,
        key=how.key,
        description=f"compile {shown(named)}",
    )
    return action, ObjectProduct(path=out, unit=unit)


def compile_flags(request: LaneRequest, unit: Unit) -> tuple[str, ...]:
    """Return what every unit is compiled with: profile, hygiene, includes, defines."""
    flags = [f"-O{request.optimise}", *(("-g",) if request.debug else ("-DNDEBUG",))]
    flags += ["-ffp-contract=off"]
    flags += ["-fPIC"] if unit.position_independent and request.host != WINDOWS else []
    flags += ["-fvisibility=hidden"] if unit.hidden else []
    flags += [f"-I{folder}" for folder in (*unit.includes, _TARGET_HEADER)]
    flags += [f"-D{define}" for define in unit.defines]
    for header in unit.force_include:
        flags += ["-include", header]
    return tuple(flags)


def tool_environment(request: LaneRequest) -> tuple[tuple[str, str], ...]:
    """Return what an action of a host compiler sees: the folders of tools on its PATH, and the C locale."""
    return (("LC_ALL", "C"), ("PATH", tool_path(request.environment)))
