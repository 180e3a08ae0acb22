"""A host compiler outside the toolkit's bound: both versions, and where the bound was read."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from pathlib import Path

import pytest

from atoll.accel import Entry
from atoll.errors import LaneError
from atoll.plugin import Unit
from atoll_plugins.cuda.hostbound import Bound, choose_host
from atoll_plugins.cuda.lane import CudaLane
from atoll_plugins.formats.host_compilers import choose
from unit.plugins.lane_project import ENVIRONMENT, program, request

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


def test_it_is_refused_before_anything_is_fetched(tmp_path: Path) -> None:
    entry = Entry(backend="cuda", archs=("sm_90",))
    made = request(tmp_path, (Unit(path="a.cu", target="demo", entry=entry),), entry)
    for environment, options, have in (
        ({"PATH": str(tmp_path)}, {}, "none on PATH"),
        (ENVIRONMENT, {"host-compiler": "g++-99"}, "`g++-99`, which is not there"),
    ):
        asked = dataclasses.replace(made, environment=environment, options=options)
        with pytest.raises(LaneError) as caught:
            CudaLane().payloads(asked)
        (found,) = caught.value.diagnostics
        assert found.code == "ATL0506"
        assert found.message == "no host compiler lies within the bound of the CUDA toolkit"
        assert found.notes == (
            "toolkit 13.0 accepts: gcc up to 15, clang below 21",
            f"at hand: {have}",
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


def test_a_real_compiler_beyond_a_real_bound(tmp_path: Path, tell: Callable[[str], None]) -> None:
    compiler = choose("clang++-22", ENVIRONMENT)
    if compiler is None:
        pytest.skip("no clang++-22 on this machine")
    entry = Entry(backend="cuda", archs=("sm_90",))
    made = request(tmp_path, (Unit(path="a.cu", target="demo", entry=entry),), entry)
    with pytest.raises(LaneError) as caught:
        CudaLane().payloads(dataclasses.replace(made, options={"host-compiler": "clang++-22"}))
    (found,) = caught.value.diagnostics
    tell("; ".join(found.notes))
    assert found.code == "ATL0506"
    assert found.notes == (
        "toolkit 13.0 accepts: gcc up to 15, clang below 21",
        f"at hand: clang++-22 {compiler[0].version} at {compiler[0].cxx}",
    )
