"""Vectors: components, arithmetic, arrays of them; the same on every executor."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from atoll.errors import AtollError
from atoll.ir import F32, View
from atoll.kernels.definition import KernelFunction
from atoll_plugins.cpu.driver import CpuDriver
from emitter_kit import device
from kernel_text import kernel_from, refused

TEXT = """
@device
def along(v: vec[f32, 3], by: f32) -> vec[f32, 3]:
    return v * by + 1

@device
def middle(rows: view[vec[f32, 3]], i: i32) -> vec[f32, 3]:
    return (rows[i] + rows[-1]) / 2.0

@kernel
def k(a: view[vec[f32, 3]], b: view[vec[f32, 3]], push: vec[f32, 3], n: view[vec[i32, 2]], out: view[f32]):
    i = atoll.global_id(0)
    v = a[i]
    w = vec[f32, 3](1.0, f32(i), z=0.5)
    b[i] = along(v, 2.0) - w
    b[i].x = v[0] + v[-1] * push.y
    b[i] += push
    b[i].y *= 3.0
    m = middle(a, i)
    q = vec[i32, 2](7) // n[i]
    n[i] = -q % 4 + ~n[i] + (q << 1)
    zero = vec[f32, 3](0.0)
    zero = vec[f32, 3](vec[i32, 3](1, 2, i)) + zero
    out[i] = m.x + m.y * m.z + zero.z + f32(a.size) + f32(len(b)) + (2.0 - v).x
"""


def arguments() -> list[Any]:
    random = np.random.default_rng(3)
    a = (random.integers(-32, 33, (6, 3)) / 8).astype(np.float32)
    n = random.integers(1, 5, (6, 2)).astype(np.int32)
    return [a, np.zeros((6, 3), np.float32), (0.5, 2.0, -1.0), n, np.zeros(6, np.float32)]


def wanted() -> list[Any]:
    a, b, push, n, out = arguments()
    i = np.arange(6, dtype=np.float32)
    w = np.stack([np.ones(6), i, np.full(6, 0.5)], axis=1).astype(np.float32)
    b[:] = a * 2 + 1 - w
    b[:, 0] = a[:, 0] + a[:, 2] * np.float32(2)
    b += np.array(push, np.float32)
    b[:, 1] *= 3
    m = (a + a[-1]) / np.float32(2)
    q = 7 // n
    n[:] = -q % 4 + ~n + (q << 1)
    out[:] = m[:, 0] + m[:, 1] * m[:, 2] + i + 6 + 6 + (2 - a[:, 0])
    return [b, n, out]


def agree(found: KernelFunction, where: Any) -> None:
    given = arguments()
    (found.python(6) if where == "oracle" else found.over(6, device=where))(*given)
    for mine, other in zip((given[1], given[3], given[4]), wanted(), strict=True):
        np.testing.assert_array_equal(mine, other)


def test_vectors_mean_the_same_everywhere() -> None:
    for where in ("oracle", CpuDriver({"PATH": "/nowhere"}).open(0), "cpu"):
        agree(kernel_from(TEXT), where)


@pytest.mark.parametrize("backend", ["vulkan", "opencl"])
def test_vectors_mean_the_same_on_a_device(backend: str) -> None:
    with device(backend) as opened:
        agree(kernel_from(TEXT), opened)


def test_a_view_of_vectors_is_an_array_with_one_dimension_more() -> None:
    params = kernel_from(TEXT).compiled().kernel.params
    assert params[0].type == View(F32, 2)
    assert [param.name for param in params[2:5]] == ["push_x", "push_y", "push_z"]


def test_rows_may_lie_as_std430_has_them() -> None:
    found = kernel_from("@kernel\ndef k(a: view[vec[f32, 3]]):\n    a[atoll.global_id(0)] *= 2.0\n")
    rows = np.arange(8, dtype=np.float32).reshape(2, 4)
    found.over(2, device="cpu")(rows[:, :3])
    assert rows.tolist() == [[0, 2, 4, 3], [8, 10, 12, 7]]


@pytest.mark.parametrize("shape", [(4,), (4, 4), (4, 3, 1)])
def test_rows_of_another_length_are_refused(shape: tuple[int, ...]) -> None:
    found = kernel_from("@kernel\ndef k(a: view[vec[f32, 3]]):\n    a[atoll.global_id(0)] *= 2.0\n")
    launch = found.over(4, device="cpu")
    launch(np.zeros((4, 3), np.float32))
    with pytest.raises(AtollError) as caught:
        launch(np.zeros(shape, np.float32))
    assert caught.value.diagnostics[0].notes == (
        "the parameter is a view<vec[f32, 3], 1>: 2 dimensions, the last one of 3",
        f"the argument is an array of shape {shape}",
    )


def test_shared_memory_holds_vectors() -> None:
    found = kernel_from(
        "@kernel(block=4)\ndef k(a: view[vec[f32, 2]]):\n    i = atoll.local_id(0)\n"
        "    tile = atoll.shared(vec[f32, 2], 4)\n    tile[i] = a[i]\n    atoll.barrier()\n"
        "    a[i] = tile[3 - i] + tile[3 - i]\n"
    )
    for where in ("oracle", "cpu"):
        rows = np.arange(8, dtype=np.float32).reshape(4, 2)
        (found.python(4) if where == "oracle" else found.over(4, device=where))(rows)
        assert rows.tolist() == [[12, 14], [8, 10], [4, 6], [0, 2]]


PARAMS = "a: vec[f32, 3], b: vec[f32, 2], i: i32"
INDEX = "a vec[f32, 3] takes a literal index from 0 to 2"
REFUSED = [
    ("a + b", "a + b", "ATL0713", "the operands are a vec[f32, 3] and a vec[f32, 2]"),
    ("a[3]", "a[3]", "ATL0724", INDEX),
    ("a[i]", "a[i]", "ATL0724", INDEX),
    ("a.w", "a.w", "ATL0711", "a vec[f32, 3] has no attribute `w` in a kernel"),
    ("vec[f32, 3](1.0, 2.0)", "vec[f32, 3](1.0, 2.0)", "ATL0725", "`vec[f32, 3]` has 3 fields, not 2"),
    ("vec[f32, 3](b)", "b", "ATL0713", "a vec[f32, 2] is no vec[f32, 3]"),
    ("~a", "~a", "ATL0713", "`~` does not take f32"),
    ("a < a", "a", "ATL0713", "this is a vec[f32, 3], not a number"),
    ("vec[f32, 5](1.0)", "vec[f32, 5]", "ATL0712", "this names no vector type"),
]


@pytest.mark.parametrize(("value", "at", "code", "message"), REFUSED)
def test_what_a_vector_cannot_is_refused(value: str, at: str, code: str, message: str) -> None:
    assert refused(f"c = {value}", code, at, PARAMS).message == message
