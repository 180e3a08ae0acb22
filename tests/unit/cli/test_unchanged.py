"""A build with nothing to do answers before anything is imported, and only where nothing changed."""

from __future__ import annotations

import fcntl
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from atoll.build import planner
from unit.build.build_project import PROGRAM
from unit.plugins.lane_project import write

# What a no-op build may have loaded of Atoll: the front door, and what compares stamps.
ALLOWED = {"atoll", "atoll.cli", "atoll._util", "atoll._util.unchanged"}
OUTPUT = ".atoll/build/release-none/bin/demo\n"
# However the call ends, it writes which modules were loaded.
LISTING = """
import os, sys
before = set(sys.modules)
def end(code):
    with open(os.environ["LISTED"], "w") as stream:
        stream.write(" ".join(set(sys.modules) - before))
    leave(code)
leave, os._exit = os._exit, end
from atoll.cli import main
try:
    main()
except SystemExit as error:
    end(error.code)
"""
ENVIRONMENT = {"PATH": "/usr/bin:/bin", "PYTHONPATH": os.environ.get("PYTHONPATH", "")}


def atoll(root: Path, *argv: str, where: str = ".", **more: str) -> tuple[str, str, set[str]]:
    """Run the command line; return what it printed, and the modules that it imported."""
    listed = root / "modules"
    done = subprocess.run(
        [sys.executable, "-c", LISTING, *argv],
        cwd=root / where,
        env={**ENVIRONMENT, "LISTED": str(listed), **more},
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout, done.stderr, set(listed.read_text().split())


@pytest.fixture
def root(tmp_path: Path) -> Path:
    write(tmp_path, PROGRAM)
    out, talk, imported = atoll(tmp_path, "build")
    assert out == OUTPUT
    assert "link bin/demo" in talk
    assert "atoll.build.planner" in imported
    return tmp_path


def kept(root: Path, *argv: str, where: str = ".", **more: str) -> bool:
    """Tell whether the answer was one that was kept."""
    out, _, imported = atoll(root, *(argv or ("build",)), where=where, **more)
    assert out == OUTPUT
    return "atoll.session" not in imported


def test_a_build_with_nothing_to_do_imports_nothing_of_the_engine(
    root: Path, tell: Callable[[str], None]
) -> None:
    out, talk, imported = atoll(root, "build")
    mine = {name for name in imported if name.split(".")[0] in {"atoll", "atoll_plugins"}}
    tell(f"{len(imported)} modules, {len(mine)} of them Atoll's")
    assert (out, talk) == (OUTPUT, "")
    assert mine == ALLOWED
    assert not imported & {"click", "re", "json", "typing", "dataclasses", "subprocess", "pathlib", "ninja"}
    # Beside Atoll's own `fcntl`, and what reads a text file.
    assert len(imported) < 10


def test_it_answers_from_a_folder_of_the_project_too(root: Path) -> None:
    assert kept(root, where="src")


def test_a_project_inside_another_one_is_not_mistaken_for_it(root: Path) -> None:
    write(root / "src/inner", {**PROGRAM, "atoll.toml": PROGRAM["atoll.toml"].replace("demo", "inner")})
    out, _, imported = atoll(root, "build", where="src/inner")
    assert out == OUTPUT.replace("demo", "inner")
    assert "atoll.session" in imported


def test_a_manifest_that_leads_nowhere_is_not_mistaken_for_the_project_above(root: Path) -> None:
    (root / "src/inner").mkdir()
    (root / "src/inner/atoll.toml").symlink_to("gone")
    done = subprocess.run(
        [sys.executable, "-c", "from atoll.cli import main; main()", "build"],
        cwd=root / "src/inner",
        env=ENVIRONMENT,
        capture_output=True,
        check=False,
    )
    assert (done.returncode, done.stdout) == (2, b"")


def test_a_project_that_was_moved_is_planned_anew(root: Path) -> None:
    """What clangd reads names the root; a move changes no time of any file."""
    moved = root.rename(root.with_name("moved 文"))
    assert not kept(moved)
    text = (moved / ".atoll/build/release-none/compile_commands.json").read_text(encoding="utf-8")
    assert str(moved) in text
    assert kept(moved)


def test_another_question_is_asked_anew(root: Path) -> None:
    assert not kept(root, "build", "--no-accel")
    assert not kept(root, "build")
    assert kept(root)
    assert not kept(root, "build", ATOLL_OFFLINE="1")
    assert not kept(root, PATH="/bin:/usr/bin")


def edit_source(root: Path) -> None:
    path = root / "src/main.cpp"
    path.write_text(path.read_text() + "// more\n")


def edit_header(root: Path) -> None:
    (root / "src/word.h").write_text('#define WORD "world"\n')


def replace_header_by_an_older_file(root: Path) -> None:
    old = root / "old.h"
    old.write_text('#define WORD "older"\n')
    os.utime(old, (1, 1))
    old.replace(root / "src/word.h")


def edit_header_at_equal_size_and_time(root: Path) -> None:
    path = root / "src/word.h"
    before = path.stat()
    with path.open("r+") as stream:
        stream.write('#define WORD "HELLO"')
    os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))
    assert path.stat().st_size == before.st_size


