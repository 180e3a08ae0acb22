"""Every operation of every type as one kernel a type: a table with a column for each operation.

The rows are the values where targets differ: zero, -1, the least integer, counts beyond the width, the
ends of ranges, signed zeros, infinities and NaN.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from itertools import product

from atoll.ir import (
    BF16,
    BOOL,
    F16,
    F32,
    F64,
    I8,
    I16,
    I32,
    I64,
    U8,
    U16,
    U32,
    U64,
    Kernel,
    LocalVariable,
    Module,
    Parameter,
    Scalar,
    View,
    nodes,
    ops,
)  # fmt: skip
from atoll.ir.scalar import rounded
from atoll.ir.verify import cast_allows, verify
from atoll.testing.evaluate import Number, ViewValue
from atoll.testing.program import Arguments, Program

_INTEGERS = (I8, I16, I32, I64, U8, U16, U32, U64)
_FLOATS = (F32, F64, F16, BF16)
_FLOAT_VALUES = (
    0.0, -0.0, 1.0, -1.5, 2.5, -3.5, 0.1, 1e10, -7e12, 3e38, -3e38, 1e-3, 16777217.0,
    math.inf, -math.inf, math.nan,
)  # fmt: skip
# Within -pi and pi, beyond which Vulkan promises nothing of a sine.
_MATHS_VALUES = (0.001, 0.1, 0.5, 0.62, 0.63, 0.99, 1.25, 1.5, 2.0, 2.8, 3.1)
#: What 2**-10 is, in units of the last place.
_NEAR = {F16: 2, BF16: 2, F32: 1 << 13, F64: 1 << 42}
_EXACT_MATHS = (ops.Math.FLOOR, ops.Math.CEIL, ops.Math.TRUNC, ops.Math.RINT)


def _integer_values(scalar: Scalar) -> list[int]:
    bits = scalar.bits
    chosen = {0, 1, 2, 3, 7, bits - 1, bits, bits + 1, (1 << (bits - 1)) - 1, 100}
    chosen |= (
        {-1, -2, -7, -(1 << (bits - 1)), -100} if scalar.is_signed else {(1 << bits) - 1, 1 << (bits - 1)}
    )
    return sorted(chosen)


def _index() -> nodes.Expr:
    return nodes.Cast(ops.Cast.SEXT, I64, nodes.Builtin(ops.Id.GLOBAL_ID, 0))


def _table(name: str, inputs: Mapping[str, Scalar], held: Scalar, results: list[nodes.Expr]) -> Module:
    """Return a kernel that writes each result of row i to ``out[i, k]``; ``x[i]`` is `a`, ``y[i]`` is `b`."""
    params = [Parameter(given, View(scalar)) for given, scalar in inputs.items()]
    params.append(Parameter("out", View(held, 2)))
    listed = list(zip("ab", inputs.items(), strict=False))
    read = [nodes.Assign(local, nodes.Load(given, (_index(),), scalar)) for local, (given, scalar) in listed]
    stores = [
        nodes.Store("out", (_index(), nodes.const(I64, column)), result)
        for column, result in enumerate(results)
    ]
    kernel = Kernel(
        name=name,
        params=tuple(params),
        locals=tuple(LocalVariable(local, scalar) for local, (_, scalar) in listed),
        body=(*read, *stores),
    )
    return verify(Module(kernels=(kernel,)))


def _pairs(values: list[Number], columns: int, zero: Number) -> Arguments:
    pairs = list(product(values, values))
    return {
        "x": ViewValue([left for left, _ in pairs], (len(pairs),), (1,)),
        "y": ViewValue([right for _, right in pairs], (len(pairs),), (1,)),
        "out": ViewValue([zero] * (len(pairs) * columns), (len(pairs), columns), (columns, 1)),
    }


def _rows(name: str, about: str, module: Module, arguments: Callable[[], Arguments], ulp: int = 0) -> Program:
    first = arguments()["x"]
    assert isinstance(first, ViewValue)
    count = len(first.data)
    return Program(
        name=name, about=about, module=module, arguments=arguments, ulp=ulp,
        groups=(-(-count // 64), 1, 1), domain=(count, 1, 1),
    )  # fmt: skip


def integer_results(scalar: Scalar) -> list[nodes.Expr]:
    """Return every operation on integers of a type, of `a` and `b`; also by constants."""
    x, y = nodes.Local("a", scalar), nodes.Local("b", scalar)
    found: list[nodes.Expr] = [nodes.Binary(op, x, y) for op in ops.Binary if op not in ops.FLOAT_BINARY]
    for op in (*sorted(ops.DIVISIONS), ops.Binary.SHL, ops.Binary.SHR):
        found += [nodes.Binary(op, x, nodes.const(scalar, by)) for by in (0, 1, 3, scalar.bits, -1, -3)]
    found += [nodes.Unary(op, x) for op in (ops.Unary.NEG_WRAP, ops.Unary.ABS_WRAP, ops.Unary.NOT)]
    return found


def integer_program(scalar: Scalar) -> Program:
    """Return the table of a type's operations, over all pairs of its edge values."""
    results = integer_results(scalar)
    module = _table(f"ops_{scalar}", {"x": scalar, "y": scalar}, scalar, results)
    values: list[Number] = list(_integer_values(scalar))
    return _rows(
        module.kernels[0].name, f"{scalar} operations", module, lambda: _pairs(values, len(results), 0)
    )


