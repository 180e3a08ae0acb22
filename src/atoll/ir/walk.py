"""How to visit a kernel's nodes, and the questions that only need a visit."""

from __future__ import annotations

from collections.abc import Iterator

from atoll.ir import nodes as n
from atoll.ir import ops
from atoll.ir.module import Kernel


def operands(expr: n.Expr) -> tuple[n.Expr, ...]:
    """Return the direct operands of an expression, in the order of evaluation."""
    match expr:
        case n.Unary() | n.Cast():
            return (expr.operand,)
        case n.Binary() | n.Compare() | n.Logical():
            return (expr.left, expr.right)
        case n.Select():
            return (expr.condition, expr.yes, expr.no)
        case n.Load():
            return expr.indices
        case n.MathCall():
            return expr.operands
    return ()


def expressions(expr: n.Expr) -> Iterator[n.Expr]:
    """Give an expression and everything below it, without recursion."""
    pending = [expr]
    while pending:
        current = pending.pop()
        yield current
        pending.extend(reversed(operands(current)))


def values(stmt: n.Stmt) -> tuple[n.Expr, ...]:
    """Return the expressions that a statement itself evaluates, in order; not those of its blocks."""
    match stmt:
        case n.Assign():
            return (stmt.value,)
        case n.Store():
            return (*stmt.indices, stmt.value)
        case n.Atomic():
            expected = () if stmt.expected is None else (stmt.expected,)
            return (*stmt.indices, *expected, stmt.value)
        case n.SubGroup():
            return (stmt.value,) if stmt.lane is None else (stmt.value, stmt.lane)
        case n.ExternCall():
            return stmt.arguments
        case n.Inline():
            return stmt.operands
        case n.If() | n.Loop():
            return (stmt.condition,)
    return ()


def blocks(stmt: n.Stmt) -> tuple[n.Block, ...]:
    """Return the blocks below a statement."""
    match stmt:
        case n.If():
            return (stmt.then, stmt.orelse)
        case n.Loop():
            return (stmt.body, stmt.step)
    return ()


def statements(block: n.Block) -> Iterator[n.Stmt]:
    """Give every statement of a block and of the blocks below it, in the order of the text."""
    pending = list(reversed(block))
    while pending:
        current = pending.pop()
        yield current
        for inner in reversed(blocks(current)):
            pending.extend(reversed(inner))


def all_expressions(block: n.Block) -> Iterator[n.Expr]:
    """Give every expression below a block."""
    for stmt in statements(block):
        for value in values(stmt):
            yield from expressions(value)


def has_barrier(kernel: Kernel) -> bool:
    """Tell whether a kernel waits for others of its group; such a kernel has no domain fields."""
    waits = any(isinstance(stmt, n.Barrier) for stmt in statements(kernel.body))
    return waits or has_subgroups(kernel)


def has_subgroups(kernel: Kernel) -> bool:
    """Tell whether a kernel knows of sub-groups, whose work-items all have to be there."""
    if any(isinstance(stmt, n.SubGroup) for stmt in statements(kernel.body)):
        return True
    found = (node for node in all_expressions(kernel.body) if isinstance(node, n.Builtin))
    return any(node.op in ops.SUBGROUP_IDS for node in found)


def accesses(kernel: Kernel) -> dict[str, str]:
    """Return for each view ``read``, ``write`` or ``both``; ``read`` for one that is never touched."""
    read = {node.base for node in all_expressions(kernel.body) if isinstance(node, n.Load)}
    written: set[str] = set()
    for stmt in statements(kernel.body):
        if isinstance(stmt, n.Store | n.Atomic):
            written.add(stmt.base)
        if isinstance(stmt, n.Atomic):
            read.add(stmt.base)
        if isinstance(stmt, n.Inline):
            read.update(stmt.bases)
            written.update(stmt.bases if stmt.writes else ())
    return {view.name: _access(view.name in read, view.name in written) for view in kernel.views}


def _access(read: bool, written: bool) -> str:
    if not written:
        return "read"
    return "both" if read else "write"
