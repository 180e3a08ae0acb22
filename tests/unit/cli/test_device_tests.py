"""`atoll device selftest|hash|bench|trace` on the processor: data on stdout, one object as JSON."""

from __future__ import annotations

import json
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from click.testing import CliRunner

from atoll import engine
from atoll.cli.device import command


def call(*words: str, code: int = 0) -> str:
    done = CliRunner().invoke(command, [*words, "--device", "cpu"])
    assert done.exit_code == code, done.output
    return done.stdout


def as_data(*words: str, code: int = 0) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(call(*words, "--json", code=code))
    assert found["diagnostics"] == []
    assert found["device"]["device"] == "cpu:0"
    return found


def test_a_device_is_listed_and_described() -> None:
    assert call("list").startswith("cpu:0 ")
    assert call("info").splitlines()[0].split() == ["device", "cpu:0"]
    assert as_data("info")["device"]["target"].startswith("cpu")


def test_no_function_of_the_room_gives_way_to_a_module_of_its_name() -> None:
    """One that is looked up late does, once a module of its name was imported."""
    import atoll.runtime as room

    late = set(room._LATE)
    modules = {path.stem for path in Path(room.__file__).parent.glob("*.py")}
    assert late & modules == set()


def test_the_self_test_says_what_it_tried_and_the_tier() -> None:
    lines = call("selftest").splitlines()
    assert lines[-1].endswith(f"exact tier, of {len(lines) - 1} programs")
    assert all(line.startswith("same  ") for line in lines[:-1])
    found = as_data("selftest")
    assert found["tier"] == "exact"
    assert len(found["results"]) == len(lines) - 1


def test_a_hash_is_of_the_bytes_and_another_one_than_numpys_is_a_failure(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    lines = call("hash").splitlines()
    assert len(lines) > 20
    assert all(len(line.split()[0]) == 64 for line in lines)
    other = SimpleNamespace(name="scan", found="0" * 64, expected="1" * 64, is_equal=False)
    monkeypatch.setattr(engine, "results", lambda _: (other,))
    assert call("hash", code=1) == f"{'0' * 64} scan  (NumPy: {'1' * 64})\n"
    assert as_data("hash", code=1)["results"] == [{"name": "scan", "hash": "0" * 64, "same": False}]


def test_the_benchmark_has_a_row_a_figure() -> None:
    found = as_data("bench")["figures"]
    assert [row["unit"] for row in found] == ["us"] * 3 + ["GB/s"] * 3
    assert all(row["value"] > 0 for row in found)


def test_a_trace_is_a_file_that_perfetto_reads(tmp_path: Path) -> None:
    out = tmp_path / "run.json"
    assert call("trace", "--out", str(out)).startswith(f"{out}: ")
    events = json.loads(out.read_text())["traceEvents"]
    assert {event["ph"] for event in events} == {"M", "X"}