def compare_program(scalar: Scalar) -> Program:
    """Return every comparison of a type, and what is made of bools, as a table of i32."""
    x, y = nodes.Local("a", scalar), nodes.Local("b", scalar)
    bools: list[nodes.Expr] = [nodes.Compare(op, x, y) for op in ops.Compare]
    less, equal = nodes.Compare(ops.Compare.LT, x, y), nodes.Compare(ops.Compare.EQ, x, y)
    bools += [nodes.Binary(op, less, equal) for op in sorted(ops.BITWISE)]
    bools += [nodes.Unary(ops.Unary.NOT, less), nodes.Compare(ops.Compare.EQ, less, equal)]
    bools += [nodes.Logical(op, less, equal) for op in ops.Logical]
    bools.append(nodes.Select(less, equal, nodes.const(BOOL, True)))
    results: list[nodes.Expr] = [nodes.Cast(ops.Cast.ZEXT, I32, item) for item in bools]
    module = _table(f"compare_{scalar}", {"x": scalar, "y": scalar}, I32, results)
    values = _edge_values(scalar)
    return _rows(
        module.kernels[0].name, f"{scalar} compares", module, lambda: _pairs(values, len(results), 9)
    )


def float_program(scalar: Scalar) -> Program:
    """Return the operations of a float type that are exact on every target."""
    x, y = nodes.Local("a", scalar), nodes.Local("b", scalar)
    inexact = (ops.Binary.FDIV,)
    results: list[nodes.Expr] = [
        nodes.Binary(op, x, y) for op in sorted(ops.FLOAT_BINARY) if op not in inexact
    ]
    results += [nodes.Unary(op, x) for op in sorted(ops.FLOAT_UNARY)]
    results += [nodes.MathCall(op, (x,)) for op in _EXACT_MATHS]
    results.append(nodes.Binary(ops.Binary.FADD, nodes.Binary(ops.Binary.FMUL, x, x), y))
    module = _table(f"ops_{scalar}", {"x": scalar, "y": scalar}, scalar, results)
    values = _edge_values(scalar)
    return _rows(
        module.kernels[0].name, f"{scalar} operations", module, lambda: _pairs(values, len(results), 9.0)
    )


def ratio_program(scalar: Scalar) -> Program:
    """Return division and square root: correctly rounded in KIR, up to 3 ulp away on some devices."""
    x, y = nodes.Local("a", scalar), nodes.Local("b", scalar)
    results: list[nodes.Expr] = [
        nodes.Binary(ops.Binary.FDIV, x, y),
        nodes.MathCall(ops.Math.SQRT, (nodes.Unary(ops.Unary.FABS, x),)),
    ]
    module = _table(f"ratio_{scalar}", {"x": scalar, "y": scalar}, scalar, results)
    values: list[Number] = [value for value in _edge_values(scalar) if not 1e30 < abs(value) < math.inf]
    return _rows(module.kernels[0].name, f"{scalar} ratios", module, lambda: _pairs(values, 2, 9.0), ulp=3)


def maths_program(scalar: Scalar) -> Program:
    """Return the maths whose accuracy is the target's: within 2**-10 of the value for every target."""
    x, y = nodes.Local("a", scalar), nodes.Local("b", scalar)
    results: list[nodes.Expr] = [
        nodes.MathCall(op, (x, y) if op is ops.Math.POW else (x,))
        for op in ops.Math
        if op not in (*_EXACT_MATHS, ops.Math.SQRT, ops.Math.FMA)
    ]
    module = _table(f"maths_{scalar}", {"x": scalar, "y": scalar}, scalar, results)
    values: list[Number] = [rounded(scalar, value) for value in _MATHS_VALUES]
    ulp = _NEAR[scalar]
    return _rows(
        module.kernels[0].name, f"{scalar} maths", module, lambda: _pairs(values, len(results), 9.0), ulp
    )


