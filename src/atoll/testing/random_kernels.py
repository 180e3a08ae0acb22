"""Random KIR kernels for differential tests: the same seed, the same kernel, on every machine.

A kernel works on a few locals of mixed types with nested branches, loops that end, `break`, `continue` and
early returns; every operation may stand anywhere its types allow. Half of the kernels pass values between
the work-items of a group through shared memory, so with barriers, some inside loops, and many of these
through sub-groups too; half have an array of each work-item; half count with atomics whose order does not
matter. Some expressions stand twice, some loads only behind what says that their element exists, some
elements are read after they were written. Each is valid KIR (the verifier runs over it) and touches only
elements that exist.
"""

from __future__ import annotations

import random
from dataclasses import dataclass, field

from atoll.ir import (
    BF16,
    BOOL,
    F16,
    F32,
    F64,
    I8,
    I16,
    I32,
    I64,
    U8,
    U16,
    U32,
    U64,
    Kernel,
    LocalVariable,
    Module,
    Parameter,
    PrivateArray,
    Scalar,
    SharedArray,
    View,
    nodes,
    ops,
)  # fmt: skip
from atoll.ir.verify import cast_allows, verify
from atoll.testing.evaluate import Number, ViewValue
from atoll.testing.program import Program

#: Work-items of a group; the loops of a kernel run at most this often too.
ITEMS = 16
GROUPS = 2
_TYPES = (I32, I32, I32, U32, I64, U64, I8, U8, I16, U16, F32, F16, BF16)
_INTEGERS = tuple(scalar for scalar in dict.fromkeys(_TYPES) if scalar.is_integer)
_BINARY: dict[bool, list[ops.Binary]] = {
    True: [op for op in ops.Binary if op in ops.FLOAT_BINARY and op is not ops.Binary.FDIV],
    False: [op for op in ops.Binary if op not in ops.FLOAT_BINARY],
}
_UNARY: dict[bool, list[ops.Unary]] = {
    True: [ops.Unary.FNEG, ops.Unary.FABS],
    False: [ops.Unary.NEG_WRAP, ops.Unary.ABS_WRAP, ops.Unary.NOT],
}
_DIVISIONS = sorted(ops.DIVISIONS)
#: What sub-groups compute, and of what types.
_SUBGROUP = tuple(op for op in ops.SubGroup if op not in (ops.SubGroup.ALL, ops.SubGroup.ANY))
_TOGETHER = (I32, U32, I64, U64)
#: Elements of `counts` that all work-items change, one for each operation whose order does not matter.
COMMON = 8
_COUNTING = (
    ops.AtomicOp.ADD, ops.AtomicOp.MIN, ops.AtomicOp.MAX, ops.AtomicOp.AND, ops.AtomicOp.OR, ops.AtomicOp.XOR,
)  # fmt: skip
#: Elements of the array of each work-item.
OWN = 4


def random_program(seed: int) -> Program:
    """Return the kernel of a seed, with a launch and arguments."""
    made = _Maker(random.Random(seed))  # noqa: S311 - repeatable, no secret
    kernel = made.kernel(seed)
    module = verify(Module(kernels=(kernel,)))
    values = _arguments(random.Random(seed + 1))  # noqa: S311

    def arguments() -> dict[str, Number | ViewValue]:
        count = ITEMS * GROUPS
        outs = {f"out{n}": ViewValue([0] * count, (count,), (1,)) for n in range(3)}
        outs["counts"] = ViewValue([0] * (COMMON + count), (COMMON + count,), (1,))
        return {**outs, "sums": ViewValue([0.0] * count, (count,), (1,)), **values()}

    return Program(
        name=kernel.name,
        about=f"seed {seed}",
        module=module,
        arguments=arguments,
        groups=(GROUPS, 1, 1),
        group=(ITEMS, 1, 1),
    )


