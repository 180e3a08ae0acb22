"""The Khronos validation layers, core and synchronisation, have nothing to say of what runs on Vulkan.

Run in processes of their own, since layers are loaded with the loader. What they would say is seen first: a
program without barriers.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from atoll_plugins.vulkan.driver import VulkanDriver
from conformance.driver_kernels import needs_device

HERE = Path(__file__).parent
VALIDATION = Path("/usr/share/vulkan/explicit_layer.d/VkLayer_khronos_validation.json")
PROGRAM = """
import sys
from pathlib import Path
from atoll.testing.drivers import DRIVER_CHECKS, DriverCase
from atoll_plugins.vulkan.device import Options
from atoll_plugins.vulkan.driver import VulkanDriver
from atoll_plugins.vulkan.recorder import Recorder
from conformance.driver_kernels import code
from conformance.test_vulkan_backend import Bench, batch, graph, opened, program, solo
from conformance.test_vulkan_backend import test_buffers_of_work_in_flight_go_after_it as in_flight
if "planted" in sys.argv:
    Recorder._order = lambda self, commands, uses: None
emitted = code("vulkan", Path(sys.argv[1]))
for staged in (False, True):
    for check in DRIVER_CHECKS:
        check(DriverCase(VulkanDriver(options=Options(staged=staged, staging_bytes=1 << 14)), 0, emitted))
    for way in (solo, batch, graph):
        device = opened(Options(staged=staged))
        bench = Bench(device, emitted)
        way(bench, program(3))
        bench.read()
        device.close()
in_flight(emitted)
print("done")
"""


#: Suites whose tests are named after the driver; the whole proof takes all of them.
SUITES = (
    "test_graphs.py", "test_engine_bytes.py", "test_limits.py", "test_structs.py", "test_large_block.py",
    "test_fours.py",
)  # fmt: skip
#: A plugin of pytest under which no barrier is recorded.
PLANTED = "from atoll_plugins.vulkan.recorder import Recorder\nRecorder._order = lambda *_: None\n"


def said(command: list[str], *folders: Path) -> tuple[list[str], str]:
    """Run a command under the layers; return what they say, and all that was printed."""
    environment = {
        **os.environ,
        "VK_INSTANCE_LAYERS": "VK_LAYER_KHRONOS_validation",
        "VK_LAYER_ENABLES": "VK_VALIDATION_FEATURE_ENABLE_SYNCHRONIZATION_VALIDATION_EXT",
        "VK_LAYER_VALIDATE_SYNC": "true",
        "VK_LAYER_SYNCVAL_SHADER_ACCESSES_HEURISTIC": "true",
        "PYTHONPATH": os.pathsep.join(
            [str(HERE.parent), *map(str, folders), os.environ.get("PYTHONPATH", "")]
        ),
    }
    done = subprocess.run(
        [sys.executable, *command], env=environment, capture_output=True, text=True, timeout=500, check=False
    )
    text = done.stdout + done.stderr
    lines = [line for line in text.splitlines() if re.search("VUID|SYNC-|UNASSIGNED", line)]
    return lines, text


def suites(folder: Path, *names: str, planted: bool = False) -> tuple[list[str], str]:
    """Run the tests on Vulkan of some suites under the layers."""
    (folder / "planted.py").write_text(PLANTED)
    files = [str(HERE / name) for name in names]
    extra = ["-p", "planted"] if planted else []
    options = ["-q", "-s", "-p", "no:cacheprovider", "-k", "vulkan", "--basetemp", str(folder / "runs")]
    return said(["-m", "pytest", *options, *extra, *files], folder)


@pytest.fixture(autouse=True)
def layers() -> None:
    needs_device(VulkanDriver())
    if not VALIDATION.is_file():
        pytest.skip("no Vulkan validation layers")


def test_the_layers_have_nothing_to_say_of_the_driver_suite(tmp_path: Path) -> None:
    lines, text = said(["-c", PROGRAM, str(tmp_path)])
    assert "done" in text, text
    assert lines == []


def test_the_layers_see_barriers_that_are_missing(tmp_path: Path) -> None:
    lines, _ = said(["-c", PROGRAM, str(tmp_path), "planted"])
    assert any("SYNC-HAZARD" in line for line in lines)


def test_the_layers_have_nothing_to_say_of_what_runs_on_vulkan(
    tmp_path: Path, whole: bool, tell: Callable[[str], None]
) -> None:
    names = SUITES if whole else SUITES[:2]
    lines, text = suites(tmp_path, *names)
    ended = re.findall(r"(\d+) passed", text)
    assert ended, text[-2000:]
    assert "failed" not in text.splitlines()[-1], text[-2000:]
    assert lines == []
    tell(f"{ended[-1]} tests of {', '.join(names)}")
    assert int(ended[-1]) >= 8


def test_the_layers_see_a_barrier_that_is_missing_in_a_suite(tmp_path: Path) -> None:
    lines, _ = suites(tmp_path, "test_graphs.py", planted=True)
    assert any("SYNC-HAZARD" in line for line in lines)
