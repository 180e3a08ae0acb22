"""ATL0804: code that a device does not take; the compiler's own words are in the notes."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from atoll.errors import DeviceError
from conformance.driver_kernels import code, driver, fake_cuda, needs_device, spirv


def refused(backend: str, data: bytes, folder: Path, entry: str = "saxpy") -> str:
    found = driver(backend, fake_cuda(folder) if backend == "cuda" else None)
    needs_device(found)
    device = found.open(0)
    try:
        with pytest.raises(DeviceError) as caught:
            device.load(replace(code(backend, folder), code=data, entry=entry))
    finally:
        device.close()
    assert caught.value.diagnostics[0].code == "ATL0804"
    return str(caught.value)


def test_the_c_compilers_error_is_shown(tmp_path: Path) -> None:
    said = refused("cpu", b"int saxpy(void) { return nothing; }\n", tmp_path)
    assert "refuses the code of `saxpy`" in said
    assert "'nothing' undeclared" in said
    assert "/tmp/atoll-cpu-" not in said


def test_the_opencl_build_log_is_shown(tmp_path: Path) -> None:
    said = refused("opencl", b"__kernel void saxpy(__global float *x) { x[0] = nothing; }", tmp_path)
    assert "`clBuildProgram` returned -11" in said
    assert "nothing" in said


def test_the_ptx_log_is_shown(tmp_path: Path) -> None:
    said = refused("cuda", b"no code", tmp_path)
    assert "`cuModuleLoadDataEx` returned 218 (CUDA_ERROR_INVALID_PTX: a fake failure)" in said
    assert "fatal : no .version" in said


def test_the_entry_points_that_exist_are_listed(tmp_path: Path) -> None:
    said = refused("vulkan", spirv(tmp_path), tmp_path, entry="other")
    assert "it has these entry points: `saxpy`" in said


@pytest.mark.parametrize("data", [b"", b"\x03\x02\x23\x07", b"x" * 64, b"\x03\x02\x23\x07" + bytes(15)])
def test_what_is_not_spirv_is_refused_before_the_driver_sees_it(tmp_path: Path, data: bytes) -> None:
    assert "it is not SPIR-V" in refused("vulkan", data, tmp_path)
