"""How is each SYCL compiler driver spelled: Intel's icpx, DPC++'s clang++, AdaptiveCpp's acpp?

Their documented lines: DPC++ and icpx, "Users Manual" (``-fsycl``, ``-fsycl-targets``, ``-fsycl-link``);
AdaptiveCpp, "Using AdaptiveCpp" (``--acpp-targets``). None of them is in a package registry, so that these
plans are held by tests and were run by nobody here. A link by the host compiler needs the device code linked
first: that is an action of its own, once a target.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from atoll.accel import Entry
from atoll.diagnostics import Diagnostic
from atoll.errors import LaneError
from atoll.graph import Action, Role
from atoll.plugin import LanePlan, LaneRequest, ObjectProduct, RuntimeFolder, ToolChoice, Unit
from atoll.plugin.options import list_option, text_option
from atoll.plugin.tools import argument, ask, find_program, fingerprint, output_path
from atoll_plugins.formats.host_compilers import tool_path
from atoll_plugins.formats.hosts import LINUX, WINDOWS
from atoll_plugins.formats.lane_refusals import named_compiler

MEMORY = 2 << 30
ICPX, DPCPP, ACPP = "icpx", "dpcpp", "acpp"
_LIBRARIES = {ICPX: ("sycl",), DPCPP: ("sycl",), ACPP: ("acpp-rt", "acpp-common")}
_NAMES = {ICPX: "Intel's SYCL compiler", DPCPP: "DPC++", ACPP: "AdaptiveCpp"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Driver:
    """A SYCL compiler driver.

    Attributes:
        family: ``icpx``, ``dpcpp`` or ``acpp``; decides the spelling.
        path: The program.
        version: The first line of what it says of itself.
    """

    family: str
    path: Path
    version: str


def locate(request: LaneRequest) -> Driver | None:
    """Return the driver that the project names; None where it names none.

    Raises:
        LaneError: Where it is not there, or is no SYCL compiler.
    """
    named = text_option("sycl", request, "compiler")
    if named is None or named == "payload":
        return None
    path = find_program(named, request.environment)
    answer = ask((str(path), "--version"), request.environment, lasting=True) if path else None
    family = _family(path, answer.out) if path and answer and answer.status == 0 else ""
    if path is None or answer is None or not family:
        raise LaneError(named_compiler("sycl", named, "SYCL compiler", request))
    return Driver(family=family, path=path, version=answer.out.strip().splitlines()[0][:200])


def _family(path: Path, said: str) -> str:
    if "AdaptiveCpp" in said or "acpp" in said:
        return ACPP
    if "oneAPI DPC++" in said:
        return ICPX
    # A DPC++ of the open project calls itself clang; one that was never built for SYCL does too.
    return DPCPP if "clang version" in said and path.with_name("sycl-ls").exists() else ""


def check_cuda(request: LaneRequest) -> Entry | None:
    """Return the entry `cuda` beside `sycl`, for which SYCL is compiled ahead of time.

    Raises:
        LaneError: On Windows, where nobody publishes what it takes.
    """
    cuda = request.accel.get("cuda")
    if cuda is not None and request.host == WINDOWS:
        raise LaneError(
            Diagnostic(
                code="ATL0513",
                message="SYCL for NVIDIA is not compiled ahead of time on windows",
                notes=(
                    f"the build asks for: {request.accel}",
                    "what decides it: the NVIDIA plugin of the SYCL compilers is published for Linux alone",
                ),
                hint="build on Linux, or leave `cuda` out of the set",
            )
        )
    return cuda


def plan_driver(request: LaneRequest, driver: Driver) -> LanePlan:
    """Return one object for each unit, and one of linked device code for each target.

    Raises:
        LaneError: For `cuda` beside `sycl` on Windows.
    """
    cuda = check_cuda(request)
    key = fingerprint((driver.path.resolve(),), request.environment)
    built = [_compile(request, unit, driver, cuda, key) for unit in request.units]
    links = [] if driver.family == ACPP else _device_links(request, driver, cuda, built, key)
    folder = driver.path.resolve().parent.parent / "lib"
    return LanePlan(
        actions=(*(action for action, _ in built), *(action for action, _ in links)),
        objects=(*(product for _, product in built), *(product for _, product in links)),
        link_args=(f"-L{folder}", *(f"-l{name}" for name in _LIBRARIES[driver.family])),
        runtime=(RuntimeFolder(path=str(folder)),) if request.host == LINUX else (),
        tools=(
            ToolChoice(
                name=_NAMES[driver.family],
                path=str(driver.path),
                version=driver.version,
                why=f"the project names `{text_option('sycl', request, 'compiler')}`",
            ),
        ),
        planner_inputs=(str(driver.path.resolve()),),
    )


def code_flags(driver: Driver, cuda: Entry | None) -> tuple[str, ...]:
    """Return how a driver is told for what to compile: portable code, and NVIDIA's where the set names it."""
    archs = sorted(cuda.archs) if cuda is not None else []
    if driver.family == ACPP:
        return (f"--acpp-targets={';'.join(['generic', *(f'cuda:{arch}' for arch in archs)])}",)
    if cuda is None:
        return ("-fsycl",)
    told = "-Xsycl-target-backend=nvptx64-nvidia-cuda"
    named = (part for arch in archs for part in (told, f"--cuda-gpu-arch={arch}"))
    return ("-fsycl", "-fsycl-targets=nvptx64-nvidia-cuda,spir64", *named)


