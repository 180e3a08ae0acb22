"""Arrays that a kernel makes, and bits under another type: device, interpreter and oracle agree."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from atoll_plugins.cpu.driver import CpuDriver
from kernel_text import kernel_from, refused


def everywhere(text: str, domain: Any, *arguments: Any) -> list[Any]:
    """Run a kernel in the oracle, the interpreter and on the processor; return its last argument."""
    found = kernel_from(text)
    answers = []
    for where in ("oracle", CpuDriver({"PATH": "/nowhere"}).open(0), "cpu"):
        given = tuple(item.copy() if isinstance(item, np.ndarray) else item for item in arguments)
        if where == "oracle":
            found.python(domain)(*given)
        else:
            found.over(domain, device=where)(*given)
        answers.append(given[-1].tolist())
    assert answers[0] == answers[1] == answers[2]
    return list(answers[0])


def test_shared_memory_has_rows_and_columns() -> None:
    text = """
@kernel(block=(4, 2))
def k(o: view[i32]):
    tile = atoll.shared(i32, (2, 5))
    x, y = atoll.local_id(0), atoll.local_id(1)
    tile[y, x] = 10 * y + x
    if x == 0:
        tile[y, -1] = 7 + y
    atoll.barrier()
    o[4 * y + x] = tile[1 - y, x] + tile[y, 4] + i32(tile.shape[1]) + i32(tile.size) + i32(len(tile))
"""
    assert everywhere(text, (4, 2), np.zeros(8, np.int32)) == [34, 35, 36, 37, 25, 26, 27, 28]


def test_two_shared_arrays_of_one_line_are_two() -> None:
    text = """
@kernel(block=4)
def k(o: view[i32]):
    a, b = atoll.shared(i32, 4), atoll.shared(i32, 4)
    i = atoll.local_id(0)
    a[i] = i
    b[i] = 10 * i
    atoll.barrier()
    o[i] = a[3 - i] + b[3 - i]
"""
    assert everywhere(text, 4, np.zeros(4, np.int32)) == [33, 22, 11, 0]


def test_a_device_function_takes_shared_memory_of_two_dimensions() -> None:
    text = """
@device
def corner(tile: view[i32, 2]) -> i32:
    return tile[1, 1]

@kernel(block=4)
def k(o: view[i32]):
    tile = atoll.shared(i32, (2, 2))
    i = atoll.local_id(0)
    tile[i // 2, i % 2] = i
    atoll.barrier()
    o[i] = corner(tile)
"""
    assert everywhere(text, 4, np.zeros(4, np.int32)) == [3, 3, 3, 3]


@pytest.mark.parametrize(
    ("line", "code", "at"),
    [
        ("t = atoll.shared(f32, (4, 0))", "ATL0725", "0"),
        ("t = atoll.shared(f32, (4, 4, 4, 4, 4))", "ATL0725", "(4, 4, 4, 4, 4)"),
        ("t = atoll.shared(f32, (70000, 70000))", "ATL0725", "(70000, 70000)"),
        ("t = atoll.shared(f32, (2, 3))\nt[0] = 1.0", "ATL0724", "t[0]"),
        ("t = atoll.shared(f32, (2, 3))\nt[0, 3] = 1.0", "ATL0724", "3"),
        ("x[0] = f32(atoll.bitcast(u64, x[0]))", "ATL0713", "atoll.bitcast(u64, x[0])"),
        ("x[0] = f32(atoll.bitcast(u32, 1))", "ATL0713", "1"),
        ("x[0] = f32(atoll.bitcast(n, x[0]))", "ATL0725", "n"),
        ("x[0] = 1.0 if atoll.bitcast(bool_, x[0]) else 2.0", "ATL0713", "atoll.bitcast(bool_, x[0])"),
    ],
)
def test_what_they_cannot_be_is_refused(line: str, code: str, at: str) -> None:
    refused(line, code, at)


def test_bits_keep_their_order_under_another_type() -> None:
    text = """
@kernel
def k(x: view[f32], o: view[i64]):
    i = atoll.global_id(0)
    o[i] = i64(atoll.bitcast(u32, x[i])) + i64(atoll.bitcast(i32, atoll.bitcast(u32, x[i]) ^ u32(1)))
"""
    x = np.array([1.0, -2.5, 0.0, -0.0], np.float32)
    bits = x.view(np.uint32).astype(np.int64) + (x.view(np.uint32) ^ 1).view(np.int32)
    assert everywhere(text, 4, x, np.zeros(4, np.int64)) == bits.tolist()
