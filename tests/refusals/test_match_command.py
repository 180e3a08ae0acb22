"""`atoll match` exits 1 where nothing is accepted, the data printed either way, and 2 for the unreadable."""

from __future__ import annotations

import json
import zipfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from atoll.cli import main

INDEX: dict[str, Any] = {
    "package": "gpuonly",
    "version": "0.1.0",
    "artifacts": [
        {"role": "library", "path": "gpu.a", "abi": "x86_64-linux-gnu", "accel": "cuda13.0+{sm_90a}"},
    ],
}
CPU = {"role": "library", "path": "cpu.a", "abi": "x86_64-linux-gnu"}


@dataclass
class Outcome:
    code: int
    out: str
    err: str


class Command:
    """Runs `atoll match` in this process."""

    def __init__(self, folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
        self.folder, self.capsys = folder, capsys

    def write(self, name: str, value: object) -> str:
        path = self.folder / name
        path.write_text(json.dumps(value), encoding="utf-8")
        return str(path)

    def __call__(self, *args: str) -> Outcome:
        with pytest.raises(SystemExit) as left:
            main(["match", *args])
        captured = self.capsys.readouterr()
        return Outcome(int(left.value.code or 0), captured.out, captured.err)


@pytest.fixture
def match(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> Command:
    return Command(tmp_path, capsys)


def test_nothing_accepted_exits_1_with_the_one_text_and_the_data(match: Command) -> None:
    index = match.write("index.json", INDEX)
    abi = "x86_64-linux-gnu-gcc12-libstdcxx12-c++20"
    outcome = match("--want", "cuda13.0+{sm_86}", "--abi", abi, index)
    golden = Path(__file__).parents[1] / "golden" / "refusal" / "build.txt"
    assert outcome.code == 1
    assert outcome.err == golden.read_text(encoding="utf-8")
    assert outcome.out.splitlines()[0] == "gpuonly 0.1.0"
    assert "refuses  gpu.a" in outcome.out


def test_what_fits_exits_0_and_says_which_it_takes(match: Command) -> None:
    index = match.write("index.json", {**INDEX, "artifacts": [CPU, *INDEX["artifacts"]]})
    outcome = match("--want", "cuda13.0+{sm_90}", index)
    assert (outcome.code, outcome.err) == (0, "")
    assert [line.split()[:2] for line in outcome.out.splitlines()[1:]] == [
        ["accepts", "cpu.a"],
        ["takes", "gpu.a"],
    ]


def test_a_variant_passed_over_has_a_note(match: Command) -> None:
    index = match.write("index.json", {**INDEX, "artifacts": [CPU, *INDEX["artifacts"]]})
    outcome = match("--want", "cuda13.0+{sm_86}", index)
    assert outcome.code == 0
    assert "takes    cpu.a" in outcome.out
    assert "note[ATL0413]: the variant `gpu.a` was passed over" in outcome.err
    assert "asked sm_86, carried sm_90a" in outcome.err


def test_no_accel_refuses_device_code(match: Command) -> None:
    outcome = match("--no-accel", match.write("index.json", INDEX))
    assert outcome.code == 1
    assert "asked none, carried cuda13.0+{sm_90a}" in outcome.err


def test_json_is_one_object_with_each_candidate_and_diagnostics(match: Command) -> None:
    outcome = match("--json", "--want", "cuda13.0+{sm_86}", match.write("index.json", INDEX))
    data = json.loads(outcome.out)
    assert (outcome.code, outcome.err) == (1, "")
    (package,) = data["packages"]
    assert package["accepted"] == []
    assert package["artifacts"][0]["accepted"] is False
    assert package["artifacts"][0]["differences"] == [
        {"dimension": "accel", "asked": "sm_86", "carried": "sm_90a"}
    ]
    assert [item["code"] for item in data["diagnostics"]] == ["ATL0412"]


def test_two_indexes_of_one_package_are_one_offer(match: Command) -> None:
    first = match.write("a.json", INDEX)
    second = match.write("b.json", {**INDEX, "artifacts": [CPU]})
    outcome = match("--want", "cuda13.0+{sm_86}", first, second)
    assert outcome.code == 0
    assert outcome.out.count("gpuonly") == 1


def test_a_package_that_gets_nothing_exits_1_whatever_the_others_get(match: Command) -> None:
    first = match.write("a.json", INDEX)
    second = match.write("b.json", {**INDEX, "package": "other", "artifacts": [CPU]})
    assert match("--want", "cuda13.0+{sm_86}", first, second).code == 1


@pytest.mark.parametrize(
    ("args", "code"),
    [
        (("--want", ""), "ATL0112"),
        (("--want", "cuda,"), "ATL0107"),
        (("--want", "cuda", "--no-accel"), "ATL0119"),
        (("--want", "cuda13.0+{sm_90f}"), "ATL0118"),
        (("--abi", "nothing at all"), "ATL0401"),
    ],
)
def test_wrong_usage_exits_2(match: Command, args: tuple[str, ...], code: str) -> None:
    outcome = match(*args, match.write("index.json", INDEX))
    assert (outcome.code, outcome.out) == (2, "")
    assert code in outcome.err


def test_what_cannot_be_read_exits_2_and_the_rest_is_answered(match: Command, tmp_path: Path) -> None:
    (tmp_path / "bad.json").write_bytes(b"{")
    index = match.write("index.json", {**INDEX, "artifacts": [CPU]})
    outcome = match(str(tmp_path / "bad.json"), str(tmp_path / "absent.json"), str(tmp_path), index)
    assert outcome.code == 2
    assert "ATL0402" in outcome.err
    assert outcome.err.count("ATL0002") == 2
    assert "takes    cpu.a" in outcome.out


def wheel(path: Path, *members: tuple[str, bytes]) -> str:
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, data in members:
            archive.writestr(name, data)
    return str(path)


def test_a_wheel_says_what_it_is_beside_its_metadata(match: Command, tmp_path: Path) -> None:
    path = tmp_path / "gpuonly-0.1.0-py3-none-any.whl"
    inside = json.dumps(INDEX).encode()
    outcome = match("--want", "cuda13.0+{sm_90}", wheel(path, ("gpuonly-0.1.0.dist-info/atoll.json", inside)))
    assert outcome.code == 0
    assert "gpuonly 0.1.0" in outcome.out


@pytest.mark.parametrize("damage", [b"PK", b"PK\x03\x04" + b"\xff" * 40, None])
def test_a_broken_wheel_exits_2(match: Command, tmp_path: Path, damage: bytes | None) -> None:
    path = tmp_path / "broken.whl"
    wheel(path, ("a-1.dist-info/atoll.json", json.dumps(INDEX).encode()))
    data = bytearray(path.read_bytes())
    data[60:70] = b"\xff" * 10
    path.write_bytes(bytes(data) if damage is None else damage)
    outcome = match("--want", "cuda", str(path))
    assert outcome.code == 2
    assert "is no readable wheel" in outcome.err


def test_a_bomb_in_a_wheel_is_refused_unread(match: Command, tmp_path: Path) -> None:
    bomb = wheel(tmp_path / "bomb.whl", ("a-1.dist-info/atoll.json", b" " * (65 << 20)))
    outcome = match("--want", "cuda", bomb)
    assert outcome.code == 2
    assert "larger than 64 MiB" in outcome.err


def test_names_in_an_index_drive_no_terminal(match: Command) -> None:
    hostile = {**INDEX, "package": "\x1b[2J", "artifacts": [{"path": "\x1b]0;x\x07\n", "accel": "vulkan1.1"}]}
    outcome = match("--want", "cuda", match.write("index.json", hostile))
    assert "\x1b" not in outcome.out + outcome.err
    assert len(outcome.out.splitlines()) == 2
