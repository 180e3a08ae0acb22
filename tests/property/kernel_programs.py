"""Random kernels as Python text: everything the language has that cannot fault, 64 work-items.

Divisors are odd, shift counts masked, indices taken modulo a positive number, so that the oracle never
refuses; atomics without a result change an element in one way each, those with one an element of one's own.
What is left has one answer on every device.
"""

from __future__ import annotations

import random
from dataclasses import dataclass, field

ITEMS = 64
TYPES = ("i32", "u32", "i64", "f32")
#: Types that a program may have besides; their values come from literals and conversions.
MORE = ("i8", "u8", "i16", "u16", "u64", "f64", "f16", "bf16")
FLOATS = ("f32", "f64", "f16", "bf16")
ARRAYS = {"i32": "x", "u32": "u", "i64": "w", "f32": "f"}
#: The atomics whose order does not matter, one for each of the first elements of `c`.
COUNTING = ("add", "min", "max", "and", "or", "xor")
COMMON = 8
OUTPUTS = {"i32": "oi", "u32": "ou", "i64": "ow", "f32": "of"}
LITERALS = {
    "i32": ("0", "1", "-1", "7", "-13", "2147483647", "-2147483648"),
    "u32": ("0", "1", "5", "4294967295"),
    "i64": ("0", "-3", "9223372036854775807", "123456789012"),
    "f32": ("0.0", "-0.0", "0.1", "1.5", "-3.25", "1e30", "1e-30", "2"),
    "i8": ("0", "-1", "7", "127", "-128"),
    "u8": ("0", "1", "200", "255"),
    "i16": ("0", "-3", "32767", "-32768"),
    "u16": ("0", "9", "40503", "65535"),
    "u64": ("0", "3", "18446744073709551615", "9223372036854775808"),
    "f64": ("0.0", "-0.0", "0.1", "1e200", "-2.5"),
    "f16": ("0.0", "0.1", "-2.5", "1024"),
    "bf16": ("0.0", "0.1", "-2.5", "1e30"),
}


