"""How does an expression become a kernel? As a Python kernel's text, which the kernel compiler takes.

One text serves every shape: sizes, steps and numbers are arguments. Three layouts: *flat*, where all
operands lie alike in one row; *strided*, four dimensions with steps of their own; *rows*, a work-group for
each row, where the expression holds reductions.
"""

from __future__ import annotations

import hashlib
import linecache
from dataclasses import dataclass, field
from typing import Any

from atoll.engine.expression import FUNCTIONS, INSIDE, REDUCTIONS, Node, refused, spelled, walk
from atoll.kernels.definition import KernelFunction

#: The longest expression: every operation is a line of the kernel.
MOST = 2000
_SIGNS = {"add": "+", "sub": "-", "mul": "*"}
_SIGNS |= {"lt": "<", "le": "<=", "gt": ">", "ge": ">=", "eq": "==", "ne": "!="}


@dataclass(frozen=True, slots=True)
class Signature:
    """What decides on a kernel beside the expression: types, and the layout."""

    inputs: tuple[str, ...]
    numbers: tuple[str, ...]
    out: str
    layout: str


@dataclass(slots=True)
class _Text:
    """The lines of a kernel's body, and what each node is called where."""

    signature: Signature
    lines: list[str] = field(default_factory=list)
    known: dict[tuple[int, str], str] = field(default_factory=dict)
    totals: dict[int, str] = field(default_factory=dict)
    last: int = 0
    indent: str = "    "

    def name(self, value: str) -> str:
        self.last += 1
        self.lines.append(f"{self.indent}v{self.last} = {value}")
        return f"v{self.last}"

    def node(self, node: Node, at: str) -> str:
        """Return what holds a node's value at an index of the last axis."""
        key = id(node), at
        if key not in self.known:
            self.known[key] = self._made(node, at)
        return self.known[key]

    def _made(self, node: Node, at: str) -> str:
        if node.op == "const":
            value = node.value if node.type == "i32" else repr(node.value)
            if node.type == "f32" and (node.value != node.value or abs(node.value) == float("inf")):
                return self.name(f"f32(float('{node.value}'))")
            return f"{node.type}({value})"
        if node.op == "number":
            return f"s{node.value[0]}"
        if node.op == "row_size":
            return self.name("f32(size)")
        if node.op in ("input", "repeat_rows"):
            return self._load(node, at)
        if node.op in REDUCTIONS:
            return self.totals[id(node)]
        if node.op == "rotate_half":
            return self._turned(node, at)
        a = [self.node(item, at) for item in node.of]
        return self.name(self._operation(node, a))

    def _operation(self, node: Node, a: list[str]) -> str:
        match node.op:
            case "neg":
                return f"-{a[0]}"
            case "abs":
                if node.type == "f32":
                    return f"atoll.bitcast(f32, atoll.bitcast(u32, {a[0]}) & 0x7FFFFFFF)"
                return f"abs({a[0]})"
            case "div":
                return f"maths.divide({a[0]}, {a[1]})"
            case "min":
                return f"{a[1]} if {a[1]} < {a[0]} else {a[0]}"
            case "max":
                return f"{a[1]} if {a[1]} > {a[0]} else {a[0]}"
            case "where":
                return f"{a[1]} if {a[0]} else {a[2]}"
            case "cast" if node.value in ("f32", "i32"):
                if node.of[0].type == "bool":
                    return f"{node.value}(1) if {a[0]} else {node.value}(0)"
                return f"{node.value}({a[0]})"
            case "cast":
                refused(
                    f"`{node.value}` inside an expression, where it can only be the result", spelled(node)
                )
        if node.op in FUNCTIONS:
            return f"maths.{node.op}({a[0]})"
        return f"{a[0]} {_SIGNS[node.op]} {a[1]}"

    def _load(self, node: Node, at: str) -> str:
        leaf = node if node.op == "input" else node.of[0]
        number, element = leaf.value
        if self.signature.layout == "flat":
            place = at
        elif node.op == "repeat_rows":
            place = f"m, k, j % i32(x{number}.shape[2]), {at}"
        else:
            place = f"m, k, j, {at}"
        loaded = f"x{number}[{place}]"
        return self.name(loaded if element in ("f32", "i32") else f"{INSIDE[element]}({loaded})")

    def _turned(self, node: Node, at: str) -> str:
        size = "size" if self.signature.layout == "rows" else "i32(out.shape[3])"
        half = self.name(f"{size} // 2")
        other = self.name(f"{at} - {half} if {at} >= {half} else {at} + {half}")
        value = self.node(node.of[0], other)
        return self.name(f"{value} if {at} >= {half} else -{value}")

    def store(self, node: Node, at: str, place: str) -> None:
        """Write down the result."""
        inner = node.of[0] if node.op == "cast" and node.value not in ("f32", "i32") else node
        value = self.node(inner, at)
        if inner.type == "f32":
            value = f"maths.canonical({value})"
        if self.signature.out not in ("f32", "i32"):
            value = f"{self.signature.out}({value})"
        self.lines.append(f"{self.indent}out[{place}] = {value}")

    def reductions(self, node: Node) -> None:
        """Write down every reduction, those that others read first."""
        for item in walk(node):
            if item.op not in REDUCTIONS:
                continue
            start = "f32(0.0)"
            if item.op != "row_sum":
                start = self.node(item.of[0], "zero")
            mine = self.name(start)
            self.lines.append(f"{self.indent}for at in range(lane, size, {LANES}):")
            outer, self.indent = self.indent, self.indent + "    "
            known = dict(self.known)
            value = self.node(item.of[0], "at")
            step = f"{mine} + {value}" if item.op == "row_sum" else f"rows.{_JOIN[item.op]}({mine}, {value})"
            self.lines.append(f"{self.indent}{mine} = {step}")
            self.indent, self.known = outer, known
            total = self.name(f"rows.folded({mine}, rows.{_JOIN[item.op]})")
            self.totals[id(item)] = total


