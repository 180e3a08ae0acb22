"""How do statements become SSA? Every read of a local becomes the value it was given last.

Where two ways meet, a local that differs becomes a result; a loop carries every local it assigns. What
nobody needs of these is left out (:mod:`atoll.ir.passes.needs`), so a local that only holds an intermediate
value of a trip is not carried.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from atoll.ir import nodes as n
from atoll.ir.module import Kernel
from atoll.ir.passes.needs import prune
from atoll.ir.passes.ssa import (
    TRUE,
    Argument,
    Block,
    Branch,
    Carried,
    Cycle,
    Do,
    End,
    Flow,
    Op,
    Undefined,
    Value,
    Way,
    breaks,
    operands_of,
)
from atoll.ir.types import Scalar
from atoll.ir.walk import statements


def enter(kernel: Kernel) -> Flow:
    """Return a verified kernel as SSA."""
    made = _Enter({item.name: item.type for item in kernel.locals})
    body = Block()
    made.block(kernel.body, body, Way.RETURN)
    flow = Flow(kernel, body)
    prune(flow)
    return flow


@dataclass(slots=True)
class _Enter:
    types: dict[str, Scalar]
    env: dict[str, Value] = field(default_factory=dict)
    #: The names that each loop around a place carries.
    loops: list[tuple[str, ...]] = field(default_factory=list)
    here: Block = field(default_factory=Block)

    def local(self, name: str) -> Value:
        return self.env.get(name) or Undefined(type=self.types[name])

    def held(self, names: tuple[str, ...]) -> list[Value]:
        return [self.local(name) for name in names]

    # --- statements ---

    def block(self, statements_: n.Block, into: Block, way: Way) -> bool:
        """Fill a block; tell whether its end is reached. The caller fills in what it hands on."""
        before, self.here = self.here, into
        into.end = End(way)
        reached = all(self.statement(stmt) for stmt in statements_)
        self.here = before
        return reached

    def statement(self, stmt: n.Stmt) -> bool:
        """Add a statement to the block here; tell whether what follows it is reached."""
        match stmt:
            case n.Assign():
                value = self.value(stmt.value)
                value.home = value.home or stmt.local
                self.env[stmt.local] = value
            case n.If():
                return self.branch(stmt)
            case n.Loop():
                return self.loop(stmt)
            case n.Break() | n.Continue():
                way = Way.BREAK if isinstance(stmt, n.Break) else Way.CONTINUE
                self.here.end = End(way, self.held(self.loops[-1]), stmt.span)
                return False
            case n.Return():
                self.here.end = End(Way.RETURN, [], stmt.span)
                return False
            case _:
                self.effect(stmt)
        return True

    def effect(self, stmt: n.Stmt) -> None:
        args = [self.value(operand) for operand in operands_of(stmt)]
        result = None
        name = getattr(stmt, "result", None)
        if name is not None:
            result = self.env[name] = Value(type=self.types[name], span=stmt.span, home=name)
        self.here.items.append(Do(stmt, args, result))

    def branch(self, stmt: n.If) -> bool:
        made = Branch(self.value(stmt.condition), Block(), Block(), [], stmt.span)
        self.here.items.append(made)
        before = dict(self.env)
        yes = self.block(stmt.then, made.then, Way.NEXT)
        after_yes, self.env = self.env, dict(before)
        no = self.block(stmt.orelse, made.orelse, Way.NEXT)
        after_no = self.env
        if not yes and not no:
            self.here.end = End(Way.NEVER)
            return False
        self.env = before
        taken = [found for found, reached in ((after_yes, yes), (after_no, no)) if reached]
        for name in sorted({*after_yes, *after_no}):
            if any(found.get(name) is not before.get(name) for found in taken):
                result = Argument(type=self.types[name], span=stmt.span, home=name)
                for block, found, reached in ((made.then, after_yes, yes), (made.orelse, after_no, no)):
                    if reached:
                        block.end.values.append(found.get(name) or Undefined(type=self.types[name]))
                made.results.append(result)
                self.env[name] = result
        return True

    def loop(self, stmt: n.Loop) -> bool:
        names = _assigned(stmt)
        carried = [
            Carried(self.local(name), *(Argument(type=self.types[name], home=name) for _ in range(3)))
            for name in names
        ]
        made = Cycle(carried, Block(lazy=True), Block(), Block(), stmt.span)
        self.here.items.append(made)
        before = self.env
        self.env = before | {name: item.head for name, item in zip(names, carried, strict=True)}
        self.lazy(stmt.condition, made.condition)
        self.loops.append(names)
        if self.block(stmt.body, made.body, Way.NEXT):
            made.body.end.values = self.held(names)
        self.env = before | {name: item.step for name, item in zip(names, carried, strict=True)}
        self.block(stmt.step, made.step, Way.NEXT)
        made.step.end.values = self.held(names)
        self.loops.pop()
        self.env = before | {name: item.result for name, item in zip(names, carried, strict=True)}
        if stmt.condition == TRUE and not breaks(made.body):
            self.here.end = End(Way.NEVER)
            return False
        return True

    # --- expressions ---

    def lazy(self, expr: n.Expr, into: Block) -> None:
        before, self.here = self.here, into
        into.end = End(Way.NEXT, [self.value(expr)])
        self.here = before

    def value(self, expr: n.Expr) -> Value:
        if isinstance(expr, n.Local):
            return self.local(expr.name)
        op = Op(type=expr.type, span=expr.span, node=expr)
        if isinstance(expr, n.Logical):
            op.args = [self.value(expr.left)]
            op.right = Block(lazy=True)
            self.lazy(expr.right, op.right)
        else:
            op.args = [self.value(operand) for operand in operands_of(expr)]
        self.here.items.append(op)
        return op


def _assigned(loop: n.Loop) -> tuple[str, ...]:
    found: dict[str, None] = {}
    for stmt in statements((*loop.body, *loop.step)):
        name = stmt.local if isinstance(stmt, n.Assign) else getattr(stmt, "result", None)
        if name is not None:
            found[name] = None
    return tuple(found)
