"""`@kernel(contract=True)`: products may be fused with sums; the key says so, and every target honours it."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from atoll.ir.parse import parse
from atoll.ir.text import canonical, text
from atoll.kernels.definition import KernelFunction
from atoll.plugin import registry
from kernel_text import kernel_from
from property.kernel_judge import opened

BODY = """(a: view[f32], b: view[f32], c: view[f32], out: view[f32]):
    i = atoll.global_id(0)
    out[4 * i] = a[i] * b[i] + c[i]
    out[4 * i + 1] = c[i] + a[i] * b[i]
    out[4 * i + 2] = a[i] * b[i] - c[i]
    out[4 * i + 3] = c[i] - a[i] * b[i]
"""
ITEMS = 256


def asked() -> KernelFunction:
    return kernel_from(f"@kernel(contract=True)\ndef k{BODY}")


def plain() -> KernelFunction:
    return kernel_from(f"@kernel\ndef k{BODY}")


def given() -> tuple[Any, ...]:
    chance = np.random.default_rng(4)
    a, b, c = (chance.standard_normal(ITEMS).astype(np.float32) for _ in range(3))
    return a, b, -(a * b) * np.float32(1.0001) + c * np.float32(1e-3), np.zeros(4 * ITEMS, np.float32)


def exact(arrays: tuple[Any, ...]) -> Any:
    """Return each result before its last rounding."""
    a, b, c = (item.astype(np.float64) for item in arrays[:3])
    product = a * b
    return np.stack([product + c, c + product, product - c, c - product], axis=1).reshape(-1)


def test_what_a_kernel_asks_for_is_in_its_key_and_its_text() -> None:
    assert canonical(asked().module) != canonical(plain().module)
    assert text(asked().module).splitlines()[2].endswith("group(0, 0, 0) contract {")
    assert parse(text(asked().module)) == asked().module
    assert parse(text(asked().compiled().optimised)) == asked().compiled().optimised


@pytest.mark.parametrize(
    ("target", "stage", "fused"),
    [
        ("cuda:sm_90", "ptx", "fma.rn.f32"),
        ("cuda:sm_90", "cuda-cpp", "fma"),
        ("hip:gfx942", None, "fma"),
        ("opencl", None, "fma("),
        ("sycl", None, "fma"),
    ],
)
def test_a_target_that_has_the_instruction_fuses_all_four_forms(
    target: str, stage: str | None, fused: str
) -> None:
    without, with_it = str(plain().show(target, stage)), str(asked().show(target, stage))
    assert with_it.count(fused) - without.count(fused) == 4


def test_vulkan_is_left_free_to_fuse() -> None:
    assert str(plain().show("vulkan")).count("NoContraction") == 8
    assert "NoContraction" not in str(asked().show("vulkan"))


def test_the_processor_fuses_nothing() -> None:
    assert str(plain().show("cpu")).count("fma") == str(asked().show("cpu")).count("fma")


@pytest.mark.parametrize("device", ["interpreter", "cpu", "vulkan", "opencl"])
def test_a_fused_result_is_off_by_no_more_than_the_rounding_of_its_product(device: str) -> None:
    where = opened(device)
    if where is None:
        pytest.skip(f"no device of {device}")
    arrays = given()
    asked().over(ITEMS, device=where)(*arrays)
    oracle = given()
    asked().python(ITEMS)(*oracle)
    product = np.repeat(arrays[0] * arrays[1], 4)
    # Half a unit of the product that is not rounded, and half a unit of each of the two results.
    allowed = np.spacing(np.abs(product)) / 2 + np.spacing(np.abs(oracle[3]))
    assert (np.abs(arrays[3].astype(np.float64) - oracle[3]) <= allowed).all()


def test_opencl_rounds_once_where_the_kernel_asks_for_it() -> None:
    where = opened("opencl")
    if where is None:
        pytest.skip("no device of opencl")
    arrays, apart = given(), given()
    asked().over(ITEMS, device=where)(*arrays)
    plain().over(ITEMS, device=where)(*apart)
    assert np.array_equal(arrays[3], exact(arrays).astype(np.float32))
    assert not np.array_equal(apart[3], arrays[3])


def test_instances_and_checked_kernels_keep_what_was_asked() -> None:
    generic = kernel_from("@kernel(contract=True)\ndef k(x: view[f32], n: atoll.const[int]):\n    x[0] = 1\n")
    assert generic.instance(n=3).module.kernels[0].contract
    checked = kernel_from("@kernel(contract=True, debug=True)\ndef k(x: view[f32]):\n    x[0] = 1.0\n")
    assert " contract {" in str(checked.show("cpu", "kir"))


def test_every_emitter_refuses_nothing_for_it() -> None:
    for name, emitter in registry().emitters.items():
        target = emitter.target(None)
        assert emitter.emit(asked().compiled().optimised, "k", target, (64, 1, 1)).code, name
