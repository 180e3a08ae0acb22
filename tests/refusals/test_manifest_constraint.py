"""The checks of a constrained glob, each refused in its order."""

from __future__ import annotations

from pathlib import Path

import pytest

from atoll.errors import AtollError
from unit.manifest.manifests import choose, head, select_refused, write


def test_first_it_must_match_a_file_even_without_an_accelerator(tmp_path: Path) -> None:
    write(tmp_path, head('accelerators = ["gfx"]', '{ glob = "k/*.toy", accel = "toy" }'))
    for accel in ("", "toy1.0", "gfx"):
        parts = ("`k/*.toy` matches no file", "constraint: toy")
        assert len(select_refused(tmp_path, "ATL0231", *parts, accel=accel)) == 1


def test_then_its_backend_must_be_declared_even_without_an_accelerator(tmp_path: Path) -> None:
    write(tmp_path, head('accelerators = ["gfx"]', '{ glob = "*.toy", accel = "toy" }'), "a.toy")
    for accel in ("", "toy1.0", "gfx"):
        parts = ("is for `toy`", "`[package] accelerators`: gfx", "constraint: toy")
        select_refused(tmp_path, "ATL0225", *parts, accel=accel)


def test_an_empty_list_of_accelerators_declares_everything(tmp_path: Path) -> None:
    write(tmp_path, head("", '{ glob = "*.toy", accel = "toy" }'), "a.toy")
    assert choose(tmp_path, "toy1.0").units


@pytest.mark.parametrize(
    ("constraint", "accel", "parts"),
    [
        ("toy2.0", "toy1.0+{t1}", ("asked toy2.0", "carried toy1.0")),
        ("toy+{t_90}", "toy1.0+{t_80}", ("asked t_90",)),
        ("gfx, toy2.0", "toy1.0", ("constraint: gfx, toy2.0", "the build's set: toy1.0")),
    ],
)
def test_named_but_not_covered_is_refused_with_all_of_it(
    tmp_path: Path, constraint: str, accel: str, parts: tuple[str, ...]
) -> None:
    write(tmp_path, head("", f'{{ glob = "*.py", accel = "{constraint}" }}'), "a.py")
    found = select_refused(tmp_path, "ATL0226", "does not cover what `*.py` is for", *parts, accel=accel)
    assert found[0].hint is not None
    assert "--accel" in found[0].hint


def test_a_constrained_glob_that_matches_a_host_source_is_refused(tmp_path: Path) -> None:
    write(tmp_path, head("", '{ glob = "k/*", accel = "toy" }'), "k/a.toy", "k/b.cpp")
    for accel in ("", "toy1.0"):
        select_refused(tmp_path, "ATL0224", "file: k/b.cpp", "a host source (host)", accel=accel)


def test_a_constraint_without_a_backend_is_refused(tmp_path: Path) -> None:
    write(tmp_path, head("", '{ glob = "*.toy", accel = "" }'), "a.toy")
    select_refused(tmp_path, "ATL0223", "names no backend")


def test_a_constraint_that_cannot_be_read_is_refused_at_its_place(tmp_path: Path) -> None:
    write(tmp_path, head("", '{ glob = "*.toy", accel = "toy, Gfx" }'), "a.toy")
    with pytest.raises(AtollError) as caught:
        choose(tmp_path, "toy1.0")
    (found,) = caught.value.diagnostics
    assert "glob: *.toy" in found.notes
    assert found.span is not None
    assert found.span.text[found.span.column - 1 :].startswith("G")


def test_two_entries_that_say_different_things_about_a_file_are_refused(tmp_path: Path) -> None:
    entries = ('{ glob = "*.toy", defines = ["A"] }', '{ glob = "a*", defines = ["B"] }')
    write(tmp_path, head("", *entries), "a.toy")
    select_refused(tmp_path, "ATL0222", "about `a.toy`", "defines = A", "defines = B", accel="toy1.0")
