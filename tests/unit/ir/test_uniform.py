"""Which barriers every work-item of a group reaches."""

from __future__ import annotations

import pytest

from kernel_text import kernel_from, refusal

HEAD = """
@kernel(block=64)
def k(x: view[f32], out: view[f32], n: i32):
    l = atoll.local_id(0)
    g = atoll.group_id(0)
    s = atoll.shared(f32, 64)
"""


def text(lines: str) -> str:
    return HEAD + "".join(f"    {line}\n" for line in lines.split("\n"))


REACHED = {
    "straight": "atoll.barrier()",
    "by a parameter": "if n > 3:\n    atoll.barrier()",
    "by the group": "if g == 0:\n    return\natoll.barrier()",
    "in a uniform loop": "for i in range(n):\n    atoll.barrier()",
    "by a read-only element that all read": "if x[0] > 0.0:\n    atoll.barrier()",
    "by a size": "if x.size > 3:\n    atoll.barrier()",
    "after a varying branch": "if l == 0:\n    out[g] = 1.0\natoll.barrier()",
    "after a varying loop": "i = 0\nwhile i < l:\n    i += 1\natoll.barrier()",
    "after an inner search loop": "for j in range(n):\n    for i in range(n):\n        if x[i] > x[l]:\n            break\n    "  # noqa: E501
    "atoll.barrier()",
    "halving": "h = atoll.group_size(0) // 2\nwhile h > 0:\n    if l < h:\n        s[l] = 1.0\n"
    "    atoll.barrier()\n    h //= 2",
}
PARTED = {
    "by a local id": "if l == 0:\n    atoll.barrier()",
    "by a global id": "if atoll.global_id(0) < n:\n    atoll.barrier()",
    "early return": "if l > n:\n    return\natoll.barrier()",
    "varying trips": "i = 0\nwhile i < l:\n    atoll.barrier()\n    i += 1",
    "varying break": "for i in range(n):\n    if l == i:\n        break\n    atoll.barrier()",
    "varying continue": "for i in range(n):\n    if l == i:\n        continue\n    atoll.barrier()",
    "by what was written": "out[l] = 1.0\nif out[0] > 0.0:\n    atoll.barrier()",
    "by shared memory": "s[l] = 1.0\nif s[0] > 0.0:\n    atoll.barrier()",
    "by an element that each reads": "if x[l] > 0.0:\n    atoll.barrier()",
    "through a local": "a = l\nb = 0\nif a == 1:\n    b = 1\nif b == 1:\n    atoll.barrier()",
    "carried around a loop": "b = 0\nfor i in range(n):\n    if b == 1:\n        atoll.barrier()\n    b = l",
    "return in an inner loop": "for j in range(n):\n    for i in range(n):\n        if l == i:\n            return\n"  # noqa: E501
    "    atoll.barrier()",
}  # fmt: skip


@pytest.mark.parametrize("lines", REACHED.values(), ids=REACHED)
def test_a_barrier_that_all_reach_is_let_through(lines: str) -> None:
    kernel_from(text(lines)).compiled()


@pytest.mark.parametrize("lines", PARTED.values(), ids=PARTED)
def test_a_barrier_that_only_some_reach_is_refused_with_both_places(lines: str) -> None:
    found = refusal(kernel_from(text(lines)))
    assert found.code == "ATL0703"
    assert found.span is not None
    assert found.span.text.strip() == "atoll.barrier()"
    assert "they part at <kernel" in found.notes[0]
