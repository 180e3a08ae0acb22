"""A host compiler outside the toolkit's bound: both versions, and where the bound was read."""

from __future__ import annotations

from pathlib import Path

import pytest

from atoll.errors import LaneError
from atoll_plugins.cuda.hostbound import Bound, choose_host
from atoll_plugins.formats.host_compilers import choose
from unit.plugins.lane_project import ENVIRONMENT, program

TIGHT = Bound(gcc_highest=9, clang_below=9)


def test_none_within_the_bound_lists_all_that_are_here(tmp_path: Path) -> None:
    first = choose(None, ENVIRONMENT)
    assert first is not None
    program(tmp_path, "g++", f'exec {first[0].cxx} "$@"')
    with pytest.raises(LaneError) as caught:
        choose_host(TIGHT, None, "13.0", {"PATH": str(tmp_path)})
    (found,) = caught.value.diagnostics
    assert found.code == "ATL0506"
    assert found.notes == (
        "toolkit 13.0 accepts: gcc up to 9, clang below 9",
        f"at hand: g++ {first[0].version} at {tmp_path / 'g++'}",
    )


def test_the_one_that_the_project_names_is_never_replaced() -> None:
    with pytest.raises(LaneError) as caught:
        choose_host(TIGHT, "g++", "13.0", ENVIRONMENT)
    assert "at hand: g++ " in caught.value.diagnostics[0].notes[1]


def test_one_that_is_named_and_missing_is_said_to_be_missing() -> None:
    with pytest.raises(LaneError, match="`g\\+\\+-99`, which is not there"):
        choose_host(TIGHT, "g++-99", "13.0", ENVIRONMENT)


def test_one_within_the_bound_is_taken() -> None:
    compiler, why = choose_host(Bound(gcc_highest=99), "g++", "13.0", ENVIRONMENT)
    assert compiler.family == "gcc"
    assert why == "the project names `g++`, within the toolkit's bound (gcc up to 99)"
