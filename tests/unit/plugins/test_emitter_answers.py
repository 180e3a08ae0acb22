"""What emitters write computes what KIR means: on the processor, lavapipe, PoCL and any GPU at hand.

The reference is the direct evaluation in :mod:`atoll.testing.evaluate`, checked against NumPy here. Random
kernels are drawn by seed: a failure names the seed.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator

import numpy as np
import numpy.typing as npt
import pytest

from atoll.ir import F32, I32, U32
from atoll.ir.ops import Binary
from atoll.ir.scalar import binary
from atoll.plugin import DriverDevice
from atoll.testing.emitters import answers_are_right
from atoll.testing.evaluate import Number, ViewValue
from atoll.testing.launching import run
from atoll.testing.program import Program
from atoll.testing.programs import programs
from atoll_plugins.cuda import ptxfunction
from atoll_plugins.formats import ctext
from atoll_plugins.formats.core import Core
from atoll_plugins.spirv import function as spirv_function
from emitter_kit import BACKENDS, device, emitter
from property.kernel_judge import Child, judge_kir

#: Random kernels: how many run by default and with --all, of as many seeds as there are.
SAMPLE = {"cpu": 30, "cuda": 100, "opencl": 12, "vulkan": 60}
WHOLE = 500
#: A fault of PoCL may hang the process that launches: docs/decisions/0170-rint-of-a-constant-on-pocl.md.
HANGS = ("opencl",)
#: lavapipe folds `x + 0.0` to x and `x * 0.0` to 0.0 where the zero is a constant, whatever the shader says.
MIXES_ZEROS = "llvmpipe"
#: Programs that a backend refuses, and why: docs/decisions/0031-maths-of-emitters.md.
LACKS = {
    "fma_f32": ("vulkan",),
    "fma_f64": ("vulkan",),
    "fma_f16": ("vulkan",),
    "fma_bf16": ("vulkan",),
    "maths_f64": ("cuda", "vulkan"),
    "pow_f64": ("cuda", "vulkan"),
}
#: How far the maths functions may be from the correctly rounded value (OpenCL 1.2, table 7.4: pow 16).
MATHS_ULP = {"cpu": 2, "cuda": 16, "opencl": 16}


@pytest.fixture(scope="module", params=BACKENDS)
def opened(request: pytest.FixtureRequest) -> Iterator[tuple[str, DriverDevice]]:
    with device(request.param) as found:
        yield request.param, found


@pytest.mark.parametrize("program", programs(), ids=lambda program: program.name)
def test_a_program_gives_the_right_answer(opened: tuple[str, DriverDevice], program: Program) -> None:
    backend, found = opened
    ulp = _allowed(backend, found, program)
    code = answers_are_right(emitter(backend), found, program, ulp=ulp)
    refused = backend in LACKS.get(program.name, ())
    assert (code is None) is refused, f"{program.name} is {'emitted' if refused else 'refused'}"


def _allowed(backend: str, found: DriverDevice, program: Program) -> int | None:
    """Return how far floats may be off here; None for what the program allows on any device."""
    if program.name.startswith(("maths_", "pow_")):
        return MATHS_ULP.get(backend)
    return 0 if found.info.software or backend == "cuda" else None


def test_random_kernels_give_the_answers_of_the_reference(
    opened: tuple[str, DriverDevice], whole: bool, tell: Callable[[str], None]
) -> None:
    backend, found = opened
    count = WHOLE if whole else SAMPLE[backend]
    first = 0 if whole else 1000
    wrong, hung = [], []
    zeros = not found.info.name.startswith(MIXES_ZEROS)
    child = Child(backend) if backend in HANGS else None
    for seed in range(first, first + count):
        for passes in (False, True) if whole else (bool(seed % 2),):
            if child:
                verdict = child.judge_kir(seed, passes=passes)
            else:
                verdict = judge_kir(seed, found, emitter(backend), passes=passes, signed_zeros=zeros)
            if verdict.wrong:
                wrong.append(f"seed {seed}{' after the passes' * passes}: {verdict.wrong}")
            if verdict.hung:
                hung.append(seed)
    if child:
        child.close()
    tell(
        f"{count} random kernels of {WHOLE} on {found.info.name}, from seed {first}; "
        f"never came back: {hung or 'none'}"
    )
    assert not wrong, "\n".join(wrong)
    assert len(hung) <= count / 20, hung


def test_saxpy_and_a_block_sum_are_numpys(opened: tuple[str, DriverDevice]) -> None:
    backend, found = opened
    draw = np.random.default_rng(5)
    x, y = (draw.standard_normal(1000).astype(np.float32) for _ in range(2))
    a = np.float32(0.3)
    by_name = {program.name: program for program in programs()}
    out, totals = _view(np.zeros(1000, np.float32)), _view(np.zeros(16, np.float32))
    given: dict[str, Number | ViewValue] = {"a": float(a), "x": _view(x), "y": _view(y), "out": out}
    module = by_name["saxpy"].module
    run(emitter(backend), found, module, "saxpy", given, (16, 1, 1), (64, 1, 1), (1000, 1, 1))
    assert np.array_equal(np.array(out.data, np.float32), a * x + y)
    sums: dict[str, Number | ViewValue] = {"x": _view(x), "out": totals}
    run(emitter(backend), found, by_name["block_sum"].module, "block_sum", sums, (16, 1, 1), (64, 1, 1))
    tree = np.concatenate([x, np.zeros(24, np.float32)]).reshape(16, 64)
    while tree.shape[1] > 1:
        half = tree.shape[1] // 2
        tree = tree[:, :half] + tree[:, half:]
    assert np.array_equal(np.array(totals.data, np.float32), tree[:, 0])


def _view(values: npt.NDArray[np.float32]) -> ViewValue:
    return ViewValue([float(value) for value in values], values.shape, (1,))


def test_nothing_outside_the_domain_is_touched(opened: tuple[str, DriverDevice]) -> None:
    backend, found = opened
    module = programs()[0].module
    for count in (0, 1, 63, 65):
        out = ViewValue([7.0] * 128, (128,), (1,))
        ones = np.ones(128, np.float32)
        given: dict[str, Number | ViewValue] = {"a": 1.0, "x": _view(ones), "y": _view(ones), "out": out}
        run(emitter(backend), found, module, "saxpy", given, (2, 1, 1), (64, 1, 1), (count, 1, 1))
        assert out.data == [2.0] * count + [7.0] * (128 - count)


# --- the reference itself, and the checks seen red ----------------------------------------------


def test_the_reference_divides_like_python_and_numpy() -> None:
    draw = random.Random(3)
    for _ in range(300):
        left, right = draw.randint(-99, 99), draw.randint(-9, 9) or 1
        assert binary(Binary.DIV_FLOOR, I32, left, right) == left // right
        assert binary(Binary.REM_FLOOR, I32, left, right) == left % right
        assert binary(Binary.DIV_TRUNC, I32, left, right) == int(left / right)
        assert binary(Binary.REM_TRUNC, I32, left, right) == int(np.fmod(left, right))


def test_the_reference_rounds_like_numpy() -> None:
    draw = np.random.default_rng(9)
    x, y = (draw.standard_normal(500).astype(np.float32) * np.float32(1e6) for _ in range(2))
    numpy = {Binary.FADD: x + y, Binary.FSUB: x - y, Binary.FMUL: x * y, Binary.FDIV: x / y}
    for op, wanted in numpy.items():
        found = [binary(op, F32, float(one), float(other)) for one, other in zip(x, y, strict=True)]
        assert np.array_equal(np.array(found, np.float32), wanted)
    big = draw.integers(0, 1 << 32, 500, np.uint32)
    found = [binary(Binary.MUL_WRAP, U32, int(one), 2654435761) for one in big]
    assert np.array_equal(np.array(found, np.uint32), big * np.uint32(2654435761))


def _fails(backend: str, name: str) -> None:
    program = next(program for program in programs() if program.name == name)
    with device(backend) as found, pytest.raises(AssertionError, match="elements differ"):
        answers_are_right(emitter(backend), found, program)


def test_a_swapped_operation_of_c_is_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(ctext._OPERATORS, Binary.FADD, "-")
    _fails("cpu", "saxpy")


def test_a_swapped_operation_of_opencl_c_is_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(ctext._OPERATORS, Binary.FMUL, "+")
    _fails("opencl", "saxpy")


def test_a_swapped_operation_of_a_shader_is_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    core = spirv_function._CORE
    monkeypatch.setitem(core, Core.FADD, core[Core.FSUB])
    _fails("vulkan", "block_sum")


def test_a_swapped_operation_of_ptx_is_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(ptxfunction._CORE, Core.FMUL, "add.rn")
    _fails("cuda", "saxpy")
