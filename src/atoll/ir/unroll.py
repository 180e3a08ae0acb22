"""Which loops can be written out? Those with a constant count whole, innermost ones by four trips at a time.

For targets whose last compiler unrolls little. The order of a work-item's statements is kept, so the result
is the same to the bit. Once constant loops are written out, arrays of a work-item that are only indexed by
constants become locals: registers instead of memory.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace

from atoll.ir import nodes as n
from atoll.ir import ops, scalar
from atoll.ir.module import Kernel, LocalVariable, Module
from atoll.ir.passes import optimise
from atoll.ir.types import I32, I64, U32, U64
from atoll.ir.verify import verify
from atoll.ir.walk import expressions, operands, statements, values

#: How often an innermost loop is repeated, and the largest body that is, in nodes.
TIMES, MOST_REPEATED = 4, 160
#: The most turns of a loop that is written out, and the nodes that a kernel may grow to.
MOST_TURNS, MOST_NODES = 64, 20000


def unroll(module: Module) -> Module:
    """Return a verified module that computes the same to the bit; `module` went through the passes."""
    kernels = tuple(_whole(kernel) for kernel in module.kernels)
    whole = Module(kernels=kernels)
    if kernels != module.kernels:
        promoted = Module(kernels=tuple(_promoted(item) for item in optimise(verify(whole)).kernels))
        whole = optimise(verify(promoted))
    return verify(Module(kernels=tuple(_Repeating(item).kernel() for item in whole.kernels)))


def size(block: n.Block) -> int:
    """Return how many nodes a block has."""
    return sum(1 + sum(1 for value in values(stmt) for _ in expressions(value)) for stmt in statements(block))


def _map(block: n.Block, change: Callable[[n.Loop], n.Block]) -> n.Block:
    """Return a block with every loop changed, inner ones first."""
    found: list[n.Stmt] = []
    for stmt in block:
        match stmt:
            case n.If():
                found.append(replace(stmt, then=_map(stmt.then, change), orelse=_map(stmt.orelse, change)))
            case n.Loop():
                found += change(replace(stmt, body=_map(stmt.body, change)))
            case _:
                found.append(stmt)
    return tuple(found)


def _leaves(body: n.Block) -> bool:
    """Tell whether a loop's own body breaks or continues it."""
    pending = list(body)
    while pending:
        stmt = pending.pop()
        if isinstance(stmt, n.Break | n.Continue):
            return True
        if isinstance(stmt, n.If):
            pending += [*stmt.then, *stmt.orelse]
    return False


def _ends(block: n.Block) -> bool:
    """Tell whether nothing that follows a block is ever reached."""
    for stmt in block:
        if isinstance(stmt, n.Return | n.Break | n.Continue):
            return True
        if isinstance(stmt, n.If) and _ends(stmt.then) and _ends(stmt.orelse):
            return True
    return False


def _assigned(block: n.Block) -> set[str]:
    """Return the locals that a block gives a value."""
    found: set[str] = set()
    for stmt in statements(block):
        if isinstance(stmt, n.Assign):
            found.add(stmt.local)
        elif isinstance(stmt, n.Atomic | n.SubGroup | n.ExternCall | n.Inline) and stmt.result is not None:
            found.add(stmt.result)
    return found


# --- loops of a constant count -------------------------------------------------------------------


def _whole(kernel: Kernel) -> Kernel:
    left = [MOST_NODES - size(kernel.body)]
    return replace(kernel, body=_written(kernel.body, left))


def _written(block: n.Block, left: list[int]) -> n.Block:
    """Return a block with its constant loops written out, inner ones first, while there is room left."""
    found: list[n.Stmt] = []
    known: dict[str, n.Const] = {}
    for stmt in block:
        match stmt:
            case n.Loop():
                inner = replace(stmt, body=_written(stmt.body, left))
                found += _turns(inner, known, left)
                lost = _assigned((stmt,))
            case n.If():
                found.append(
                    replace(stmt, then=_written(stmt.then, left), orelse=_written(stmt.orelse, left))
                )
                lost = _assigned((stmt,))
            case _:
                found.append(stmt)
                lost = _assigned((stmt,))
        known = {name: value for name, value in known.items() if name not in lost}
        if isinstance(stmt, n.Assign) and isinstance(stmt.value, n.Const):
            known[stmt.local] = stmt.value
    return tuple(found)


