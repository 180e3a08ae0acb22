"""A build program that is missing, hangs, refuses, or asks for what is not there is refused by name."""

from __future__ import annotations

from pathlib import Path

import pytest

from atoll.build import programs
from atoll.diagnostics import Diagnostic
from atoll.errors import AtollError
from unit.build.build_project import PACKAGE, session

HEAD = "from atoll.build.program import project\nbuild = project()\n"
FILES = {
    "atoll.toml": PACKAGE
    + '[build]\nprogram = "build_atoll.py"\n[targets.demo]\nkind = "executable"\nsources = ["src/*.cpp"]\n',
    "src/main.cpp": "int main() {}\n",
}
UNITS = "device units of this build: none"


def refused(root: Path, program: str | None) -> Diagnostic:
    files = FILES if program is None else {**FILES, "build_atoll.py": program}
    with pytest.raises(AtollError) as raised:
        session(root, files).build()
    (found,) = raised.value.diagnostics
    return found


def test_one_that_is_missing(tmp_path: Path) -> None:
    found = refused(tmp_path, None)
    assert (found.code, found.message) == ("ATL0590", "the build program `build_atoll.py` is not there")
    assert found.notes[0] == f"looked for: {tmp_path / 'build_atoll.py'}"


def test_its_own_refusal_says_both_sides(tmp_path: Path) -> None:
    found = refused(tmp_path, HEAD + 'build.refuse("DEMO001", "no table fits", "4 rows", "7 rows")\n')
    assert (found.code, found.message) == ("DEMO001", "no table fits")
    assert found.notes == ("asked: 4 rows", "carried: 7 rows", "said by: build_atoll.py", UNITS)


@pytest.mark.parametrize("code", ["ATL0001", "demo1", "X", "DEMO00001"])
def test_a_code_that_it_cannot_have(tmp_path: Path, code: str) -> None:
    found = refused(tmp_path, HEAD + f'build.refuse("{code}", "no table fits", "a", "b")\n')
    assert found.code == "ATL0596"
    assert found.notes[:2] == (f"code: {code}", "what it says: no table fits")


def test_a_newer_interface_is_named_with_both_versions(tmp_path: Path) -> None:
    found = refused(tmp_path, HEAD.replace("project()", "project(api=99)"))
    assert found.code == "ATL0593"
    assert found.message == "the build program was written for a newer interface than this one"
    assert found.notes[:2] == ("the program asks for: version 99", "this Atoll has: version 1")


@pytest.mark.parametrize(
    "text", [HEAD + "build.teleport()\n", "from atoll.build.program import project, teleport\n"]
)
def test_an_unknown_call_is_named_with_both_versions(tmp_path: Path, text: str) -> None:
    found = refused(tmp_path, text)
    assert found.code == "ATL0592"
    assert found.message == "the build program uses `teleport`, which this interface does not have"
    assert found.notes[:2] == ("the program was written for: version 1", "this Atoll has: version 1")


@pytest.mark.parametrize(
    ("call", "found_text", "wanted"),
    [
        ('build.source("a.cpp", target="x")', "the target `x`", "one of demo"),
        ('build.action("a", ["true"], outputs=["b"])', "an output `b`", "a path below `"),
        ('build.action("a", ["true"], outputs=[], role="x")', "role `x`", "one of source, object"),
        ('build.generate("../x", "")', "the path `../x`", "a relative path without `..`"),
    ],
)
def test_a_wrong_call_says_what_was_wanted(tmp_path: Path, call: str, found_text: str, wanted: str) -> None:
    found = refused(tmp_path, HEAD + call + "\n")
    assert found.code == "ATL0591"
    assert found.notes[0] == f"found: {found_text}"
    assert found.notes[1].startswith(f"wanted: {wanted}")


def test_an_error_is_named_with_its_line(tmp_path: Path) -> None:
    found = refused(tmp_path, HEAD + "print('before')\n1/0\n")
    assert found.code == "ATL0594"
    assert found.notes == (
        "reason: ZeroDivisionError: division by zero (line 4)",
        "it printed: before",
        UNITS,
    )


def test_one_that_dies_is_named_with_its_signal(tmp_path: Path) -> None:
    found = refused(tmp_path, HEAD + "import os\nos.kill(os.getpid(), 11)\n")
    assert found.notes[0] == "reason: it was ended by signal 11"


def test_one_that_hangs_is_stopped(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(programs, "SECONDS", 0.7)
    found = refused(tmp_path, HEAD + "print('at work', flush=True)\nwhile True: pass\n")
    assert (found.code, found.message) == ("ATL0595", "the build program `build_atoll.py` took too long")
    assert found.notes == ("limit: 0.7 s", "it printed: at work", UNITS)


def test_a_source_that_no_lane_takes(tmp_path: Path) -> None:
    found = refused(tmp_path, HEAD + 'build.source("x.zig", target="demo")\n')
    assert found.code == "ATL0230"
    assert "`x.zig`" in found.message
