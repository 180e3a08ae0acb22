"""The lane of CUDA C++: `.cu` units compiled by nvcc, the runtime linked in statically.

The toolkit is :mod:`atoll_plugins.cuda.toolkit`, the bound of the host compiler
:mod:`atoll_plugins.cuda.hostbound`, what an architecture means :mod:`atoll_plugins.cuda.rules`.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from atoll.accel import BackendRules, Entry
from atoll.artifact import Fact
from atoll.diagnostics import Diagnostic
from atoll.errors import LaneError
from atoll.graph import Action, Role
from atoll.plugin import LanePlan, LaneRequest, LaneStatus, ObjectProduct, ToolChoice, Unit, UnitKind
from atoll.plugin.options import check_options, list_option, text_option
from atoll.plugin.tools import argument, fingerprint
from atoll.store import Payload
from atoll_plugins.cuda.hostbound import choose_host, read_bound
from atoll_plugins.cuda.probe import devices_present
from atoll_plugins.cuda.rules import CudaRules
from atoll_plugins.cuda.shell import refuse_expanded, seen, staging
from atoll_plugins.cuda.toolkit import (
    DRIVER_FLOORS,
    PAYLOADS,
    PINNED,
    Toolkit,
    dry_run,
    locate,
    missing_stage,
    needed_payload,
)
from atoll_plugins.formats.host_compilers import Compiler, identity, tool_path
from atoll_plugins.formats.host_compilers import stages as host_stages

OPTIONS = ("compiler", "host-compiler", "version", "flags")
_MEMORY = 1 << 30


class CudaLane:
    """Compiles `.cu` with nvcc."""

    name = "cuda"
    extensions: Mapping[str, UnitKind] = {".cu": UnitKind.UNIT, ".cuh": UnitKind.HEADER}
    backends: Mapping[str, BackendRules] = {"cuda": CudaRules()}

    def payloads(self, request: LaneRequest) -> tuple[Payload, ...]:
        """Return the toolkit's wheels, where units and set need them and no toolkit is named."""
        check_options(self.name, request, OPTIONS)
        if not request.units or request.accel.get("cuda") is None:
            return ()
        _check_entries(request)
        payload = needed_payload(request)
        return (payload,) if payload else ()

    def plan(self, request: LaneRequest) -> LanePlan:
        """Return one object for each unit.

        Raises:
            LaneError: For an entry it cannot compile for, a toolkit that is not whole or too old, and a
                host compiler outside the toolkit's bound.
        """
        check_options(self.name, request, OPTIONS)
        if not request.units:
            return LanePlan()
        _check_entries(request)
        toolkit = locate(request)
        bound = read_bound(toolkit.host_config)
        wanted = text_option(self.name, request, "host-compiler")
        host, why = choose_host(bound, wanted, toolkit.version, request.environment)
        programs = _check_stages(request, toolkit, host)
        key = f"{fingerprint(programs)} {identity(host, request.environment)} {toolkit.digest}"
        refuse_expanded(request)
        built = [_compile(request, unit, toolkit, host, key, programs) for unit in request.units]
        return LanePlan(
            actions=(*staging(request), *(action for action, _ in built)),
            objects=tuple(product for _, product in built),
            link_args=(f"-L{toolkit.libraries}", "-lcudart_static", "-lrt", "-lpthread", "-ldl"),
            tools=(
                ToolChoice(name="nvcc", path=str(toolkit.nvcc), version=toolkit.version, why=toolkit.why),
                ToolChoice(
                    name="host compiler of nvcc",
                    path=str(host.cxx),
                    version=f"{host.family} {host.version}",
                    why=why,
                ),
            ),
            floors=_floors(toolkit),
            planner_inputs=tuple(str(path) for path in (*programs, toolkit.host_config)),
        )

    def status(self, environment: Mapping[str, str], stored: frozenset[str]) -> LaneStatus:
        """Say whether the payload is in the store, and whether a host compiler is there."""
        payload = PAYLOADS[PINNED]
        have = payload.name in stored
        try:
            host, _ = choose_host(read_bound(Path()), None, PINNED, environment)
        except LaneError as error:
            return LaneStatus(
                lane=self.name,
                payload=payload.name,
                can_build=False,
                reason=error.diagnostics[0].message,
                fix=error.diagnostics[0].hint or "",
            )
        return LaneStatus(
            lane=self.name,
            found=f"nvcc {PINNED} in the store, driving {host}" if have else "",
            payload=f"{payload.name} ({'in the store' if have else 'not in the store'})",
            can_build=True if have else None,
            reason="" if have else "the toolkit is fetched by the first build that needs it",
            fix="" if have else f"atoll toolchain add {payload.name}",
        )


