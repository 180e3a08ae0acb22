"""Does every work-item of a group reach the same barriers? A taint analysis from the ids.

A value is *varying* when it may differ between the work-items of one group: it comes from
``global_id`` or ``local_id``, from memory that the kernel writes, from an atomic, or it was assigned
where the way there was varying. A barrier reached by a varying way is refused with both places.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from atoll.diagnostics import Diagnostic, Span
from atoll.ir import nodes as n
from atoll.ir import ops
from atoll.ir.module import Kernel
from atoll.ir.walk import accesses, blocks, expressions, has_barrier


def divergent_barriers(kernel: Kernel) -> list[Diagnostic]:
    """Return a diagnostic for each barrier that not every work-item of a group reaches."""
    if not has_barrier(kernel):
        return []
    used = accesses(kernel)
    flow = _Flow(read_only=frozenset(name for name, access in used.items() if access == "read"))
    while True:  # locals only ever become varying, so this ends
        before = len(flow.varying)
        flow.faults.clear()
        flow.block(kernel.body, _Way())
        if len(flow.varying) == before:
            return list(flow.faults.values())


@dataclass(frozen=True, slots=True)
class _Way:
    """How a statement is reached: `cause` is where work-items parted, or None where none did."""

    varying: bool = False
    cause: Span | None = None

    def through(self, varying: bool, cause: Span | None) -> _Way:
        return _Way(True, cause) if varying and not self.varying else self


@dataclass(slots=True)
class _Flow:
    read_only: frozenset[str]
    varying: set[str] = field(default_factory=set)
    faults: dict[int, Diagnostic] = field(default_factory=dict)

    def block(self, block: n.Block, way: _Way) -> _Way:
        """Visit a block; return the way its end is reached (some work-items may have left)."""
        for stmt in block:
            way = self.statement(stmt, way)
        return way

    def statement(self, stmt: n.Stmt, way: _Way) -> _Way:
        match stmt:
            case n.Assign():
                if way.varying or self.varies(stmt.value):
                    self.varying.add(stmt.local)
            case n.Atomic():
                if stmt.result is not None:
                    self.varying.add(stmt.result)
            case n.Barrier() if way.varying:
                self.faults[id(stmt)] = _diagnostic(stmt.span, way.cause)
            case n.If():
                inner = way.through(self.varies(stmt.condition), stmt.condition.span)
                self.block(stmt.then, inner)
                self.block(stmt.orelse, inner)
                if inner.varying and (_leaves(stmt.then) or _leaves(stmt.orelse)):
                    return inner
            case n.Loop():
                return self.loop(stmt, way)
        return way

    def loop(self, stmt: n.Loop, way: _Way) -> _Way:
        inner = way.through(self.varies(stmt.condition), stmt.condition.span)
        parted = _parting(stmt.body, self)
        # Work-items that leave early or skip ahead make every later trip varying for the others.
        inner = inner.through(parted is not None, parted.span if parted else None)
        self.block(stmt.body, inner)
        self.block(stmt.step, inner)
        # With `inner` set only a `return` counts: it leaves the loop's surroundings too.
        return inner if inner.varying and _leaves(stmt.body, inner=True) else way

    def varies(self, expr: n.Expr) -> bool:
        for node in expressions(expr):
            match node:
                case n.Builtin() if node.op not in ops.UNIFORM_IDS:
                    return True
                case n.Local() if node.name in self.varying:
                    return True
                case n.Load() if node.base not in self.read_only:
                    return True
        return False


def _leaves(block: n.Block, *, inner: bool = False) -> bool:
    """Tell whether a block may leave: by `return`, or by `break` or `continue` of a loop around it."""
    for stmt in block:
        if isinstance(stmt, n.Return) or (isinstance(stmt, n.Break | n.Continue) and not inner):
            return True
        if any(_leaves(below, inner=inner or isinstance(stmt, n.Loop)) for below in blocks(stmt)):
            return True
    return False


def _parting(block: n.Block, flow: _Flow, *, inner: bool = False) -> n.Expr | None:
    """Return the varying condition under which some work-items leave or skip in a loop's body."""
    for stmt in block:
        if isinstance(stmt, n.If | n.Loop):
            looped = inner or isinstance(stmt, n.Loop)
            if flow.varies(stmt.condition) and any(_leaves(item, inner=looped) for item in blocks(stmt)):
                return stmt.condition
            for below in blocks(stmt):
                found = _parting(below, flow, inner=looped)
                if found is not None:
                    return found
    return None


def _diagnostic(span: Span | None, cause: Span | None) -> Diagnostic:
    where = f"they part at {cause.file}:{cause.line}:{cause.column}" if cause else "they part before it"
    text = f"{cause.line} | {cause.text.strip()}" if cause and cause.text else ""
    return Diagnostic(
        code="ATL0703",
        message="not every work-item of a group reaches this barrier",
        span=span,
        notes=(where, text) if text else (where,),
        hint="move the barrier out of the branch, or make the condition the same for the whole group",
    )
