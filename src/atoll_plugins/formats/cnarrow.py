"""How does C compute with f16 and bf16? As their bits in 16, widened to f32 and rounded back once.

The rounding is that of :mod:`atoll_plugins.formats.narrow`. Each operation is a helper over two conversions
that a dialect may spell with what its language has; by default they are integer operations.
"""

from __future__ import annotations

from atoll.ir import BF16, F32, F64, Scalar
from atoll.ir.ops import Binary, Math
from atoll_plugins.formats.cdialect import Dialect

_SIGNS = {Binary.FADD: "+", Binary.FSUB: "-", Binary.FMUL: "*", Binary.FDIV: "/"}


def widened(scalar: Scalar, text: str) -> str:
    """Return an expression of the f32 of a narrow float."""
    return f"atoll_widen_{scalar.name}({text})"


def narrowed(scalar: Scalar, text: str) -> str:
    """Return an expression of the narrow float nearest to an f32."""
    return f"atoll_narrow_{scalar.name}({text})"


def binary_lines(op: Binary, scalar: Scalar) -> tuple[str, ...]:
    """Return the body of the helper of an operation on two operands, `a` and `b`."""
    a, b = widened(scalar, "a"), widened(scalar, "b")
    if op in (Binary.FMIN, Binary.FMAX):
        return (f"return {b} {'<' if op is Binary.FMIN else '>'} {a} ? b : a;",)
    return (f"return {narrowed(scalar, f'{a} {_SIGNS[op]} {b}')};",)


def maths_helper(dialect: Dialect, op: Math, scalar: Scalar, name: str, count: int) -> str:
    """Return the helper of a function; a fused multiply-add is done in f64, where the product is exact."""
    kind, given = dialect.value(scalar), "abc"[:count]
    head = f"{dialect.inline} {kind} {name}({', '.join(f'{kind} {item}' for item in given)})"
    wide = [widened(scalar, item) for item in given]
    if op is Math.FMA:
        double = dialect.types["f64"]
        a, b, c = (f"({double}){item}" for item in wide)
        product = f"const {double} product = {a} * {b};"
        return _function(head, product, f"return {narrowed(scalar, f'atoll_odd_f64(product + {c})')};")
    return _function(head, f"return {narrowed(scalar, dialect.maths_call(op, F32, wide))};")


def to_narrow(source: Scalar, target: Scalar, text: str) -> str:
    """Return an expression of a conversion to a narrow float, rounded once.

    An f16 has no finite value beyond 2**16, and every integer up to 2**24 is exact in f32.
    """
    if source.bits == 16 and source.is_float:
        return narrowed(target, widened(source, text))
    if source == F64:
        return narrowed(target, f"atoll_odd_f64({text})")
    if source.is_integer and source.bits > 24 and target == BF16:
        return narrowed(target, f"atoll_odd_{'i' if source.is_signed else 'u'}64({text})")
    return narrowed(target, text)


def conversions(dialect: Dialect) -> dict[str, str]:
    """Return every conversion by name, each after those it needs."""
    found = {}
    for scalar in ("f16", "bf16"):
        for way in ("widen", "narrow"):
            name = f"atoll_{way}_{scalar}"
            found[name] = dialect.narrow.get(name) or _default(dialect, name)
    found["atoll_odd_f64"] = _odd_double(dialect)
    found["atoll_odd_u64"] = _odd_integer(dialect)
    found["atoll_odd_i64"] = _odd_signed(dialect)
    return found


def _default(dialect: Dialect, name: str) -> str:
    half, word, single = dialect.types["f16"], dialect.types["u32"], dialect.types["f32"]
    if name.startswith("atoll_widen"):
        head = f"{dialect.inline} {single} {name}({half} a)"
        lines = _widen_bf16(dialect) if name.endswith("bf16") else _widen_f16(dialect)
    else:
        head = f"{dialect.inline} {half} {name}({single} a)"
        bits = f"const {word} bits = {dialect.float_to_bits(F32, 'a')};"
        lines = [bits, f"const {word} size = bits & 0x7fffffffu, sign = bits >> 16 & 0x8000u;"]
        lines += _narrow_bf16(half) if name.endswith("bf16") else _narrow_f16(dialect)
    return _function(head, *lines)


def _widen_bf16(dialect: Dialect) -> list[str]:
    shifted = f"({dialect.types['u32']})a << 16"
    return [f"return {dialect.bits_to_float(F32, shifted)};"]


def _widen_f16(dialect: Dialect) -> list[str]:
    word = dialect.types["u32"]
    tiny = dialect.bits_to_float(F32, f"moved + (({word})113 << 23)")
    return [
        f"const {word} size = a & 0x7fffu, moved = size << 13;",
        f"{word} bits = moved + (({word})(size < 0x7c00u ? 112 : 224) << 23);",
        f"if (size < 0x400u) bits = {dialect.float_to_bits(F32, f'{tiny} - 0x1p-14f')};",
        f"return {dialect.bits_to_float(F32, f'bits | ({word})(a & 0x8000u) << 16')};",
    ]


def _narrow_bf16(half: str) -> list[str]:
    return [
        f"if (size > 0x7f800000u) return ({half})(sign | 0x7fc0u);",
        f"return ({half})(sign | (size + 0x7fffu + (size >> 16 & 1u)) >> 16);",
    ]


def _narrow_f16(dialect: Dialect) -> list[str]:
    half = dialect.types["f16"]
    tiny = dialect.float_to_bits(F32, f"{dialect.bits_to_float(F32, 'size')} + 0.5f")
    return [
        f"if (size >= 0x47800000u) return ({half})(sign | (size > 0x7f800000u ? 0x7e00u : 0x7c00u));",
        f"if (size < 0x38800000u) return ({half})(sign | ({tiny} - 0x3f000000u));",
        f"return ({half})(sign | (size + 0xc8000fffu + (size >> 13 & 1u)) >> 13);",
    ]


def _odd_double(dialect: Dialect) -> str:
    single, double, word = (dialect.types[name] for name in ("f32", "f64", "u32"))
    bits = dialect.float_to_bits(F32, "near")
    return _function(
        f"{dialect.inline} {single} atoll_odd_f64({double} a)",
        f"const {single} near = ({single})a;",
        f"const {double} back = ({double})near;",
        "if (back == a) return near;",
        f"const {word} bits = {bits} - (a > 0 ? back > a : back < a);",
        f"return {dialect.bits_to_float(F32, 'bits | 1u')};",
    )


def _odd_integer(dialect: Dialect) -> str:
    single, wide = dialect.types["f32"], dialect.types["u64"]
    return _function(
        f"{dialect.inline} {single} atoll_odd_u64({wide} a)",
        f"{single} scale = 1.0f;",
        "for (; a >> 24 != 0; scale *= 256.0f) a = a >> 8 | ((a & 0xffu) != 0);",
        f"return ({single})a * scale;",
    )


def _odd_signed(dialect: Dialect) -> str:
    single, wide, unsigned = (dialect.types[name] for name in ("f32", "i64", "u64"))
    return _function(
        f"{dialect.inline} {single} atoll_odd_i64({wide} a)",
        f"return a < 0 ? -atoll_odd_u64(0u - ({unsigned})a) : atoll_odd_u64(({unsigned})a);",
    )


def _function(head: str, *lines: str) -> str:
    return "\n".join((head, "{", *(f"  {line}" for line in lines), "}"))
