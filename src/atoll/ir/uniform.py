"""Does every work-item of a group reach the same barriers? A taint analysis from the ids.

A value is *varying* when it may differ between the work-items of one group: it comes from
``global_id`` or ``local_id``, from memory that the kernel writes, from an atomic, or it was assigned
where the way there was varying. A barrier reached by a varying way is refused with both places.

The same analysis holds sub-group operations, for the work-items of one sub-group: there ``subgroup_id``
does not vary, nor what a reduction, a vote or a broadcast gives.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from atoll.diagnostics import Diagnostic, Span
from atoll.ir import nodes as n
from atoll.ir import ops
from atoll.ir.module import Kernel
from atoll.ir.walk import accesses, blocks, expressions, has_barrier, has_subgroups


def divergent_barriers(kernel: Kernel) -> list[Diagnostic]:
    """Return a diagnostic for each barrier that not every work-item of a group reaches."""
    return _faults(kernel, narrow=False) if has_barrier(kernel) else []


def divergent_subgroups(kernel: Kernel) -> list[Diagnostic]:
    """Return a diagnostic for each sub-group operation that not every work-item of a sub-group reaches."""
    return _faults(kernel, narrow=True) if has_subgroups(kernel) else []


def _faults(kernel: Kernel, *, narrow: bool) -> list[Diagnostic]:
    used = accesses(kernel)
    flow = _Flow(
        read_only=frozenset(name for name, access in used.items() if access == "read"), narrow=narrow
    )
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
    #: Whether the work-items of a sub-group are compared, not those of a group.
    narrow: bool
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
            case n.ExternCall() | n.Inline():
                if stmt.result is not None:
                    self.varying.add(stmt.result)
            case n.Barrier() if way.varying and not self.narrow:
                self.faults[id(stmt)] = _diagnostic(stmt.span, way.cause)
            case n.SubGroup():
                self.subgroup(stmt, way)
            case n.If():
                inner = way.through(self.varies(stmt.condition), stmt.condition.span)
                self.block(stmt.then, inner)
                self.block(stmt.orelse, inner)
                if inner.varying and (_leaves(stmt.then) or _leaves(stmt.orelse)):
                    return inner
            case n.Loop():
                return self.loop(stmt, way)
        return way

    def subgroup(self, stmt: n.SubGroup, way: _Way) -> None:
        if way.varying or not self.narrow or stmt.op not in ops.SAME_FOR_ALL:
            self.varying.add(stmt.result)
        if not self.narrow:
            return
        if way.varying:
            self.faults[id(stmt)] = _subgroup_diagnostic(stmt.span, way.cause)
        elif stmt.op is ops.SubGroup.BROADCAST and stmt.lane is not None and self.varies(stmt.lane):
            self.faults[id(stmt)] = _lane_diagnostic(stmt.lane.span or stmt.span)

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
        uniform = ops.SUBGROUP_UNIFORM_IDS if self.narrow else ops.UNIFORM_IDS
        for node in expressions(expr):
            match node:
                case n.Builtin() if node.op not in uniform:
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


def _parted(cause: Span | None) -> tuple[str, ...]:
    where = f"they part at {cause.file}:{cause.line}:{cause.column}" if cause else "they part before it"
    return (where, f"{cause.line} | {cause.text.strip()}") if cause and cause.text else (where,)


def _diagnostic(span: Span | None, cause: Span | None) -> Diagnostic:
    return Diagnostic(
        code="ATL0703",
        message="not every work-item of a group reaches this barrier",
        span=span,
        notes=_parted(cause),
        hint="move the barrier out of the branch, or make the condition the same for the whole group",
    )


def _subgroup_diagnostic(span: Span | None, cause: Span | None) -> Diagnostic:
    return Diagnostic(
        code="ATL0704",
        message="not every work-item of a sub-group reaches this operation",
        span=span,
        notes=_parted(cause),
        hint="move it out of the branch, or make the condition the same for the whole sub-group",
    )


def _lane_diagnostic(span: Span | None) -> Diagnostic:
    return Diagnostic(
        code="ATL0704",
        message="the lane of a broadcast is not the same for the whole sub-group",
        span=span,
        hint="use a shuffle where each work-item names a lane of its own",
    )
