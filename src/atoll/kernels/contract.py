"""What does a launch promise? Conditions over sizes and numbers, read once, checked before every launch.

A condition is one Python comparison, or several joined by `and` and `or`, over the kernel's parameters:
numbers by their names, arrays by `x.size` and `x.shape[0]`, and integers. ``requires="n <= x.size"``.
"""

from __future__ import annotations

import ast
import operator
import types
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from atoll.diagnostics import Diagnostic
from atoll.errors import CompileError, LaunchError

if TYPE_CHECKING:
    from atoll.kernels.arguments import Checked

#: The longest condition, in characters.
MAX_TEXT = 500
_OPERATORS: dict[type[ast.AST], Callable[[Any, Any], Any]] = {
    ast.Add: operator.add, ast.Sub: operator.sub, ast.Mult: operator.mul,
    ast.FloorDiv: operator.floordiv, ast.Mod: operator.mod,
    ast.Lt: operator.lt, ast.LtE: operator.le, ast.Gt: operator.gt, ast.GtE: operator.ge,
    ast.Eq: operator.eq, ast.NotEq: operator.ne,
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class Requirement:
    """One condition of a launch contract: as written, as a tree, and as code over the arguments by name."""

    text: str
    tree: ast.expr = field(compare=False, repr=False)
    code: types.CodeType = field(compare=False, repr=False)

    def holds(self, values: dict[str, Any]) -> bool:
        """Tell whether it holds of arguments by name; arrays have `size` and `shape`."""
        return bool(eval(self.code, {"__builtins__": {}}, values))  # noqa: S307 - `_parsed` read every node


def requirements(
    texts: str | tuple[str, ...] | None, kernel: str, names: tuple[str, ...]
) -> tuple[Requirement, ...]:
    """Return the conditions of a contract.

    Raises:
        CompileError: Where one is no condition over the kernel's parameters.
    """
    listed = () if texts is None else (texts,) if isinstance(texts, str) else tuple(texts)
    return tuple(_requirement(text, kernel, names) for text in listed)


def _requirement(text: str, kernel: str, names: tuple[str, ...]) -> Requirement:
    tree = _parsed(text, kernel, names)
    return Requirement(text, tree, compile(ast.Expression(tree), "<launch contract>", "eval"))


def _parsed(text: str, kernel: str, names: tuple[str, ...]) -> ast.expr:
    try:
        tree = ast.parse(text if len(text) <= MAX_TEXT else "", mode="eval").body
    except (SyntaxError, ValueError) as error:
        raise _refused(text, kernel, f"it does not parse: {error}") from error
    for node in (tree, *ast.walk(tree)):
        reason = _unusable(node, names)
        if reason:
            raise _refused(text, kernel, reason)
    if not isinstance(tree, ast.Compare | ast.BoolOp):
        raise _refused(text, kernel, "it compares nothing")
    return tree


def _unusable(node: ast.AST, names: tuple[str, ...]) -> str:
    match node:
        case ast.Name() if node.id not in names:
            return f"`{node.id}` is no parameter"
        case ast.Constant() if not isinstance(node.value, int) or isinstance(node.value, bool):
            return f"{node.value!r} is no integer"
        case ast.Attribute() if node.attr not in ("size", "shape"):
            return f"an array has no `{node.attr}` here"
        case ast.BinOp() | ast.Compare() | ast.BoolOp() | ast.Name() | ast.Constant() | ast.Attribute():
            return ""
        case ast.Subscript() if isinstance(node.value, ast.Attribute) and isinstance(
            node.slice, ast.Constant
        ):
            return ""
        case ast.expr_context() | ast.boolop():
            return ""
        case ast.operator() | ast.cmpop() if type(node) in _OPERATORS:
            return ""
    return f"`{type(node).__name__}` has no meaning in a condition"


def _refused(text: str, kernel: str, reason: str) -> CompileError:
    return CompileError(
        Diagnostic(
            code="ATL0728",
            message=f"`{kernel}` has a launch contract that is no condition",
            notes=(f"the condition: {text[:MAX_TEXT]}", f"reason: {reason}"),
            hint='write it over parameters, sizes and integers: `requires="n <= x.size"`',
        )
    )


def hold(found: tuple[Requirement, ...], kernel: str, checked: Checked) -> None:
    """Check the conditions of a launch.

    Raises:
        LaunchError: With every condition that does not hold, and the values it was asked of.
    """
    if not found:
        return
    values: dict[str, Any] = {item.name: item for item in checked.arrays}
    values |= checked.scalars
    faults = [_broken(item, kernel, values) for item in found if not _value(item.tree, values)]
    if faults:
        raise LaunchError(*faults)


def _value(node: ast.expr, values: Mapping[str, Any]) -> Any:
    match node:
        case ast.Constant():
            return node.value
        case ast.Name():
            return values[node.id]
        case ast.Attribute():
            return _extent(_value(node.value, values), node.attr)
        case ast.Subscript():
            return _value(node.value, values)[_value(node.slice, values)]
        case ast.BinOp():
            return _OPERATORS[type(node.op)](_value(node.left, values), _value(node.right, values))
        case ast.BoolOp():
            each = (_value(item, values) for item in node.values)
            return all(each) if isinstance(node.op, ast.And) else any(each)
        case ast.Compare():
            sides = [_value(item, values) for item in (node.left, *node.comparators)]
            pairs = zip(node.ops, sides, sides[1:], strict=False)
            return all(_OPERATORS[type(op)](left, right) for op, left, right in pairs)
    raise AssertionError("a condition was read that cannot be evaluated")


def _extent(array: Any, word: str) -> Any:
    import math

    return math.prod(array.sizes) if word == "size" else array.sizes


def _broken(item: Requirement, kernel: str, values: Mapping[str, Any]) -> Diagnostic:
    asked = {
        ast.unparse(node): _value(node, values)
        for node in ast.walk(item.tree)
        if isinstance(node, ast.Attribute | ast.Name) and not _is_array(node, values)
    }
    return Diagnostic(
        code="ATL0761",
        message=f"`{kernel}` has a launch contract that this launch breaks",
        notes=(f"the contract: {item.text}", *(f"here: {name} is {value}" for name, value in asked.items())),
    )


def _is_array(node: ast.expr, values: Mapping[str, Any]) -> bool:
    return isinstance(node, ast.Name) and hasattr(values[node.id], "sizes")
