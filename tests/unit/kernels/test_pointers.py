"""Pointers: elements from somewhere on, in device functions, loops and every kind of array."""

from __future__ import annotations

import numpy as np
import pytest

from atoll.errors import AtollError
from atoll_plugins.cpu.driver import CpuDriver
from emitter_kit import device
from kernel_text import kernel_from, refused

TEXT = """
from typing import TypeVar
T = TypeVar("T")

@device
def total(p: ptr[T], n: i32) -> T:
    found = T(0)
    for _ in range(n):
        found += p[0]
        p = p + 1
    return found

@device
def after(p: ptr[i32], skip: i32) -> i32:
    return total(p + skip, 2)

@kernel(block=4)
def k(p: ptr[i32], out: view[i32], n: i32):
    i = atoll.global_id(0)
    row = p + i * n
    end = row + n
    end -= 1
    tile = atoll.shared(i32, 8)
    tile[i] = end[0]
    tile[i + 4] = (2 + row - 1)[0]
    atoll.barrier()
    atoll.atomic_add(p, 0, i32(0))
    own = fixed[i32, 2](5, i)
    out[i] = total(row, n) * 1000 + after(tile, 3) * 10 + end[-1] + total(own, 2) + total(out, 0)
"""


def wanted() -> list[int]:
    x = np.arange(12).reshape(4, 3)
    return [int(row.sum() * 1000 + (11 + 1) * 10 + row[1] + 5 + i) for i, row in enumerate(x)]


def test_pointers_mean_the_same_everywhere() -> None:
    for where in ("oracle", CpuDriver({"PATH": "/nowhere"}).open(0), "cpu"):
        x, out = np.arange(12, dtype=np.int32), np.zeros(4, np.int32)
        found = kernel_from(TEXT)
        (found.python(4) if where == "oracle" else found.over(4, device=where))(x, out, 3)
        assert out.tolist() == wanted()


@pytest.mark.parametrize("backend", ["vulkan", "opencl"])
def test_pointers_mean_the_same_on_a_device(backend: str) -> None:
    x, out = np.arange(12, dtype=np.int32), np.zeros(4, np.int32)
    with device(backend) as opened:
        kernel_from(TEXT).over(4, device=opened)(x, out, 3)
    assert out.tolist() == wanted()


@pytest.mark.parametrize("line", ["p[5] = 1", "(p - 1)[0] = 1", "p[n] = 1"])
def test_the_oracle_and_a_checked_kernel_say_where_one_points_beyond(line: str) -> None:
    for debug in (False, True):
        found = kernel_from(f"@kernel(debug={debug})\ndef k(p: ptr[i32], n: i32):\n    {line}\n")
        with pytest.raises(AtollError) as caught:
            (found.over(1, device="cpu") if debug else found.python(1))(np.zeros(5, np.int32), -1)
        assert caught.value.diagnostics[0].code == "ATL0750"


REFUSED = [
    ("q = p\nq = r", "ATL0714", "q", "`q` points into `p` and cannot point into `r`"),
    ("q = p if n > 0 else r", "ATL0713", "p", "this is a pointer into `p`, not a number"),
    ("n = p - r", "ATL0713", "p - r", "a pointer takes `+` and `-` with a number of elements"),
    ("q = p * 2", "ATL0713", "p * 2", "a pointer takes `+` and `-` with a number of elements"),
    ("q = p + 1.5", "ATL0713", "1.5", "the literal 1.5 meets an i64"),
    ("r[0] = p", "ATL0713", "p", "this is a pointer into `p`, not a number"),
    ("n = p.size", "ATL0711", "p.size", "a pointer into `p` has no attribute `size` in a kernel"),
    ("p = 1", "ATL0714", "p", "`p` is a pointer and cannot become the literal 1"),
    ("q = p[1, 2]", "ATL0724", "1, 2", "a pointer takes one index"),
]


@pytest.mark.parametrize(("lines", "code", "at", "message"), REFUSED)
def test_what_a_pointer_cannot_is_refused(lines: str, code: str, at: str, message: str) -> None:
    assert refused(lines, code, at, "p: ptr[f32], r: ptr[f32], n: i32").message == message
