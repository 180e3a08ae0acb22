"""Four neighbours in one access, on devices reached by SPIR-V or OpenCL C: the same bytes as one by one.

Devices that are processors get no such code of themselves; here they do, since others are not here.
"""

from __future__ import annotations

import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import atoll
from atoll.kernels import launch
from atoll.kernels.shapes import block_for
from atoll.kernels.variants import Promises, module_for
from atoll.plugin import Target
from atoll.runtime import Device
from atoll.runtime.array import empty
from emitter_kit import device, emitter, tool
from kernel_text import kernel_from

ALL = Promises(plain=True, apart=True, fours=True)
SCALED = (
    "@kernel\ndef k(x: view[T], out: view[U]):\n"
    "    i = atoll.global_id(0)\n    if i < out.size:\n        out[i] = U(x[i])\n"
)
PAIRS = [("f32", "f32"), ("f32", "f16"), ("f16", "f32"), ("i8", "i32"), ("i32", "i8"), ("u16", "bf16")]
NUMPY = {"bf16": "u2", "f16": "f2", "f32": "f4", "i8": "i1", "i32": "i4", "u16": "u2"}


def converting(source: str, target: str) -> Any:
    return kernel_from(SCALED.replace("T", source).replace("U", target))


@pytest.fixture(params=["opencl", "vulkan"])
def opened(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Iterator[Device]:
    monkeypatch.setattr(launch, "served", lambda known, _: known)
    with device(request.param) as inner:
        yield Device(inner)


def wide(kernel: Any) -> list[bool]:
    """Tell of each code that a kernel was made into whether a work-item does four neighbours' work."""
    return [code.wide for _, cache in kernel.loaded.values() for code in cache.values()]


@pytest.mark.parametrize(("source", "target"), PAIRS)
def test_each_type_is_read_and_written_by_four(opened: Device, source: str, target: str) -> None:
    given = np.arange(-64, 64).astype(NUMPY[source])
    results = []
    for first in (0, 16, 1):  # at a multiple of sixteen bytes twice; then one by one
        kernel = converting(source, target)
        x = atoll.array(np.concatenate([np.zeros(first, given.dtype), given]), device=opened)[first:]
        out = empty(128, target, device=opened)
        kernel.over(128, device=opened)(x, out)
        assert any(wide(kernel)) is (first != 1)
        results.append(out.numpy().tobytes())
    assert results[0] == results[1] == results[2]
    if source != "u16":
        assert results[0] == given.astype(NUMPY[target]).tobytes()


def test_a_domain_that_is_no_whole_four_goes_one_by_one(opened: Device) -> None:
    kernel = converting("f32", "f32")
    x, out = atoll.array(np.arange(7, dtype="f"), device=opened), empty(7, "f32", device=opened)
    kernel.over(7, device=opened)(x, out)
    assert wide(kernel) == [False]
    assert out.numpy().tolist() == list(range(7))


def test_what_is_read_and_written_in_one_place_is_right_by_four(opened: Device) -> None:
    kernel = kernel_from(
        "@kernel\ndef k(x: view[f32], out: view[f32]):\n"
        "    i = atoll.global_id(0)\n    if i < out.size - 2:\n        out[i] = x[i] * 2.0 + out[i]\n"
    )
    x = atoll.array(np.arange(64, dtype="f"), device=opened)
    kernel.over(64, device=opened)(x, x)
    assert any(wide(kernel))
    assert x.numpy().tolist() == [3.0 * i for i in range(62)] + [62.0, 63.0]


def test_rows_of_four_are_one_access(opened: Device) -> None:
    kernel = kernel_from(
        "@kernel\ndef k(x: view[f32, 2], out: view[f32, 2]):\n"
        "    i = atoll.global_id(0)\n"
        "    if i < out.shape[0]:\n"
        "        a, b, c, d = x[i, 0], x[i, 1], x[i, 2], x[i, 3]\n"
        "        out[i, 0], out[i, 1], out[i, 2], out[i, 3] = d, c, b, a\n"
    )
    given = np.arange(40, dtype="f").reshape(10, 4)
    x, out = atoll.array(given, device=opened), empty((10, 4), "f32", device=opened)
    kernel.over(10, device=opened)(x, out)
    assert out.numpy().tolist() == given[:, ::-1].tolist()


def code(backend: str, kernel: Any, known: Promises = ALL) -> bytes:
    """Return a kernel's code for what is known of its arrays."""
    compiled = kernel.compiled()
    module, _ = module_for(compiled, known, unrolls=False)
    target = Target(backend=backend, version="1.2", plain=known.plain, apart=known.apart)
    return emitter(backend).emit(module, compiled.kernel.name, target, block_for(compiled.kernel)).code


@pytest.mark.parametrize(("source", "target"), PAIRS)
def test_spirv_of_fours_is_valid(tmp_path: Path, source: str, target: str) -> None:
    path = tmp_path / "k.spv"
    for known in (ALL, Promises(True, False, True), Promises(True, True), Promises()):
        path.write_bytes(code("vulkan", converting(source, target), known))
        subprocess.run([tool("spirv-val"), "--target-env", "vulkan1.2", str(path)], check=True)


def test_opencl_c_says_what_it_was_promised() -> None:
    text = code("opencl", converting("f32", "f16")).decode()
    assert "*(__global const float4 *)(b_x + " in text
    assert "*(__global ushort4 *)(b_out + " in text
    assert "__global const float *restrict b_x" in text
    assert "stride" not in text.split("{", 2)[2].split("__kernel")[1]
    assert "restrict" not in code("opencl", converting("f32", "f16"), Promises(True, False, True)).decode()


def test_a_processor_gets_no_fours() -> None:
    with device("opencl") as inner:
        kernel, opened = converting("f32", "f32"), Device(inner)
        x, out = atoll.array(np.arange(8, dtype="f"), device=opened), empty(8, "f32", device=opened)
        kernel.over(8, device=opened)(x, out)
        assert any(wide(kernel)) is not inner.info.software
