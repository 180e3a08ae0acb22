"""Does a measured file carry what is required, and does it run on a device?"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from atoll.accel import AccelSet, BackendRules, DeviceFacts, Version
from atoll.errors import UsageError
from atoll.packaging import report
from atoll.packaging.gate import device_facts, lacking, refusal, runs_on
from atoll.plugin import registry
from atoll_plugins.cuda.rules import CudaRules
from atoll_plugins.formats.vulkan_rules import VulkanRules
from unit.packaging.binaries import UNREAD, elf, entry, fatbin, put, spirv, zipped

RULES: dict[str, BackendRules] = {"cuda": CudaRules(), "vulkan": VulkanRules()}


def lib(*levels: int) -> bytes:
    return elf({".nv_fatbin": fatbin(*[entry(2, level) for level in levels])})


def wheel(tmp_path: Path, **members: bytes) -> Path:
    return put(tmp_path / "a.whl", zipped({f"{name}.so": data for name, data in members.items()}))


def asked(text: str) -> AccelSet:
    return AccelSet.parse(text, floor_words={"cuda": "ptx"})


def test_a_wheel_that_carries_all_lacks_nothing(tmp_path: Path) -> None:
    found = report(wheel(tmp_path, a=lib(80, 90), b=elf({".rodata": spirv()})))
    assert lacking(found, asked("cuda13.0+{sm_80,sm_90}, vulkan1.2"), RULES) == ()


def test_an_arch_that_only_another_file_has_does_not_help(tmp_path: Path) -> None:
    found = report(wheel(tmp_path, a=lib(80, 90), b=lib(90)))
    (lack,) = lacking(found, asked("cuda+{sm_80,sm_90}"), RULES)
    assert lack.member.endswith("a.whl!b.so")
    assert lack.differences[0].asked == "sm_80"


def test_the_refusal_names_file_and_missing_arch(tmp_path: Path) -> None:
    found = report(wheel(tmp_path, a=lib(80, 90), b=lib(90)))
    (lack,) = lacking(found, asked("cuda+{sm_80}"), RULES)
    said = refusal(found, asked("cuda+{sm_80}"), [lack])
    assert said.code == "ATL0412"
    text = "\n".join(said.notes)
    assert "b.so" in text
    assert "asked sm_80, carried sm_90" in text


def test_a_backend_that_is_nowhere_is_lacking(tmp_path: Path) -> None:
    found = report(wheel(tmp_path, a=lib(80)))
    (lack,) = lacking(found, asked("vulkan1.2"), RULES)
    assert (lack.differences[0].asked, lack.differences[0].carried) == ("vulkan1.2", "cuda")


def test_unknown_is_never_taken_for_what_is_required(tmp_path: Path) -> None:
    found = report(wheel(tmp_path, a=lib(80), b=elf({".llvm.offloading": UNREAD})))
    assert any(lack.carried is None for lack in lacking(found, asked("cuda+{sm_80}"), RULES))


def test_declared_source_counts_as_in_matching(tmp_path: Path) -> None:
    found = report(put(tmp_path / "a.whl", zipped({"k.cl": b"__kernel void f() {}"})))
    assert lacking(found, asked("opencl1.2"), RULES) == ()


@pytest.mark.parametrize(
    ("device", "runs"),
    [("cuda:sm_80", True), ("cuda:sm_86", True), ("cuda:sm_87", False), ("cuda:sm_90", False)],
)
def test_machine_code_runs_where_the_lane_says(tmp_path: Path, device: str, runs: bool) -> None:
    found = report(put(tmp_path / "a.so", lib(80)))
    said, answer = runs_on(found, device_facts(device, registry()), RULES)
    assert bool(answer) is runs
    assert (said is None) is runs


def test_a_spelled_version_is_a_version() -> None:
    assert device_facts("vulkan:1.2", registry()) == DeviceFacts(
        backend="vulkan", name="vulkan:1.2", version=Version.parse("1.2")
    )


@pytest.mark.parametrize(
    ("device", "runs"), [("vulkan:1.1", False), ("vulkan:1.2", True), ("vulkan:1.3", True)]
)
def test_a_shader_runs_on_its_vulkan_and_later(tmp_path: Path, device: str, runs: bool) -> None:
    found = report(put(tmp_path / "a.spv", spirv(minor=5)))
    assert bool(runs_on(found, device_facts(device, registry()), RULES)[1]) is runs


@pytest.mark.parametrize(
    ("data", "arch", "runs"),
    [
        (lib(80), "x86_64", True),
        (lib(80), "aarch64", False),
        (spirv(), "x86_64", False),
        (b"text", "x86_64", True),
    ],
)
def test_the_processor_runs_what_has_its_own_code(tmp_path: Path, data: bytes, arch: str, runs: bool) -> None:
    found = report(put(tmp_path / "a", data))
    said, answer = runs_on(found, DeviceFacts(backend="cpu", name="here", arch=arch), RULES)
    assert (bool(answer), said is None) == (runs, runs)


def test_required_facts_that_a_device_states_are_compared(tmp_path: Path) -> None:
    found = report(put(tmp_path / "a.so", elf({".nv_fatbin": fatbin(entry(1, 90, isa=(9, 1)))})))
    old = DeviceFacts(backend="cuda", name="old", arch="sm_90", facts={"ptx.isa": "9.0"})
    said, answer = runs_on(found, old, RULES)
    assert not answer
    assert said is not None
    assert "ptx.isa" in "\n".join(said.notes)


def test_a_device_that_nothing_reaches_is_refused_with_those_that_are() -> None:
    with pytest.raises(UsageError, match="no device `weird`") as caught:
        device_facts("weird", replace(registry(), drivers={}))  # type: ignore[arg-type]
    assert caught.value.diagnostics[0].code == "ATL0466"