LANES = 128
_JOIN = {"row_sum": "add", "row_max": "larger", "row_min": "smaller"}


def is_by_row(node: Node) -> bool:
    """Tell whether an expression holds reductions."""
    return any(item.op in (*REDUCTIONS, "row_size") for item in walk(node))


def is_row_alone(node: Node) -> bool:
    """Tell whether each row has one result: nothing but reductions, numbers and constants is read."""
    alone: dict[int, bool] = {}
    for item in walk(node):
        leaf = item.op in (*REDUCTIONS, "number", "const", "row_size")
        alone[id(item)] = leaf or (bool(item.of) and all(alone[id(operand)] for operand in item.of))
    return alone[id(node)]


def text_of(node: Node, signature: Signature) -> tuple[str, str]:
    """Return a kernel's name and its text.

    Raises:
        LaunchError: Where the expression is too long, or holds what no kernel does.
    """
    if len(walk(node)) > MOST:
        refused(f"an expression of more than {MOST} operations", f"it has {len(walk(node))}")
    body = {"flat": _flat, "strided": _strided, "rows": _by_row}[signature.layout](node, signature)
    rank = 1 if signature.layout == "flat" else 4
    views = [f"x{at}: view[{element}{_rank(rank)}]" for at, element in enumerate(signature.inputs)]
    numbers = [f"s{at}: {kind}" for at, kind in enumerate(signature.numbers)]
    sizes = ["size: i32, n2: i32, n1: i32, first: i32"] if signature.layout == "rows" else []
    params = ", ".join([*views, *numbers, f"out: view[{signature.out}{_rank(rank)}]", *sizes])
    mark = hashlib.sha256(f"{params}\n{body}".encode()).hexdigest()[:16]
    block = f"(block={LANES})" if signature.layout == "rows" else ""
    return f"fused_{mark}", f"@kernel{block}\ndef fused_{mark}({params}):\n{body}"


def _rank(rank: int) -> str:
    return f", {rank}" if rank > 1 else ""


def _flat(node: Node, signature: Signature) -> str:
    text = _Text(signature, indent="        ")
    text.store(node, "i", "i")
    return "\n".join(["    i = atoll.global_id(0)", "    if i < out.size:", *text.lines]) + "\n"


def _strided(node: Node, signature: Signature) -> str:
    text = _Text(signature, indent="        ")
    text.store(node, "i", "m, k, j, i")
    head = [
        "    i, j, rest = atoll.global_id(0), atoll.global_id(1), atoll.global_id(2)",
        "    if i < out.shape[3] and j < out.shape[2]:",
        "        k, m = rest % i32(out.shape[1]), rest // i32(out.shape[1])",
    ]
    return "\n".join([*head, *text.lines]) + "\n"


def _by_row(node: Node, signature: Signature) -> str:
    text = _Text(signature)
    head = [
        "    lane, zero = atoll.local_id(0), i32(0)",
        "    row = first + atoll.group_id(0)",
        "    j, k, m = row % n2, row // n2 % n1, row // n2 // n1",
    ]
    text.reductions(node)
    if is_row_alone(node):
        text.lines.append("    if lane == 0:")
        text.indent = "        "
        text.store(node, "zero", "m, k, j, 0")
    else:
        text.lines.append(f"    for at in range(lane, size, {LANES}):")
        text.indent = "        "
        text.store(node, "at", "m, k, j, at")
    return "\n".join([*head, *text.lines]) + "\n"


def kernel_of(name: str, text: str) -> KernelFunction:
    """Return the kernel that a text spells; the text is ours, made from an expression."""
    import atoll
    from atoll.engine import maths
    from atoll.engine.kernels import rows
    from atoll.kernels import scalars

    file = f"<atoll {name}>"
    linecache.cache[file] = (len(text), None, text.splitlines(keepends=True), file)
    known: dict[str, Any] = {"atoll": atoll, "maths": maths, "rows": rows, "kernel": atoll.kernel}
    known |= {word: getattr(scalars, word) for word in (*INSIDE, "u32", "view")}
    exec(compile(text, file, "exec", dont_inherit=True), known)  # noqa: S102 - a text made here
    found: KernelFunction = known[name]
    return found