def _turns(loop: n.Loop, known: dict[str, n.Const], left: list[int]) -> n.Block:
    """Return a loop's turns one after the other, or the loop where they are not known or too many."""
    name = _counter(loop)
    if name is None or name not in known or _leaves(loop.body) or _ends(loop.body):
        return (loop,)
    step = next(item.value for item in loop.step if isinstance(item, n.Assign) and item.local == name)
    turns: list[n.Const] = []
    at = known[name]
    while _value(loop.condition, name, at):
        turns.append(at)
        if len(turns) > MOST_TURNS:
            return (loop,)
        at = n.const(at.type, _value(step, name, at))
    grows = (len(turns) - 1) * size(loop.body)
    if grows > left[0]:
        return (loop,)
    left[0] -= max(grows, 0)
    return tuple(stmt for _ in turns for stmt in (*loop.body, *loop.step))


def _counter(loop: n.Loop) -> str | None:
    """Return the local that alone decides how often a loop turns, if its body leaves it alone."""
    if not isinstance(loop.condition, n.Compare):
        return None
    names = {item.name for item in expressions(loop.condition) if isinstance(item, n.Local)}
    if len(names) != 1:
        return None
    name = names.pop()
    steps = [item for item in loop.step if isinstance(item, n.Assign) and item.local == name]
    if len(steps) != 1 or name in _assigned(loop.body) or len(loop.step) != len(_assigned(loop.step)):
        return None
    plain = (n.Local, n.Const, n.Binary, n.Compare)
    for expr in (loop.condition, steps[0].value):
        for item in expressions(expr):
            if not isinstance(item, plain) or (isinstance(item, n.Local) and item.name != name):
                return None
            if isinstance(item, n.Compare | n.Binary) and not item.left.type.is_integer:
                return None
    return name


def _value(expr: n.Expr, name: str, at: n.Const) -> scalar.Number:
    match expr:
        case n.Const():
            return expr.value
        case n.Local():
            return at.value
        case n.Binary():
            return scalar.binary(
                expr.op, expr.type, _value(expr.left, name, at), _value(expr.right, name, at)
            )
        case n.Compare():
            return scalar.compare(expr.op, _value(expr.left, name, at), _value(expr.right, name, at))
    raise AssertionError("a counter was accepted that cannot be evaluated")


# --- loops that count their trips ----------------------------------------------------------------


@dataclass(slots=True)
class _Repeating:
    """One kernel on its way, and the locals that it gets."""

    given: Kernel
    taken: set[str] = field(default_factory=set)
    made: list[LocalVariable] = field(default_factory=list)

    def kernel(self) -> Kernel:
        """Return it with its innermost loops repeated."""
        self.taken = names_of(self.given)
        body = _map(self.given.body, self.repeated)
        return replace(self.given, body=body, locals=(*self.given.locals, *self.made))

    def repeated(self, loop: n.Loop) -> n.Block:
        """Return a loop that does several trips at a time, then the loop itself for those that are left."""
        inner = any(isinstance(stmt, n.Loop | n.Barrier | n.SubGroup) for stmt in statements(loop.body))
        if inner or _leaves(loop.body) or _ends(loop.body) or size(loop.body) > MOST_REPEATED:
            return (loop,)
        many = _many_trips(loop) or _many_below(loop)
        if many is None:
            return (loop,)
        before, bodies = self.loaded_ahead(loop)
        trips = [stmt for body in bodies[:-1] for stmt in (*body, *loop.step)]
        return n.Loop(many, (*before, *trips, *bodies[-1]), loop.step, loop.span), loop

    def loaded_ahead(self, loop: n.Loop) -> tuple[n.Block, list[n.Block]]:
        """Return the loads of all trips, and the bodies that use them: many are then on their way at once.

        Only where the body writes no memory, for loads that every trip does, at places its counters say.
        """
        same = [loop.body] * TIMES
        if any(isinstance(stmt, n.Store | n.Atomic | n.Fence | n.Return) for stmt in statements(loop.body)):
            return (), same
        counters = _counters(loop)
        changed = _assigned((loop,)) - counters.keys()
        loads: list[n.Load] = []
        for stmt in loop.body:
            loads += [item for value in values(stmt) for item in _sure_loads(value) if item not in loads]
        loads = [
            item
            for item in loads
            if not any(
                isinstance(part, n.Load) or (isinstance(part, n.Local) and part.name in changed)
                for index in item.indices
                for part in expressions(index)
            )
        ]
        before: list[n.Stmt] = []
        bodies: list[n.Block] = []
        for trip in range(TIMES):
            known: dict[n.Expr, n.Expr] = {}
            for item in loads:
                name = self.local(item)
                before.append(n.Assign(name, rebuilt(item, _later(counters, trip)), item.span))
                known[item] = n.Local(name, item.type, item.span)
            bodies.append(rewritten(loop.body, _replacing(known)))
        return tuple(before), bodies

    def local(self, load: n.Load) -> str:
        """Return a new local for what a load takes."""
        name = f"ahead_{len(self.made)}"
        while name in self.taken:
            name += "_"
        self.taken.add(name)
        self.made.append(LocalVariable(name, load.type))
        return name


