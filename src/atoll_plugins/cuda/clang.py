"""Can clang compile CUDA with the toolkit at hand, and how is it spelled?

Whether it can is asked of the whole pipe, never of version numbers: a small unit with a launch, shared
memory and maths is compiled for the very code that the build asks for and linked with the runtime. The answer
is kept under the bytes of every program that took part. Words: the *pipe* is clang, ptxas, fatbinary and a
linker.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import tempfile
from collections.abc import Mapping
from pathlib import Path, PurePosixPath

from atoll.diagnostics import Diagnostic
from atoll.errors import LaneError
from atoll.graph import Action, Role
from atoll.plugin import LanePlan, LaneRequest, ObjectProduct, ToolChoice, Unit
from atoll.plugin.options import list_option, text_option
from atoll.plugin.tools import ask, cache_folder, find_program, fingerprint, write_atomic
from atoll_plugins.cuda.fatbin import MAGIC
from atoll_plugins.cuda.shell import seen, staging
from atoll_plugins.cuda.toolkit import Toolkit, is_clang
from atoll_plugins.cuda.units import archs_of, spelled
from atoll_plugins.formats.host_compilers import Compiler, choose, read_compiler, tool_path
from atoll_plugins.formats.hosts import WINDOWS

STUB = Path(__file__).resolve().with_name("stub")
#: Where `<atoll/target.h>` lies.
HEADERS = Path(__file__).resolve().with_name("include")
MEMORY = 1 << 30
STAGES = ("ptxas", "fatbinary")
_PROBE = """\
#include <cmath>
__constant__ float factor = 2;
__global__ void probe(float *x, int n) {
  __shared__ float part[64];
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  part[threadIdx.x % 64] = i < n ? sqrtf(x[i]) * factor : 0;
  __syncthreads();
  if (i < n) atomicAdd(&x[i], std::fabs(part[threadIdx.x % 64]));
}
int main() {
  float *x = nullptr;
  if (cudaMalloc(&x, 256) != cudaSuccess) return 77;
  probe<<<1, 64>>>(x, 64);
  return cudaDeviceSynchronize();
}
"""


def clang_at_hand(request: LaneRequest) -> tuple[Compiler, str, bool] | None:
    """Return the clang that would compile, why, and whether the project names it for CUDA; else None.

    Raises:
        LaneError: Where the project names one that is not there.
    """
    named = text_option("cuda", request, "compiler")
    if named is not None and not is_clang(named):
        return None
    if named is None:
        # nvcc drives no compiler of Windows that a plan speaks to, so clang is looked for first there.
        families = ("clang",) if request.host == WINDOWS else ("gcc", "clang")
        found = choose(request.host_compiler or None, request.environment, families)
        if found is None or found[0].family != "clang":
            return None
        return found[0], "the host compiler of the project", False
    path = find_program(named, request.environment)
    compiler = read_compiler(path, request.environment) if path else None
    if compiler is None or compiler.family != "clang":
        raise LaneError(
            Diagnostic(
                code="ATL0509",
                message="the CUDA compiler that the project names is not there or is no clang",
                notes=(
                    f"`[lane.cuda] compiler` names: {named}",
                    f"PATH is: {request.environment.get('PATH') or '(empty)'}",
                ),
                hint="remove the key to let the lane choose, or name a clang",
            )
        )
    return compiler, f"the project names `{named}`", True


def why_not(request: LaneRequest, clang: Compiler, toolkit: Toolkit) -> str:
    """Return why clang cannot compile the units of a build; empty where it can."""
    # Clang would take one that it finds on PATH.
    lacking = next((name for name in STAGES if not toolkit.program(name).is_file()), "")
    if lacking:
        return f"the toolkit lacks `{lacking}`"
    flags: dict[tuple[str, ...], None] = {}
    for unit in request.units:
        level = _bare_floor(unit)
        if level:
            return f"it makes PTX only beside machine code, and no `sm_{level}` is asked for `{unit.path}`"
        flags[code_flags(unit)] = None
    return next(filter(None, (pipe(clang, toolkit, each, request.environment) for each in flags)), "")


def refusal(clang: Compiler, toolkit: Toolkit, reason: str) -> Diagnostic:
    """Return the refusal of a clang that the project names."""
    return Diagnostic(
        code="ATL0530",
        message="the clang that the project names does not compile CUDA for this build",
        notes=(f"clang: {clang}", f"toolkit: {toolkit.version} at {toolkit.root}", f"reason: {reason}"),
        hint="remove `[lane.cuda] compiler` to let nvcc compile, or name another clang",
    )


def _bare_floor(unit: Unit) -> str:
    assert unit.entry is not None
    floor = unit.entry.floor
    return str(floor.value) if floor is not None and f"sm_{floor.value}" not in archs_of(unit) else ""


def code_flags(unit: Unit) -> tuple[str, ...]:
    """Return one flag an architecture, and PTX for the floor alone."""
    assert unit.entry is not None
    floor = unit.entry.floor
    return (
        *(f"--cuda-gpu-arch={arch}" for arch in sorted(archs_of(unit))),
        "--no-cuda-include-ptx=all",
        *((f"--cuda-include-ptx=sm_{floor.value}",) if floor is not None else ()),
    )


def _base(toolkit: Toolkit) -> tuple[str, ...]:
    return (
        *("-x", "cuda", f"--cuda-path={toolkit.root}", "-Wno-unknown-cuda-version"),
        *("-idirafter", str(STUB)),
    )


def programs_of(clang: Compiler, toolkit: Toolkit) -> tuple[Path, ...]:
    """Return clang and the stages of the toolkit that it starts, as far as they are there."""
    stages = (toolkit.program(name) for name in STAGES)
    return (clang.cxx.resolve(), *(path.resolve() for path in stages if path.is_file()))


def pipe(clang: Compiler, toolkit: Toolkit, flags: tuple[str, ...], environment: Mapping[str, str]) -> str:
    """Return why the whole pipe does not work for these flags; empty where it does."""
    parts = (
        fingerprint(programs_of(clang, toolkit), environment),
        toolkit.digest,
        str(toolkit.root),
        *flags,
        _PROBE,
    )
    name = hashlib.sha256("\0".join(parts).encode()).hexdigest()[:32]
    kept = cache_folder(environment, "cuda-pipe") / f"{name}.json"
    try:
        return str(json.loads(kept.read_text(encoding="utf-8"))["reason"])
    except (OSError, ValueError, KeyError, TypeError):
        reason = _tried(clang, toolkit, flags, environment)
    with contextlib.suppress(OSError):  # it is asked again the next time
        write_atomic(kept, json.dumps({"reason": reason}))
    return reason


def _tried(clang: Compiler, toolkit: Toolkit, flags: tuple[str, ...], environment: Mapping[str, str]) -> str:
    with tempfile.TemporaryDirectory(prefix="atoll-pipe-") as folder:
        here = Path(folder)
        (here / "probe.cu").write_text(_PROBE, encoding="utf-8")
        compiling = (str(clang.cxx), *_base(toolkit), *flags, "-O2", "-c", "probe.cu", "-o", "probe.o")
        linking = (
            *(str(clang.cxx), "probe.o", f"-L{toolkit.libraries}", *toolkit.static_runtime),
            *("-o", "probe"),
        )
        for step, argv in (("compiling", compiling), ("linking", linking)):
            answer = ask(argv, environment, timeout=120.0, cwd=here)
            if answer is None:
                return f"{step} a probe did not end"
            if answer.status != 0:
                return f"{step} a probe says: {_first_error(answer.err)}"
        return "" if MAGIC in (here / "probe.o").read_bytes() else "its object holds no device code"


def _first_error(text: str) -> str:
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    found = next((line for line in lines if "error" in line), lines[0] if lines else "nothing")
    return found[:400]


def plan_clang(request: LaneRequest, clang: Compiler, toolkit: Toolkit, why: str) -> LanePlan:
    """Return one object for each unit; the pipe has passed its probe."""
    programs = programs_of(clang, toolkit)
    key = f"{fingerprint(programs, request.environment)} {toolkit.digest}"
    built = [_compile(request, unit, clang, toolkit, key, programs) for unit in request.units]
    return LanePlan(
        actions=(*staging(request), *(action for action, _ in built)),
        objects=tuple(product for _, product in built),
        tools=(
            ToolChoice(
                name="clang as a CUDA compiler",
                path=str(clang.cxx),
                version=clang.version,
                why=f"{why}; a probe of the whole pipe passed",
            ),
            ToolChoice(name="CUDA toolkit", path=str(toolkit.root), version=toolkit.version, why=toolkit.why),
        ),
        planner_inputs=tuple(str(path) for path in programs),
    )


def _compile(
    request: LaneRequest,
    unit: Unit,
    clang: Compiler,
    toolkit: Toolkit,
    key: str,
    programs: tuple[Path, ...],
) -> tuple[Action, ObjectProduct]:
    # clang starts no shell, but `fatbinary` stumbles over a quote in a name made after the source's.
    shown = seen(request, unit)
    out, depfile = f"{shown.out}.o", f"{shown.out}.d"
    argv = (
        *(str(clang.cxx), *_base(toolkit), *code_flags(unit), f"-std={request.cxx_standard}"),
        f"-O{request.optimise}",
        *(("-g",) if request.debug else ("-DNDEBUG",)),
        *(("-fPIC",) if unit.position_independent and request.host != WINDOWS else ()),
        *(("-fvisibility=hidden",) if unit.hidden else ()),
        *(f"-I{folder}" for folder in (*unit.includes, HEADERS)),
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
            *(str(path) for path in (*programs, *sorted(STUB.glob("*.h")))),
        ),
        outputs=(out,),
        role=Role.OBJECT,
        depfile=depfile,
        env=(("LC_ALL", "C"), ("PATH", tool_path(request.environment))),
        key=key,
        memory=MEMORY,
        description=f"compile {PurePosixPath(unit.path)} for {spelled(unit.entry) if unit.entry else 'cuda'}",
    )
    return action, ObjectProduct(path=out, unit=unit)