def _floors(toolkit: Toolkit) -> tuple[Fact, ...]:
    driver = DRIVER_FLOORS.get(toolkit.release[0])
    return (Fact(name="cuda.driver", relation=">=", value=driver),) if driver else ()


def _check_entries(request: LaneRequest) -> None:
    faults: dict[Diagnostic, None] = {}
    for unit in request.units:
        entry = unit.entry
        if entry is None or entry.backend != "cuda":
            faults[_foreign(unit)] = None
            continue
        if not archs_of(unit) and entry.floor is None:
            faults[_undecided(request, entry)] = None
        refused = CudaRules().check(entry)
        if refused is not None:
            reason, hint = refused
            note = f"the entry: {_spell(entry)}"
            faults[Diagnostic(code="ATL0508", message=reason, notes=(note,), hint=hint)] = None
    if faults:
        raise LaneError(*faults)


def _foreign(unit: Unit) -> Diagnostic:
    return Diagnostic(
        code="ATL0514",
        message=f"`{unit.path}` is sent to the lane `cuda` for another backend",
        notes=("the lane compiles for: cuda", f"asked: {unit.entry.backend if unit.entry else 'no entry'}"),
        hint='write `accel = "cuda"` at its source entry',
    )


def _undecided(request: LaneRequest, entry: Entry) -> Diagnostic:
    present = devices_present(request.environment)
    example = present[0].rsplit("(", 1)[1].rstrip(")") if present else "sm_90"
    here = f"; here is {', '.join(present)}" if present else ""
    return Diagnostic(
        code="ATL0503",
        message="the entry `cuda` names neither an architecture nor a floor",
        notes=(
            f"the build's entry: {_spell(entry)}",
            "nvcc compiles ahead of time and must be told for what",
        ),
        hint=f"write `cuda+{{{example}}}`, or a floor such as `cuda ptx>=80`{here}",
    )


def _spell(entry: Entry) -> str:
    text = entry.backend + (str(entry.version) if entry.version else "")
    text += f"+{{{', '.join(entry.archs)}}}" if entry.archs else ""
    return text + (f" {entry.floor.word}>={entry.floor.value}" if entry.floor else "")


def archs_of(unit: Unit) -> tuple[str, ...]:
    """Return the architectures a unit gets machine code for."""
    assert unit.entry is not None
    return unit.archs if unit.archs is not None else unit.entry.archs


def code_flags(unit: Unit) -> tuple[str, ...]:
    """Return ``-gencode`` once an architecture, and once for PTX at the floor."""
    assert unit.entry is not None
    flags: list[str] = []
    for arch in sorted(archs_of(unit)):
        level = arch.rpartition("_")[2]
        flags += ["-gencode", f"arch=compute_{level},code={arch}"]
    floor = unit.entry.floor
    if floor is not None:
        flags += ["-gencode", f"arch=compute_{floor.value},code=compute_{floor.value}"]
    return tuple(flags)


