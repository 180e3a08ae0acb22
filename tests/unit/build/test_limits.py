"""Every action of a build has a time limit: its own, that of its lane, or the general one."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from atoll.build.laneplans import TIME_LIMIT
from unit.build.build_project import PROGRAM, reopened, session

DATA = '[data.words]\nfiles = ["words/*"]\nstorage = "object"\n'


def limits(root: Path, folder: str) -> dict[str, float | None]:
    """Return the limit that the runner reads for each action."""
    rows = (root / folder / ".graph/specs").read_text().splitlines()
    found = [json.loads(row) for row in rows if row.startswith("{")]
    return {spec["name"]: spec["time_limit"] for spec in found}


@pytest.mark.parametrize(("written", "limit"), [("", TIME_LIMIT), ("7", 7.0), ("0", None)])
def test_each_action_has_the_limit_of_its_lane(
    tmp_path: Path, written: str, limit: float | None, tell: Callable[[str], None]
) -> None:
    table = f"[lane.host]\ntime-limit = {written}\n" if written else ""
    files = {**PROGRAM, "atoll.toml": PROGRAM["atoll.toml"] + DATA + table, "words/a": "a"}
    built = session(tmp_path, files).build()
    found = limits(tmp_path, built.folder)
    tell(f"{len(found)} actions")
    hosts = {name for name in found if name.startswith(("host ", "link ", "archive "))}
    assert len(hosts) > 2
    assert {found[name] for name in hosts} == {limit}
    assert {found[name] for name in found.keys() - hosts} == {TIME_LIMIT}


def test_another_limit_runs_nothing_again_and_counts_the_next_time(tmp_path: Path) -> None:
    built = session(tmp_path, PROGRAM).build()
    manifest = tmp_path / "atoll.toml"
    manifest.write_text(manifest.read_text() + "[lane.host]\ntime-limit = 9\n")
    assert reopened(tmp_path).build().result.ran == ()
    assert set(limits(tmp_path, built.folder).values()) == {9.0}
