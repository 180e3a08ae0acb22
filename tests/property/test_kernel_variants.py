"""Loops written out and four work-items in one give what the kernel gives, to the bit.

Judged by the interpreter: the kernels of `examples/kernels` on their arguments, and random kernels by seed. A
kernel of four in one runs over a quarter of the domain.
"""

from __future__ import annotations

import copy
import importlib
import random
import sys
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from atoll.ir import Module, layout
from atoll.ir import nodes as n
from atoll.ir.interpret import ViewArgument, interpret
from atoll.ir.passes import optimise
from atoll.ir.unroll import unroll
from atoll.ir.vector import memory_dtype
from atoll.ir.walk import statements
from atoll.ir.widen import LANES, widen
from atoll.kernels.arguments import check
from atoll.kernels.shapes import Shape, over_shape
from atoll.kernels.structs import spread
from atoll.kernels.variants import narrowed
from atoll.runtime.regions import regions
from atoll.testing.evaluate import ViewValue, evaluate
from atoll.testing.programs import programs
from atoll.testing.random_kernels import random_program

FOLDER = Path(__file__).parents[2] / "examples/kernels"
FILES = ("elementwise", "movement", "reduction", "normalise", "matrix", "attention", "simulation", "sparse")


def cases() -> list[Any]:
    """Return the cases of the test kernels."""
    if str(FOLDER) not in sys.path:
        sys.path.insert(0, str(FOLDER))
    return [case for name in FILES for case in importlib.import_module(name).CASES]


