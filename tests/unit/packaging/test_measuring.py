"""What a file measures to, through the child process, the way everyone asks."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from atoll.accel import AccelSet
from atoll.artifact import Finding
from atoll.packaging import Limits, measure, report
from atoll.packaging.wire import decode, encode
from unit.packaging.binaries import archive, elf, entry, fatbin, put, spirv, zipped

CUDA = elf({".nv_fatbin": fatbin(entry(2, 80), entry(2, 90), entry(1, 90))}, needed=["libcuda.so.1"])
VULKAN = elf({".rodata": bytes(32) + spirv()})
PLAIN = elf({".rodata": b"nothing here"})


def accel(path: Path) -> str | None:
    found = measure(path).accel
    return None if found is None else str(found)


def test_a_library_measures_to_what_its_sections_carry(tmp_path: Path) -> None:
    assert accel(put(tmp_path / "a.so", CUDA)) == "cuda+{sm_80,sm_90} ptx>=90"
    assert accel(put(tmp_path / "b.so", VULKAN)) == "vulkan1.2"


def test_a_file_without_device_code_measures_to_none(tmp_path: Path) -> None:
    found = measure(put(tmp_path / "a.so", PLAIN))
    assert found.accel == AccelSet()
    assert found.unread == ()


def test_a_wheel_is_the_sum_of_its_members_and_keeps_their_names(tmp_path: Path) -> None:
    path = put(tmp_path / "a.whl", zipped({"p/a.so": CUDA, "p/b.so": VULKAN, "p/x.py": b"import os\n"}))
    found = report(path)
    assert str(found.measured.accel) == "cuda+{sm_80,sm_90} ptx>=90, vulkan1.2"
    assert found.measured.findings[0].member == f"{path}!p/a.so!.nv_fatbin"
    assert {name: str(accel) for name, accel in found.members().items()} == {
        f"{path}!p/a.so": "cuda+{sm_80,sm_90} ptx>=90",
        f"{path}!p/b.so": "vulkan1.2",
    }


def test_containers_in_containers_are_opened(tmp_path: Path) -> None:
    inner = zipped({"lib.a": archive({"a.o": CUDA})})
    found = measure(put(tmp_path / "a.zip", zipped({"inner.whl": inner})))
    assert found.findings[0].member.endswith("a.zip!inner.whl!lib.a!a.o!.nv_fatbin")


def test_a_folder_is_the_sum_of_its_files(tmp_path: Path) -> None:
    put(tmp_path / "d/x/a.so", CUDA)
    put(tmp_path / "d/b.spv", spirv(minor=6))
    assert accel(tmp_path / "d") == "cuda+{sm_80,sm_90} ptx>=90, vulkan1.3"


def test_required_facts_are_those_of_every_piece_once(tmp_path: Path) -> None:
    found = measure(put(tmp_path / "a.whl", zipped({"a.so": CUDA, "b.so": CUDA, "c.so": VULKAN})))
    assert [str(fact) for fact in found.requires] == [
        "needed = libcuda.so.1",
        "ptx.isa >= 9.0",
        "spirv >= 1.5",
        "spirv.capability = Shader",
    ]


def test_the_hosts_own_abi_is_reported_beside_and_not_required(tmp_path: Path) -> None:
    found = report(put(tmp_path / "a.so", CUDA))
    assert "abi.machine = x86_64" in [str(fact) for _, fact in found.facts]
    assert not any(fact.name.startswith("abi.") for fact in found.measured.requires)


def test_opencl_source_is_declared(tmp_path: Path) -> None:
    found = measure(put(tmp_path / "a.whl", zipped({"k.cl": b"__kernel void f(void) {}"})))
    assert (found.accel, found.declared) == (AccelSet(), ("opencl",))


def test_an_empty_file_has_no_device_code(tmp_path: Path) -> None:
    assert accel(put(tmp_path / "empty", b"")) == ""


def test_a_link_out_of_a_folder_is_said_and_not_followed(tmp_path: Path) -> None:
    put(tmp_path / "outside.so", CUDA)
    put(tmp_path / "d/a.so", VULKAN)
    (tmp_path / "d/link.so").symlink_to(tmp_path / "outside.so")
    found = report(tmp_path / "d")
    assert str(found.measured.accel) == "vulkan1.2"
    assert [item.code for item in found.diagnostics] == ["ATL0467"]


def test_a_pipe_in_a_folder_does_not_hang(tmp_path: Path) -> None:
    import os

    put(tmp_path / "d/a.so", VULKAN)
    os.mkfifo(tmp_path / "d/pipe")
    assert accel(tmp_path / "d") == "vulkan1.2"


def test_a_broken_member_makes_the_whole_unknown_and_the_rest_is_still_said(tmp_path: Path) -> None:
    broken = elf({".nv_fatbin": fatbin(entry(2, 80, header=0))})
    found = report(put(tmp_path / "a.whl", zipped({"a.so": CUDA, "b.so": broken})))
    assert found.measured.accel is None
    assert [name.rpartition("/")[2] for name, _ in found.measured.unread] == ["a.whl!b.so!.nv_fatbin"]
    assert {finding.arch for finding in found.measured.findings} == {"sm_80", "sm_90", ""}
    assert [item.code for item in found.diagnostics] == ["ATL0452"]


def test_nothing_is_written_outside(tmp_path: Path) -> None:
    put(tmp_path / "a.whl", zipped({"a.so": CUDA, "b.so": VULKAN}))
    before = sorted(tmp_path.rglob("*"))
    accel(tmp_path / "a.whl")
    assert sorted(tmp_path.rglob("*")) == before


def test_a_report_survives_the_wire(tmp_path: Path) -> None:
    found = report(put(tmp_path / "a.whl", zipped({"a.so": CUDA, "b.so": b"\x7fELF", "c.so": VULKAN})))
    assert decode(json.loads(json.dumps(encode(found)))) == found


@pytest.mark.parametrize("key", ["path", "findings", "facts", "unread", "diagnostics", "files"])
def test_an_answer_of_another_shape_is_not_believed(tmp_path: Path, key: str) -> None:
    value = encode(report(put(tmp_path / "a.so", CUDA)))
    value[key] = [[1, 2]] if key != "path" else 7
    with pytest.raises((TypeError, KeyError, ValueError)):
        decode(value)


def test_a_finding_that_no_set_can_spell_is_not_believed(tmp_path: Path) -> None:
    value = encode(report(put(tmp_path / "a.so", CUDA)))
    value["findings"][0]["arch"] = "}, evil{"
    with pytest.raises(ValueError, match="no set can spell"):
        decode(value)


def test_the_child_needs_no_heavy_module() -> None:
    code = (
        "import sys, atoll.packaging.child, atoll.packaging.walk, atoll.plugin;"
        "atoll.plugin.registry().readers['wheel'];"
        "heavy = ('numpy', 'tree_sitter', 'msgspec', 'rich', 'elftools', 'tomlkit');"
        "print([name for name in heavy if name in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_findings_are_capped(tmp_path: Path) -> None:
    from atoll.errors import UnreadableError

    many = put(tmp_path / "a.so", elf({".rodata": (spirv() + bytes(4)) * 300}))
    assert len(measure(many).findings) == 300
    with pytest.raises(UnreadableError, match="past its limits"):
        report(many, Limits(pieces=100))


def test_equal_findings_are_one(tmp_path: Path) -> None:
    found = measure(put(tmp_path / "a.so", elf({".nv_fatbin": fatbin(entry(2, 80)) * 50})))
    section = f"{tmp_path}/a.so!.nv_fatbin"
    assert found.findings == (Finding(member=section, backend="cuda", arch="sm_80", code=f"{section}#0"),)