def _counters(loop: n.Loop) -> dict[str, tuple[n.Expr, int]]:
    """Return the locals that a loop only ever adds a constant to, in its step, with that constant."""
    found: dict[str, tuple[n.Expr, int]] = {}
    inside = _assigned(loop.body)
    for stmt in loop.step:
        match stmt:
            case n.Assign(
                local=name,
                value=n.Binary(
                    op=ops.Binary.ADD_WRAP, left=n.Local(name=same) as local, right=n.Const() as by
                ),
            ) if name == same and name not in inside and len(_steps(loop, name)) == 1:
                found[name] = local, int(by.value)
    return found


def _replacing(known: dict[n.Expr, n.Expr]) -> Callable[[n.Expr], n.Expr]:
    return lambda item: known.get(item, item)


def _later(counters: dict[str, tuple[n.Expr, int]], trip: int) -> Callable[[n.Expr], n.Expr]:
    """Return what makes an expression that of a later trip."""

    def change(item: n.Expr) -> n.Expr:
        if trip and isinstance(item, n.Local) and item.name in counters:
            step = counters[item.name][1]
            return n.Binary(ops.Binary.ADD_WRAP, item, n.const(item.type, trip * step))
        return item

    return change


def _sure_loads(expr: n.Expr) -> list[n.Load]:
    """Return the loads of an expression that happen whenever it is evaluated."""
    if isinstance(expr, n.Logical):
        return _sure_loads(expr.left)
    found = [item for part in operands(expr) for item in _sure_loads(part)]
    return [*found, expr] if isinstance(expr, n.Load) else found


def _many_trips(loop: n.Loop) -> n.Expr | None:
    """Return whether several trips are left, for a loop that counts them down to 0 as the passes leave it."""
    match loop.condition:
        case n.Compare(op=ops.Compare.NE, left=n.Local(name=name, type=kind), right=n.Const(bits=0)):
            down = n.Binary(ops.Binary.SUB_WRAP, n.Local(name, kind), n.const(kind, 1))
            if _steps(loop, name) == [down] and kind.is_integer and not kind.is_signed:
                return n.Compare(ops.Compare.GE, n.Local(name, kind), n.const(kind, TIMES))
    return None


def _many_below(loop: n.Loop) -> n.Expr | None:
    """Return whether several trips are left, for a loop that counts up to what it does not change."""
    match loop.condition:
        case n.Compare(op=ops.Compare.LT, left=n.Local(name=name, type=kind), right=limit):
            pass
        case _:
            return None
    steps = _steps(loop, name)
    changed = _assigned((loop,))
    fixed = all(
        not isinstance(item, n.Load) and not (isinstance(item, n.Local) and item.name in changed)
        for item in expressions(limit)
    )
    if kind not in _UNSIGNED or len(steps) != 1 or not fixed:
        return None
    match steps[0]:
        case n.Binary(op=ops.Binary.ADD_WRAP, left=n.Local(name=same), right=n.Const() as by):
            step = int(by.value)
            if same != name or not 0 < step < 1 << 20:
                return None
        case _:
            return None
    # The distance is taken without a sign: it is right even where a signed one would wrap.
    wide = _UNSIGNED[kind]
    apart = n.Binary(ops.Binary.SUB_WRAP, limit, n.Local(name, kind))
    left = n.Cast(ops.Cast.SIGN, wide, apart) if wide != kind else apart
    enough = n.Compare(ops.Compare.GT, left, n.const(wide, (TIMES - 1) * step))
    return n.Logical(ops.Logical.LAND, loop.condition, enough)


_UNSIGNED = {I32: U32, I64: U64, U32: U32, U64: U64}


def _steps(loop: n.Loop, name: str) -> list[n.Expr]:
    """Return what a loop's step gives a local; nothing where the body changes it too."""
    if name in _assigned(loop.body):
        return []
    return [item.value for item in loop.step if isinstance(item, n.Assign) and item.local == name]


# --- arrays of a work-item -----------------------------------------------------------------------


def _promoted(kernel: Kernel) -> Kernel:
    """Return a kernel whose arrays of a work-item are locals where every index is a constant inside them."""
    loose = _loosely_used(kernel)
    arrays = {item.name: item for item in kernel.arrays if item.name not in loose}
    if not arrays:
        return kernel
    taken = names_of(kernel)
    names: dict[tuple[str, int], str] = {}
    for item in arrays.values():
        for at in range(item.length):
            name = f"{item.name}_{at}"
            while name in taken:
                name += "_"
            taken.add(name)
            names[item.name, at] = name
    made = [LocalVariable(name, arrays[base].element) for (base, _), name in names.items()]
    start = tuple(n.Assign(item.name, n.const(item.type, 0)) for item in made)
    return replace(
        kernel,
        locals=(*kernel.locals, *made),
        arrays=tuple(item for item in kernel.arrays if item.name not in arrays),
        body=(*start, *_with_locals(kernel.body, names)),
    )


