"""What do KIR's operations mean in C, where one C operator would not do?

Each helper is a small function for one operation and one type. It states what C leaves undefined:
division by zero and of the least integer by -1, shifts beyond the width, conversions out of range
(docs/reference/kir.md). Compilers inline it and drop the checks where the operand is a constant.
"""

from __future__ import annotations

from atoll.ir import Scalar
from atoll.ir.nodes import NARROW_FLOATS
from atoll.ir.ops import Binary, Cast, Unary
from atoll_plugins.formats import cnarrow
from atoll_plugins.formats.cdialect import Dialect


def helper_name(operation: str, *scalars: Scalar) -> str:
    """Return the name of a helper."""
    return "_".join(("atoll", operation, *(scalar.name for scalar in scalars)))


def binary_helper(dialect: Dialect, op: Binary, scalar: Scalar) -> str | None:
    """Return the helper of an operation on two operands, or None where an operator does."""
    lines = _binary_lines(dialect, op, scalar)
    if lines is None:
        return None
    kind = dialect.value(scalar)
    head = f"{dialect.inline} {kind} {helper_name(op, scalar)}({kind} a, {kind} b)"
    return _function(head, lines)


def _binary_lines(dialect: Dialect, op: Binary, scalar: Scalar) -> tuple[str, ...] | None:
    if scalar in NARROW_FLOATS:
        return cnarrow.binary_lines(op, scalar)
    match op:
        case Binary.MIN | Binary.FMIN:
            return ("return b < a ? b : a;",)
        case Binary.MAX | Binary.FMAX:
            return ("return b > a ? b : a;",)
        case Binary.SHL | Binary.SHR:
            return _shift(dialect, op, scalar)
        case Binary.DIV_FLOOR | Binary.DIV_TRUNC | Binary.REM_FLOOR | Binary.REM_TRUNC:
            return _division(dialect, op, scalar)
    return None


def _shift(dialect: Dialect, op: Binary, scalar: Scalar) -> tuple[str, ...]:
    kind, word = dialect.value(scalar), dialect.word(scalar)
    inside = f"({dialect.unsigned(scalar)})b < {scalar.bits}u"
    if op is Binary.SHL:
        return (f"return {inside} ? ({kind})(({word})a << b) : ({kind})0;",)
    fill = f"({kind})(a < 0 ? -1 : 0)" if scalar.is_signed else f"({kind})0"
    return (f"return {inside} ? ({kind})(a >> b) : {fill};",)


def _division(dialect: Dialect, op: Binary, scalar: Scalar) -> tuple[str, ...]:
    kind = dialect.value(scalar)
    quotient = op in (Binary.DIV_FLOOR, Binary.DIV_TRUNC)
    zero = f"if (b == 0) return {f'({kind})0' if quotient else 'a'};"
    if not scalar.is_signed:
        return (zero, f"return ({kind})(a {'/' if quotient else '%'} b);")
    minus = f"({kind})(0u - ({dialect.word(scalar)})a)" if quotient else f"({kind})0"
    lines = (zero, f"if (b == -1) return {minus};")
    if op is Binary.DIV_TRUNC:
        return (*lines, f"return ({kind})(a / b);")
    if op is Binary.REM_TRUNC:
        return (*lines, f"return ({kind})(a % b);")
    if op is Binary.DIV_FLOOR:
        return (*lines, f"return ({kind})(a / b - (a % b != 0 && (a < 0) != (b < 0)));")
    return (
        *lines,
        f"const {kind} r = ({kind})(a % b);",
        f"return ({kind})(r != 0 && (r < 0) != (b < 0) ? r + b : r);",
    )


def unary_helper(dialect: Dialect, op: Unary, scalar: Scalar) -> str | None:
    """Return the helper of an operation on one operand, or None where an operator does."""
    if op is not Unary.ABS_WRAP or not scalar.is_signed:
        return None
    kind = dialect.value(scalar)
    head = f"{dialect.inline} {kind} {helper_name(op, scalar)}({kind} a)"
    return _function(head, (f"return a < 0 ? ({kind})(0u - ({dialect.word(scalar)})a) : a;",))


def cast_helper(dialect: Dialect, op: Cast, source: Scalar, target: Scalar) -> str | None:
    """Return the helper of a conversion, or None where a C cast does."""
    if op not in (Cast.FTOSI, Cast.FTOUI, Cast.BITS):
        return None
    kind = dialect.value(target)
    head = f"{dialect.inline} {kind} {helper_name(op, target, source)}({dialect.value(source)} a)"
    if op is Cast.BITS:
        return _function(head, (_reinterpreted(dialect, source, target),))
    suffix = "f" if source.name == "f32" else ""
    if op is Cast.FTOUI:
        most = f"({kind})~({kind})0"
        over = f"if (a >= {float(1 << target.bits).hex()}{suffix}) return {most};"
        return _function(head, ("if (!(a > 0)) return 0;", over, f"return ({kind})a;"))
    limit = float(1 << (target.bits - 1)).hex() + suffix
    most = (
        f"({kind})(~({dialect.unsigned(target)})0 >> 1)"
        if target.bits >= 32
        else str((1 << (target.bits - 1)) - 1)
    )
    least = f"({kind})(-{most} - 1)"
    return _function(
        head,
        (
            "if (!(a == a)) return 0;",
            f"if (a >= {limit}) return {most};",
            f"if (a < -{limit}) return {least};",
            f"return ({kind})a;",
        ),
    )


def _reinterpreted(dialect: Dialect, source: Scalar, target: Scalar) -> str:
    """Return the statement that reads the same bits as another type."""
    if target.is_float:
        return f"return {dialect.bits_to_float(target, f'({dialect.unsigned(source)})a')};"
    return f"return ({dialect.value(target)}){dialect.float_to_bits(source, 'a')};"


def _function(head: str, lines: tuple[str, ...]) -> str:
    return "\n".join((head, "{", *(f"  {line}" for line in lines), "}"))