@dataclass
class Program:
    """One program being written."""

    random: random.Random
    lines: list[str] = field(default_factory=list)
    locals: dict[str, str] = field(default_factory=dict)
    names: int = 0
    loops: int = 0
    #: Whether the program has an array of each work-item, `own`, and a struct, `pair`.
    arrays: bool = False
    #: Whether work-items exchange values through `tile`, and whether they count in `c`.
    waits: bool = False
    counts: bool = False
    #: Whether it has vectors (`va`, `vb`, `ball`), pointers, sub-groups.
    vectors: bool = False
    pointers: bool = False
    lanes: bool = False
    types: tuple[str, ...] = TYPES

    def put(self, depth: int, line: str) -> None:
        self.lines.append("    " * depth + line)

    def pick(self, *options: str) -> str:
        return self.random.choice(options)

    def new(self) -> str:
        self.names += 1
        return f"v{self.names}"

    # --- expressions ---

    def expression(self, kind: str, depth: int) -> str:
        if depth <= 0:
            return self.leaf(kind)
        return self.pick(
            self.leaf(kind), *(self.floating(kind, depth) if kind in FLOATS else self.integral(kind, depth))
        )

    def leaf(self, kind: str) -> str:
        known = [name for name, other in self.locals.items() if other == kind]
        options = [f"{kind}({self.pick(*LITERALS[kind])})"]
        if kind in ARRAYS:
            options.append(f"{ARRAYS[kind]}[{self.index()}]")
        else:
            near = "f" if kind in FLOATS else self.pick("x", "u", "w")
            options.append(f"{kind}({near}[{self.index()}])")
        if kind == "i32":
            options.append("i")
        if self.arrays and kind == "i32":
            options += [f"own[(i + {self.random.randrange(9)}) % 4]", "pair.a"]
        if self.arrays and kind == "f32":
            options.append("pair.b")
        if self.vectors and kind in ("i32", "f32"):
            options += self.components(kind)
        if self.pointers and kind == "i32":
            options.append(f"walked(x, (i * {self.random.randrange(9)}) % 32)")
        if self.lanes and kind == "i32":
            options += ["atoll.lane_id()", "atoll.subgroup_id()", "atoll.subgroup_size()"]
        return self.random.choice(options + known * 2)

    def index(self) -> str:
        return self.pick(
            "i",
            f"(i + {self.random.randrange(100)}) % 64",
            f"(i * {self.random.randrange(-9, 9)}) % 64",
            "-1",
        )

    def integral(self, kind: str, depth: int) -> list[str]:
        a, b = self.expression(kind, depth - 1), self.expression(kind, depth - 1)
        other = self.pick(*self.types)
        operation = self.pick("+", "-", "*", "&", "|", "^")
        return [
            f"({a} {operation} {b})",
            f"({a} // ({b} | 1))",
            f"({a} % ({b} | 1))",
            f"({a} {self.pick('<<', '>>')} ({b} & 7))",
            f"({a} {self.pick('//', '%')} {self.pick('1', '2', '3', '7', '10', '64', '100', '127')})",
            f"(-{a})",
            f"(~{a})",
            f"{self.pick('min', 'max')}({a}, {b})",
            f"abs({a})",
            f"({a} if {self.condition(depth - 1)} else {b})",
            f"{kind}({self.expression(other, depth - 1)})",
            f"({a} ** {self.random.randrange(4)})",
            f"({a} + {self.random.randrange(100)})",
            f"helper_{kind}({a}, {b})",
        ]

    def floating(self, kind: str, depth: int) -> list[str]:
        a, b = self.expression(kind, depth - 1), self.expression(kind, depth - 1)
        whole = self.pick(*[other for other in self.types if other not in FLOATS])
        return [
            f"({a} {self.pick('+', '-', '*')} {b})",
            f"(-{a})",
            f"{self.pick('min', 'max')}({a}, {b})",
            f"abs({a})",
            f"({a} if {self.condition(depth - 1)} else {b})",
            f"({a} if {self.condition(depth - 1)} else 0.3)",
            f"{kind}({self.expression(whole, depth - 1)})",
            f"{kind}({self.expression(self.pick(*[one for one in self.types if one in FLOATS]), depth - 1)})",
            f"atoll.{self.pick('floor', 'ceil', 'trunc', 'rint')}({a})",
            f"({a} * 0.7)",
            f"({a} ** 2)",
            f"helper_{kind}({a}, {b})",
        ]

    def condition(self, depth: int) -> str:
        kind = self.pick(*self.types)
        a, b = self.expression(kind, depth - 1), self.expression(kind, depth - 1)
        compare = ("<", "<=", ">", ">=", "==", "!=")
        options = [
            f"{a} {self.pick(*compare)} {b}",
            f"{a} {self.pick(*compare)} {b} {self.pick(*compare)} {a}",
        ]
        if depth > 0:
            one, two = self.condition(depth - 1), self.condition(depth - 1)
            options += [f"({one} {self.pick('and', 'or')} {two})", f"(not {one})"]
        return self.random.choice(options)

    # --- statements ---

    def block(self, depth: int, budget: int) -> None:
        for _ in range(self.random.randrange(1, 4)):
            self.statement(depth, budget)

    def special(self, depth: int) -> bool:
        """Write a statement of what only some programs have; tell whether it did."""
        kinds = [(self.arrays, 6, self.change), (self.counts, 7, self.count)]
        kinds += [(self.vectors, 5, self.vector), (self.pointers, 8, self.poke)]
        for has, often, write in kinds:
            if has and self.random.randrange(often) == 0:
                write(depth)
                return True
        return False

    def poke(self, depth: int) -> None:
        """Change one's own element through a pointer."""
        self.put(depth, f"poked(oi, i, {self.expression('i32', 2)})")

    def statement(self, depth: int, budget: int) -> None:
        if self.special(depth):
            return
        kind = self.random.randrange(9 if budget > 0 else 5)
        if kind <= 1:
            self.assign(depth)
        elif kind == 2 and self.locals:
            self.augment(depth)
        elif kind == 3:
            self.store(depth)
        elif kind == 4 and len(self.locals) >= 2:
            self.swap(depth)
        elif kind == 5:
            self.branch(depth, budget)
        elif kind == 6:
            self.loop(depth, budget)
        elif kind == 7:
            self.while_loop(depth, budget)
        elif kind == 8 and self.loops:
            self.put(depth, f"if {self.condition(1)}:")
            self.put(depth + 1, self.pick("break", "continue"))
        else:
            self.assign(depth)

    def count(self, depth: int) -> None:
        """Change an element of all in its one way, or one's own."""
        value = self.expression("i32", 2)
        at = self.random.randrange(len(COUNTING))
        if self.random.random() < 0.5:
            self.put(depth, f"atoll.atomic_{COUNTING[at]}(c, {at}, {value})")
            return
        name = self.new()
        self.put(
            depth, f"{name} = atoll.atomic_{self.pick('add', 'exchange', 'xor')}(c, i + {COMMON}, {value})"
        )
        self.locals[name] = "i32"

    def exchange(self, depth: int) -> None:
        """Pass values between work-items."""
        name = self.new()
        self.put(depth, f"tile[l] = {self.expression('i32', 2)}")
        self.put(depth, "atoll.barrier()")
        self.put(
            depth, f"{name} = tile[(l * {self.random.randrange(-3, 9)} + {self.random.randrange(64)}) % 64]"
        )
        self.put(depth, "atoll.barrier()")
        self.locals[name] = "i32"

    def exchanges(self, depth: int) -> None:
        """Pass values between work-items, once or on every trip of a loop that all make."""
        if self.random.random() < 0.5:
            self.exchange(depth)
            return
        self.put(depth, f"for {self.new()} in range({self.random.randrange(4)}):")
        before = dict(self.locals)
        self.exchange(depth + 1)
        self.statement(depth + 1, 1)
        self.locals = before

    def components(self, kind: str) -> list[str]:
        """Return leaves that are components of a vector, alone, in a struct or in a view."""
        at = self.random.randrange(3)
        if kind == "f32":
            return [f"va.{'xyz'[at]}", f"va[{at - 3}]", f"ball.at[{at}]", "ball.at.y", "dot(va, ball.at)"]
        return [f"vb[{at}]", "vb.w", "ball.n"]

    def vector(self, depth: int) -> None:
        """Change a vector as a whole."""
        a, b = self.expression("f32", 2), self.expression("f32", 1)
        n, m = self.expression("i32", 2), self.expression("i32", 1)
        self.put(
            depth,
            self.pick(
                f"va = va {self.pick('+', '-', '*')} {a}",
                f"va = {a} * ball.at + va",
                f"va = vec[f32, 3]({a}, va.x, {b})",
                "va = -va",
                f"va {self.pick('+', '-', '*')}= ball.at",
                "va, ball = ball.at, Ball(va, ball.n)",
                f"vb = vb {self.pick('+', '*', '^', '&', '|')} {n}",
                f"vb {self.pick('//', '%')}= ({m} | 1)",
                f"vb = ~vb >> ({m} & 7)",
                f"vb = spun(vb, {n})",
                f"ball = Ball(va, {n})",
                f"ball = Ball(n={m}, at=ball.at * va)",
            ),
        )

    def together(self, depth: int) -> None:
        """Let the sub-group compute something."""
        name, kind = self.new(), self.pick("i32", "u32", "i64")
        value = self.expression(kind, 2)
        reduced = self.pick("add", "min", "max", "and", "or", "xor", "inclusive_add", "exclusive_add")
        lane = f"({self.expression('i32', 1)}) % atoll.subgroup_size()"
        text = self.pick(
            f"atoll.subgroup_{reduced}({value})",
            f"atoll.subgroup_{reduced}({value})",
            f"atoll.subgroup_broadcast({value})",
            f"atoll.shuffle({value}, {lane})",
            f"atoll.shuffle_xor({value}, atoll.subgroup_size() - 1)",
            f"{kind}(1) if atoll.subgroup_{self.pick('all', 'any')}({self.condition(1)}) else {kind}(2)",
        )
        self.put(depth, f"{name} = {text}")
        self.locals[name] = kind

    def assign(self, depth: int) -> None:
        kind = self.pick(*self.types)
        known = [name for name, other in self.locals.items() if other == kind]
        name = self.random.choice([*known, self.new()])
        self.put(depth, f"{name} = {self.expression(kind, 3)}")
        self.locals[name] = kind

    def augment(self, depth: int) -> None:
        name = self.random.choice(list(self.locals))
        kind = self.locals[name]
        operation = self.pick("+", "-", "*") if kind in FLOATS else self.pick("+", "-", "*", "^", "&", "|")
        self.put(depth, f"{name} {operation}= {self.expression(kind, 2)}")

    def store(self, depth: int) -> None:
        kind = self.pick(*TYPES)
        array = {"i32": "oi", "u32": "ou", "i64": "ow", "f32": "of"}[kind]
        self.put(depth, f"{array}[i] {self.pick('=', '=', '+=')} {self.expression(kind, 3)}")

    def change(self, depth: int) -> None:
        """Change the array or the struct."""
        value, other = self.expression("i32", 2), self.expression("f32", 2)
        index = f"({self.leaf('i32')}) % 4"
        place = f"own[{self.pick('i % 4', '-1', index)}]"
        self.put(
            depth,
            self.pick(
                f"{place} {self.pick('=', '+=', '^=')} {value}",
                f"pair = Pair({value}, {other})",
                f"pair = Pair(b=-pair.b, a={value})",
                f"own = fixed[i32, 4]({value})",
                f"pair = turned(pair, {value})",
            ),
        )

    def swap(self, depth: int) -> None:
        one = self.random.choice(list(self.locals))
        same = [name for name, kind in self.locals.items() if kind == self.locals[one]]
        other = self.random.choice(same)
        self.put(depth, f"{one}, {other} = {other}, {self.expression(self.locals[one], 1)}")

    def inner(self, depth: int, budget: int) -> None:
        """Write a block whose new names are forgotten after it: they may be unbound there."""
        before = dict(self.locals)
        self.block(depth, budget)
        self.locals = before

    def branch(self, depth: int, budget: int) -> None:
        self.put(depth, f"if {self.condition(2)}:")
        self.inner(depth + 1, budget - 1)
        if self.random.random() < 0.5:
            self.put(depth, "else:")
            self.inner(depth + 1, budget - 1)

    def loop(self, depth: int, budget: int) -> None:
        name = self.new()
        low, high = self.random.randrange(-9, 9), self.random.randrange(-9, 9)
        step = self.random.choice([1, 1, -1, 2, 3, -2, -4])
        bounds = self.pick(
            f"{abs(high)}",
            f"{low}, {high}",
            f"{low}, {high}, {step}",
            f"i % 5, {high}, {step}",
            f"0, i % 7, ((i % 3) * {step}) | 1",
        )
        self.put(depth, f"for {name} in range({bounds}):")
        before = dict(self.locals)
        self.locals[name] = "i32"
        self.loops += 1
        self.block(depth + 1, budget - 1)
        self.loops -= 1
        self.locals = before

    def while_loop(self, depth: int, budget: int) -> None:
        name = self.new()
        self.put(depth, f"{name} = 0")
        self.put(depth, f"while {name} < {self.random.randrange(6)} and {self.condition(1)}:")
        self.put(depth + 1, f"{name} += 1")
        self.loops += 1
        self.inner(depth + 1, budget - 1)
        self.loops -= 1


