"""What a program says of itself is asked once, until its file changes; what a script says, each time."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

from atoll.plugin.tools import ask, fingerprint


def environment(tmp_path: Path) -> dict[str, str]:
    return {"PATH": "/usr/bin:/bin", "ATOLL_CACHE": str(tmp_path / "cache")}


def moment(program: Path, tmp_path: Path) -> str:
    """Return what a clock says to a nanosecond: two runs never say the same."""
    found = ask((str(program), "+%s.%N"), environment(tmp_path), lasting=True)
    assert found is not None
    assert found.status == 0
    return found.out


def test_a_program_is_asked_once_until_its_file_or_the_path_changes(tmp_path: Path) -> None:
    (tmp_path / "tools").mkdir()
    program = Path(shutil.copy("/usr/bin/date", tmp_path / "tools/clock"))
    first = moment(program, tmp_path)
    assert moment(program, tmp_path) == first
    (tmp_path / "tools/linker").touch()
    assert moment(program, tmp_path) != first, "another program came beside it"
    shutil.copy("/usr/bin/date", program)
    second = moment(program, tmp_path)
    assert second != first
    other = {**environment(tmp_path), "PATH": "/bin"}
    asked = ask((str(program), "+%s.%N"), other, lasting=True)
    assert asked is not None
    assert asked.out != second


def test_a_script_is_asked_each_time(tmp_path: Path) -> None:
    script = tmp_path / "clock"
    script.write_text('#!/bin/sh\nexec date "$@"\n')
    script.chmod(0o755)
    assert moment(script, tmp_path) != moment(script, tmp_path)


def test_a_program_that_fails_is_asked_again(tmp_path: Path) -> None:
    for _ in range(2):
        found = ask(("/usr/bin/date", "--nothing"), environment(tmp_path), lasting=True)
        assert found is not None
        assert found.status != 0
    assert not (tmp_path / "cache/facts").exists()


def test_a_broken_answer_is_as_if_it_were_not_kept(tmp_path: Path) -> None:
    first = moment(Path("/usr/bin/date"), tmp_path)
    (kept,) = (tmp_path / "cache/facts").iterdir()
    for broken in ("", "[]", "{", "[1, 2]"):
        kept.write_text(broken)
        assert moment(Path("/usr/bin/date"), tmp_path) != first


def test_a_changed_file_has_another_digest_whatever_its_time(tmp_path: Path) -> None:
    file = tmp_path / "tool"
    file.write_bytes(b"one")
    state = file.stat()
    first = fingerprint([file], environment(tmp_path))
    assert fingerprint([file], environment(tmp_path)) == first == fingerprint([file])
    other = tmp_path / "other"
    other.write_bytes(b"two")
    other.rename(file)
    os.utime(file, ns=(state.st_atime_ns, state.st_mtime_ns))
    assert fingerprint([file], environment(tmp_path)) == fingerprint([file]) != first
