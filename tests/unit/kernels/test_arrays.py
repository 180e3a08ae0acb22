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


def test_each_work_item_has_arrays_of_its_own() -> None:
    text = """
Row = fixed[i32, 3]

@device
def total(row: view[i32]) -> i32:
    return row[0] + row[1] + row[2]

@kernel
def k(x: view[i32], o: view[i32]):
    i = atoll.global_id(0)
    zeros, same, each = Row(), Row(x[i]), fixed[i32, 3](1, i, x[i])
    grid = fixed[i32, 2, 2]()
    grid[1, -1] = 100
    for n in range(3):
        zeros[n] += n * i
    o[i] = total(zeros) + total(same) + total(each) + grid[1, 1] + i32(grid.size) + i32(len(each))
"""
    x = np.array([5, -2, 7, 1], np.int32)
    i = np.arange(4)
    wanted = 3 * i + 3 * x + 1 + i + x + 100 + 4 + 3
    assert everywhere(text, 4, x, np.zeros(4, np.int32)) == wanted.tolist()


def test_an_array_made_in_a_loop_is_new_each_time() -> None:
    text = """
@kernel
def k(o: view[i32]):
    i = atoll.global_id(0)
    total = 0
    for n in range(3):
        seen = fixed[i32, 20]()
        seen[n] += 1
        for m in range(20):
            total += seen[m]
    o[i] = total
"""
    assert everywhere(text, 2, np.zeros(2, np.int32)) == [3, 3]


@pytest.mark.parametrize(
    ("line", "code", "at"),
    [
        ("t = fixed[f32, 0]()", "ATL0712", "fixed[f32, 0]"),
        ("t = fixed[bool_, 4]()", "ATL0712", "fixed[bool_, 4]"),
        ("t = fixed[f32, n]()", "ATL0712", "fixed[f32, n]"),
        ("t = fixed[f32, 2000]()", "ATL0725", "t"),
        ("t = fixed[f32, 4](1.0, 2.0)", "ATL0725", "fixed[f32, 4](1.0, 2.0)"),
        ("t = fixed[i32, 4](1.5)", "ATL0713", "1.5"),
        ("x[0] = fixed[f32, 4]()[0]", "ATL0710", "fixed[f32, 4]()"),
        ("t = fixed[i32, 4]()\natoll.atomic_add(t, 0, 1)", "ATL0725", "t"),
        ("t = fixed[f32, 4]()\nt[4] = 1.0", "ATL0724", "4"),
        ("if n > 0:\n    t = fixed[f32, 4]()\nx[0] = t[0]", "ATL0715", "t"),
        ("t = 1\nt = fixed[f32, 4]()", "ATL0714", "t"),
        ("s = t = fixed[f32, 4]()", "ATL0710", "s = t = fixed[f32, 4]()"),
    ],
)
def test_what_an_array_of_a_work_item_cannot_be_is_refused(line: str, code: str, at: str) -> None:
    refused(line, code, at)
