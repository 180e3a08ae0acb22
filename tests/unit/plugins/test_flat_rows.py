"""The processor's loop over a row is vectorised where each work-item has its own element, else never."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from atoll.plugin import Target
from atoll.runtime.array import array, empty
from atoll_plugins.cpu.flat import flat
from kernel_text import kernel_from

ID = "    i = atoll.global_id(0)\n"
FLAT = {
    "guarded": f"{ID}    if i < out.size:\n        out[i] = x[i] * a + x[i]\n",
    "unguarded": f"{ID}    out[i] = x[i] * a\n",
    "guarded by another": f"{ID}    if i < x.size:\n        out[i] = x[i]\n",
    "a choice inside": f"{ID}    if i < out.size:\n        out[i] = x[i] if x[i] > a else a - x[i]\n",
    "a branch inside": f"{ID}    if i < out.size:\n        if x[i] > a:\n            out[i] = a\n",
    "after a store": f"{ID}    out[i] = a\n    if i < out.size:\n        out[i] = x[i]\n",
    "in place": f"{ID}    if i < out.size:\n        out[i] = out[i] * a + x[i]\n",
}
OTHER = {
    "a neighbour": f"{ID}    if i + 1 < out.size:\n        out[i] = x[i + 1]\n",
    "a masked index": f"{ID}    if i < out.size:\n        out[i] = x[i & 31]\n",
    "one place": f"{ID}    if i < out.size:\n        out[i] = x[0]\n",
    "a loop": f"{ID}    for k in range(4):\n        out[i] = x[i] + f32(k)\n",
    "another id": f"    i = atoll.local_id(0)\n{ID}    out[i] = x[i]\n    out[atoll.local_id(0)] = a\n",
    "a place of a value": f"{ID}    if i < out.size:\n        out[i32(x[i])] = a\n",
}


def made(body: str) -> Any:
    return kernel_from(f"@kernel\ndef k(a: f32, x: view[f32], out: view[f32]):\n{body}")


def found(body: str, *, plain: bool = True) -> Any:
    kernel = made(body).compiled()
    return flat(kernel.optimised.kernel(kernel.kernel.name), Target(backend="cpu", plain=plain))


@pytest.mark.parametrize("name", FLAT)
def test_each_at_its_own_element_is_a_row(name: str) -> None:
    assert found(FLAT[name]) is not None
    assert found(FLAT[name], plain=False) is None


@pytest.mark.parametrize("name", OTHER)
def test_anything_else_is_none(name: str) -> None:
    assert found(OTHER[name]) is None


def test_a_condition_on_all_of_it_ends_the_loop() -> None:
    for name, below in (("guarded", "out"), ("guarded by another", "x")):
        row = found(FLAT[name])
        assert row.below.view == below
        assert not any(type(stmt).__name__ == "If" for stmt in row.body)
    for name in ("unguarded", "after a store"):
        assert found(FLAT[name]).below is None


@pytest.mark.parametrize("name", [*FLAT, "a masked index", "a neighbour"])
def test_the_same_bytes_come_out(name: str) -> None:
    """Whole rows, rows that end within a vector, domains past the end and short of it, an array with gaps."""
    kernel = made({**FLAT, **OTHER}[name])
    draw = np.random.default_rng(0)
    for size, domain in ((4096, 4096), (4099, 4099), (37, 64), (1000, 300), (5, 5)):
        if domain > size and name in ("unguarded", "after a store"):
            continue
        values = draw.standard_normal(size + 64).astype(np.float32)
        values[::7] = np.nan
        x, out = array(values, device="cpu"), array(np.full(size + 64, 0.5, np.float32), device="cpu")
        host, wanted = values[:size].copy(), np.full(size, 0.5, np.float32)
        kernel.python(domain)(0.75, host, wanted)
        for _ in range(3):
            out.set(np.full(size + 64, 0.5, np.float32))
            kernel.over(domain, device="cpu")(0.75, x[:size], out[:size])
            assert out.numpy()[:size].tobytes() == wanted.tobytes()
            assert (out.numpy()[size:] == 0.5).all()
        every = empty(2 * size, device="cpu")
        kernel.over(domain, device="cpu")(0.75, x[:size], every[::2])
        if name == "guarded" and domain >= size:
            assert every.numpy()[::2].tobytes() == wanted.tobytes()
