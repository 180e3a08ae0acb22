"""Refused: two embedded files that become one identifier."""

from __future__ import annotations

import pytest

from atoll.boundary import data_items
from unit.boundary.kit import one


@pytest.mark.parametrize(
    ("one_file", "other"),
    [
        ("shaders/a-b.comp", "shaders/a_b.comp"),
        ("shaders/a.comp", "shaders/a_comp"),
        ("a_b/c.comp", "a/b_c.comp"),
    ],
)
def test_both_files_are_named(one_file: str, other: str) -> None:
    fault = one(lambda: data_items([one_file, other], package="app"))
    assert fault.code == "ATL0315"
    assert {note.rpartition(": ")[2] for note in fault.notes} == {one_file, other}


def test_the_same_name_in_two_folders_is_two_things() -> None:
    assert len(data_items(["a/x.comp", "b/x.comp"], package="app")) == 2
