"""`atoll toolchain add` fetches what a project needs, locks it and builds nothing."""

from __future__ import annotations

import json
import tomllib
from pathlib import Path

import pytest

from atoll.store import Store
from atoll_plugins.slang.compiler import PAYLOAD
from e2e.harness import ATOLL, copied, machine, right, run


@pytest.fixture
def project(tmp_path: Path) -> Path:
    return copied("saxpy/slang", tmp_path)


def test_it_locks_what_it_took_and_builds_nothing(project: Path) -> None:
    if PAYLOAD.name not in Store.default().names():
        pytest.skip(f"the payload {PAYLOAD.name} is not in the store")
    said = json.loads(right(ATOLL, "toolchain", "add", "--json", where=project).out)
    assert [row["name"] for row in said["payloads"]] == [PAYLOAD.name]
    (row,) = tomllib.loads((project / "atoll.lock").read_text())["payload"]
    assert row["sha256"] == dict(PAYLOAD.hashes)
    assert "http" not in (project / "atoll.lock").read_text(), "an address"
    assert not (project / ".atoll").exists()
    why = right(ATOLL, "toolchain", "why", PAYLOAD.name, where=project).out
    assert f"payload {PAYLOAD.name}, in " in why


def test_what_the_lock_pins_is_compared(project: Path) -> None:
    if PAYLOAD.name not in Store.default().names():
        pytest.skip(f"the payload {PAYLOAD.name} is not in the store")
    right(ATOLL, "toolchain", "add", where=project)
    lock = project / "atoll.lock"
    (_, sha), *_ = PAYLOAD.hashes
    lock.write_text(lock.read_text().replace(sha, "0" * 64))
    refused = run(ATOLL, "toolchain", "add", where=project)
    assert refused.code == 1
    assert "error[ATL0583]" in refused.err
    assert "0" * 64 in refused.err
    assert sha in refused.err


def test_offline_with_an_empty_store_it_is_refused(project: Path, tmp_path: Path) -> None:
    env = machine(ATOLL_STORE=str(tmp_path / "empty"), ATOLL_OFFLINE="1")
    refused = run(ATOLL, "toolchain", "add", where=project, env=env)
    assert refused.code == 1
    assert "error[ATL0580]" in refused.err
    assert not (project / "atoll.lock").exists()


def test_a_set_that_needs_none_says_so(tmp_path: Path) -> None:
    project = copied("saxpy/opencl", tmp_path)
    assert right(ATOLL, "toolchain", "add", where=project).out == (
        "this project needs no payload for its set\n"
    )
    assert not (project / "atoll.lock").exists()
