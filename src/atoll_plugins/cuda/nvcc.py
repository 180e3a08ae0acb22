"""How does nvcc compile one unit, and does it reach every stage that it would run?"""

from __future__ import annotations

from pathlib import Path

from atoll.diagnostics import Diagnostic
from atoll.errors import LaneError
from atoll.graph import Action, Role
from atoll.plugin import LanePlan, LaneRequest, ObjectProduct, ToolChoice, Unit
from atoll.plugin.options import list_option
from atoll.plugin.tools import argument, fingerprint, output_path
from atoll_plugins.cuda.clang import HEADERS, STUB
from atoll_plugins.cuda.shell import refuse_expanded, seen, staging
from atoll_plugins.cuda.toolkit import Toolkit, dry_run, missing_stage
from atoll_plugins.cuda.units import archs_of, spelled
from atoll_plugins.formats.device_link import groups, wanted
from atoll_plugins.formats.host_compilers import Compiler, identity, tool_path
from atoll_plugins.formats.host_compilers import stages as host_stages

MEMORY = 1 << 30


def plan_nvcc(request: LaneRequest, toolkit: Toolkit, host: Compiler, why: str) -> LanePlan:
    """Return one object for each unit.

    Raises:
        LaneError: Where a stage is missing, nvcc refuses an architecture, or its shell would expand a word.
    """
    programs = check_stages(request, toolkit, host)
    key = (
        f"{fingerprint(programs, request.environment)} {identity(host, request.environment)} {toolkit.digest}"
    )
    refuse_expanded(request)
    built = [_compile(request, unit, toolkit, host, key, programs) for unit in request.units]
    links = _device_links(request, built, toolkit, host, key)
    return LanePlan(
        actions=(*staging(request), *(action for action, _ in built), *(action for action, _ in links)),
        objects=(*(product for _, product in built), *(product for _, product in links)),
        tools=(
            ToolChoice(name="nvcc", path=str(toolkit.nvcc), version=toolkit.version, why=toolkit.why),
            ToolChoice(
                name="host compiler of nvcc",
                path=str(host.cxx),
                version=f"{host.family} {host.version}",
                why=why,
            ),
        ),
        planner_inputs=tuple(str(path) for path in (*programs, toolkit.host_config)),
    )


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


def check_stages(request: LaneRequest, toolkit: Toolkit, host: Compiler) -> tuple[Path, ...]:
    """Return nvcc and every stage it would run, those of the host compiler left out.

    Raises:
        LaneError: Where one is missing, or nvcc does not know an architecture.
    """
    stages: dict[Path, None] = {toolkit.nvcc: None}
    for flags in dict.fromkeys(code_flags(unit) for unit in request.units):
        planned = dry_run(toolkit.nvcc, (*flags, "-ccbin", str(host.cxx)), request.environment)
        if planned is None:
            continue
        if planned.refusal:
            raise LaneError(_refused(planned.refusal, flags, toolkit))
        for word, path in planned.stages:
            if path is None:
                raise LaneError(missing_stage(word, Path(word).name, str(toolkit.root)))
            stages[path.resolve()] = None
    for name in ("include/cuda_runtime.h", "include/crt/host_config.h"):
        if toolkit.digest and not (toolkit.root / name).is_file():
            raise LaneError(missing_stage(str(toolkit.root / name), Path(name).name, str(toolkit.root)))
    host_programs = set(host_stages(host, request.environment))
    return tuple(path for path in stages if path not in host_programs)


def _refused(refusal: str, flags: tuple[str, ...], toolkit: Toolkit) -> Diagnostic:
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
        *(f"-I{folder}" for folder in (*unit.includes, HEADERS)),
        *(f"-D{define}" for define in unit.defines),
        *(part for header in unit.force_include for part in ("-include", header)),
        *list_option("cuda", request, "flags"),
        *unit.flags,
        *shown.flags,
        *("-MD", "-MF", depfile, "-dc" if wanted("cuda", request) else "-c", shown.source, "-o", out),
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
        memory=MEMORY,
        description=f"compile {unit.path} for {spelled(unit.entry) if unit.entry else 'cuda'}",
    )
    return action, ObjectProduct(path=out, unit=unit, clang_argv=_for_editors(request, unit, toolkit))


def _device_links(
    request: LaneRequest,
    built: list[tuple[Action, ObjectProduct]],
    toolkit: Toolkit,
    host: Compiler,
    key: str,
) -> list[tuple[Action, ObjectProduct]]:
    """Return one device link for each image, where the project asks for it."""
    made = []
    for group in groups(request) if wanted("cuda", request) else ():
        objects = tuple(product.path for _, product in built if product.unit in group.units)
        name = f"device-link{f'-{group.owner.root}' if group.owner.root else ''}.o"
        out = output_path(request.build, "cuda", group.target, name)
        flags = dict.fromkeys(code_flags(unit) for unit in group.units)
        action = Action(
            name=f"cuda device link {group.target} {group.owner.root}".rstrip(),
            argv=(
                *(str(toolkit.nvcc), *_joined(tuple(flags)), "-ccbin", str(host.cxx), "--objdir-as-tempdir"),
                *(
                    "-Xcompiler",
                    "-fPIC",
                    "-dlink",
                    *objects,
                    f"-L{toolkit.libraries}",
                    "-lcudadevrt",
                    "-o",
                    out,
                ),
            ),
            inputs=(*objects, str(toolkit.nvcc.resolve())),
            outputs=(out,),
            role=Role.OBJECT,
            env=(("LC_ALL", "C"), ("PATH", tool_path(request.environment))),
            key=key,
            memory=MEMORY,
            description=f"link the device code of {group.target}",
        )
        made.append((action, ObjectProduct(path=out, unit=group.owner)))
    return made


def _joined(flags: tuple[tuple[str, ...], ...]) -> tuple[str, ...]:
    """Return the ``-gencode`` pairs of several units, each once."""
    pairs = dict.fromkeys(pair for each in flags for pair in zip(each[::2], each[1::2], strict=True))
    return tuple(word for pair in pairs for word in pair)


def _for_editors(request: LaneRequest, unit: Unit, toolkit: Toolkit) -> tuple[str, ...]:
    """Return the compilation as clang spells it: one architecture, the toolkit named."""
    assert unit.entry is not None
    plain = [arch for arch in archs_of(unit) if arch.startswith("sm_")]
    level = plain[0] if plain else f"sm_{unit.entry.floor.value}" if unit.entry.floor else "sm_90"
    return (
        *("clang++", "-x", "cuda", f"--cuda-path={toolkit.root}", f"--cuda-gpu-arch={level}"),
        *("-Wno-unknown-cuda-version", "-idirafter", str(STUB), f"-std={request.cxx_standard}"),
        *(f"-I{folder}" for folder in (*unit.includes, HEADERS)),
        *(f"-D{define}" for define in unit.defines),
        *(part for header in unit.force_include for part in ("-include", header)),
        *("-c", argument(unit.path)),
    )
