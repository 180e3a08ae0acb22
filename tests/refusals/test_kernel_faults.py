"""What is wrong with a kernel is told for all its statements together, once for each."""

from __future__ import annotations

import pytest

from atoll.errors import CompileError
from kernel_text import body, kernel_from


def told(lines: str) -> list[tuple[str, int]]:
    """Return the code and the line, from the body's first, of everything that is refused."""
    found = body(lines)
    with pytest.raises(CompileError) as caught:
        found.compiled()
    first = found.function.__code__.co_firstlineno + 2  # the mark, and the name
    return [(item.code, item.span.line - first) for item in caught.value.diagnostics if item.span]


def test_every_statement_is_looked_at() -> None:
    lines = "x[0] = n + 1.5\nx[1] = nothing\nx[2] = 1.0\nif n:\n    x[2] = x[0]\nx[3] = round(x[0])"
    assert told(lines) == [("ATL0713", 0), ("ATL0711", 1), ("ATL0716", 3), ("ATL0711", 5)]


def test_what_hangs_on_a_wrong_statement_is_not_told() -> None:
    lines = "a = nothing\nb = a + 1\nx[0] = b\nif b > 3:\n    c = 1\nx[1] = c\nx[2] = n"
    assert told(lines) == [("ATL0711", 0), ("ATL0713", 6)]


def test_a_fault_deep_inside_leaves_the_rest_as_it_was() -> None:
    deep = "for k in range(3):\n    while True:\n        x[nothing] = 1.0\n"
    assert told(f"{deep}for k in range(n):\n    x[k] = 2.0\nx[0] = n") == [("ATL0711", 2), ("ATL0713", 5)]
    assert told(f"{deep}for j in range(n):\n    x[j] = 2.0\nx[0] = n") == [("ATL0711", 2), ("ATL0713", 5)]
    found = kernel_from(
        "@device\ndef wrong(v: f32) -> f32:\n    return nothing\n"
        "@kernel\ndef k(x: view[f32], n: i32):\n    x[0] = wrong(x[0])\n    x[1] = n\n"
    )
    with pytest.raises(CompileError) as caught:
        found.compiled()
    first, second = caught.value.diagnostics
    assert first.notes == ("inlined by: k -> wrong",)
    assert second.notes == ()


def test_a_kernel_that_is_all_wrong_is_told_in_bounded_length() -> None:
    assert len(told("\n".join("x[0] = nothing" for _ in range(300)))) == 20