def _check_stages(request: LaneRequest, toolkit: Toolkit, host: Compiler) -> tuple[Path, ...]:
    """Return nvcc and every stage it would run; refuse where one is missing or an arch is unknown."""
    stages: dict[Path, None] = {toolkit.nvcc: None}
    for flags in dict.fromkeys(code_flags(unit) for unit in request.units):
        planned = dry_run(toolkit.nvcc, (*flags, "-ccbin", str(host.cxx)), request.environment)
        if planned is None:
            continue
        if planned.refusal:
            raise LaneError(_refused_by_nvcc(planned.refusal, flags, toolkit))
        for word, path in planned.stages:
            if path is None:
                raise LaneError(missing_stage(word, Path(word).name, str(toolkit.root)))
            stages[path.resolve()] = None
    for name in ("include/cuda_runtime.h", "include/crt/host_config.h"):
        if toolkit.digest and not (toolkit.root / name).is_file():
            raise LaneError(missing_stage(str(toolkit.root / name), Path(name).name, str(toolkit.root)))
    if not (toolkit.libraries / "libcudart_static.a").is_file():
        where = toolkit.libraries / "libcudart_static.a"
        raise LaneError(missing_stage(str(where), where.name, str(toolkit.root)))
    host_programs = set(host_stages(host, request.environment))
    return tuple(path for path in stages if path not in host_programs)


def _refused_by_nvcc(refusal: str, flags: tuple[str, ...], toolkit: Toolkit) -> Diagnostic:
    return Diagnostic(
        code="ATL0508",
        message="nvcc refuses what the build asks it to compile for",
        notes=(f"asked: {' '.join(flags)}", f"nvcc {toolkit.version} says: {refusal}"),
        hint="name architectures that this toolkit compiles for",
    )


def _compile(
    request: LaneRequest,
    unit: Unit,
    toolkit: Toolkit,
    host: Compiler,
    key: str,
    programs: tuple[Path, ...],
) -> tuple[Action, ObjectProduct]:
    shown = seen(request, unit)
    out, depfile = f"{shown.out}.o", f"{shown.out}.d"
    passed = [*(("-fPIC",) if unit.position_independent else ())]
    passed += ["-fvisibility=hidden"] if unit.hidden else []
    argv = (
        str(toolkit.nvcc),
        *code_flags(unit),
        *("-ccbin", str(host.cxx)),
        # Without it two runs differ in three bytes (notes/packaging.md 0.8).
        "--objdir-as-tempdir",
        f"-std={request.cxx_standard}",
        f"-O{request.optimise}",
        *(("-g", "-lineinfo") if request.debug else ("-DNDEBUG",)),
        *(("-Xcompiler", ",".join(passed)) if passed else ()),
        *(f"-I{folder}" for folder in unit.includes),
        *(f"-D{define}" for define in unit.defines),
        *(part for header in unit.force_include for part in ("-include", header)),
        *list_option("cuda", request, "flags"),
        *unit.flags,
        *shown.flags,
        *("-MD", "-MF", depfile, "-c", shown.source, "-o", out),
    )
    action = Action(
        name=f"cuda {unit.target} {unit.path}",
        argv=argv,
        inputs=(
            *dict.fromkeys((unit.path, *((shown.source,) if shown.action else ()), *unit.force_include)),
            *(str(path) for path in programs),
        ),
        outputs=(out,),
        role=Role.OBJECT,
        depfile=depfile,
        env=(("LC_ALL", "C"), ("PATH", tool_path(request.environment))),
        key=key,
        memory=_MEMORY,
        description=f"compile {unit.path} for {_spell(unit.entry) if unit.entry else 'cuda'}",
    )
    return action, ObjectProduct(path=out, unit=unit, clang_argv=_for_editors(request, unit, toolkit))


def _for_editors(request: LaneRequest, unit: Unit, toolkit: Toolkit) -> tuple[str, ...]:
    """Return the compilation as clang spells it: one architecture, the toolkit named."""
    assert unit.entry is not None
    plain = [arch for arch in archs_of(unit) if arch.startswith("sm_")]
    level = plain[0] if plain else f"sm_{unit.entry.floor.value}" if unit.entry.floor else "sm_90"
    return (
        *("clang++", "-x", "cuda", f"--cuda-path={toolkit.root}", f"--cuda-gpu-arch={level}"),
        *("-Wno-unknown-cuda-version", f"-std={request.cxx_standard}"),
        *(f"-I{folder}" for folder in unit.includes),
        *(f"-D{define}" for define in unit.defines),
        *(part for header in unit.force_include for part in ("-include", header)),
        *("-c", argument(unit.path)),
    )
