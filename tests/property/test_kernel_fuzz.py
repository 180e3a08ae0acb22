"""Random kernels: CPython, the interpreter, the processor, Vulkan and OpenCL give one answer, bit for bit."""

from __future__ import annotations

import os
import random
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from atoll.errors import CompileError
from atoll.ir import Module, ops
from atoll.ir import nodes as n
from atoll.kernels.definition import KernelFunction
from atoll.plugin import registry
from atoll_plugins.cpu.driver import CpuDriver
from kernel_text import kernel_from
from property.kernel_programs import ITEMS, PARAMS, program

SAMPLE, WHOLE = 25, 500
# PoCL 3.1 turns about one random program in 160 into an endless loop (seed 308306064: a `while` that counts
# from 5 down to -5), which would hang this process. On OpenCL the seeds are therefore fixed ones that end.
FIXED = {"opencl": range(1, 121)}


def seeds(whole: bool, device: str) -> list[int]:
    stated = os.environ.get("ATOLL_FUZZ_SEED")
    if stated:
        return [int(stated)]
    if device in FIXED:
        return list(FIXED[device])[: WHOLE if whole else SAMPLE]
    first = random.SystemRandom().randrange(1 << 30)
    return list(range(first, first + (WHOLE if whole else SAMPLE)))


def arguments(seed: int) -> tuple[Any, ...]:
    chance = np.random.default_rng(seed)
    x = chance.integers(-(1 << 31), 1 << 31, ITEMS).astype(np.int32)
    u = chance.integers(0, 1 << 32, ITEMS).astype(np.uint32)
    w = chance.integers(-(1 << 63), (1 << 63) - 1, ITEMS)
    f = (chance.standard_normal(ITEMS) * 10.0 ** chance.integers(-3, 12, ITEMS)).astype(np.float32)
    x[::5], u[::7], w[::3] = np.arange(-6, 7), np.arange(10), np.arange(-11, 11)
    return x, u, w, f, np.zeros_like(x), np.zeros_like(u), np.zeros_like(w), np.zeros_like(f)


def copies(given: tuple[Any, ...]) -> tuple[Any, ...]:
    return tuple(array.copy() for array in given)


def same(one: Any, other: Any) -> bool:
    """Tell whether two arrays are equal bit for bit, NaN and the sign of zero aside."""
    return bool(np.array_equal(one, other, equal_nan=one.dtype.kind == "f"))


def refusal(found: KernelFunction) -> str:
    """Return why a kernel is refused, or an empty text."""
    try:
        found.compiled()
    except CompileError as error:
        return str(error)
    return ""


@pytest.mark.parametrize("device", ["interpreter", "cpu", "vulkan", "opencl"])
def test_random_kernels_agree_with_the_oracle_bit_for_bit(whole: bool, device: str) -> None:
    driver = CpuDriver({"PATH": "/nowhere"}) if device == "interpreter" else registry().drivers[device]
    if not driver.devices():
        missing = driver.unavailable()
        pytest.skip(f"no {device} device: {missing[0] if missing else 'none present'}")
    opened = driver.open(0)
    chosen, refused = seeds(whole, device), 0
    print(f"{device}: {len(chosen)} programs from seed {chosen[0]}")
    for seed in chosen:
        source = program(seed, arrays=device not in FIXED)
        found = kernel_from(source)
        reason = refusal(found)
        if reason:
            # Depth alone may refuse a program; anything else is a fault of the front end.
            assert "ATL0726" in reason, f"seed {seed}\n{source}\n{reason}"
            refused += 1
            continue
        given = arguments(seed)
        expected, mine = copies(given), copies(given)
        found.python(ITEMS, seed=seed)(*expected)
        found.over(ITEMS, device=opened)(*mine)
        for name, a, b in zip(("x", "u", "w", "f", "oi", "ou", "ow", "of"), mine, expected, strict=True):
            assert same(a, b), f"seed {seed}: {name} on {device}\n{source}\n{a}\n{b}"
    print(f"{device}: {refused} of {len(chosen)} refused for depth")
    assert refused < len(chosen) / 4


def test_the_comparison_sees_one_changed_operation() -> None:
    """Plant a fault: C's division in place of Python's; the device then has to differ."""
    found = kernel_from(f"@kernel\ndef k({PARAMS}):\n    i = atoll.global_id(0)\n    oi[i] = x[i] // 7\n")
    compiled = found.compiled()
    (assigned, store) = compiled.kernel.body
    assert isinstance(store, n.Store)
    assert isinstance(store.value, n.Binary)
    changed = replace(store, value=replace(store.value, op=ops.Binary.DIV_TRUNC))
    wrong = Module(kernels=(replace(compiled.kernel, body=(assigned, changed)),))
    given = arguments(1)
    expected, right, mine = copies(given), copies(given), copies(given)
    found.python(ITEMS)(*expected)
    found.over(ITEMS, device="cpu")(*right)
    assert same(right[4], expected[4])
    found._compiled = replace(compiled, module=wrong)
    found.over(ITEMS, device="cpu")(*mine)
    assert not same(mine[4], expected[4])