def ran(module: Module, case: Any, shape: Shape, given: tuple[Any, ...]) -> list[bytes]:
    """Return the memory of a case's arrays after a kernel ran on them."""
    compiled, mine = case.kernel.compiled(), copy.deepcopy(given)
    checked = check(compiled.kernel, spread(compiled.params, mine))
    kernel = module.kernels[0]
    found = regions(checked.arrays)
    memory = {
        id(item): np.frombuffer(bytes(item.skipped) + bytes(item.memory()), np.uint8).copy() for item in found
    }
    elements = {param.name: param.type.element for param in kernel.views}  # type: ignore[union-attr]
    arguments: dict[str, Any] = dict(checked.scalars)
    for item, region in zip(checked.arrays, found, strict=True):
        raw, element = memory[id(region)], elements[item.name]
        data = raw[: raw.size // element.nbytes * element.nbytes].view(memory_dtype(element))
        arguments[item.name] = ViewArgument(data, item.sizes, item.strides, region.offset(item))
    domain = shape.domain if layout(kernel).has_domain else None
    interpret(kernel, arguments, shape.groups, shape.block, domain)
    return [item.tobytes() for item in memory.values()]


def test_the_test_kernels_give_the_same_bytes(tell: Callable[[str], None]) -> None:
    wide, names = 0, set()
    for case in cases():
        compiled = case.kernel.compiled()
        shape, given = over_shape(compiled.kernel, case.domain, None), case.given()
        whole = unroll(compiled.optimised)
        expected = ran(compiled.optimised, case, shape, given)
        assert ran(whole, case, shape, given) == expected, case.name
        four = widen(whole, case.name)
        if four is not None and shape.domain[0] % LANES == 0:
            assert ran(four, case, narrowed(shape), given) == expected, case.name
            wide += 1
            names.add(case.name)
    assert {"saxpy", "gelu_forward", "adamw", "stencil", "encoder_forward"} <= names
    tell(f"{len(cases())} launches with loops written out, {wide} of them with four work-items in one")


def neighbourly(seed: int) -> str:
    """Return a kernel that reads around its element, in one way inside and in another at the borders."""
    draw = random.Random(seed)

    def term() -> str:
        step = draw.randrange(-4, 6)
        index = "i" if step == 0 and draw.random() < 0.5 else f"i {'-' if step < 0 else '+'} {abs(step)}"
        where = f"y[{draw.choice(('0', 'i % 3'))}, {index}]" if draw.random() < 0.3 else f"x[{index}]"
        return f"{where} * {draw.randrange(1, 9)}.0"

    lines = [
        f"    out[i{draw.choice(('', ' + 0'))}] = {' + '.join(term() for _ in range(draw.randrange(1, 7)))}"
    ]
    inside = "i >= 4 and i < x.size - 6" + draw.choice(("", "", "", " and x[i] > -0.5"))
    other = draw.choice(("", "    else:\n        out[i] = x[i] - y[1, i]\n"))
    if draw.random() < 0.3:
        lines.append("    out[i] = out[i] * 0.5 + x[i + 1]")
    body = "\n".join(f"    {line}" for line in lines)
    params = "x: view[f32], y: view[f32, 2], out: view[f32]"
    return f"@kernel\ndef k({params}):\n    i = atoll.global_id(0)\n    if {inside}:\n{body}\n{other}"


def test_neighbours_read_together_are_those_that_each_reads(whole: bool, tell: Callable[[str], None]) -> None:
    from kernel_text import kernel_from

    first = random.SystemRandom().randrange(1 << 30)
    together = 0
    for seed in range(first, first + (400 if whole else 40)):
        found = kernel_from(neighbourly(seed))
        numbers = np.random.default_rng(seed).normal(size=(4, 32)).astype(np.float32)
        case, given = SimpleNamespace(kernel=found), (numbers[0], numbers[:3].copy(), numbers[3])
        shape = over_shape(found.compiled().kernel, 32, None)
        before = found.compiled().optimised
        four = widen(unroll(before), "k")
        if four is None:
            continue
        together += 1
        assert ran(four, case, narrowed(shape), given) == ran(before, case, shape, given), (
            f"seed {seed}\n{neighbourly(seed)}"
        )
    assert together > 10
    tell(f"{together} kernels of neighbours from seed {first}")


def answers(module: Module, program: Any) -> list[Any]:
    """Return what a program leaves in its views."""
    given = program.arguments()
    evaluate(module.kernel(program.name), given, program.groups, program.group, program.domain)
    return [list(map(repr, item.data)) for item in given.values() if isinstance(item, ViewValue)]


def test_random_kernels_give_the_same(whole: bool, tell: Callable[[str], None]) -> None:
    drawn = [random_program(seed) for seed in range(500 if whole else 40)]
    changed = 0
    for program in [*drawn, *programs()]:
        before = optimise(program.module)
        after = unroll(before)
        changed += after != before
        if after != before:
            assert answers(after, program) == answers(before, program), program.name
    assert changed > 5
    tell(f"{len(drawn)} of 500 random kernels, {len(programs())} programs: {changed} had a loop to write out")


def test_a_loop_near_the_end_of_its_type_ends() -> None:
    from kernel_text import kernel_from

    kernel = kernel_from(
        "@kernel\ndef k(first: i32, last: i32, out: view[i32]):\n"
        "    count = 0\n    for i in range(first, last):\n        count += 1\n        out[1] = i\n"
        "    out[0] = count\n"
    )
    module = unroll(kernel.compiled().optimised)
    most = (1 << 31) - 1
    for first, last in ((most - 9, most), (-(1 << 31), -(1 << 31) + 6), (5, 5), (7, 3), (most - 1, most)):
        out = ViewValue([0, 0], (2,), (1,))
        evaluate(module.kernel("k"), {"first": first, "last": last, "out": out}, (1, 1, 1), (1, 1, 1), None)
        assert out.data[0] == max(0, last - first)
    assert sum(isinstance(stmt, n.Loop) for stmt in statements(module.kernels[0].body)) == 2


def test_a_loop_of_any_count_turns_as_often() -> None:
    from kernel_text import kernel_from

    kernel = kernel_from(
        "@kernel\ndef k(x: view[f32], out: view[f32]):\n"
        "    total = f32(0)\n    for c in range(1, x.size, 3):\n        total = total * 2.0 + x[c]\n"
        "    out[0] = total\n"
    )
    before = kernel.compiled().optimised
    after = unroll(before)
    assert after != before
    for size in range(40):
        found = []
        for module in (before, after):
            x, out = ViewValue([float(n) for n in range(size)], (size,), (1,)), ViewValue([0.0], (1,), (1,))
            evaluate(module.kernel("k"), {"x": x, "out": out}, (1, 1, 1), (1, 1, 1), None)
            found.append(out.data[0])
        assert found[0] == found[1], size


def test_a_loop_that_returns_in_its_first_turn_is_left_alone() -> None:
    from kernel_text import kernel_from

    kernel = kernel_from(
        "@kernel\ndef k(x: view[i32], out: view[i32]):\n"
        "    for c in range(3):\n        out[c] = 1\n"
        "        if x[0] > 0:\n            return\n        else:\n            return\n"
    )
    module = unroll(kernel.compiled().optimised)
    out = ViewValue([0, 0, 0], (3,), (1,))
    evaluate(module.kernel("k"), {"x": ViewValue([1], (1,), (1,)), "out": out}, (1, 1, 1), (1, 1, 1), None)
    assert out.data == [1, 0, 0]


@pytest.mark.parametrize(
    "body",
    [
        "out[atoll.local_id(0)] = x[i]",
        "atoll.atomic_add(out, i, x[i])",
        "for k in range(x.shape[0]):\n        out[i] = x[k]",
        "if x[i] > 0.0:\n        out[i] = 1.0\n        return\n    out[i] = 2.0",
        "if i < out.size and x[i] > 0.0:\n        out[i] = 1.0",
        "out[2 * i] = x[i]",
    ],
)
def test_what_four_cannot_do_together_is_left_alone(body: str) -> None:
    from kernel_text import kernel_from

    kernel = kernel_from(
        f"@kernel\ndef k(x: view[f32], out: view[f32]):\n    i = atoll.global_id(0)\n    {body}\n"
    )
    assert widen(kernel.compiled().optimised, "k") is None


def test_an_array_of_a_work_item_becomes_locals_once_its_indices_are_constants() -> None:
    case = next(case for case in cases() if case.name == "matmul_blocked")
    before = case.kernel.compiled().optimised
    assert before.kernels[0].arrays
    assert not unroll(before).kernels[0].arrays
