"""How KIR is written: a text form that :mod:`atoll.ir.parse` reads back to an equal module.

The text holds no span and depends on nothing but the values, so its UTF-8 bytes are the canonical
bytes too: the same on every Python, the input of every cache key.
"""

from __future__ import annotations

import hashlib
import math
import re
from collections.abc import Iterator

from atoll.ir import nodes as n
from atoll.ir.module import VERSION, Kernel, Module
from atoll.ir.types import Kind


def text(module: Module) -> str:
    """Return a module as text."""
    parts = [f"kir {VERSION}\n", *("\n" + "\n".join(_kernel(kernel)) + "\n" for kernel in module.kernels)]
    return "".join(parts)


def canonical(module: Module) -> bytes:
    """Return the canonical bytes of a module: equal modules give equal bytes and no others do."""
    return text(module).encode("ascii")


def fingerprint(module: Module) -> str:
    """Return the SHA-256 of the canonical bytes, whole, in hex."""
    return hashlib.sha256(canonical(module)).hexdigest()


def _kernel(kernel: Kernel) -> Iterator[str]:
    params = ", ".join(f"{param.name}: {param.type}" for param in kernel.params)
    contract = " contract" if kernel.contract else ""
    yield f"kernel {kernel.name}({params}) group({', '.join(map(str, kernel.group))}){contract} {{"
    for extern in kernel.externs:
        result = "" if extern.result is None else f" -> {extern.result}"
        yield f'  extern {extern.name}({", ".join(map(str, extern.params))}){result} "{extern.link}"'
    for item in kernel.shared:
        yield f"  shared {item.name}: {item.element}[{item.length}]"
    for array in kernel.arrays:
        yield f"  array {array.name}: {array.element}[{array.length}]"
    for local in kernel.locals:
        yield f"  local {local.name}: {local.type}"
    yield from _block(kernel.body, "  ")
    yield "}"


def _block(block: n.Block, indent: str) -> Iterator[str]:
    for stmt in block:
        yield from _statement(stmt, indent)


def _statement(stmt: n.Stmt, indent: str) -> Iterator[str]:
    match stmt:
        case n.Assign():
            yield f"{indent}%{stmt.local} = {expression(stmt.value)}"
        case n.Store():
            yield f"{indent}{_element(stmt.base, stmt.indices)} = {expression(stmt.value)}"
        case n.If():
            yield from _two_blocks(f"if {expression(stmt.condition)}", stmt.then, "else", stmt.orelse, indent)
        case n.Loop():
            yield from _two_blocks(f"loop {expression(stmt.condition)}", stmt.body, "step", stmt.step, indent)
        case n.Barrier():
            yield f"{indent}barrier {stmt.scope}"
        case n.Atomic():
            yield indent + _atomic(stmt)
        case n.ExternCall():
            result = "" if stmt.result is None else f" -> %{stmt.result}"
            yield f"{indent}call {stmt.function}({', '.join(map(expression, stmt.arguments))}){result}"
        case n.Inline():
            yield indent + _inline(stmt)
        case n.Fence():
            yield f"{indent}fence {stmt.scope}"
        case n.SubGroup():
            lane = "" if stmt.lane is None else f", {expression(stmt.lane)}"
            yield f"{indent}subgroup {stmt.op} {expression(stmt.value)}{lane} -> %{stmt.result}"
        case n.Break() | n.Continue() | n.Return():
            yield indent + type(stmt).__name__.lower()


def _two_blocks(head: str, first: n.Block, word: str, second: n.Block, indent: str) -> Iterator[str]:
    yield f"{indent}{head} {{"
    yield from _block(first, indent + "  ")
    if second:
        yield f"{indent}}} {word} {{"
        yield from _block(second, indent + "  ")
    yield f"{indent}}}"


def _atomic(stmt: n.Atomic) -> str:
    values = [stmt.value] if stmt.expected is None else [stmt.expected, stmt.value]
    listed = "".join(f", {expression(value)}" for value in values)
    result = "" if stmt.result is None else f" -> %{stmt.result}"
    place = _element(stmt.base, stmt.indices)
    return f"atomic {stmt.op} {stmt.order} {stmt.scope} {place}{listed}{result}"


def _inline(stmt: n.Inline) -> str:
    given = [
        f"address {_element(base, (operand,))}" if base else expression(operand)
        for base, operand in zip(stmt.bases, stmt.operands, strict=True)
    ]
    result = "" if stmt.result is None else f" -> %{stmt.result}"
    return (
        f"inline {stmt.language} {quoted(stmt.text)} {quoted(stmt.constraints)}({', '.join(given)}){result}"
    )


def quoted(given: str) -> str:
    """Return the text of inline code as one word: printable ASCII, with a backslash before what ends it."""
    return "'" + given.replace("\\", "\\\\").replace("'", "\\'").replace("\n", "\\n") + "'"


def unquoted(word: str) -> str:
    """Return what :func:`quoted` made a word of."""
    return _ESCAPED.sub(lambda found: "\n" if found[1] == "n" else found[1], word[1:-1])


_ESCAPED = re.compile(r"\\(.)")


def _element(base: str, indices: tuple[n.Expr, ...]) -> str:
    return f"{base}[{', '.join(map(expression, indices))}]"


def expression(expr: n.Expr) -> str:
    """Return an expression as text."""
    match expr:
        case n.Const():
            return f"{expr.type}:{_literal(expr)}"
        case n.Param():
            return f"${expr.name}"
        case n.Local():
            return f"%{expr.name}"
        case n.Unary():
            return f"{expr.op}({expression(expr.operand)})"
        case n.Binary() | n.Compare() | n.Logical():
            return f"{expr.op}({expression(expr.left)}, {expression(expr.right)})"
        case n.Select():
            return f"select({', '.join(map(expression, (expr.condition, expr.yes, expr.no)))})"
        case n.Cast():
            return f"{expr.op}.{expr.type}({expression(expr.operand)})"
        case n.Builtin():
            return f"{expr.op}.{expr.dimension}"
        case n.ViewInfo():
            return f"{expr.op}.{expr.dimension}({expr.view})"
        case n.Load():
            return _element(expr.base, expr.indices)
        case n.MathCall():
            return f"{expr.op}({', '.join(map(expression, expr.operands))})"


def _literal(constant: n.Const) -> str:
    if constant.type.kind is Kind.BOOL:
        return "true" if constant.bits else "false"
    value = constant.value
    if isinstance(value, float) and not math.isfinite(value):
        return f"0x{constant.bits:x}"
    return repr(value)
