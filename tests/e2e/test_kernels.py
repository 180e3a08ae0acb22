"""The twenty test kernels: CPython, the interpreter, the processor, Vulkan and OpenCL agree with NumPy."""

from __future__ import annotations

import copy
import importlib
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from atoll.plugin import DriverDevice
from atoll_plugins.cpu.driver import CpuDriver
from emitter_kit import accepted, device, emitter, tool

FOLDER = Path(__file__).parents[2] / "examples" / "kernels"
EXECUTORS = ("oracle", "interpreter", "cpu", "vulkan", "opencl")
#: What the folder has to hold: the names of spec 06, "The twenty test kernels".
TWENTY = {
    "saxpy": {"saxpy"},
    "padded transpose": {"transpose"},
    "block reduction": {"block_sum"},
    "histogram": {"histogram"},
    "prefix scan": {"exclusive_scan", "add_offsets"},
    "layernorm forward": {"layernorm_forward"},
    "layernorm backward": {"layernorm_backward"},
    "online softmax": {"softmax"},
    "gelu forward/backward": {"gelu_forward", "gelu_backward"},
    "residual + add": {"residual_add"},
    "matmul": {"matmul_naive", "matmul_tiled", "matmul_blocked"},
    "attention": {"attention_naive", "attention_flash"},
    "fused classifier": {"classifier"},
    "encoder": {"encoder_forward", "encoder_backward"},
    "adamw": {"adamw"},
    "5-point stencil": {"stencil"},
    "mandelbrot": {"mandelbrot"},
    "n-body": {"nbody"},
    "bitonic sort": {"bitonic_sort"},
    "CSR SpMV + Philox + game of life": {"spmv", "philox", "life"},
}


def modules() -> Iterator[Any]:
    """Import every module of the folder that has cases."""
    if str(FOLDER) not in sys.path:
        sys.path.insert(0, str(FOLDER))
    for path in sorted(FOLDER.glob("*.py")):
        module = importlib.import_module(path.stem)
        if hasattr(module, "CASES"):
            yield module


CASES = [case for module in modules() for case in module.CASES]
KERNELS = {case.name: case.kernel for case in CASES}


@contextmanager
def opened(executor: str) -> Iterator[DriverDevice]:
    if executor == "interpreter":
        yield CpuDriver({"PATH": "/nowhere"}).open(0)
        return
    with device(executor) as found:
        yield found


def run(case: Any, executor: str, found: DriverDevice | None, given: tuple[Any, ...]) -> tuple[Any, ...]:
    """Run a case on copies; arrays that are one array stay one."""
    mine = copy.deepcopy(given)
    if found is None:
        case.kernel.python(case.domain)(*mine)
    else:
        done = case.kernel.over(case.domain, device=found)(*mine)
        assert done.device == found.info.name
    return mine


@pytest.mark.parametrize("executor", EXECUTORS)
def test_every_kernel_answers_within_its_bound(
    executor: str, whole: bool, tell: Callable[[str], None]
) -> None:
    seeds = range(4 if whole else 1)
    faults = []
    if executor == "oracle":
        faults = _faults(executor, None, seeds)
    else:
        with opened(executor) as found:
            faults = _faults(executor, found, seeds)
            tell(
                f"{len(CASES)} launches of {len(KERNELS)} kernels, {len(seeds)} of 4 seeds: {found.info.name}"
            )
    assert not faults, "\n".join(faults)


def _faults(executor: str, found: DriverDevice | None, seeds: range) -> list[str]:
    said = []
    for case in CASES:
        for seed in seeds:
            given = case.given(seed)
            answer = run(case, executor, found, given)
            said += [
                f"{case.name}, seed {seed}: {fault}" for fault in case.faults(answer, case.expected(given))
            ]
    return said


def test_no_kernel_races(whole: bool, tell: Callable[[str], None]) -> None:
    chosen = CASES if whole else CASES[::4]
    for case in chosen:
        case.kernel.python(case.domain, seed=1, races=True)(*case.given(1))
    tell(f"looked for races in {len(chosen)} launches of {len(CASES)}")


def test_the_folder_holds_the_twenty() -> None:
    wanted = set().union(*TWENTY.values())
    assert wanted <= KERNELS.keys()


@pytest.mark.parametrize("case", CASES[:3], ids=lambda case: case.name)
def test_a_wrong_element_is_seen(case: Any) -> None:
    """Plant a fault: one element of one written array, by twice the bound."""
    given = case.given(0)
    wrong = case.expected(given)
    array = [item for item in wrong if isinstance(item, np.ndarray)][-1]
    array.flat[7] += np.float32(2.5 * max(case.bound, 1e-6) * max(1.0, abs(float(array.flat[7]))))
    assert case.faults(wrong, case.expected(given))


def codes(backend: str, arch: str) -> Iterator[tuple[str, Any]]:
    """Emit every kernel for a target."""
    from atoll.kernels.shapes import block_for

    target = emitter(backend).target(None, arch)
    for name, kernel in KERNELS.items():
        compiled = kernel.compiled()
        yield name, emitter(backend).emit(compiled.module, name, target, block_for(compiled.kernel))


def test_the_validator_accepts_every_shader(tmp_path: Path) -> None:
    for name, code in codes("vulkan", ""):
        path = tmp_path / f"{name}.spv"
        path.write_bytes(code.code)
        accepted([tool("spirv-val"), "--target-env", "vulkan1.2", str(path)])


def test_a_kernel_file_runs_from_the_command_line() -> None:
    """`atoll kernel run` takes any of the files: an example is used as its reader would."""
    command = [sys.executable, "-m", "atoll", "kernel", "run", "simulation.py:stencil", "--target", "cpu"]
    ran = subprocess.run(command, cwd=FOLDER, capture_output=True, text=True, timeout=300, check=False)
    assert ran.returncode == 0, ran.stderr