class _arguments:  # noqa: N801 - a callable that keeps what it drew
    def __init__(self, draw: random.Random) -> None:
        count = ITEMS * GROUPS
        edge = [0, 1, -1, 2, -2, 3, 7, -7, 31, 32, 100, -100, (1 << 31) - 1, -(1 << 31)]
        self.x: list[Number] = [
            draw.choice(edge) if draw.random() < 0.5 else draw.randint(-(1 << 31), (1 << 31) - 1)
            for _ in range(count)
        ]
        self.y: list[Number] = [draw.randint(-64, 64) * 0.25 for _ in range(count)]
        self.n: Number = draw.choice(edge)

    def __call__(self) -> dict[str, Number | ViewValue]:
        count = len(self.x)
        x, y = (ViewValue(list(values), (count,), (1,)) for values in (self.x, self.y))
        return {"x": x, "y": y, "n": self.n}


@dataclass(slots=True)
class _Maker:
    draw: random.Random
    locals: dict[str, Scalar] = field(default_factory=dict)
    loops: int = 0
    waits: bool = False
    owns: bool = False
    counts: bool = False
    types: tuple[Scalar, ...] = _TYPES
    #: Expressions that may stand once more.
    said: list[nodes.Expr] = field(default_factory=list)

    def kernel(self, seed: int) -> Kernel:
        self.waits, self.owns, self.counts = (self.draw.random() < 0.5 for _ in range(3))
        if self.draw.random() < 0.3:
            self.types = (*_TYPES, F64)
        for number in range(self.draw.randint(3, 6)):
            self.locals[f"v{number}"] = self.draw.choice(self.types)
        for name, scalar in (("k0", I32), ("k1", I32), ("g", I32), ("i", I64), ("f0", F32), ("q", I64)):
            self.locals[name] = scalar
        body = self.beginnings()
        if self.waits:
            body += self.exchanges()
        else:
            body += self.block(self.draw.randint(3, 6), 3, inside=False)
        body += self.results()
        params = [Parameter("n", I32), Parameter("x", View(I32)), Parameter("y", View(F32))]
        params += [Parameter(f"out{n}", View(scalar)) for n, scalar in enumerate((I32, I64, U32))]
        params += [Parameter("sums", View(F32)), Parameter("counts", View(I32))]
        listed = tuple(LocalVariable(name, scalar) for name, scalar in self.locals.items())
        shared = (SharedArray("tile", I32, ITEMS),) if self.waits else ()
        return Kernel(
            name=f"random{seed}", params=tuple(params), locals=listed, shared=shared, body=tuple(body),
            arrays=(PrivateArray("own", I32, OWN),) if self.owns else (),
            group=(ITEMS, 1, 1) if self.waits else (0, 0, 0),
        )  # fmt: skip

    def beginnings(self) -> list[nodes.Stmt]:
        """Assign every local; counters start the same for every work-item, or they could guard no barrier."""
        found: list[nodes.Stmt] = []
        for name, scalar in self.locals.items():
            value: nodes.Expr = nodes.const(scalar, 0) if name[0] in "kg" else self.leaf(scalar, first=True)
            if name in "iq":
                value = self.cast_to(I64, nodes.Builtin(ops.Id.GLOBAL_ID, 0))
            found.append(nodes.Assign(name, value))
        if self.owns:
            here = nodes.Local("k0", I32)
            fill = nodes.Store("own", (here,), nodes.Binary(ops.Binary.SUB_WRAP, nodes.Param("n", I32), here))
            step = nodes.Assign("k0", nodes.Binary(ops.Binary.ADD_WRAP, here, nodes.const(I32, 1)))
            until = nodes.Compare(ops.Compare.LT, here, nodes.const(I32, OWN))
            found.append(nodes.Loop(until, (fill,), (step,)))
        return found

    # --- statements ---

    def block(self, length: int, depth: int, *, inside: bool) -> list[nodes.Stmt]:
        found: list[nodes.Stmt] = []
        for _ in range(length):
            found += self.statement(depth, inside=inside)
            if isinstance(found[-1], nodes.Break | nodes.Continue | nodes.Return):
                break
        return found

    def statement(self, depth: int, *, inside: bool) -> list[nodes.Stmt]:
        kind = self.draw.random()
        if depth and kind < 0.25:
            then = self.block(self.draw.randint(1, 3), depth - 1, inside=inside)
            orelse = self.block(self.draw.randint(0, 2), depth - 1, inside=inside)
            return [nodes.If(self.boolean(2), tuple(then), tuple(orelse))]
        if depth and kind < 0.4 and self.loops < 2:
            return self.loop(depth)
        if kind < 0.5 and inside:
            return [nodes.If(self.boolean(2), (self.jump(),))]
        if kind < 0.54 and not self.waits:
            return [nodes.If(self.boolean(2), (*self.early(), nodes.Return()))]
        if kind < 0.6 and self.counts:
            return self.count()
        if kind < 0.65 and self.owns:
            return [nodes.Store("own", (self.own_place(),), self.expression(I32, 2))]
        if kind < 0.7:
            return self.early()
        if kind < 0.74:
            return self.guarded()
        if kind < 0.77 and depth and self.loops < 2:
            return self.guarded_loop()
        return [self.assign()]

    def count(self) -> list[nodes.Stmt]:
        """Change an element of all by one of the operations whose order does not matter, or one's own."""
        value = self.expression(I32, 2)
        if self.draw.random() < 0.5:
            at = self.draw.randrange(len(_COUNTING))
            return [nodes.Atomic(_COUNTING[at], "counts", (nodes.const(I64, at),), value)]
        place = nodes.Binary(ops.Binary.ADD_WRAP, nodes.Local("i", I64), nodes.const(I64, COMMON))
        held = [name for name, scalar in self.locals.items() if scalar == I32 and name[0] == "v"]
        result = self.draw.choice(held) if held and self.draw.random() < 0.7 else None
        op = self.draw.choice((ops.AtomicOp.ADD, ops.AtomicOp.EXCHANGE, ops.AtomicOp.XOR))
        changed = nodes.Atomic(op, "counts", (place,), value, None, result)
        if not held or self.draw.random() < 0.5:
            return [changed]
        seen, name = nodes.Load("counts", (place,), I32), self.draw.choice(held)
        total = nodes.Binary(ops.Binary.SUB_WRAP, nodes.Local(name, I32), seen)
        return [nodes.Assign(name, seen), changed, nodes.Assign(name, total)]

    def own_place(self) -> nodes.Expr:
        return nodes.Binary(ops.Binary.AND, self.expression(I32, 1), nodes.const(I32, OWN - 1))

    def inside(self) -> nodes.Expr:
        """Ask whether `q` is an index of the arrays."""
        here = nodes.Local("q", I64)
        low = nodes.Compare(ops.Compare.GE, here, nodes.const(I64, 0))
        high = nodes.Compare(ops.Compare.LT, here, nodes.const(I64, ITEMS * GROUPS))
        return nodes.Logical(ops.Logical.LAND, low, high)

    def guarded(self) -> list[nodes.Stmt]:
        """Load an element behind what says that it exists."""
        load = nodes.Load("x", (nodes.Local("q", I64),), I32)
        aim = nodes.Assign("q", self.cast_to(I64, self.expression(I32, 1)))
        if self.draw.random() < 0.5:
            asked = nodes.Compare(ops.Compare.LT, load, self.expression(I32, 1))
            return [aim, nodes.If(nodes.Logical(ops.Logical.LAND, self.inside(), asked), (self.assign(),))]
        return [aim, nodes.If(self.inside(), (nodes.Store("out0", (nodes.Local("i", I64),), load),))]

    def guarded_loop(self) -> list[nodes.Stmt]:
        """Load an element in a loop that makes no trip where it does not exist."""
        here = nodes.Local(f"k{self.loops}", I32)
        load = nodes.Load("x", (nodes.Local("q", I64),), I32)
        aim = nodes.Assign("q", self.cast_to(I64, self.expression(I32, 1)))
        limit = nodes.const(I32, self.draw.randint(0, 3))
        asked = nodes.Logical(ops.Logical.LAND, nodes.Compare(ops.Compare.LT, here, limit), self.inside())
        before = nodes.Load("out0", (nodes.Local("i", I64),), I32)
        if self.draw.random() < 0.4:
            stays = nodes.Compare(ops.Compare.LE, before, nodes.const(I32, self.draw.randint(-9, 9)))
            asked = nodes.Logical(ops.Logical.LAND, stays, asked)
        total = nodes.Binary(self.draw.choice((ops.Binary.ADD_WRAP, ops.Binary.XOR)), before, load)
        body = nodes.Store("out0", (nodes.Local("i", I64),), total)
        step = nodes.Assign(here.name, nodes.Binary(ops.Binary.ADD_WRAP, here, nodes.const(I32, 1)))
        begin = nodes.Assign(here.name, nodes.const(I32, 0))
        return [aim, begin, nodes.Loop(asked, (body,), (step,))]

    def jump(self) -> nodes.Stmt:
        return nodes.Break() if self.draw.random() < 0.5 else nodes.Continue()

    def assign(self) -> nodes.Stmt:
        name = self.draw.choice([name for name in self.locals if name[0] in "vf"])
        return nodes.Assign(name, self.expression(self.locals[name], 3))

    def early(self) -> list[nodes.Stmt]:
        value = self.expression(I32, 1)
        return [nodes.Store("out0", (nodes.Local("i", I64),), value)]

    def loop(self, depth: int) -> list[nodes.Stmt]:
        counter = f"k{self.loops}"
        self.loops += 1
        here = nodes.Local(counter, I32)
        limit = nodes.const(I32, self.draw.randint(0, 6))
        condition: nodes.Expr = nodes.Compare(ops.Compare.LT, here, limit)
        if self.draw.random() < 0.3:
            sides = [condition, self.boolean(1)]
            self.draw.shuffle(sides)
            condition = nodes.Logical(ops.Logical.LAND, sides[0], sides[1])
        body = self.block(self.draw.randint(1, 4), depth - 1, inside=True)
        step = nodes.Assign(counter, nodes.Binary(ops.Binary.ADD_WRAP, here, nodes.const(I32, 1)))
        self.loops -= 1
        return [nodes.Assign(counter, nodes.const(I32, 0)), nodes.Loop(condition, tuple(body), (step,))]

    def exchanges(self) -> list[nodes.Stmt]:
        """Return rounds in which work-items read what others wrote, some of them in a loop of the group."""
        found: list[nodes.Stmt] = []
        for _ in range(self.draw.randint(1, 3)):
            found += self.block(self.draw.randint(1, 2), 2, inside=False)
            if self.draw.random() < 0.4:
                found += self.together()
            if self.draw.random() < 0.5:
                found += self.exchange()
            else:
                found += self.group_loop()
        return found

    def together(self) -> list[nodes.Stmt]:
        """Let sub-groups compute something of integers; the order of a float's sum would be the target's."""
        held = [name for name, scalar in self.locals.items() if scalar in _TOGETHER and name[0] == "v"]
        name = self.draw.choice(held or ["k1"])
        scalar = self.locals[name]
        op = self.draw.choice(_SUBGROUP)
        lane: nodes.Expr | None = None
        if op is ops.SubGroup.SHUFFLE:
            width = nodes.Builtin(ops.Id.SUBGROUP_SIZE, 0)
            lane = nodes.Binary(ops.Binary.REM_FLOOR, self.expression(I32, 1), width)
        elif op is ops.SubGroup.BROADCAST:
            lane = nodes.const(I32, 0)
        return [nodes.SubGroup(op, self.expression(scalar, 2), name, lane)]

    def group_loop(self) -> list[nodes.Stmt]:
        here = nodes.Local("g", I32)
        limit = nodes.Binary(ops.Binary.AND, nodes.Param("n", I32), nodes.const(I32, 3))
        body = [*self.exchange(), *self.block(1, 1, inside=False)]
        body += self.together() if self.draw.random() < 0.3 else []
        leave = nodes.Compare(ops.Compare.EQ, here, nodes.const(I32, self.draw.randint(0, 2)))
        if self.draw.random() < 0.5:
            body += [nodes.If(leave, (self.jump(),)), *self.exchange()]
        step = nodes.Assign("g", nodes.Binary(ops.Binary.ADD_WRAP, here, nodes.const(I32, 1)))
        condition = nodes.Compare(ops.Compare.LE, here, limit)
        return [nodes.Assign("g", nodes.const(I32, 0)), nodes.Loop(condition, tuple(body), (step,))]

    def exchange(self) -> list[nodes.Stmt]:
        me, barrier = nodes.Builtin(ops.Id.LOCAL_ID, 0), nodes.Barrier()
        other = nodes.Binary(ops.Binary.AND, self.expression(I32, 1), nodes.const(I32, ITEMS - 1))
        name = self.draw.choice(
            [name for name, scalar in self.locals.items() if scalar == I32 and name[0] == "v"] or ["k1"]
        )
        return [
            nodes.Store("tile", (me,), self.expression(I32, 2)),
            barrier,
            nodes.Assign(name, nodes.Load("tile", (other,), I32)),
            barrier,
        ]

    def results(self) -> list[nodes.Stmt]:
        here = (nodes.Local("i", I64),)
        totals: dict[Scalar, nodes.Expr] = {}
        for name, scalar in self.locals.items():
            held = F32 if scalar.is_float else I64
            value = self.cast_to(held, nodes.Local(name, scalar))
            before = totals.get(held)
            op = ops.Binary.FADD if scalar.is_float else ops.Binary.ADD_WRAP
            totals[held] = value if before is None else nodes.Binary(op, before, value)
        found: list[nodes.Stmt] = [
            nodes.Store("sums", here, totals[F32]),
            nodes.Store("out1", here, totals[I64]),
        ]
        found.append(nodes.Store("out0", here, self.expression(I32, 3)))
        found.append(nodes.Store("out2", here, self.expression(U32, 3)))
        return found

    # --- expressions ---

    def expression(self, scalar: Scalar, depth: int) -> nodes.Expr:
        again = [item for item in self.said if item.type == scalar] if depth else []
        if again and self.draw.random() < 0.15:
            return self.draw.choice(again)
        made = self.new_expression(scalar, depth)
        if depth > 1 and self.draw.random() < 0.3:
            self.said.append(made)
        return made

    def new_expression(self, scalar: Scalar, depth: int) -> nodes.Expr:
        kind = self.draw.random()
        if depth == 0 or kind < 0.2:
            return self.leaf(scalar)
        if kind < 0.28 and not scalar.is_float:
            return self.by_constant(scalar, depth)
        if kind < 0.6:
            op = self.draw.choice(_BINARY[scalar.is_float])
            if not scalar.is_float and self.draw.random() < 0.2:
                op = self.draw.choice(_DIVISIONS)
            return nodes.Binary(op, self.expression(scalar, depth - 1), self.expression(scalar, depth - 1))
        if kind < 0.7:
            return nodes.Unary(self.draw.choice(_UNARY[scalar.is_float]), self.expression(scalar, depth - 1))
        if kind < 0.85:
            return self.cast_to(scalar, self.expression(self.draw.choice(self.types), depth - 1))
        if kind < 0.93:
            yes, no = (self.eager(scalar, depth - 1) for _ in range(2))
            return nodes.Select(self.boolean(depth - 1), yes, no)
        return self.leaf(scalar)

    def by_constant(self, scalar: Scalar, depth: int) -> nodes.Expr:
        """Divide by a constant, or do something else with a small one."""
        left = self.expression(scalar, depth - 1)
        if self.draw.random() < 0.3:
            small = nodes.const(scalar, self.draw.choice((0, 1, -1, 2)))
            return nodes.Binary(self.draw.choice(_BINARY[False]), left, small)
        low, high = scalar.range
        power = 1 << self.draw.randrange(scalar.bits - 1)
        divisor = self.draw.choice(
            [power, power + 1, max(low, -power), max(low, -1), 0, 1, low, high, self.draw.randint(low, high)]
            + [self.draw.randint(max(low, -20), 20) for _ in range(4)]
        )
        return nodes.Binary(self.draw.choice(_DIVISIONS), left, nodes.const(scalar, divisor))

    def eager(self, scalar: Scalar, depth: int) -> nodes.Expr:
        """Return an expression without a load, for a select."""
        if depth <= 0 or self.draw.random() < 0.4:
            return self.leaf(scalar, loads=False)
        op = self.draw.choice(_BINARY[scalar.is_float])
        return nodes.Binary(op, self.eager(scalar, depth - 1), self.eager(scalar, depth - 1))

    def boolean(self, depth: int) -> nodes.Expr:
        if depth > 0 and self.draw.random() < 0.3:
            joined = self.draw.choice(list(ops.Logical))
            return nodes.Logical(joined, self.boolean(depth - 1), self.boolean(depth - 1))
        if depth > 0 and self.draw.random() < 0.15:
            return nodes.Unary(ops.Unary.NOT, self.boolean(depth - 1))
        if depth > 0 and self.draw.random() < 0.06:
            return nodes.const(BOOL, self.draw.random() < 0.5)
        scalar = self.draw.choice(self.types)
        return nodes.Compare(
            self.draw.choice(list(ops.Compare)), self.expression(scalar, max(0, depth)), self.leaf(scalar)
        )

    def leaf(self, scalar: Scalar, *, first: bool = False, loads: bool = True) -> nodes.Expr:
        kind = self.draw.random()
        named = [] if first else [name for name, held in self.locals.items() if held == scalar]
        if named and kind < 0.5:
            return nodes.Local(self.draw.choice(named), scalar)
        if scalar == I32 and kind < 0.6:
            return nodes.Param("n", I32)
        if scalar == I32 and kind < 0.7:
            return nodes.Builtin(self.draw.choice([op for op in ops.Id if op not in ops.SUBGROUP_IDS]), 0)
        if scalar == I32 and kind < 0.8 and loads:
            return self.load(first)
        if scalar == F32:
            return nodes.Load("y", (self.place(first),), F32) if loads and kind < 0.7 else self.constant(F32)
        return self.constant(scalar)

    def load(self, first: bool) -> nodes.Expr:
        kind = self.draw.random()
        if self.owns and not first and kind < 0.2:
            masked = nodes.Binary(
                ops.Binary.AND, nodes.Builtin(ops.Id.LOCAL_ID, 0), nodes.const(I32, OWN - 1)
            )
            return nodes.Load("own", (masked,), I32)
        if self.counts and not first and kind < 0.3:
            mine = nodes.Binary(ops.Binary.ADD_WRAP, nodes.Local("i", I64), nodes.const(I64, COMMON))
            return nodes.Load("counts", (mine,), I32)
        if not first and kind < 0.6:
            return nodes.Load("out0", (nodes.Local("i", I64),), I32)
        return nodes.Load("x", (self.place(first),), I32)

    def place(self, first: bool) -> nodes.Expr:
        """Return an index within the arrays."""
        if first or self.draw.random() < 0.6:
            return self.cast_to(I64, nodes.Builtin(ops.Id.GLOBAL_ID, 0))
        scrambled = nodes.Binary(
            ops.Binary.XOR, nodes.Local("i", I64), nodes.const(I64, self.draw.randint(0, 15))
        )
        return nodes.Binary(ops.Binary.AND, scrambled, nodes.const(I64, ITEMS * GROUPS - 1))

    def constant(self, scalar: Scalar) -> nodes.Const:
        if scalar.is_float:
            return nodes.const(scalar, self.draw.choice([0.5, 1.0, -2.5, 0.125, 3.0, -7.75, 1e6, 0.0, -0.0]))
        edge = [0, 1, 2, 3, 5, -1, -2, -3, scalar.bits - 1, scalar.bits, 1 << (scalar.bits - 1)]
        return nodes.const(scalar, self.draw.choice(edge))

    def cast_to(self, target: Scalar, value: nodes.Expr) -> nodes.Expr:
        """Convert a value, by one cast or by two where no cast joins the types."""
        source = value.type
        if source == target:
            return value
        for op in ops.Cast:
            if op is not ops.Cast.BITS and cast_allows(op, source, target):
                return nodes.Cast(op, target, value)
        between = next(
            scalar
            for scalar in _INTEGERS
            if scalar.is_signed == source.is_signed and scalar.bits == target.bits and source != scalar
        )
        return self.cast_to(target, self.cast_to(between, value))
