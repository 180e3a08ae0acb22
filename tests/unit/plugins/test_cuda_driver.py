"""What the CUDA driver says of devices, on a fake interface with levels and versions to choose."""

from __future__ import annotations

from pathlib import Path

import pytest

from atoll.accel import Version
from atoll.plugin import Target
from atoll_plugins.cuda.driver import CudaDriver, driver_version
from conformance.driver_kernels import fake_cuda


@pytest.fixture
def library(tmp_path: Path) -> str:
    return str(fake_cuda(tmp_path))


def test_levels_versions_and_targets_are_the_devices(library: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FAKE_CUDA_LEVELS", "86,120")
    monkeypatch.setenv("FAKE_CUDA_VERSION", "12080")
    driver = CudaDriver(library)
    first, second = driver.devices()
    assert (first.name, first.facts.arch, first.facts.version) == ("Fake 86", "sm_86", Version((12, 8)))
    assert second.facts.arch == "sm_120"
    assert not first.software
    device = driver.open(1)
    assert device.target() == Target(backend="cuda", arch="sm_120", version="12.8")
    device.close()


def test_a_driver_that_does_not_start_says_so(library: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FAKE_CUDA_INIT", "3")
    driver = CudaDriver(library)
    assert driver.devices() == ()
    missing = driver.unavailable()
    assert missing is not None
    assert missing[0] == "`cuInit` returned 3 (CUDA_ERROR_NOT_INITIALIZED: a fake failure)"


def test_no_device_says_so(library: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FAKE_CUDA_LEVELS", "none")
    missing = CudaDriver(library).unavailable()
    assert missing is not None
    assert missing[0].endswith("libfakecuda.so finds no device")


@pytest.mark.parametrize(
    ("text", "version"),
    [
        ("NVRM version: NVIDIA UNIX x86_64 Kernel Module  580.159.04  Tue\nGCC", "580.159.04"),
        ("NVRM version: NVIDIA UNIX Open Kernel Module for x86_64  595.71 Release", "595.71"),
        ("something else", ""),
        ("", ""),
    ],
)
def test_the_kernel_modules_version_is_read(tmp_path: Path, text: str, version: str) -> None:
    path = tmp_path / "version"
    path.write_text(text)
    assert driver_version(path) == version


def test_without_the_file_there_is_no_version(tmp_path: Path) -> None:
    assert driver_version(tmp_path / "none") == ""
