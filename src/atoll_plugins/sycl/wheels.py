"""How is SYCL compiled without a SYCL compiler driver: kernels by the runtime's own library, the rest by g++?

The wheels hold the SYCL runtime, its compiler as a library, and an OpenCL device for the processor. A program
of ours (`syclc.cpp`) is compiled once and turns a unit's free functions into SPIR-V; the host compiler
compiles the same unit, and finds that SPIR-V as data.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from atoll.diagnostics import Diagnostic, Severity, Span
from atoll.errors import LaneError
from atoll.graph import Action, Role
from atoll.plugin import DataProduct, LanePlan, LaneRequest, ObjectProduct, RuntimeFolder, ToolChoice, Unit
from atoll.plugin.options import list_option
from atoll.plugin.tools import argument, output_path, python_program
from atoll.store import Payload, PayloadRoot
from atoll_plugins.formats.host_compilers import Compiler, identity, installed, tool_path
from atoll_plugins.formats.host_compilers import stages as programs_of
from atoll_plugins.formats.lane_refusals import no_compiler
from atoll_plugins.sycl.lambdas import lambda_kernels

VERSION = "2026.2"
_HELPER = Path(__file__).resolve().with_name("syclc.cpp")
_CHILD = Path(__file__).resolve().with_name("kernels_child.py")
INCLUDE = Path(__file__).resolve().with_name("include")
HEADERS = tuple(str(path) for path in sorted(INCLUDE.glob("*.hpp")))
MEMORY = 2 << 30
TIME_LIMIT = 900.0
_PINS = {
    "intel-sycl-rt": "2026.2.0",
    "intel-opencl-rt": "2026.2.0",
    "intel-cmplr-lib-ur": "2026.2.0",
    "intel-cmplr-lib-rt": "2026.2.0",
    "tbb": "2023.2.0",
    "tcmlib": "1.6.0",
    "umf": "1.2.0",
}
_HASHES = {
    "intel_cmplr_lib_rt-2026.2.0": "9f713083073a820d2496a6da8e8d4f3482aba6640f74521d25ea48dcebe72748",
    "intel_cmplr_lib_ur-2026.2.0": "0d0a5099aa2e1e38375b509c2a8182e719ed74aa656b2a800ddf6cfbd3384b80",
    "intel_opencl_rt-2026.2.0": "6b6215a420598b4999ee01caca6d5cbe106aa4155c46c52377619c5aafce9f67",
    "intel_sycl_rt-2026.2.0": "ad920da1ffcb43edbc03422a7c85094997e6d578f9ab534743442af70bcbfaa1",
    "tbb-2023.2.0": "7d80615b6e970f11671fa05b6eaa9483ac864fbfe525ac280271a78b37870b7c",
    "tcmlib-1.6.0": "46c2491988bfd18c4733eeb08aca6a386706a497b92cc51d155f37ddea003c14",
    "umf-1.2.0": "238d186fdd9e9c0fe1489da95b19b0b79045fe26c4aa98bd0a022a2a3603c195",
}


def _inside(name: str) -> str:
    """Return where a distribution's libraries lie in the store, below the root of the payload."""
    return f"{name.replace('-', '_')}-{_PINS[name]}.data/data/lib"


PAYLOAD = Payload(
    name=f"sycl-{VERSION}",
    requirements=tuple(f"{name}=={version}" for name, version in _PINS.items()),
    hashes=tuple(
        (f"{name}-py2.py3-none-manylinux_2_28_x86_64.whl", digest) for name, digest in sorted(_HASHES.items())
    ),
    libraries=(f"{_inside('intel-sycl-rt')}/libsycl.so.9", f"{_inside('intel-opencl-rt')}/libintelocl.so"),
    search=tuple(_inside(name) for name in _PINS),
)


def data_folder(root: Path, name: str) -> Path:
    """Return where a distribution's files that belong below the prefix lie in the store."""
    return root / f"{name.replace('-', '_')}-{_PINS[name]}.data/data"


def library_folders(root: Path) -> tuple[Path, ...]:
    """Return the folders of libraries, the runtime's own first; an environment would have them in one."""
    return tuple(data_folder(root, name) / "lib" for name in _PINS)


