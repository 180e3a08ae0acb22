"""Random kernels as Python text: everything the language has that cannot fault, 64 work-items.

Divisors are odd, shift counts masked, indices taken modulo a positive number, so that the oracle never
refuses; what is left has one answer on every device.
"""

from __future__ import annotations

import random
from dataclasses import dataclass, field

ITEMS = 64
TYPES = ("i32", "u32", "i64", "f32")
OUTPUTS = {"i32": "oi", "u32": "ou", "i64": "ow", "f32": "of"}
LITERALS = {
    "i32": ("0", "1", "-1", "7", "-13", "2147483647", "-2147483648"),
    "u32": ("0", "1", "5", "4294967295"),
    "i64": ("0", "-3", "9223372036854775807", "123456789012"),
    "f32": ("0.0", "-0.0", "0.1", "1.5", "-3.25", "1e30", "1e-30", "2"),
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
            self.leaf(kind), *(self.floating(depth) if kind == "f32" else self.integral(kind, depth))
        )

    def leaf(self, kind: str) -> str:
        known = [name for name, other in self.locals.items() if other == kind]
        array = {"i32": "x", "u32": "u", "i64": "w", "f32": "f"}[kind]
        options = [f"{kind}({self.pick(*LITERALS[kind])})", f"{array}[{self.index()}]"]
        if kind == "i32":
            options.append("i")
        if self.arrays and kind == "i32":
            options += [f"own[(i + {self.random.randrange(9)}) % 4]", "pair.a"]
        if self.arrays and kind == "f32":
            options.append("pair.b")
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
        other = self.pick(*TYPES)
        operation = self.pick("+", "-", "*", "&", "|", "^")
        return [
            f"({a} {operation} {b})",
            f"({a} // ({b} | 1))",
            f"({a} % ({b} | 1))",
            f"({a} {self.pick('<<', '>>')} ({b} & 15))",
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

    def floating(self, depth: int) -> list[str]:
        a, b = self.expression("f32", depth - 1), self.expression("f32", depth - 1)
        return [
            f"({a} {self.pick('+', '-', '*')} {b})",
            f"(-{a})",
            f"{self.pick('min', 'max')}({a}, {b})",
            f"abs({a})",
            f"({a} if {self.condition(depth - 1)} else {b})",
            f"({a} if {self.condition(depth - 1)} else 0.3)",
            f"f32({self.expression(self.pick('i32', 'u32', 'i64'), depth - 1)})",
            f"atoll.{self.pick('floor', 'ceil', 'trunc', 'rint')}({a})",
            f"({a} * 0.7)",
            f"({a} ** 2)",
            f"helper_f32({a}, {b})",
        ]

    def condition(self, depth: int) -> str:
        kind = self.pick(*TYPES)
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

    def statement(self, depth: int, budget: int) -> None:
        if self.arrays and self.random.randrange(6) == 0:
            self.change(depth)
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

    def assign(self, depth: int) -> None:
        kind = self.pick(*TYPES)
        known = [name for name, other in self.locals.items() if other == kind]
        name = self.random.choice([*known, self.new()])
        self.put(depth, f"{name} = {self.expression(kind, 3)}")
        self.locals[name] = kind

    def augment(self, depth: int) -> None:
        name = self.random.choice(list(self.locals))
        kind = self.locals[name]
        operation = self.pick("+", "-", "*") if kind == "f32" else self.pick("+", "-", "*", "^", "&", "|")
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
    "oi: view[i32], ou: view[u32], ow: view[i64], of: view[f32]"
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
BEGIN = "    own = fixed[i32, 4](i, 1, -7, 2147483647)\n    pair = Pair(i, 0.5)\n"


def program(seed: int, *, arrays: bool = False) -> str:
    """Return the text of a module with the kernel `k` and the device functions it calls."""
    chance = random.Random(seed)
    parts = []
    for kind in TYPES:
        helper = Program(chance, locals={"a": kind, "b": kind})
        helper.names = 100
        condition = f"a {helper.pick('<', '==', '>')} b"
        first, second, third = (helper.pick("a", "b", "a + b", "a * b", "b - a", "1") for _ in range(3))
        loop = f"    for q in range({chance.randrange(4)}):\n        if a == b:\n            return {third}\n        a += 1\n"  # noqa: E501
        body = f"    if {condition}:\n        return {first}\n{loop if chance.random() < 0.4 else ''}    return {second}\n"  # noqa: E501
        parts.append(f"@device\ndef helper_{kind}(a: {kind}, b: {kind}) -> {kind}:\n{body}")
    made = Program(chance, arrays=arrays)
    made.block(1, 3)
    for _ in range(3):
        made.statement(1, 3)
    for kind in TYPES:
        made.put(1, f"{OUTPUTS[kind]}[i] = {made.expression(kind, 2)}")
    body = "\n".join(made.lines)
    if arrays:
        parts.append(STRUCT)
        body = BEGIN + body
    return "\n".join(parts) + f"\n@kernel\ndef k({PARAMS}):\n    i = atoll.global_id(0)\n{body}\n"