def _loosely_used(kernel: Kernel) -> set[str]:
    """Return the arrays with an index that is no constant inside them, or that an atomic changes."""
    lengths = {item.name: item.length for item in kernel.arrays}

    def is_loose(base: str, indices: tuple[n.Expr, ...]) -> bool:
        (index,) = indices
        return not isinstance(index, n.Const) or not 0 <= int(index.value) < lengths[base]

    found: set[str] = set()
    for stmt in statements(kernel.body):
        if isinstance(stmt, n.Atomic):
            found.add(stmt.base)
        if isinstance(stmt, n.Store) and stmt.base in lengths and is_loose(stmt.base, stmt.indices):
            found.add(stmt.base)
        for value in values(stmt):
            for item in expressions(value):
                if isinstance(item, n.Load) and item.base in lengths and is_loose(item.base, item.indices):
                    found.add(item.base)
    return found


def _with_locals(block: n.Block, names: dict[tuple[str, int], str]) -> n.Block:
    def expr(item: n.Expr) -> n.Expr:
        if isinstance(item, n.Load) and isinstance(item.indices[0], n.Const):
            name = names.get((item.base, int(item.indices[0].value)))
            if name is not None:
                return n.Local(name, item.type, item.span)
        return item

    def stmt(item: n.Stmt) -> n.Stmt:
        if isinstance(item, n.Store) and isinstance(item.indices[0], n.Const):
            name = names.get((item.base, int(item.indices[0].value)))
            if name is not None:
                return n.Assign(name, item.value, item.span)
        return item

    return rewritten(block, expr, stmt)


def names_of(kernel: Kernel) -> set[str]:
    """Return every name that a kernel gives."""
    found = {param.name for param in kernel.params} | {local.name for local in kernel.locals}
    return found | {item.name for item in kernel.shared} | {item.name for item in kernel.arrays}


# --- rewriting -----------------------------------------------------------------------------------


def rebuilt(expr: n.Expr, change: Callable[[n.Expr], n.Expr]) -> n.Expr:
    """Return an expression with `change` applied to it and everything below it, operands first."""
    match expr:
        case n.Unary() | n.Cast():
            expr = replace(expr, operand=rebuilt(expr.operand, change))
        case n.Binary() | n.Compare() | n.Logical():
            expr = replace(expr, left=rebuilt(expr.left, change), right=rebuilt(expr.right, change))
        case n.Select():
            yes, no = rebuilt(expr.yes, change), rebuilt(expr.no, change)
            expr = replace(expr, condition=rebuilt(expr.condition, change), yes=yes, no=no)
        case n.Load():
            expr = replace(expr, indices=tuple(rebuilt(item, change) for item in expr.indices))
        case n.MathCall():
            expr = replace(expr, operands=tuple(rebuilt(item, change) for item in expr.operands))
        case _:
            assert not operands(expr)
    return change(expr)


def rewritten(
    block: n.Block, expr: Callable[[n.Expr], n.Expr], stmt: Callable[[n.Stmt], n.Stmt] = lambda item: item
) -> n.Block:
    """Return a block with every expression, and then every statement, changed."""

    def of(item: n.Expr) -> n.Expr:
        return rebuilt(item, expr)

    found: list[n.Stmt] = []
    for given in block:
        item: n.Stmt = given
        match item:
            case n.Assign():
                item = replace(item, value=of(item.value))
            case n.Store():
                item = replace(item, indices=tuple(map(of, item.indices)), value=of(item.value))
            case n.Atomic():
                expected = None if item.expected is None else of(item.expected)
                item = replace(
                    item, indices=tuple(map(of, item.indices)), value=of(item.value), expected=expected
                )
            case n.SubGroup():
                item = replace(item, value=of(item.value), lane=None if item.lane is None else of(item.lane))
            case n.ExternCall():
                item = replace(item, arguments=tuple(map(of, item.arguments)))
            case n.Inline():
                item = replace(item, operands=tuple(map(of, item.operands)))
            case n.If():
                then, orelse = rewritten(item.then, expr, stmt), rewritten(item.orelse, expr, stmt)
                item = replace(item, condition=of(item.condition), then=then, orelse=orelse)
            case n.Loop():
                body, step = rewritten(item.body, expr, stmt), rewritten(item.step, expr, stmt)
                item = replace(item, condition=of(item.condition), body=body, step=step)
        found.append(stmt(item))
    return tuple(found)