def surroundings(root: Path) -> dict[str, str]:
    """Return what the runtime reads: where the processor's device is, which the wheels get wrong."""
    return {
        "OCL_ICD_FILENAMES": str(data_folder(root, "intel-opencl-rt") / "lib/libintelocl.so"),
        "ONEAPI_DEVICE_SELECTOR": "opencl:cpu",
    }


def plan_wheels(request: LaneRequest) -> LanePlan:
    """Return a module of SPIR-V and an object for each unit.

    Raises:
        LaneError: For a unit that launches a lambda, and a machine without g++.
    """
    _refuse_lambdas(request)
    stored = request.tools[PAYLOAD.name]
    gcc = next((each for each in installed(request.environment) if each.family == "gcc"), None)
    if gcc is None:
        hint = "install g++, or a SYCL compiler driver and name it with `[lane.sycl] compiler`"
        raise LaneError(
            no_compiler("sycl", "g++ for the host half of its units", ("g++", "g++-N"), request, hint)
        )
    key = f"{identity(gcc, request.environment)} {stored.digest}"
    helper = _helper(request, gcc, stored, key)
    built = [_kernels(request, unit, helper, gcc, stored, key) for unit in request.units]
    objects = [_host_half(request, unit, gcc, stored, key) for unit in request.units]
    folders = library_folders(stored.root)
    return LanePlan(
        actions=(helper, *(action for action, _ in built), *(action for action, _ in objects)),
        objects=tuple(product for _, product in objects),
        data=tuple(product for _, product in built),
        link_args=(f"-L{folders[0]}", "-l:libsycl.so.9", *beside_another(request)),
        runtime=_runtime(folders, surroundings(stored.root)),
        tools=(
            ToolChoice(name="SYCL compiler", path=str(folders[0]), version=VERSION, why=stored.why),
            ToolChoice(
                name="host half of SYCL units",
                path=str(gcc.cxx),
                version=f"gcc {gcc.version}",
                why="the runtime of the wheels is built with its C++ library",
            ),
        ),
        diagnostics=two_runtimes(request),
        planner_inputs=(
            *(str(path) for path in programs_of(gcc, request.environment)),
            *(unit.path for unit in request.units),
        ),
    )


def _runtime(folders: tuple[Path, ...], told: Mapping[str, str]) -> tuple[RuntimeFolder, ...]:
    settings = tuple(f"{name}={value}" for name, value in told.items())
    # Installed, the wheels' libraries lie in `lib` below the prefix: two folders above site-packages.
    return tuple(
        RuntimeFolder(
            path=str(folder),
            requirement=f"{name}>={_PINS[name].partition('.')[0]}",
            inside="../..",
            environment=settings,
        )
        for name, folder in zip(_PINS, folders, strict=True)
    )


def beside_another(request: LaneRequest) -> tuple[str, ...]:
    """Return what a link takes where the program has another C++ library; nothing where there is one.

    The island's library comes by name, its unwinder is the one that both use, and what static archives
    define stays inside the image.
    """
    if not _other_library(request):
        return ()
    return ("-l:libstdc++.so.6", "-l:libgcc_s.so.1", "-Wl,--exclude-libs,ALL")


def two_runtimes(request: LaneRequest) -> tuple[Diagnostic, ...]:
    """Return the note on a program with two C++ libraries."""
    if not _other_library(request):
        return ()
    return (
        Diagnostic(
            code="ATL0533",
            severity=Severity.NOTE,
            message="the program has two C++ libraries: that of the SYCL island and its own",
            notes=(
                "the island's: libstdc++, which the SYCL runtime is built with",
                "the program's: libc++ (`-stdlib=libc++`)",
                "unwinder: libgcc_s, for both; symbols of static archives stay inside",
            ),
            hint="let nothing but plain C types and statuses cross the seam",
        ),
    )


def _other_library(request: LaneRequest) -> bool:
    return "-stdlib=libc++" in request.cxxflags


def _refuse_lambdas(request: LaneRequest) -> None:
    faults = [
        Diagnostic(
            code="ATL0534",
            message="a kernel that is a lambda cannot be compiled from wheels",
            span=Span(file=unit.path, line=line),
            notes=(
                f"`{launch}` of a lambda: {unit.path}:{line}",
                "compiler drivers that take it: icpx, clang++ of DPC++, acpp",
            ),
            hint="write the kernel as a free function, or name a driver with `[lane.sycl] compiler`",
        )
        for unit in request.units
        for line, launch in lambda_kernels(_text(request, unit))
    ]
    if faults:
        raise LaneError(*faults)


