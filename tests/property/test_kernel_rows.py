"""Rows that are read together give what the kernel gives, whatever aliases them or changes between."""

from __future__ import annotations

import random
from collections.abc import Callable

import pytest

from atoll.ir import Module
from atoll.ir import nodes as n
from atoll.ir.passes import optimise
from atoll.ir.rows import rows
from atoll.ir.walk import statements
from atoll.testing.evaluate import ViewValue, evaluate
from kernel_text import kernel_from

ROWS = 5


def text(seed: int) -> str:
    """Return a kernel that reads and writes rows of four, names them by locals that change, and branches."""
    chance = random.Random(seed)
    lines = ["i = atoll.global_id(0)", "j = (i * 3 + 1) % 5", "s = f32(0.5)", "t = f32(1.5)"]

    def row() -> str:
        return chance.choice(["i", "j", "j", "(j + 1) % 5"])

    def value() -> str:
        base, at = chance.choice("xy"), row()
        whole = " + ".join(f"{base}[{at}, {column}]" for column in chance.sample(range(4), 4))
        one = f"{chance.choice('xy')}[{row()}, {chance.randrange(4)}]"
        return chance.choice([whole, whole, one, f"{one} * s", "s - t", f"({one} if s > t else t)"])

    for _ in range(chance.randrange(3, 9)):
        put = chance.choice(
            [
                f"s = {value()}",
                f"t = {value()}",
                f"j = (j + {chance.randrange(1, 5)}) % 5",
                f"y[{row()}, {chance.randrange(4)}] = {value()}",
                f"y[{row()}, {chance.randrange(4)}] += {value()}",
                f"if {value()} > t and {value()} < s:\n        s = {value()}\n        y[i, 0] = t",
                f"for k in range(3):\n        j = (j + k) % 5\n        s += {value()}",
            ]
        )
        lines.append(put)
    lines += [f"y[i, {column}] = {value()}" for column in range(4)]
    return "@kernel\ndef k(x: view[f32, 2], y: view[f32, 2]):\n" + "".join(f"    {line}\n" for line in lines)


def answers(module: Module, *, same: bool) -> list[str]:
    """Return what a kernel leaves; with `same` both its arrays are one."""
    y = ViewValue([float(at % 7 - 3) for at in range(4 * ROWS)], (ROWS, 4), (4, 1))
    x = y if same else ViewValue([float(at % 5) for at in range(4 * ROWS)], (ROWS, 4), (4, 1))
    evaluate(module.kernel("k"), {"x": x, "y": y}, (1, 1, 1), (ROWS, 1, 1), None)
    return [*map(repr, x.data), *map(repr, y.data)]


@pytest.mark.parametrize("same", [False, True])
def test_random_kernels_of_rows_give_the_same(same: bool, whole: bool, tell: Callable[[str], None]) -> None:
    changed, seeds = 0, 500 if whole else 60
    for seed in range(seeds):
        before = kernel_from(text(seed)).module  # where a local is given two values, as passes leave none
        before = optimise(before) if seed % 2 else before
        after = rows(before)
        changed += after != before
        assert answers(after, same=same) == answers(before, same=same), text(seed)
    assert changed > seeds // 4
    tell(f"{seeds} of 500 kernels that read rows, {changed} of them took some together")


def rows_of(body: str) -> int:
    """Return how many loads into locals of their own `rows` makes of a body."""
    module = optimise(
        kernel_from(f"@kernel\ndef k(x: view[f32, 2], y: view[f32, 2], n: i32):\n{body}").module
    )
    count = sum(isinstance(stmt, n.Assign) for stmt in statements(module.kernels[0].body))
    return sum(isinstance(stmt, n.Assign) for stmt in statements(rows(module).kernels[0].body)) - count


def test_a_row_that_is_read_whole_is_taken_together() -> None:
    assert rows_of("    y[n, 0] = x[n, 3] + x[n, 0] + x[n, 2] + x[n, 1]\n") == 4


def test_three_of_a_row_are_no_row() -> None:
    assert rows_of("    y[n, 0] = x[n, 3] + x[n, 0] + x[n, 2]\n") == 0


def test_what_a_condition_guards_is_not_read_ahead_of_it() -> None:
    three = "x[n, 0] + x[n, 1] + x[n, 2]"
    assert rows_of(f"    if {three} > 0.0 and x[n, 3] > 1.0:\n        y[n, 0] = 1.0\n") == 0


def test_a_store_between_the_four_keeps_them_apart() -> None:
    assert rows_of("    s = x[n, 0] + x[n, 1]\n    y[0, 0] = s\n    y[0, 1] = x[n, 2] + x[n, 3] + s\n") == 0


def test_a_local_that_names_a_row_and_changes_names_another() -> None:
    body = "    j = n\n    s = x[j, 0] + x[j, 1]\n    j = n + 1\n    y[0, 0] = s + x[j, 2] + x[j, 3]\n"
    text = f"@kernel\ndef k(x: view[f32, 2], y: view[f32, 2], n: i32):\n{body}"
    before = kernel_from(text).module
    assert rows(before) == before
