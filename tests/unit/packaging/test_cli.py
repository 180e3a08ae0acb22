"""What `atoll measure` and `atoll pack` print, where, and with which exit code."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from atoll.cli import main
from unit.packaging.binaries import UNREAD, elf, entry, fatbin, put, spirv, zipped

CUDA = elf({".nv_fatbin": fatbin(entry(2, 80), entry(2, 90))}, needed=["libcuda.so.1"])
CPU_ONLY = """
[package]
name = "plain"
version = "0.1.0"
license = "Apache-2.0"

[targets.plain]
kind = "python"
boundary = "kernels"
sources = ["cpu/*.cpp"]

[boundary.kernels]
module = "plain.kernels"
roots = ["cpu"]
layout-root = "cpu"
shape = "registry"
"""


def atoll(*args: object) -> int:
    """Run the command line in this process and return its exit code."""
    with pytest.raises(SystemExit) as caught:
        main([str(arg) for arg in args])
    assert isinstance(caught.value.code, int)
    return caught.value.code


@pytest.fixture
def wheel(tmp_path: Path) -> Path:
    return put(
        tmp_path / "a.whl", zipped({"p/a.so": CUDA, "p/b.spv": spirv(), "p/k.cl": b"__kernel void f();"})
    )


def test_a_line_for_each_thing_that_is_said(wheel: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert atoll("measure", wheel) == 0
    said = capsys.readouterr()
    assert said.out.splitlines() == [
        str(wheel),
        "  accel     cuda+{sm_80,sm_90}, vulkan1.2",
        "  requires  needed = libcuda.so.1",
        "  requires  spirv >= 1.5",
        "  requires  spirv.capability = Shader",
        "  declared  opencl",
    ]
    assert said.err == ""


def test_verbose_adds_a_row_for_each_file_and_backend(
    wheel: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert atoll("measure", "-v", wheel) == 0
    assert capsys.readouterr().out.splitlines()[-3:] == [
        "  p/a.so   cuda+{sm_80,sm_90}",
        "  p/b.spv  vulkan1.2",
        "  p/k.cl   declared only",
    ]


def test_json_is_one_object(wheel: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert atoll("measure", wheel, "--json") == 0
    data = json.loads(capsys.readouterr().out)
    (found,) = data["files"]
    assert (found["accel"], found["declared"], data["diagnostics"]) == (
        "cuda+{sm_80,sm_90}, vulkan1.2",
        ["opencl"],
        [],
    )
    assert found["members"][0] == {"member": f"{wheel}!p/a.so", "accel": "cuda+{sm_80,sm_90}"}


def test_a_gate_that_holds_exits_0_and_says_so(wheel: Path, capsys: pytest.CaptureFixture[str]) -> None:
    asked = "cuda13.0+{sm_80,sm_90}, vulkan1.2"
    assert atoll("measure", wheel, "--require", asked) == 0
    assert f"  required  met ({asked})" in capsys.readouterr().out.splitlines()
    assert atoll("measure", wheel, "--require", asked, "--json") == 0
    assert json.loads(capsys.readouterr().out)["files"][0]["require"]["accepted"] is True


def test_a_gate_that_fails_exits_1_naming_file_and_arch(
    wheel: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert atoll("measure", wheel, "--require", "cuda13.0+{sm_100}") == 1
    found = capsys.readouterr()
    assert "  required  not met (cuda13.0+{sm_100})" in found.out.splitlines()
    said = found.err
    assert f"error[ATL0412]: no prebuilt artifact of `{wheel}` fits what is required" in said
    assert "closest               p/a.so, which differs on" in said
    assert "asked sm_100, carried sm_80, sm_90" in said


def test_a_gate_in_json_lists_what_is_lacking(wheel: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert atoll("measure", wheel, "--require", "cuda+{sm_100}", "--json") == 1
    data = json.loads(capsys.readouterr().out)
    assert data["files"][0]["require"]["accepted"] is False
    assert data["files"][0]["require"]["lacking"][0]["differences"] == [
        {"dimension": "accel", "asked": "sm_100", "carried": "sm_80, sm_90"}
    ]
    assert data["diagnostics"][0]["code"] == "ATL0412"


@pytest.mark.parametrize(("device", "code"), [("cuda:sm_86", 0), ("cuda:sm_100", 1), ("vulkan:1.3", 0)])
def test_on_says_whether_it_runs_there(
    wheel: Path, device: str, code: int, capsys: pytest.CaptureFixture[str]
) -> None:
    assert atoll("measure", wheel, "--on", device) == code
    assert f"  runs      {'no' if code else 'yes'} ({device})" in capsys.readouterr().out


def test_what_cannot_be_read_exits_2_and_the_others_are_still_said(
    wheel: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert atoll("measure", tmp_path / "gone", wheel) == 2
    said = capsys.readouterr()
    assert str(wheel) in said.out
    assert "error[ATL0002]" in said.err


def test_unknown_is_printed_as_unknown(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert atoll("measure", put(tmp_path / "a.so", elf({".llvm.offloading": UNREAD}))) == 0
    said = capsys.readouterr()
    assert "  accel     unknown" in said.out
    assert "warning[ATL0453]" in said.err


def test_a_broken_member_exits_2(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    broken = elf({".nv_fatbin": fatbin(entry(2, 80, header=0))})
    assert atoll("measure", put(tmp_path / "a.so", broken)) == 2
    assert "  accel     unknown" in capsys.readouterr().out


@pytest.mark.parametrize("text", ["", "cuda13.0+{sm_80} vulkan1.2", "CUDA"])
def test_a_gate_that_cannot_be_parsed_is_refused(wheel: Path, text: str) -> None:
    assert atoll("measure", wheel, "--require", text) in (1, 2)


def test_wrong_usage_is_one_object_too(wheel: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for words in (("measure", wheel, "--on", "no such device"), ("match", wheel, "--want", "CUDA")):
        assert atoll(*words, "--json") == 2
        said = capsys.readouterr()
        assert json.loads(said.out)["diagnostics"][0]["code"].startswith("ATL")
        assert not said.err


def test_a_device_that_is_not_there_is_wrong_usage(wheel: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert atoll("measure", wheel, "--on", "no such device") == 2
    assert "error[ATL0466]" in capsys.readouterr().err


def test_a_project_without_a_python_target_has_nothing_to_pack(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    put(
        tmp_path / "atoll.toml",
        b'[package]\nname = "p"\n[targets.p]\nkind = "executable"\nsources = ["*.c"]\n',
    )
    put(tmp_path / "main.c", b"int main(void) { return 0; }\n")
    monkeypatch.chdir(tmp_path)
    assert atoll("pack", "--json") == 2
    said = capsys.readouterr()
    assert json.loads(said.out)["diagnostics"][0]["code"] == "ATL0468"


def test_pack_prints_the_path_on_stdout_and_the_rest_on_stderr(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    root = Path(__file__).parents[3] / "examples/thread/cpu/saxpy.cpp"
    put(tmp_path / "atoll.toml", CPU_ONLY.encode())
    put(tmp_path / "cpu/saxpy.cpp", root.read_bytes().replace(b"thread_kernels.h", b"plain_kernels.h"))
    put(tmp_path / "LICENSE", b"text")
    monkeypatch.chdir(tmp_path)
    assert atoll("pack", "--out", "wheels") == 0
    said = capsys.readouterr()
    (path,) = said.out.splitlines()
    assert path.startswith("wheels/plain-0.1.0-cp311-abi3-manylinux_2_")
    assert (tmp_path / path).is_file()
    assert "  accel     none" in said.err
    assert "KiB  cpu" in said.err
    first = (tmp_path / path).read_bytes()
    assert atoll("pack", "--out", "wheels") == 0
    assert (tmp_path / path).read_bytes() == first