def _text(request: LaneRequest, unit: Unit) -> str:
    try:
        return (request.root / unit.path).read_text("utf-8", "replace")
    except OSError:
        return ""


def _include(stored: PayloadRoot) -> str:
    return str(data_folder(stored.root, "intel-sycl-rt") / "include")


def _helper(request: LaneRequest, gcc: Compiler, stored: PayloadRoot, key: str) -> Action:
    out = output_path(request.build, "sycl", "syclc")
    folder = library_folders(stored.root)[0]
    return Action(
        name="sycl compiler",
        argv=(
            *(str(gcc.cxx), "-std=c++17", "-O1", "-w", "-isystem", _include(stored), str(_HELPER)),
            *(f"-L{folder}", "-l:libsycl.so.9", "-o", out),
        ),
        inputs=(str(_HELPER), *(str(path) for path in programs_of(gcc, request.environment))),
        outputs=(out,),
        role=Role.SOURCE,
        env=(("LC_ALL", "C"), ("PATH", tool_path(request.environment))),
        key=key,
        memory=MEMORY,
        description="make a compiler of SYCL from the runtime's library",
    )


def _common(request: LaneRequest, unit: Unit) -> tuple[str, ...]:
    return (
        *(f"-I{folder}" for folder in (*unit.includes, str(INCLUDE))),
        *(f"-D{define}" for define in unit.defines),
        *list_option("sycl", request, "flags"),
        *unit.flags,
    )


def _kernels(
    request: LaneRequest, unit: Unit, helper: Action, gcc: Compiler, stored: PayloadRoot, key: str
) -> tuple[Action, DataProduct]:
    out = output_path(request.build, "sycl", unit.target, unit.path) + ".spv"
    libraries = ":".join(str(folder) for folder in library_folders(stored.root))
    action = Action(
        name=f"sycl {unit.target} {unit.path}",
        argv=(
            *(python_program(), "-I", "-S", str(_CHILD), str(gcc.cxx), helper.outputs[0]),
            *(argument(unit.path), out, f"{out}.d", "-I.", f"-isystem{_include(stored)}"),
            *_common(request, unit),
        ),
        inputs=(unit.path, helper.outputs[0], *HEADERS, str(_CHILD)),
        outputs=(out,),
        role=Role.ARTIFACT,
        depfile=f"{out}.d",
        env=(("LC_ALL", "C"), ("LD_LIBRARY_PATH", libraries), *surroundings(stored.root).items()),
        key=key,
        memory=MEMORY,
        time_limit=TIME_LIMIT,
        description=f"compile the kernels of {unit.path}",
    )
    # What the bytes run on is what any SPIR-V for kernels does: an OpenCL device that takes it.
    return action, DataProduct(path=out, unit=unit, backend="opencl", entry_point="", form="spirv")


def _host_half(
    request: LaneRequest, unit: Unit, gcc: Compiler, stored: PayloadRoot, key: str
) -> tuple[Action, ObjectProduct]:
    out = output_path(request.build, "sycl", unit.target, unit.path) + ".o"
    action = Action(
        name=f"sycl host {unit.target} {unit.path}",
        argv=(
            *(str(gcc.cxx), "-x", "c++", f"-std={request.cxx_standard}", f"-O{request.optimise}"),
            *(("-g",) if request.debug else ("-DNDEBUG",)),
            *(("-fPIC",) if unit.position_independent else ()),
            *(("-fvisibility=hidden",) if unit.hidden else ()),
            *("-isystem", _include(stored), "-DSYCL_DISABLE_FSYCL_SYCLHPP_WARNING"),
            *_common(request, unit),
            *(part for header in unit.force_include for part in ("-include", header)),
            *("-MD", "-MF", f"{out}.d", "-c", argument(unit.path), "-o", out),
        ),
        inputs=(unit.path, *unit.force_include, *unit.reads, *HEADERS),
        outputs=(out,),
        role=Role.OBJECT,
        depfile=f"{out}.d",
        env=(("LC_ALL", "C"), ("PATH", tool_path(request.environment))),
        key=key,
        memory=MEMORY,
        description=f"compile the host half of {unit.path}",
    )
    return action, ObjectProduct(path=out, unit=unit)
