"""Depfiles: what is written reads back, in make's form and where a tool escapes nothing."""

from __future__ import annotations

import os
import re
import tempfile
from pathlib import Path

from hypothesis import given, settings
from hypothesis import strategies as st

from atoll.graph import runner

NAMES = st.text(st.sampled_from("ab.-_ #$\\:核'\"()"), min_size=1, max_size=8).filter(
    lambda name: not name.endswith(("\\", ":", " ")) and not name.startswith(" ") and "\\:" not in name
)
WORDS = st.text(st.sampled_from("ab "), min_size=1, max_size=5).filter(lambda name: name.strip() != "")


def by_make(name: str) -> str:
    """Escape as GCC does: a space with the backslashes before it doubled, a hash, a dollar."""
    return re.sub(r"(\\*)([ #])", r"\1\1\\\2", name).replace("$", "$$")


@settings(max_examples=400)
@given(st.lists(NAMES, max_size=5, unique=True), st.sampled_from([" ", " \\\n ", "  \\\r\n"]))
def test_make_form_reads_back(names: list[str], between: str) -> None:
    text = "out/a\\ b.o: " + between.join(by_make(name) for name in names) + "\n"
    assert runner.read_make(text) == names


def test_rules_without_inputs_and_further_rules_are_read() -> None:
    text = "a.o: a.c \\\n b.h c\\ d.h\n\nb.h:\nc\\ d.h:\n"
    assert runner.read_make(text) == ["a.c", "b.h", "c d.h"]


@settings(max_examples=100, deadline=None)
@given(st.lists(WORDS, min_size=1, max_size=5, unique=True))
def test_raw_form_names_every_file_that_it_could_mean(names: list[str]) -> None:
    names = [name.strip() for name in names]
    with tempfile.TemporaryDirectory() as folder:
        for name in names:
            Path(folder, name).write_text("")
        full = [f"{folder}/{name}" for name in names]
        found = runner.read_raw("out file: " + " ".join(full) + "\n", ["out file"])
        assert set(found) >= set(full)
        assert all(os.path.isfile(name) for name in found)  # noqa: PTH113 - as the runner looks


def test_raw_words_that_name_nothing_are_refused(tmp_path: Path) -> None:
    try:
        runner.read_raw(f"o: {tmp_path}/gone x", ["o"])
    except ValueError as error:
        reason = str(error)
    assert reason == "its words name no files"


@settings(max_examples=400)
@given(st.lists(NAMES, max_size=5, unique=True))
def test_what_is_written_for_the_executor_reads_back(names: list[str]) -> None:
    with tempfile.TemporaryDirectory() as folder:
        path = f"{folder}/d"
        runner.write_depfile(path, names)
        assert runner.read_make(Path(path).read_text(encoding="utf-8")) == names


@given(st.text(st.sampled_from("ab: \\\n\r#$\0é"), max_size=40))
def test_any_text_is_read_without_a_fault(text: str) -> None:
    runner.read_make(text)
