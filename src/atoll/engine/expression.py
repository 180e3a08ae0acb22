"""What does a function of arrays compute? It is called once with values that write down what is done to them.

Words: a *traced* value stands for an array's element or for a number; a *view* is how an operand is read: its
rows repeated, its halves turned; a *reduction* folds the last axis and is read by every element of its row.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NoReturn

from atoll.diagnostics import Diagnostic
from atoll.errors import LaunchError

#: What each type of an array's elements is inside an expression: arithmetic is f32 or i32.
INSIDE = {"f32": "f32", "f16": "f32", "bf16": "f32", "i32": "i32", "i8": "i32", "u8": "i32"}
#: Functions of one f32, by their names in :mod:`atoll.engine.maths`.
FUNCTIONS = ("exp", "log", "tanh", "sigmoid", "sqrt", "rsqrt", "recip")


@dataclass(frozen=True, slots=True, eq=False)
class Node:
    """One operation; each is itself alone, so that a value that is read twice is made once.

    Attributes:
        op: Its word.
        of: What it is done to.
        type: `f32`, `i32` or `bool`.
        value: A constant's value, an operand's number, or the type of an operand's elements.
    """

    op: str
    of: tuple[Node, ...]
    type: str
    value: Any = None


def refused(message: str, *notes: str, hint: str | None = None) -> NoReturn:
    """Refuse what cannot be fused.

    Raises:
        LaunchError: Always.
    """
    raise LaunchError(Diagnostic(code="ATL0824", message=message, notes=notes, hint=hint))


class Traced:
    """A value while a function is traced; arithmetic and comparisons make further ones."""

    __slots__ = ("node",)
    __hash__ = None  # type: ignore[assignment]

    def __init__(self, node: Node) -> None:
        self.node = node

    def astype(self, element: str) -> Traced:
        """Return it as f32 or i32; as f16, bf16, i8 or u8 where it is the result."""
        if element not in INSIDE:
            refused(f"a traced value becomes no `{element}`", f"there are: {', '.join(INSIDE)}")
        if element in ("f32", "i32") and element == self.node.type:
            return self
        return Traced(Node("cast", (self.node,), INSIDE[element], element))

    def __neg__(self) -> Traced:
        return _one("neg", self)

    def __abs__(self) -> Traced:
        return _one("abs", self)

    def __add__(self, other: Any) -> Traced:
        return _two("add", self, other)

    def __radd__(self, other: Any) -> Traced:
        return _two("add", other, self)

    def __sub__(self, other: Any) -> Traced:
        return _two("sub", self, other)

    def __rsub__(self, other: Any) -> Traced:
        return _two("sub", other, self)

    def __mul__(self, other: Any) -> Traced:
        return _two("mul", self, other)

    def __rmul__(self, other: Any) -> Traced:
        return _two("mul", other, self)

    def __truediv__(self, other: Any) -> Traced:
        return _two("div", self, other)

    def __rtruediv__(self, other: Any) -> Traced:
        return _two("div", other, self)

    def __lt__(self, other: Any) -> Traced:
        return _two("lt", self, other)

    def __le__(self, other: Any) -> Traced:
        return _two("le", self, other)

    def __gt__(self, other: Any) -> Traced:
        return _two("gt", self, other)

    def __ge__(self, other: Any) -> Traced:
        return _two("ge", self, other)

    def __eq__(self, other: object) -> Traced:  # type: ignore[override]
        return _two("eq", self, other)

    def __ne__(self, other: object) -> Traced:  # type: ignore[override]
        return _two("ne", self, other)

    def __bool__(self) -> bool:
        refused(
            "a traced value decides no `if` or `while` of Python",
            "its elements are not known while the function is traced",
            hint="write `where(condition, a, b)`",
        )

    def __iter__(self) -> NoReturn:
        refused("a traced value has no elements to go through")

    def __getitem__(self, key: Any) -> NoReturn:
        refused("a traced value is not indexed", hint="pass a view of the array: `f(x[1:])`")

    def __pow__(self, other: Any) -> Traced:
        if other == 2:
            return self * self
        refused("a traced value is raised to the second power only", f"asked for: {other!r}")

    def __array_ufunc__(self, ufunc: Any, method: str, *given: Any, **named: Any) -> NoReturn:
        refused(f"NumPy's `{ufunc.__name__}` is not traced", hint="use the functions of `atoll.engine.fused`")

    def __getattr__(self, name: str) -> NoReturn:
        if name.startswith("__"):
            raise AttributeError(name)
        refused(f"a traced value has no `{name}`")


def traced(value: Any, like: str = "f32") -> Traced:
    """Return a value as a traced one: a number of Python is a constant of the type beside it."""
    if isinstance(value, Traced):
        return value
    if hasattr(value, "dtype") and getattr(value, "ndim", 1) == 0:
        value = value.item()
    if isinstance(value, bool) or not isinstance(value, int | float):
        refused(
            f"an expression holds a {type(value).__name__}, which is neither traced nor a number",
            hint="pass arrays as arguments of the fused function",
        )
    if like == "i32" and isinstance(value, float):
        refused(f"the float {value!r} meets integers", hint='convert them: `x.astype("f32")`')
    return Traced(Node("const", (), like, int(value) if like == "i32" else float(value)))


def _one(op: str, value: Any) -> Traced:
    node = traced(value).node
    if node.type == "bool":
        refused(f"`{op}` of a comparison")
    return Traced(Node(op, (node,), node.type))


_COMPARE = ("lt", "le", "gt", "ge", "eq", "ne")


def _alike(a: Node, b: Node) -> tuple[Node, Node]:
    """Return two nodes, a whole number that was passed beside floats as a float, as in Python."""
    if (a.op, a.type, b.type) == ("number", "i32", "f32"):
        return Node("cast", (a,), "f32", "f32"), b
    if (b.op, b.type, a.type) == ("number", "i32", "f32"):
        return a, Node("cast", (b,), "f32", "f32")
    return a, b


def _two(op: str, left: Any, right: Any) -> Traced:
    like = next((item.node.type for item in (left, right) if isinstance(item, Traced)), "f32")
    a, b = _alike(traced(left, like).node, traced(right, like).node)
    if a.type != b.type or a.type == "bool":
        refused(f"`{op}` of a {a.type} and a {b.type}", hint='convert one: `x.astype("f32")`')
    if op == "div" and a.type != "f32":
        refused("integers are not divided", hint='convert them: `x.astype("f32")`')
    return Traced(Node(op, (a, b), "bool" if op in _COMPARE else a.type))


def _function(name: str) -> Callable[[Any], Traced]:
    def function(x: Any) -> Traced:
        node = traced(x).node
        if node.type != "f32":
            refused(f"`{name}` of a {node.type}", hint='convert it: `x.astype("f32")`')
        return Traced(Node(name, (node,), "f32"))

    function.__name__ = function.__qualname__ = name
    function.__doc__ = f"Return `{name}` of each element, the same on every device."
    return function


exp, log, tanh, sigmoid = (_function(name) for name in FUNCTIONS[:4])
sqrt, rsqrt, recip = (_function(name) for name in FUNCTIONS[4:])


def minimum(x: Any, y: Any) -> Traced:
    """Return the smaller one: `y if y < x else x`."""
    return _two("min", x, y)


def maximum(x: Any, y: Any) -> Traced:
    """Return the larger one: `y if y > x else x`."""
    return _two("max", x, y)


def where(condition: Any, yes: Any, no: Any) -> Traced:
    """Return one of two values for each element."""
    asked = traced(condition).node
    like = next((item.node.type for item in (yes, no) if isinstance(item, Traced)), "f32")
    a, b = _alike(traced(yes, like).node, traced(no, like).node)
    if asked.type != "bool" or a.type != b.type:
        refused(f"`where` of a {asked.type}, a {a.type} and a {b.type}")
    return Traced(Node("where", (asked, a, b), a.type))


def _fold(name: str) -> Callable[[Any], Traced]:
    def fold(x: Any) -> Traced:
        node = traced(x).node
        if node.type != "f32":
            refused(f"`{name}` of a {node.type}", hint='convert it: `x.astype("f32")`')
        return Traced(Node(name, (node,), "f32"))

    fold.__name__ = fold.__qualname__ = name
    fold.__doc__ = (
        f"Return the {name.removeprefix('row_')} along the last axis, for every element of the row."
    )
    return fold


row_sum, row_max, row_min = _fold("row_sum"), _fold("row_max"), _fold("row_min")


def row_mean(x: Any) -> Traced:
    """Return the mean along the last axis, for every element of the row."""
    total: Traced = row_sum(x)
    return total * recip(Traced(Node("row_size", (), "f32")))


def rotate_half(x: Any) -> Traced:
    """Return the last axis with its halves turned: the second one negated, then the first."""
    node = traced(x).node
    if node.type == "bool":
        refused("`rotate_half` of a comparison")
    return Traced(Node("rotate_half", (node,), node.type))


def repeat_rows(x: Any) -> Traced:
    """Return an operand whose rows are read again from the first one after its last: row modulo rows."""
    node = traced(x).node
    if node.op != "input":
        refused("`repeat_rows` of what is no operand", hint="apply it to an argument of the fused function")
    return Traced(Node("repeat_rows", (node,), node.type))


REDUCTIONS = ("row_sum", "row_max", "row_min")


def walk(node: Node) -> list[Node]:
    """Return every node once, operands first."""
    found: dict[int, Node] = {}
    left: list[tuple[Node, bool]] = [(node, False)]
    while left:
        item, done = left.pop()
        if done:
            found[id(item)] = item
        elif id(item) not in found:
            left.append((item, True))
            left += [(operand, False) for operand in reversed(item.of) if id(operand) not in found]
    return list(found.values())


#: The longest text of an expression in a message.
_LONGEST = 300


def spelled(node: Node) -> str:
    """Return an expression as text, for a message; what is long has its inside left out."""
    texts: dict[int, str] = {}
    for item in walk(node):
        inside = ", ".join(texts[id(operand)] for operand in item.of)
        match item.op:
            case "const":
                text = repr(item.value)
            case "input":
                text = f"x{item.value[0]}"
            case "number":
                text = f"s{item.value[0]}"
            case _:
                text = f"{item.value if item.op == 'cast' else item.op}({inside})"
        texts[id(item)] = text if len(text) <= _LONGEST else f"{item.op}(…)"
    return texts[id(node)]