def _compile(
    request: LaneRequest, unit: Unit, driver: Driver, cuda: Entry | None, key: str
) -> tuple[Action, ObjectProduct]:
    windows = request.host == WINDOWS
    plain = output_path(request.build, "sycl", unit.target, unit.path)
    out, depfile = f"{plain}{'.obj' if windows else '.o'}", f"{plain}.d"
    argv = (
        *(str(driver.path), *code_flags(driver, cuda), "-x", "c++", f"-std={request.cxx_standard}"),
        f"-O{request.optimise}",
        *(("-g",) if request.debug else ("-DNDEBUG",)),
        *(("-fPIC",) if unit.position_independent and not windows else ()),
        *(("-fvisibility=hidden",) if unit.hidden and not windows else ()),
        *(f"-I{folder}" for folder in unit.includes),
        *(f"-D{define}" for define in unit.defines),
        *(part for header in unit.force_include for part in ("-include", header)),
        *list_option("sycl", request, "flags"),
        *unit.flags,
        *("-MD", "-MF", depfile, "-c", argument(unit.path), "-o", out),
    )
    action = Action(
        name=f"sycl {unit.target} {unit.path}",
        argv=argv,
        inputs=(unit.path, *unit.force_include, *unit.reads, str(driver.path.resolve())),
        outputs=(out,),
        role=Role.OBJECT,
        depfile=depfile,
        env=(("LC_ALL", "C"), ("PATH", tool_path(request.environment))),
        key=key,
        memory=MEMORY,
        description=f"compile {unit.path} by {driver.path.name}",
    )
    return action, ObjectProduct(path=out, unit=unit)


def _device_links(
    request: LaneRequest,
    driver: Driver,
    cuda: Entry | None,
    built: list[tuple[Action, ObjectProduct]],
    key: str,
) -> list[tuple[Action, ObjectProduct]]:
    made = []
    for target in dict.fromkeys(unit.target for unit in request.units):
        own = [product for _, product in built if product.unit.target == target]
        suffix = ".obj" if request.host == WINDOWS else ".o"
        out = output_path(request.build, "sycl", target, "device-code") + suffix
        objects = tuple(product.path for product in own)
        action = Action(
            name=f"sycl device link {target}",
            argv=(str(driver.path), *code_flags(driver, cuda), "-fsycl-link", *objects, "-o", out),
            inputs=(*objects, str(driver.path.resolve())),
            outputs=(out,),
            role=Role.OBJECT,
            env=(("LC_ALL", "C"), ("PATH", tool_path(request.environment))),
            key=key,
            memory=MEMORY,
            description=f"link the device code of {target}",
        )
        made.append((action, ObjectProduct(path=out, unit=own[0].unit)))
    return made