def pow_program(scalar: Scalar) -> Program:
    """Return `pow` at its special cases, where C and Python agree."""
    x, y = nodes.Local("a", scalar), nodes.Local("b", scalar)
    module = _table(
        f"pow_{scalar}", {"x": scalar, "y": scalar}, scalar, [nodes.MathCall(ops.Math.POW, (x, y))]
    )
    usual = [value for value in _FLOAT_VALUES if abs(value) != 3e38]  # no result below the normal range
    values: list[Number] = [rounded(scalar, value) for value in (*usual, -1.0, 3.0, -2.0, 0.5)]
    ulp = _NEAR[scalar]
    return _rows(module.kernels[0].name, f"{scalar} pow", module, lambda: _pairs(values, 1, 9.0), ulp)


def fma_program(scalar: Scalar) -> Program:
    """Return the fused multiply-add, where one rounding and two differ."""
    x, y = nodes.Local("a", scalar), nodes.Local("b", scalar)
    less = nodes.Unary(ops.Unary.FNEG, nodes.Binary(ops.Binary.FMUL, x, y))
    results: list[nodes.Expr] = [
        nodes.MathCall(ops.Math.FMA, (x, y, third)) for third in (y, less, nodes.const(scalar, 1.0))
    ]
    module = _table(f"fma_{scalar}", {"x": scalar, "y": scalar}, scalar, results)
    values: list[Number] = [
        rounded(scalar, value) for value in (*_MATHS_VALUES, -0.3, 1e-5, -1234.5678, 3e10)
    ]
    return _rows(module.kernels[0].name, f"{scalar} fma", module, lambda: _pairs(values, len(results), 9.0))


def cast_program(source: Scalar) -> Program:
    """Return every conversion of a type, each as the bits of its result in a u64."""
    x = nodes.Local("a", source)
    results = [
        _as_u64(nodes.Cast(op, target, x))
        for target in (*_INTEGERS, *_FLOATS)
        for op in ops.Cast
        if cast_allows(op, source, target)
    ]
    module = _table(f"casts_{source}", {"x": source}, U64, results)
    values = _edge_values(source)
    if source.is_float:
        near = [
            127.5,
            128.0,
            -128.9,
            -129.0,
            255.9,
            256.0,
            65535.5,
            2147483520.0,
            -2147483648.0,
            4294967040.0,
        ]
        near += [-0.9, 9.2233715e18, -9.2233720368547758e18, 1.8446743e19, 2147483648.0]
        values += [rounded(source, value) for value in near]

    def arguments() -> Arguments:
        columns, count = len(results), len(values)
        table = ViewValue([9] * (count * columns), (count, columns), (columns, 1))
        return {"x": ViewValue(list(values), (count,), (1,)), "out": table}

    return _rows(module.kernels[0].name, f"casts of {source}", module, arguments)


_WORDS = {16: U16, 32: U32, 64: U64}


def _as_u64(expr: nodes.Expr) -> nodes.Expr:
    """Return a value's bits, extended to 64; a NaN that a conversion made becomes 2, its bits are free."""
    if expr.type.is_float:
        made = isinstance(expr, nodes.Cast) and expr.op is not ops.Cast.BITS
        if made or expr.type.bits == 16:  # Python holds no NaN of 16 bits
            number = nodes.Compare(ops.Compare.EQ, expr, expr)
            expr = nodes.Select(number, expr, nodes.const(expr.type, 2.0))
        expr = nodes.Cast(ops.Cast.BITS, _WORDS[expr.type.bits], expr)
    if expr.type.bits < 64:
        extend = ops.Cast.SEXT if expr.type.is_signed else ops.Cast.ZEXT
        expr = nodes.Cast(extend, I64 if expr.type.is_signed else U64, expr)
    return nodes.Cast(ops.Cast.SIGN, U64, expr) if expr.type.is_signed else expr


def _edge_values(scalar: Scalar) -> list[Number]:
    if scalar.is_float:
        return [rounded(scalar, value) for value in _FLOAT_VALUES]
    return list(_integer_values(scalar))


def table_programs() -> tuple[Program, ...]:
    """Return the tables of every type."""
    tables = [integer_program(scalar) for scalar in _INTEGERS]
    tables += [compare_program(scalar) for scalar in (I32, U32, I64, U8, F32, F64, F16, BF16)]
    for scalar in _FLOATS:
        tables += [float_program(scalar), ratio_program(scalar), maths_program(scalar)]
        tables += [pow_program(scalar), fma_program(scalar)]
    tables += [cast_program(scalar) for scalar in (*_INTEGERS, *_FLOATS)]
    return tuple(tables)
