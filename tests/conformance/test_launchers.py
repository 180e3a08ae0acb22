"""The C launchers: which device, which code, what they refuse, threads, and no fault under validation."""

from __future__ import annotations

import ctypes
import os
import subprocess
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from atoll.accel import AccelSet, BackendRules, DeviceFacts, Version
from atoll.accel.levels import Level
from atoll.artifact import Descriptor, DeviceRequest, Fact, Subject, choose, refusal
from atoll.diagnostics import render
from atoll.runtime import core_source, include_folder
from atoll_plugins.cuda.driver import NEWEST_ISA
from atoll_plugins.cuda.rules import TEGRA, CudaRules, machine_code_serves, text_serves
from atoll_plugins.formats.vulkan_rules import VulkanRules
from atoll_plugins.opencl.rules import OpenClRules
from conformance import programs
from conformance.driver_kernels import PTX_TEXT, code, driver, fake_cuda, needs_device

ANSWER = "12 24 36 48 on "
WRAPPER = """
#include "atoll_launch.h"
#include <string.h>
extern const atoll_driver DRIVER;
__attribute__((visibility("default")))
int test_fits(const char *arch, const char *floor, const char *version, const char *hardware, uint32_t major,
              uint32_t minor) {
  atoll_device_facts facts = {.version = {major, minor}};
  atoll_code code = {0, 0, arch, floor, version};
  strcpy(facts.arch, hardware);
  return DRIVER.fits(&code, &facts);
}
"""

Fits = Callable[..., int]


@pytest.fixture(scope="module")
def fits(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Fits]:
    """Return `fits` of a launcher, callable from Python with texts and numbers."""

    def build(backend: str) -> Fits:
        folder = tmp_path_factory.mktemp(backend)
        found = driver(backend)
        launcher = found.launcher()
        assert launcher is not None
        (folder / "launcher.c").write_text(launcher.text)
        (folder / "wrapper.c").write_text(WRAPPER)
        sources = [str(folder / "launcher.c"), str(folder / "wrapper.c"), str(core_source())]
        flags = [
            "-std=gnu11",
            "-shared",
            "-fPIC",
            f"-I{include_folder()}",
            f"-DDRIVER=atoll_driver_{backend}",
        ]
        subprocess.run(["gcc", *flags, "-o", str(folder / "fits.so"), *sources], check=True)
        function = ctypes.CDLL(str(folder / "fits.so")).test_fits

        def call(arch: str, floor: str, version: str, hardware: str, *have: int) -> int:
            texts = (item.encode() for item in (arch, floor, version, hardware))
            return int(function(*texts, *have))

        return call

    return build


LEVELS = (50, 52, 53, 60, 61, 62, 70, 72, 75, 80, 86, 87, 88, 89, 90, 100, 101, 103, 110, 120, 121)


def test_the_launcher_and_the_rules_agree_on_every_pair_of_levels(fits: Callable[[str], Fits]) -> None:
    call, asked = fits("cuda"), 0
    for hardware in LEVELS:
        device = Level(prefix="sm", number=hardware)
        for number in LEVELS:
            for suffix in ("", "a", "f"):
                level = Level(prefix="sm", number=number, suffix=suffix)
                text = f"{number}{suffix}"
                machine = bool(call(f"sm_{text}", "", "", f"sm_{hardware}", 13, 0))
                assert machine == machine_code_serves(level, device), f"sm_{text} on {hardware}"
                portable = bool(call("", text, "", f"sm_{hardware}", 13, 0))
                assert portable == text_serves(level, device), f"floor {text} on {hardware}"
                asked += 2
    assert asked == len(LEVELS) ** 2 * 6
    assert {(10, 1), (8, 7)} <= TEGRA


# What an H200 (9.0) did with each code on 2026-11-30; its driver 580.159.04 serves CUDA 13.0 and PTX 9.0
# (docs/devices.md). The code as a launch states it, as an accel set, and the ISA of its PTX.
RECORDED = [
    (("sm_90", "", "13.0"), "cuda13.0+{sm_90}", "", True),
    (("sm_90a", "", "13.0"), "cuda13.0+{sm_90a}", "", True),
    (("", "90a", "13.0"), "cuda13.0+{compute_90a}", "9.0", True),
    (("", "90", "13.0"), "cuda13.0 ptx>=90", "9.0", True),
    (("", "80", "13.0"), "cuda13.0 ptx>=80", "9.0", True),
    *(
        ((arch, "", "13.0"), f"cuda13.0+{{{arch}}}", "", False)
        for arch in "sm_75 sm_80 sm_86 sm_87 sm_89 sm_100 sm_100a sm_100f sm_103 sm_120 sm_120a".split()
    ),
    (("", "90", "13.1"), "cuda13.1 ptx>=90", "9.1", False),
    (("", "80", "13.2"), "cuda13.2 ptx>=80", "9.2", False),
]


