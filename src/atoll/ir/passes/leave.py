"""How does SSA become statements again? Values used once go back into expressions, the others into locals.

A value stays an expression where it is used once, in its own block, and no effect lies between that its
loads would cross; a leaf (a constant, a parameter, an id) is repeated wherever it is used. Everything else
gets a local, as every argument does; :mod:`atoll.ir.passes.naming` says which of them share one. The ends
of blocks become assignments, in an order in which none overwrites what another one still reads.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace

from atoll.diagnostics import Span
from atoll.ir import nodes as n
from atoll.ir.module import Kernel, LocalVariable
from atoll.ir.ops import Unary
from atoll.ir.passes.naming import Naming, named
from atoll.ir.passes.ssa import (
    Argument,
    Block,
    Branch,
    Cycle,
    Do,
    End,
    Flow,
    Item,
    Op,
    Undefined,
    Value,
    Way,
    acts,
    blocks,
    is_leaf,
    is_pure,
    reads,
    used,
    with_operands,
)
from atoll.ir.types import Scalar
from atoll.ir.walk import expressions

#: Deeper expressions are cut by a local.
MAX_TREE = 40


def leave(flow: Flow) -> Kernel:
    """Return a flow as a kernel. It may be used no more: names are chosen in place."""
    bound = _bound(flow)
    names = named(flow, bound)
    made = _Leave(names)
    made.block(flow.body, [], top=True)
    body = tuple(made.here)
    variables = [LocalVariable(name, scalar) for name, scalar in names.locals.items()]
    variables += [LocalVariable(name, scalar) for name, scalar in made.extra.items()]
    return replace(flow.kernel, body=body, locals=tuple(variables))


# --- which values need a local -----------------------------------------------------------------


def _bound(flow: Flow) -> set[Value]:
    """Return the ops that need a local."""
    uses: dict[Value, list[tuple[Block, int]]] = {}
    for block in blocks(flow.body):
        for at, item in enumerate(block.items):
            for value in used(item):
                uses.setdefault(value, []).append((block, at))
        for value in block.end.values:
            uses.setdefault(value, []).append((block, len(block.items)))
    bound: set[Value] = set()
    for block in blocks(flow.body):
        if not block.lazy:
            _bind(block, uses, bound)
    return bound


def _bind(block: Block, uses: dict[Value, list[tuple[Block, int]]], bound: set[Value]) -> None:
    loading = _cut(block, bound)
    effects = [0]
    for item in block.items:
        effects.append(effects[-1] + acts(item))
    roots: dict[Value, int] = {}
    for at in range(len(block.items) - 1, -1, -1):
        op = block.items[at]
        if not isinstance(op, Op) or is_leaf(op) or op in bound:
            continue
        places = uses.get(op, [])
        if len(places) != 1 or places[0][0] is not block or not (is_pure(op) or op.right or reads(op)):
            bound.add(op)
            continue
        root = places[0][1]
        user = block.items[root] if root < len(block.items) else None
        if isinstance(user, Op) and user not in bound:
            root = roots.get(user, root)
        crossed = op in loading and effects[root] > effects[at + 1]
        if crossed or (op in loading and _eager(user, op)):
            bound.add(op)
        else:
            roots[op] = root


def _cut(block: Block, bound: set[Value]) -> set[Value]:
    """Bind ops whose expressions would be too deep; return those that hold a load."""
    depth: dict[Value, int] = {}
    loading: set[Value] = set()
    for item in block.items:
        if isinstance(item, Op):
            below = [*item.args, *_lazy_values(item)]
            depth[item] = 1 + max((depth.get(value, 0) for value in below), default=0)
            if depth[item] > MAX_TREE:
                bound.add(item)
                depth[item] = 0
            if reads(item) or any(value in loading for value in item.args):
                loading.add(item)
    return loading


def _lazy_values(op: Op) -> list[Value]:
    return [] if op.right is None else [item for item in op.right.items if isinstance(item, Op)]


def _eager(user: Item | None, op: Op) -> bool:
    """Tell whether a load in `op` would stand in a side of a select."""
    return isinstance(user, Op) and isinstance(user.node, n.Select) and op in user.args[1:]


# --- statements --------------------------------------------------------------------------------


@dataclass(slots=True)
class _Leave:
    names: Naming
    here: list[n.Stmt] = field(default_factory=list)
    #: Locals that only break a circle of assignments.
    extra: dict[str, Scalar] = field(default_factory=dict)
    loops: list[Cycle] = field(default_factory=list)

    def block(self, block: Block, into: list[Argument], *, top: bool = False) -> None:
        """Add the items of a block, then its end, which hands on to `into`."""
        for item in block.items:
            self.item(item)
        if not top:
            self.end(block.end, into)

    def inside(self, block: Block, into: list[Argument]) -> n.Block:
        before, self.here = self.here, []
        self.block(block, into)
        made, self.here = tuple(self.here), before
        return made

    def item(self, item: Item) -> None:
        match item:
            case Op():
                name = self.names.of(item)
                if name is not None:
                    self.here.append(n.Assign(name, self.operation(item), item.span))
            case Do():
                self.here.append(self.effect(item))
            case Branch():
                then, orelse = self.inside(item.then, item.results), self.inside(item.orelse, item.results)
                condition = self.tree(item.condition)
                if orelse and not then:
                    then, orelse = orelse, ()
                    condition = _negated(condition)
                self.here.append(n.If(condition, then, orelse, item.span))
            case Cycle():
                self.cycle(item)

    def effect(self, item: Do) -> n.Stmt:
        changed: dict[str, str | None] = {}
        if hasattr(item.node, "result"):
            changed["result"] = None if item.result is None else self.names.of(item.result)
        made: n.Stmt = with_operands(item.node, [self.tree(value) for value in item.args], **changed)
        return made

    def cycle(self, item: Cycle) -> None:
        self.copies([carried.head for carried in item.carried], [c.init for c in item.carried], item.span)
        condition = self.tree(item.condition.end.values[0])
        self.loops.append(item)
        body = self.inside(item.body, [carried.step for carried in item.carried])
        self.loops.pop()
        step = self.inside(item.step, [carried.head for carried in item.carried])
        self.here.append(n.Loop(condition, body, step, item.span))

    def end(self, end: End, into: list[Argument]) -> None:
        match end.way:
            case Way.NEXT:
                self.copies(into, end.values, end.span)
            case Way.BREAK:
                self.copies([item.result for item in self.loops[-1].carried], end.values, end.span)
                self.here.append(n.Break(end.span))
            case Way.CONTINUE:
                self.copies([item.step for item in self.loops[-1].carried], end.values, end.span)
                self.here.append(n.Continue(end.span))
            case Way.RETURN:
                self.here.append(n.Return(end.span))
            case Way.NEVER:
                pass

    def copies(self, targets: list[Argument], values: list[Value], span: Span | None) -> None:
        """Assign all at once: each local once nobody still reads it, a circle through one more local."""
        pending: list[tuple[str, n.Expr]] = []
        for target, value in zip(targets, values, strict=True):
            name = self.names.of(target)
            assert name is not None
            if not isinstance(value, Undefined) and name != self.names.of(value):
                pending.append((name, self.tree(value)))
        while pending:
            free = next((pair for pair in pending if not _read_by_others(pair, pending)), None)
            if free is None:
                name, expr = pending[0]
                extra = self.names.fresh("kept")
                self.extra[extra] = expr.type
                self.here.append(n.Assign(extra, expr, expr.span or span))
                pending[0] = (name, n.Local(extra, expr.type, expr.span))
                continue
            pending.remove(free)
            self.here.append(n.Assign(free[0], free[1], free[1].span or span))

    # --- expressions ---

    def tree(self, value: Value) -> n.Expr:
        name = self.names.of(value)
        if name is not None:
            return n.Local(name, value.type, value.span)
        assert isinstance(value, Op), value
        return self.operation(value)

    def operation(self, op: Op) -> n.Expr:
        if isinstance(op.node, n.Logical):
            assert op.right is not None
            return n.Logical(op.node.op, self.tree(op.args[0]), self.tree(op.right.end.values[0]), op.span)
        if not op.args:
            return op.node
        made: n.Expr = with_operands(op.node, [self.tree(value) for value in op.args])
        return made


def _negated(condition: n.Expr) -> n.Expr:
    if isinstance(condition, n.Unary) and condition.op is Unary.NOT:
        return condition.operand
    return n.Unary(Unary.NOT, condition, condition.span)


def _read_by_others(pair: tuple[str, n.Expr], pending: list[tuple[str, n.Expr]]) -> bool:
    return any(
        isinstance(node, n.Local) and node.name == pair[0]
        for other in pending
        if other is not pair
        for node in expressions(other[1])
    )