PARAMS = (
    "x: view[i32], u: view[u32], w: view[i64], f: view[f32], "
    "oi: view[i32], ou: view[u32], ow: view[i64], of: view[f32], c: view[i32]"
)


STRUCT = """
@struct
class Pair:
    a: i32
    b: f32

@device
def turned(pair: Pair, n: i32) -> Pair:
    if n > pair.a:
        return Pair(n, -pair.b)
    return pair
"""
#: Vectors, alone and in a struct; pointers, read and written.
VECTORS = """
@struct
class Ball:
    at: vec[f32, 3]
    n: i32

@device
def dot(a: vec[f32, 3], b: vec[f32, 3]) -> f32:
    p = a * b
    return p.x + p.y + p.z

@device
def spun(v: vec[i32, 4], n: i32) -> vec[i32, 4]:
    if n > v.x:
        return vec[i32, 4](v.w, v.x, v.y, n)
    return v - n
"""
POINTERS = """
@device
def walked(p: ptr[i32], n: i32) -> i32:
    q = p + n
    s = q[1]
    for k in range(3):
        q += 2
        s = s * 3 + q[0] - (q - 1)[k]
    return s

@device
def poked(p: ptr[i32], n: i32, value: i32):
    q = p + n
    q[0] ^= value
    if value > 5:
        (q + 1)[-1] += 1
"""
VECTOR_BEGIN = """\
    va = vec[f32, 3](f[i], 1.5, -0.25)
    vb = vec[i32, 4](i, x[i], 7, -3)
    ball = Ball(va * 0.5, i)
"""
BEGIN = "    own = fixed[i32, 4](i, 1, -7, 2147483647)\n    pair = Pair(i, 0.5)\n"