@pytest.mark.parametrize(("stated", "carried", "isa", "ran"), RECORDED)
def test_the_launcher_and_match_say_what_an_h200_did(
    fits: Callable[[str], Fits], stated: tuple[str, str, str], carried: str, isa: str, ran: bool
) -> None:
    assert bool(fits("cuda")(*stated, "sm_90", 13, 0)) == ran
    requires = (Fact(name="ptx.isa", relation=">=", value=isa),) if isa else ()
    artifact = Descriptor(accel=AccelSet.parse(carried, floor_words={"cuda": "ptx"}), requires=requires)
    facts = {"ptx.isa": NEWEST_ISA["13.0"]}
    device = DeviceFacts(
        backend="cuda", name="NVIDIA H200", arch="sm_90", version=Version((13, 0)), facts=facts
    )
    choice = choose([artifact], DeviceRequest(device=device), {"cuda": CudaRules()})
    assert bool(choice) == ran
    differences = [each.dimension for verdict in choice.verdicts() for each in verdict.relation.differences]
    assert differences == ([] if ran else ["ptx.isa" if isa else "accel"])


@pytest.mark.parametrize(
    ("arch", "floor", "version", "have", "expected"),
    [
        ("sm_90", "", "13.0", (12, 8), 0),  # machine code needs the toolkit's major
        ("sm_90", "", "12.9", (12, 0), 1),
        ("sm_90", "", "12.9", (13, 0), 1),
        ("", "80", "12.9", (12, 8), 0),  # text needs its whole version
        ("", "80", "12.8", (12, 8), 1),
        ("", "", "", (13, 0), 0),  # code for nothing runs nowhere
        ("gfx942", "", "", (13, 0), 0),
        ("sm_9x", "", "", (13, 0), 0),
        ("", "80", "x", (13, 0), 0),
    ],
)
def test_cuda_code_fits_by_its_toolkit(
    fits: Callable[[str], Fits], arch: str, floor: str, version: str, have: tuple[int, int], expected: int
) -> None:
    assert fits("cuda")(arch, floor, version, "sm_90", *have) == expected


@pytest.mark.parametrize(
    ("backend", "floor", "version", "have", "expected"),
    [
        ("vulkan", "", "1.2", (1, 1), 0),
        ("vulkan", "", "1.2", (1, 2), 1),
        ("vulkan", "1.6", "1.2", (1, 2), 0),  # SPIR-V 1.6 comes with 1.3
        ("vulkan", "1.5", "", (1, 2), 1),
        ("vulkan", "1.6", "", (1, 4), 1),
        ("opencl", "", "1.2", (3, 0), 1),
        ("opencl", "", "3.0", (1, 2), 0),
        ("opencl", "80", "", (3, 0), 0),
        ("cpu", "", "", (0, 0), 1),
    ],
)
def test_other_code_fits_by_its_version(
    fits: Callable[[str], Fits], backend: str, floor: str, version: str, have: tuple[int, int], expected: int
) -> None:
    assert fits(backend)("", floor, version, "", *have) == expected


@pytest.mark.parametrize(("arch", "expected"), [("spirv1.5", 1), ("spirv1.6", 0), ("spirv", 0), ("sm_90", 0)])
def test_an_architecture_of_vulkan_is_a_spirv_version_as_a_set_asks_for_it(
    fits: Callable[[str], Fits], arch: str, expected: int
) -> None:
    assert fits("vulkan")(arch, "", "1.2", "", 1, 2) == expected


# ---- choosing devices and code, on the fake interface


class Cuda:
    """The CUDA launcher's program on a fake interface."""

    def __init__(self, folder: Path) -> None:
        self.library = fake_cuda(folder)
        found = driver("cuda")
        self.program = programs.program(found, folder, programs.launcher_object(found, folder, self.library))
        self.code = folder / "code.ptx"
        self.code.write_text(PTX_TEXT)

    def say(self, *codes: str, turns: int = 1, **variables: str) -> str:
        env = {name: value for name, value in os.environ.items() if not name.startswith("ATOLL_")}
        return programs.run(self.program, self.code, str(turns), *codes, env={**env, **variables}).strip()


