"""A target that cannot be linked, and targets that link each other."""

from __future__ import annotations

from pathlib import Path

import pytest

from atoll.diagnostics import Diagnostic
from atoll.errors import AtollError
from unit.build.build_project import PACKAGE, session


def refused(root: Path, targets: str) -> Diagnostic:
    with pytest.raises(AtollError) as caught:
        session(root, {"atoll.toml": PACKAGE + targets, "a.cpp": "int main() {}\n"}).build()
    (found,) = caught.value.diagnostics
    return found


def test_an_executable_is_no_library(tmp_path: Path) -> None:
    found = refused(
        tmp_path,
        '[targets.a]\nkind = "executable"\nsources = ["a.cpp"]\nlinks = ["b"]\n'
        '[targets.b]\nkind = "executable"\nsources = ["a.cpp"]\n',
    )
    assert found.code == "ATL0566"
    assert found.message == "the target `a` links `b`, which is no library"
    assert found.notes == ("kind of `b`: executable", "kinds that can be linked: static, shared")
    assert found.hint == 'write `kind = "static"` at `[targets.b]`, or give it another name'


def test_a_circle_is_named(tmp_path: Path) -> None:
    found = refused(
        tmp_path,
        '[targets.a]\nkind = "static"\nsources = ["a.cpp"]\nlinks = ["b", "m"]\n'
        '[targets.b]\nkind = "static"\nsources = ["a.cpp"]\nlinks = ["a"]\n',
    )
    assert found.code == "ATL0567"
    assert found.message == "the target `a` links itself through others"
    assert found.notes == ("`a` links: b", "`b` links: a")
    assert found.hint == "move what they share into a target of its own"
