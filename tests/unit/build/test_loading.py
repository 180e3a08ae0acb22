"""The loader says what it does not find; what it cannot be asked about is not judged."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from atoll.build.loading import missing_libraries, read_answer
from unit.plugins.lane_project import ENVIRONMENT, write

GLIBC = """\
	linux-vdso.so.1 (0x00007ffd)
	libgone.so.7 => not found
	libc.so.6 => /lib/x86_64-linux-gnu/libc.so.6 (0x00007f)
	libgone.so.7 => not found
"""
OTHER = "x: error while loading shared libraries: libtoy.so.1: cannot open shared object file: No such file\n"


def test_each_missing_name_is_read_once() -> None:
    assert read_answer(GLIBC) == ("libgone.so.7",)
    assert read_answer(OTHER) == ("libtoy.so.1",)
    assert read_answer("") == ()


def made(root: Path, *args: str) -> Path:
    write(
        root,
        {
            "main.c": '#include <stdio.h>\nint main(void) { puts("ran"); FILE *f = fopen("ran", "w"); '
            "fclose(f); return 0; }\n"
        },
    )
    subprocess.run(["gcc", "main.c", *args, "-o", "prog"], cwd=root, env=dict(ENVIRONMENT), check=True)
    return root / "prog"


@pytest.mark.parametrize("args", [(), ("-static",), ("-static-pie",)])
def test_a_whole_program_is_not_run(
    tmp_path: Path, args: tuple[str, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    assert missing_libraries(made(tmp_path, *args), ENVIRONMENT) == ()
    assert not (tmp_path / "ran").exists()


@pytest.mark.parametrize("data", [b"", b"#!/bin/sh\n", b"\x7fELF\x02\x01" + b"\xff" * 58, b"\x7fELF\x02\x01"])
def test_what_is_no_program_is_not_judged(tmp_path: Path, data: bytes) -> None:
    path = tmp_path / "x"
    path.write_bytes(data)
    assert missing_libraries(path, ENVIRONMENT) == ()
    assert missing_libraries(tmp_path / "none", ENVIRONMENT) == ()
