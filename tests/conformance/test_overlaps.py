"""Arrays that overlap mean the same to a launch of a kernel and to a launch of its code."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import atoll
from atoll import f32, kernel, view
from atoll.plugin import Emitted, registry
from atoll.runtime import Device
from conformance.driver_kernels import driver, needs_device

BACKENDS = ("cpu", "vulkan", "opencl")
BLOCK = (64, 1, 1)


@kernel
def exchange(x: view[f32], out: view[f32]) -> None:
    i = atoll.global_id(0)
    if i < out.size:
        kept = x[i]
        x[i] = out[i] + out[i]
        out[i] = kept


def emitted(device: Device) -> Emitted:
    target = device.target()
    compiled = exchange.compiled_for(target)
    found: Emitted = (
        registry().emitters[target.backend].emit(compiled.optimised, compiled.kernel.name, target, BLOCK)
    )
    return found


def as_a_kernel(device: Device, x: Any, out: Any) -> None:
    exchange.over(out.size, device=device, block=64)(x, out)


def as_code(device: Device, x: Any, out: Any) -> None:
    code = emitted(device)
    domain = (out.size,) if code.layout.has_domain else None
    device.run(code, (-(-out.size // 64),), BLOCK, {"x": x, "out": out}, domain)


CASES: dict[str, Callable[[Any], tuple[Any, Any]]] = {
    "interleaved": lambda base: (base[::2], base[1::2]),
    "in place": lambda base: (base, base),
    "backwards": lambda base: (base[150::-2], base[151::-2]),
    "touching": lambda base: (base[:100], base[100:]),
}


@pytest.mark.parametrize("case", CASES)
@pytest.mark.parametrize("backend", BACKENDS)
def test_both_launches_see_one_memory(backend: str, case: str) -> None:
    needs_device(driver(backend))
    device = atoll.open(backend)
    found = []
    for launch in (as_a_kernel, as_code):
        base = np.arange(200, dtype=np.float32)
        x, out = CASES[case](base)
        launch(device, x, out)
        found.append(base)
    expected = np.arange(200, dtype=np.float32)
    x, out = CASES[case](expected)
    for item in range(out.size):
        kept = float(x[item])
        x[item] = out[item] + out[item]
        out[item] = kept
    np.testing.assert_array_equal(found[0], expected)
    np.testing.assert_array_equal(found[1], expected)
