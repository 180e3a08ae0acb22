"""Folding gives what the interpreter gives, for every operation, every type and values at every edge.

Two readings of the language meet: Python numbers (:mod:`atoll.ir.scalar`) and NumPy arrays
(:mod:`atoll.ir.vector`).
"""

from __future__ import annotations

import itertools
import random
from collections.abc import Callable, Iterator

import numpy as np
import pytest

from atoll.ir import BOOL, F32, I64, SCALARS, Kernel, Module, Parameter, Scalar, View, ops
from atoll.ir import nodes as n
from atoll.ir import vector as v
from atoll.ir.interpret import ViewArgument, interpret
from atoll.ir.passes import optimise
from atoll.ir.passes.fold import EXACT
from atoll.ir.verify import cast_allows
from atoll.ir.walk import all_expressions

NUMBERS = [scalar for scalar in SCALARS.values() if scalar != BOOL]


def edges(scalar: Scalar) -> list[n.Const]:
    if scalar == BOOL:
        return [n.const(BOOL, False), n.const(BOOL, True)]
    draw = random.Random(3)
    if scalar.is_integer:
        low, high = scalar.range
        near = [low, low + 1, high, high - 1, 0, 1, -1, 2, -2, 7, scalar.bits, scalar.bits - 1]
        return [n.const(scalar, value) for value in [*near, *(draw.randint(low, high) for _ in range(4))]]
    exponent = {"f16": 0x7C00, "bf16": 0x7F80, "f32": 0x7F800000, "f64": 0x7FF << 52}[scalar.name]
    sign = 1 << (scalar.bits - 1)
    bits = [0, sign, 1, exponent, exponent | sign, exponent | exponent >> 1, exponent - 1]
    plain = [n.const(scalar, value) for value in (1.0, -1.5, 0.1, 2.5, -3.5, 3e4, 1e-3, 255.0, 4e9, -2e19)]
    return [*(n.Const(scalar, one) for one in bits), *plain]


def operations(scalar: Scalar) -> Iterator[n.Expr]:
    values = edges(scalar)
    floating = scalar.is_float
    for unary in ops.Unary:
        if (unary in ops.FLOAT_UNARY) == floating:
            yield from (n.Unary(unary, value) for value in values)
    for binary in ops.Binary:
        if (binary in ops.FLOAT_BINARY) == floating:
            yield from (n.Binary(binary, a, b) for a, b in itertools.product(values, repeat=2))
    for compare in ops.Compare:
        yield from (n.Compare(compare, a, b) for a, b in itertools.product(values, repeat=2))
    for cast, target in itertools.product(ops.Cast, SCALARS.values()):
        if cast_allows(cast, scalar, target):
            yield from (n.Cast(cast, target, value) for value in values)
    for maths in sorted(EXACT) if floating else ():
        operands = itertools.product(values[::2], repeat=ops.MATH_ARITY[maths])
        yield from (n.MathCall(maths, pair) for pair in operands)


def answers(kernel: Kernel, counts: dict[str, int]) -> dict[str, bytes]:
    data = {
        param.name: np.zeros(counts[param.name], v.memory_dtype(param.type.element))
        for param in kernel.params
        if isinstance(param.type, View)
    }
    views = {name: ViewArgument(held, held.shape, (1,)) for name, held in data.items()}
    interpret(kernel, views, (1, 1, 1), (1, 1, 1))
    return {name: held.tobytes() for name, held in data.items()}


def kernel_of(expressions: list[n.Expr]) -> tuple[Kernel, dict[str, int]]:
    """Return a kernel that stores each value; a bool as an integer."""
    counts: dict[str, int] = {}
    body: list[n.Stmt] = []
    for expr in expressions:
        value = n.Cast(ops.Cast.ZEXT, I64, expr) if expr.type == BOOL else expr
        name = f"out_{value.type}"
        body.append(n.Store(name, (n.const(I64, counts.get(name, 0)),), value))
        counts[name] = counts.get(name, 0) + 1
    params = tuple(Parameter(name, View(SCALARS[name.removeprefix("out_")])) for name in counts)
    return Kernel(name="k", params=params, body=tuple(body)), counts


@pytest.mark.parametrize("scalar", NUMBERS, ids=str)
def test_folding_gives_what_the_interpreter_gives(
    scalar: Scalar, whole: bool, tell: Callable[[str], None]
) -> None:
    total = list(operations(scalar))
    found = total if whole else random.SystemRandom().sample(total, len(total) // 8)
    left = 0
    for first in range(0, len(found), 400):
        kernel, counts = kernel_of(found[first : first + 400])
        made = optimise(Module(kernels=(kernel,))).kernels[0]
        assert answers(made, counts) == answers(kernel, counts)
        left += sum(not isinstance(node, n.Const) for node in all_expressions(made.body))
    # Integers fold; a float that is NaN or a denormal is the target's.
    assert left == 0 if scalar.is_integer else left < len(found)
    tell(f"{len(found)} of {len(total)} operations on {scalar}, {left} of them left to the target")


def test_a_wrong_fold_is_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    from atoll.ir import scalar as scalars

    right = scalars.binary
    monkeypatch.setattr(scalars, "binary", lambda _, kind, a, b: right(ops.Binary.FADD, kind, a, b))
    kernel, counts = kernel_of([n.Binary(ops.Binary.FSUB, n.const(F32, 3.0), n.const(F32, 1.0))])
    made = optimise(Module(kernels=(kernel,))).kernels[0]
    assert answers(made, counts) != answers(kernel, counts)
