"""What nvcc's own shell would expand is refused before it can."""

from __future__ import annotations

from pathlib import Path

import pytest

from atoll.accel import Entry
from atoll.errors import LaneError
from atoll.plugin import Unit
from atoll_plugins.cuda.shell import refuse_expanded, seen
from unit.plugins.lane_project import request


@pytest.mark.parametrize(
    ("more", "word", "text"),
    [
        ({"includes": ("a$b",)}, "include folder", "a$b"),
        ({"defines": ("X=`touch x`",)}, "define", "X=`touch x`"),
        ({"flags": ("-DY=$(touch x)",)}, "flag", "-DY=$(touch x)"),
        ({"force_include": ("a$.h",)}, "header", "a$.h"),
    ],
)
def test_a_dollar_or_a_backtick(
    tmp_path: Path, more: dict[str, tuple[str, ...]], word: str, text: str
) -> None:
    unit = Unit(path="a.cu", target="t", entry=Entry(backend="cuda"), **more)  # type: ignore[arg-type]
    with pytest.raises(LaneError) as raised:
        refuse_expanded(request(tmp_path, (unit,)))
    (found,) = raised.value.diagnostics
    assert found.code == "ATL0524"
    assert found.message == f"nvcc would hand a {word} to a shell that expands it"
    assert found.notes[0] == f"{word}: {text}"


def test_a_folder_with_a_double_quote(tmp_path: Path) -> None:
    with pytest.raises(LaneError) as raised:
        refuse_expanded(request(tmp_path, (Unit(path='a"b/c".cu', target="t"),)))
    assert raised.value.diagnostics[0].notes[0] == 'folder of a source: a"b'


@pytest.mark.parametrize("path", ["h$(touch x).cu", "`touch x`.cu", 'a"b.cu', "a\\b.cu"])
def test_a_source_is_shown_under_a_tame_name(tmp_path: Path, path: str) -> None:
    unit = Unit(path=path, target="t")
    shown = seen(request(tmp_path, (unit,)), unit)
    assert not set(shown.source + shown.out) & set('$`"\\')
    assert shown.action is not None
    assert shown.action.argv[-1] == path