def edit_manifest(root: Path) -> None:
    path = root / "atoll.toml"
    path.write_text(path.read_text() + "\n")


def add_source(root: Path) -> None:
    (root / "src/more.cpp").write_text("int more() { return 1; }\n")


def remove_output(root: Path) -> None:
    (root / OUTPUT.strip()).unlink()


def change_output(root: Path) -> None:
    (root / OUTPUT.strip()).write_bytes(b"")


def remove_object(root: Path) -> None:
    next((root / ".atoll").rglob("main.cpp.o")).unlink()


def remove_record(root: Path) -> None:
    (root / ".atoll/plan/unchanged").unlink()


@pytest.mark.parametrize(
    "change",
    [
        edit_source,
        edit_header,
        replace_header_by_an_older_file,
        edit_header_at_equal_size_and_time,
        edit_manifest,
        add_source,
        remove_output,
        change_output,
        remove_object,
        remove_record,
    ],
)
def test_what_changed_is_looked_at(root: Path, change: Callable[[Path], None]) -> None:
    assert kept(root)
    change(root)
    assert not kept(root)
    assert kept(root)
    assert subprocess.run([root / OUTPUT.strip()], capture_output=True, check=True).stdout


def test_the_engine_itself_is_looked_at(root: Path) -> None:
    rows = (root / ".atoll/plan/unchanged").read_text().splitlines()
    paths = {row.split(" ", 4)[-1] for row in rows[4:-1]}
    engine = Path(planner.__file__)
    assert {str(engine), str(engine.parent)} <= paths
    assert {"src/word.h", "src", "atoll.toml", OUTPUT.strip()} <= paths


def test_a_running_build_is_waited_for(root: Path) -> None:
    with (root / ".atoll/build/release-none/.graph/lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        process = subprocess.Popen(
            [sys.executable, "-c", "from atoll.cli import main; main()", "build"],
            cwd=root,
            env=ENVIRONMENT,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        assert process.stderr is not None
        assert process.stderr.readline().startswith("waiting for another build of")
    out, _ = process.communicate(timeout=60)
    assert (process.returncode, out) == (0, OUTPUT)


@pytest.mark.parametrize(
    "text",
    ["", "\n", "atoll unchanged 3", "atoll unchanged 3\n\n\n\nend", "\0" * 100, "\ud800", "1 2 3\n" * 9],
)
def test_a_record_that_is_broken_is_no_answer(root: Path, text: str) -> None:
    path = root / ".atoll/plan/unchanged"
    whole = path.read_bytes()
    path.write_bytes(text.encode("utf-8", "surrogatepass"))
    assert not kept(root)
    for cut in (len(whole) // 2, len(whole) - 1, len(whole) - 5):
        path.write_bytes(whole[:cut])
        assert not kept(root)


def test_a_row_that_is_no_row_is_no_answer(root: Path) -> None:
    path = root / ".atoll/plan/unchanged"
    lines = path.read_text().split("\n")
    for bad in ("1 2", "x y z - /etc/passwd", "1 2 3 - \0", ""):
        path.write_text("\n".join([*lines[:-1], bad, lines[-1]]))
        assert not kept(root)