@pytest.fixture(scope="module")
def cuda(tmp_path_factory: pytest.TempPathFactory) -> Cuda:
    return Cuda(tmp_path_factory.mktemp("cuda"))


def test_an_older_device_takes_the_code_that_fits_it(cuda: Cuda) -> None:
    said = cuda.say("sm_90", "", "13.0", "sm_80", "", "13.0", FAKE_CUDA_LEVELS="86")
    assert said == "12 24 36 48 on Fake 86"


def refused(device: DeviceFacts, rules: BackendRules, *carried: str) -> str:
    """Return the refusal at load of code that is in no package, by the room that says it everywhere."""
    words = {device.backend: rules.floor_word or "floor"}
    artifacts = [Descriptor(accel=AccelSet.parse(text, floor_words=words)) for text in carried]
    request = DeviceRequest(device=device)
    choice = choose(artifacts, request, {device.backend: rules})
    assert not choice
    return f"failed: {render(refusal(Subject.LOAD, 'saxpy', '', request, choice))}"


@pytest.mark.parametrize(
    ("codes", "carried", "version", "level"),
    [
        (("sm_90", "", "13.0"), ("cuda13.0+{sm_90}",), "13000", "86"),
        (
            ("sm_90", "", "13.0", "", "90", "12.9"),
            ("cuda13.0+{sm_90}", "cuda12.9 ptx>=90"),
            "13000",
            "86",
        ),
        (("", "90", "12.9", "sm_90a", "", "13.0"), ("cuda12.9 ptx>=90", "cuda13.0+{sm_90a}"), "13000", "86"),
        (("sm_90", "", "13.0"), ("cuda13.0+{sm_90}",), "12080", "90"),  # right hardware, an old driver
        (("sm_90", "", "13.0"), ("cuda13.0+{sm_90}",), "12080", "86"),  # neither
        (("sm_90", "80", "13.0"), ("cuda13.0+{sm_90} ptx>=80",), "13000", "75"),
        (("sm_90", "", "13.0") * 2, ("cuda13.0+{sm_90}",) * 2, "13000", "86"),  # equal ones once
    ],
)
def test_code_that_does_not_fit_is_refused_in_the_words_of_match(
    cuda: Cuda, codes: tuple[str, ...], carried: tuple[str, ...], version: str, level: str
) -> None:
    said = cuda.say(*codes, FAKE_CUDA_LEVELS=level, FAKE_CUDA_VERSION=version)
    stated = Version((int(version) // 1000, int(version) % 1000 // 10))
    device = DeviceFacts(backend="cuda", name=f"Fake {level}", arch=f"sm_{level}", version=stated)
    assert said == refused(device, CudaRules(), *carried)


@pytest.mark.parametrize(
    ("backend", "codes", "carried"),
    [
        ("vulkan", ("", "1.99", ""), "vulkan+{spirv1.99}"),
        ("vulkan", ("spirv1.99", "", "1.0"), "vulkan1.0+{spirv1.99}"),
        ("vulkan", ("", "1.3", "1.99"), "vulkan1.99+{spirv1.3}"),
        ("opencl", ("", "", "9.0"), "opencl9.0"),
    ],
)
def test_the_other_launchers_refuse_in_the_words_of_match(
    tmp_path: Path, backend: str, codes: tuple[str, ...], carried: str
) -> None:
    found = driver(backend)
    needs_device(found)
    program = programs.program(found, tmp_path, programs.launcher_object(found, tmp_path))
    kernel = tmp_path / "code"
    kernel.write_bytes(code(backend, tmp_path).code)
    info = next((one for one in found.devices() if not one.software), found.devices()[0])
    rules = {"vulkan": VulkanRules(), "opencl": OpenClRules()}[backend]
    bare = {name: value for name, value in os.environ.items() if not name.startswith("ATOLL_")}
    said = programs.run(program, kernel, "1", *codes, env=bare).strip()
    assert said == refused(replace(info.facts, facts={}), rules, carried)


def test_a_name_that_drives_a_terminal_is_spelled_out_in_the_refusal(cuda: Cuda) -> None:
    said = cuda.say("sm_\x1b[1m", "", "13.0", FAKE_CUDA_LEVELS="86")
    assert "accel cuda13.0+{sm_\\x1b[1m}" in said
    assert "\x1b" not in said


def test_after_eight_kinds_of_code_the_rest_is_counted(cuda: Cuda) -> None:
    levels = range(200, 210)
    codes = [word for level in levels for word in (f"sm_{level}", "", "13.0")]
    device = DeviceFacts(backend="cuda", name="Fake 86", arch="sm_86", version=Version((13, 0)))
    said = cuda.say(*codes, FAKE_CUDA_LEVELS="86")
    assert said == refused(device, CudaRules(), *(f"cuda13.0+{{sm_{level}}}" for level in levels))
    assert "and 2 more" in said


def test_an_old_driver_refuses_newer_text(cuda: Cuda) -> None:
    said = cuda.say("", "80", "13.0", FAKE_CUDA_VERSION="12080")
    assert "asked cuda12.8, carried cuda13.0" in said
    # Text of the driver's major and a later minor does not run, though machine code of that toolkit would.
    assert "asked cuda12.8, carried cuda12.9" in cuda.say("", "80", "12.9", FAKE_CUDA_VERSION="12080")


def test_a_driver_that_does_not_start_is_named(cuda: Cuda) -> None:
    said = cuda.say("", "80", "", FAKE_CUDA_INIT="3")
    assert said == "failed: cuInit failed with 3 (CUDA_ERROR_NOT_INITIALIZED: a fake failure) on cuda"


def test_no_device_is_said(cuda: Cuda) -> None:
    assert "finds no device" in cuda.say("", "80", "", FAKE_CUDA_LEVELS="none")


def test_the_compilers_log_is_in_the_reason(cuda: Cuda, tmp_path: Path) -> None:
    bad = tmp_path / "bad.ptx"
    bad.write_text("this is no code")
    said = programs.run(cuda.program, bad, "1", "", "80", "", env=dict(os.environ))
    assert "cuModuleLoadDataEx failed with 218 (CUDA_ERROR_INVALID_PTX" in said
    assert "fatal : no .version" in said


@pytest.mark.parametrize(
    ("asked", "device"),
    [("", "Fake 90"), ("cuda", "Fake 90"), ("cuda:1", "Fake 80"), ("fake 80", "Fake 80")],
)
def test_the_variable_chooses_among_the_drivers_devices(cuda: Cuda, asked: str, device: str) -> None:
    said = cuda.say("", "80", "", FAKE_CUDA_LEVELS="90,80", ATOLL_DEVICE=asked)
    assert said == f"12 24 36 48 on {device}"


@pytest.mark.parametrize(
    ("asked", "reason"),
    [
        ("cuda:2", "ATOLL_DEVICE is cuda:2, and cuda has 2 device(s), counted from 0"),
        ("cuda:", "ATOLL_DEVICE is cuda:, and cuda has 2 device(s), counted from 0"),
        ("cuda:1x", "ATOLL_DEVICE is cuda:1x, and cuda has 2 device(s), counted from 0"),
        ("Quadro P4000", "ATOLL_DEVICE is Quadro P4000, which is in the name of no device of cuda"),
    ],
)
def test_a_variable_that_names_nothing_is_refused(cuda: Cuda, asked: str, reason: str) -> None:
    assert reason in cuda.say("", "80", "", FAKE_CUDA_LEVELS="90,80", ATOLL_DEVICE=asked)


@pytest.mark.parametrize("asked", ["quux", "cpu", "vulkan:0", "opencl"])
def test_a_name_of_nothing_or_of_another_driver_does_not_run_in_silence(cuda: Cuda, asked: str) -> None:
    said = cuda.say("", "80", "", FAKE_CUDA_LEVELS="90,80", ATOLL_DEVICE=asked)
    assert said == (
        f"failed: there is no device `{asked}`, which ATOLL_DEVICE names; present: cuda:0 (Fake 90)"
    )


def test_hardware_meets_the_demand_for_a_device(cuda: Cuda) -> None:
    said = cuda.say("", "80", "", FAKE_CUDA_LEVELS="90", ATOLL_REQUIRE_DEVICE="1")
    assert said == "12 24 36 48 on Fake 90"


# ---- on the devices of this machine


@pytest.mark.parametrize("backend", ["cpu", "vulkan", "opencl"])
def test_a_software_device_is_refused_where_a_device_is_required(backend: str, tmp_path: Path) -> None:
    found = driver(backend)
    needs_device(found)
    launcher = programs.launcher_object(found, tmp_path)
    main = "cpu_main.c" if backend == "cpu" else "launch_main.c"
    program = programs.program(found, tmp_path, launcher, main=main)
    kernel = tmp_path / "code"
    kernel.write_bytes(code(backend, tmp_path).code)
    name = found.devices()[0].name
    bare = {name: value for name, value in os.environ.items() if not name.startswith("ATOLL_")}

    def say(**variables: str) -> str:
        return programs.run(program, kernel, "1", env={**bare, **variables}).strip()

    if not found.devices()[0].software:
        assert say(ATOLL_REQUIRE_DEVICE="1") == f"{ANSWER}{name}"
        return
    assert say(ATOLL_REQUIRE_DEVICE="1") == (
        "failed: a device is required and only the processor is left: ATOLL_REQUIRE_DEVICE is set; "
        f"present: {backend}:0 ({name})"
    )
    assert say(ATOLL_REQUIRE_DEVICE="0") == f"{ANSWER}{name}"
    assert say(ATOLL_REQUIRE_DEVICE="1", ATOLL_DEVICE=backend) == f"{ANSWER}{name}"
    assert say(ATOLL_DEVICE="quux").startswith("failed: there is no device `quux`, which ATOLL_DEVICE names")


@pytest.mark.parametrize("backend", ["cpu", "vulkan", "opencl"])
def test_a_program_launches_a_hundred_times(backend: str, tmp_path: Path) -> None:
    found = driver(backend)
    needs_device(found)
    launcher = programs.launcher_object(found, tmp_path)
    if backend == "cpu":
        program = programs.program(found, tmp_path, launcher, main="cpu_main.c")
    else:
        program = programs.program(found, tmp_path, launcher)
    kernel = tmp_path / "code"
    kernel.write_bytes(code(backend, tmp_path).code)
    lines = programs.run(program, kernel, "100", env=dict(os.environ)).splitlines()
    assert lines == [f"{ANSWER}{found.devices()[0].name}"] * 100


@pytest.mark.parametrize("backend", ["vulkan", "opencl", "cuda"])
def test_a_missing_library_is_the_reason(backend: str, tmp_path: Path) -> None:
    found = driver(backend)
    launcher = programs.launcher_object(found, tmp_path, Path("/nowhere/libnone.so.1"))
    (tmp_path / "code").write_bytes(b"x")
    said = programs.run(
        programs.program(found, tmp_path, launcher), tmp_path / "code", "2", env=dict(os.environ)
    )
    assert said.count("failed: /nowhere/libnone.so.1 could not be opened: ") == 2


@pytest.mark.parametrize("sanitizer", ["address,undefined", "thread"])
@pytest.mark.parametrize("backend", ["cpu", "cuda"])
def test_a_launcher_is_clean_under_sanitizers(backend: str, sanitizer: str, tmp_path: Path) -> None:
    library = fake_cuda(tmp_path) if backend == "cuda" else None
    found = driver(backend, library)
    flag = f"-fsanitize={sanitizer}"
    launcher = programs.launcher_object(found, tmp_path, library, flags=(flag,))
    program = programs.program(found, tmp_path, launcher, main="hard_main.c", flags=(flag,))
    kernel = tmp_path / "code"
    kernel.write_bytes(code(backend, tmp_path).code)
    done = subprocess.run([str(program), str(kernel)], capture_output=True, text=True, timeout=120)
    assert (done.returncode, done.stderr) == (0, "")
    assert "threads: 0 wrong of 200" in done.stdout.splitlines()


@pytest.mark.parametrize("backend", ["cpu", "vulkan", "opencl", "cuda"])
def test_threads_launch_at_once_and_bad_launches_are_refused(backend: str, tmp_path: Path) -> None:
    library = fake_cuda(tmp_path) if backend == "cuda" else None
    found = driver(backend, library)
    needs_device(found)
    launcher = programs.launcher_object(found, tmp_path, library)
    program = programs.program(found, tmp_path, launcher, main="hard_main.c")
    kernel = tmp_path / "code"
    kernel.write_bytes(code(backend, tmp_path).code)
    said = programs.run(program, kernel, env=dict(os.environ)).splitlines()
    assert said == [
        "after a probe and a fork: refused" if backend != "cpu" else "after a probe and a fork: right",
        "threads: 0 wrong of 200",
        "refused: the launch of saxpy has 0 x 1 x 1 groups of 64 x 1 x 1; none may be 0",
        "refused: the launch of saxpy has 100000000 groups of 64 in dimension 0, over 2147483647 work-items",
        "refused: argument 0 of saxpy has 16 bytes at a null pointer",
        "refused: argument 0 of saxpy has access 9",
        "refused: argument 1 of saxpy is of kind 7",
        "refused: argument 3 of saxpy has alignment 3",
        "refused: the caller speaks launch ABI 99, this library 1",
        "empty buffers: right",
        "after a fork: refused" if backend != "cpu" else "after a fork: right",
    ]


VALIDATE = """
import sys
import numpy as np
from pathlib import Path
from atoll.plugin import Emitted, Target
from atoll.runtime import Device
from atoll.testing.drivers import LAYOUT
from atoll_plugins.vulkan.driver import VulkanDriver

spirv = Path(sys.argv[1]).read_bytes()
code = Emitted(target=Target(backend="vulkan"), stage="spirv", code=spirv, text=False, entry="saxpy",
               suffix=".spv", layout=LAYOUT)
inner = VulkanDriver().open(0)
device = Device(inner)
for count in (0, 4, 1000):
    x = np.arange(count, dtype=np.float32)
    out = np.zeros_like(x)
    device.run(code, (count // 64 + 1,), (64,), {"x": x, "y": x, "out": out, "a": 2.0, "n": count})
    assert (out == 3 * x).all()
if "leak" in sys.argv:
    inner._memory.buffer(64, inner._memory.plan.buffers, inner._usage)
if "flight" in sys.argv:
    handles = [inner.allocate(64) for _ in range(3)]
    from atoll.plugin import BufferArgument, ScalarArgument
    bound = tuple(BufferArgument(handle, "both") for handle in handles)
    # Four million groups that each find nothing to do: longer than any pause between these two lines.
    inner.launch(device.load(code), (65535, 64, 1), (64, 1, 1), (*bound, ScalarArgument(bytes(8), 8)))
    inner._memory.destroy(inner._buffers.pop(handles[0]))
device.free()
print("done")
"""


def validated(command: list[str], *, planted: bool = False) -> str:
    env = {**os.environ, "VK_INSTANCE_LAYERS": "VK_LAYER_KHRONOS_validation"}
    env["VK_LAYER_ENABLES"] = "VK_VALIDATION_FEATURE_ENABLE_SYNCHRONIZATION_VALIDATION_EXT"
    done = subprocess.run(command, env=env, capture_output=True, text=True, timeout=120)
    # A planted fault is undefined behaviour: the process may end any way after the layer has spoken.
    assert done.returncode == 0 or planted, done.stdout + done.stderr
    return done.stdout + done.stderr


def needs_validation() -> None:
    needs_device(driver("vulkan"))
    if not Path("/usr/share/vulkan/explicit_layer.d/VkLayer_khronos_validation.json").is_file():
        pytest.skip("no Vulkan validation layer")


def test_the_vulkan_driver_is_clean_under_validation(tmp_path: Path) -> None:
    needs_validation()
    kernel = tmp_path / "code.spv"
    kernel.write_bytes(code("vulkan", tmp_path).code)
    assert validated([sys.executable, "-c", VALIDATE, str(kernel)]).strip() == "done"


@pytest.mark.parametrize("fault", ["leak", "flight"])
def test_validation_sees_a_planted_fault(tmp_path: Path, fault: str) -> None:
    needs_validation()
    kernel = tmp_path / "code.spv"
    kernel.write_bytes(code("vulkan", tmp_path).code)
    assert "VUID-" in validated([sys.executable, "-c", VALIDATE, str(kernel), fault], planted=True)


def test_the_vulkan_launcher_is_clean_under_validation(tmp_path: Path) -> None:
    needs_validation()
    found = driver("vulkan")
    program = programs.program(found, tmp_path, programs.launcher_object(found, tmp_path))
    kernel = tmp_path / "code.spv"
    kernel.write_bytes(code("vulkan", tmp_path).code)
    said = validated([str(program), str(kernel), "5"])
    assert [line.startswith(ANSWER) for line in said.splitlines()] == [True] * 5, said