def helper(chance: random.Random, kind: str) -> str:
    """Return the text of a device function on two values of a type."""
    made = Program(chance, locals={"a": kind, "b": kind})
    condition = f"a {made.pick('<', '==', '>')} b"
    first, second, third = (made.pick("a", "b", "a + b", "a * b", "b - a", "1") for _ in range(3))
    lines = [f"@device\ndef helper_{kind}(a: {kind}, b: {kind}) -> {kind}:", f"    if {condition}:"]
    lines.append(f"        return {first}")
    if chance.random() < 0.4:
        lines += [f"    for q in range({chance.randrange(4)}):", "        if a == b:"]
        lines += [f"            return {third}", "        a += 1"]
    return "\n".join([*lines, f"    return {second}\n"])


def program(seed: int, *, arrays: bool = False, more: bool = False) -> str:
    """Return the text of a module with the kernel `k` and the device functions it calls.

    Args:
        seed: Which program.
        arrays: Whether it has an array of each work-item, and a struct.
        more: Whether it may have vectors, pointers and sub-groups.
    """
    chance = random.Random(seed)
    types = (*TYPES, *chance.sample(MORE, chance.randrange(4)))
    parts = [helper(chance, kind) for kind in types]
    made = Program(chance, arrays=arrays, types=types)
    made.waits, made.counts = chance.random() < 0.4, chance.random() < 0.5
    if more:
        made.vectors, made.pointers, made.lanes = (chance.random() < 0.6 for _ in range(3))
    begin = "    l = atoll.local_id(0)\n    tile = atoll.shared(i32, 64)\n" if made.waits else ""
    made.block(1, 3)
    for _ in range(3):
        if made.waits:
            made.exchanges(1)
        if made.lanes:
            made.together(1)
        made.statement(1, 3)
    for kind in TYPES:
        made.put(1, f"{OUTPUTS[kind]}[i] = {made.expression(kind, 2)}")
    for kind in types[len(TYPES) :]:
        place = "of[i] = of[i] + f32" if kind in FLOATS else "ow[i] = ow[i] ^ i64"
        made.put(1, f"{place}({made.expression(kind, 2)})")
    if arrays:
        parts.append(STRUCT)
        begin += BEGIN
    if made.vectors:
        parts.append(VECTORS)
        begin += VECTOR_BEGIN
        made.put(1, "of[i] = of[i] + (va.x + va.y * va.z)")
        made.put(1, "oi[i] = oi[i] ^ (vb.x + vb.y + vb.z + vb.w + ball.n)")
    if made.pointers:
        parts.append(POINTERS)
    body = begin + "\n".join(made.lines)
    head = "@kernel(block=64)" if made.waits or made.lanes else "@kernel"
    return "\n".join(parts) + f"\n{head}\ndef k({PARAMS}):\n    i = atoll.global_id(0)\n{body}\n"
