"""Over a hundred crafted files: none hangs, raises, grows, writes outside, or drives a terminal."""

from __future__ import annotations

import os
import re
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from atoll.cli import main
from atoll.diagnostics import codes
from atoll.errors import UnreadableError
from atoll.packaging import Limits, Report, report
from atoll.packaging.picture import page
from atoll.packaging.walk import walk_path
from atoll.plugin import registry
from unit.packaging.hostile import corpus

LIMITS = Limits(seconds=30, processor_seconds=20, memory=256 << 20, file=256 << 20)
CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f\u202a-\u202e]")
SAMPLE = 10
# Names that climb out of it end beside it, in a folder that no other test writes to.
DEEP = "a/b/c/d/e/f"


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder that holds the corpus; made here, so that who runs other tests does not wait for it."""
    folder = tmp_path_factory.mktemp("corpus") / DEEP
    folder.mkdir(parents=True)
    for name, data in corpus().items():
        (folder / name).write_bytes(data)
    return folder


def files(folder: Path) -> list[str]:
    """Return the names of the corpus."""
    return sorted(path.name for path in folder.iterdir())


def below(folder: Path) -> dict[Path, int]:
    around = folder.parents[len(Path(DEEP).parts) - 1]
    return {path: path.stat().st_size for path in around.rglob("*") if path.is_file()}


def test_each_gives_an_answer_or_a_diagnostic(folder: Path, tell: Callable[[str], None]) -> None:
    """All of them through the readers as installed, in this process: any error of a reader is a failure."""
    names = files(folder)
    assert len(names) > 150
    readers = tuple(registry().readers.values())
    before, refused, longest = below(folder), 0, (0.0, "")
    for name in names:
        start = time.process_time()
        found = walk_path(folder / name, name, readers, LIMITS)
        longest = max(longest, (time.process_time() - start, name))
        refused += bool(found.measured.unread)
        broken = [item for item in found.diagnostics if item.code == "ATL0454"]
        assert not broken, f"{name}: {broken[0].notes}"
        assert all(item.code in codes() for item in found.diagnostics)
        unknown = found.measured.accel is None
        assert unknown == bool(found.measured.unread), name
    tell(f"{len(names)} files, {refused} refused; the longest took {longest[0]:.2f} s: {longest[1]}")
    assert refused > 100
    # A second of a busy machine does less: 2 s of them were passed by 90 000 entries.
    assert longest[0] < 5
    assert below(folder) == before, "a file was written or changed"


def test_in_the_child_under_limits(folder: Path, whole: bool, tell: Callable[[str], None]) -> None:
    """A seeded sample, or all, through the child; a file is refused or measured, never a broken child."""
    every = files(folder)
    names = every if whole else every[:: len(every) // SAMPLE]
    before = below(folder)
    for name in names:
        found = _measured(folder / name)
        if isinstance(found, Report):
            assert CONTROL.sub("", page([found])) == page([found])
        else:
            assert [item.code for item in found.diagnostics if item.code == "ATL0451"] == [], name
    tell(f"{len(names)} of {len(every)} files through the child")
    assert below(folder) == before


def _measured(path: Path) -> Report | UnreadableError:
    try:
        return report(path, LIMITS)
    except UnreadableError as error:
        return error


def test_nothing_that_is_printed_drives_a_terminal(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    names = [name for name in files(folder) if "escape" in name]
    assert len(names) >= 4
    with pytest.raises(SystemExit):
        main(["measure", "-v", *(os.fspath(folder / name) for name in names)])
    said = capsys.readouterr()
    assert not CONTROL.search(said.out), repr(CONTROL.search(said.out))
    assert not CONTROL.search(said.err), repr(CONTROL.search(said.err))
    assert "Traceback" not in said.err
