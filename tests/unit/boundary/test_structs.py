# ruff: noqa: E501 - one line a message
"""Structs in a boundary: the header defines each once, Python hands over arrays and values of them."""

from __future__ import annotations

from dataclasses import replace

import pytest

from atoll.boundary import Access, Entry, Extent, Interface, Parameter, Root, Struct, header, python_files
from unit.boundary.kit import Built, interface, one

BODY = Struct("Body", (("tag", "int8_t"), ("x", "double"), ("n", "uint16_t"), ("on", "int64_t")))
STEP = Struct("Step", (("by", "float"), ("times", "int32_t")))
PARAMETERS = (
    Parameter(name="step", ctype="Step", struct=STEP),
    Parameter(
        name="bodies",
        ctype="Body *",
        element="Body",
        access=Access.WRITE,
        extent=Extent(dimensions=("bodies_size0",)),
        struct=BODY,
    ),
    Parameter(name="bodies_size0", ctype="uint64_t"),
)
MOVE = Entry(name="app_move", result="int", status=True, parameters=PARAMETERS)
ISLAND = """
int app_move(Step step, Body *bodies, uint64_t bodies_size0) {
  for (uint64_t k = 0; k < bodies_size0; k++) bodies[k].x += step.by * step.times + bodies[k].tag + bodies[k].n;
  return 0;
}
"""
RUN = """
import numpy as np
from types import SimpleNamespace as S
from app import kernels as k
dtype = np.dtype([('tag', 'i1'), ('x', 'f8'), ('n', 'u2'), ('on', 'i8')], align=True)
bodies = np.zeros(3, dtype)
bodies['tag'], bodies['x'], bodies['n'] = 1, [10, 20, 30], 2
def say(step, array):
    try:
        k.app_move(step, array)
        print(*array['x'])
    except Exception as error:
        print(type(error).__name__ + ': ' + str(error))
"""


def made(*entries: Entry) -> Interface:
    return interface(Root(name="cpu", path="cpu", entries=entries))


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Built:
    result = Built(tmp_path_factory.mktemp("structs"), made(MOVE))
    result.module()
    result.root("cpu", ISLAND, version="1")
    return result


def test_python_hands_over_arrays_and_values_of_structs(built: Built) -> None:
    assert built.run(RUN + "say(S(by=2.5, times=2), bodies)\nsay(S(by=0, times=0), bodies[:0])") == (
        "18.0 28.0 38.0\n\n"
    )


@pytest.mark.parametrize(
    ("call", "error"),
    [
        ("S(by=1), bodies", "TypeError: app_move: argument `step` is a Step, and has no field `times`"),
        ("S(by='a', times=1), bodies", "TypeError: app_move: argument `step.by` must be a number, not str"),
        (
            "S(by=1, times=1 << 31), bodies",
            "OverflowError: app_move: argument `step.times` is 2147483648, which does not fit int",
        ),
        (
            "S(by=1, times=1), np.zeros(3)",
            "TypeError: app_move: argument `bodies` has elements `d` of 8 bytes where Body * is taken",
        ),
        (
            "S(by=1, times=1), np.zeros(3, np.dtype([(n, dtype[n]) for n in dtype.names]))",
            "TypeError: app_move: argument `bodies` has elements `T{b:tag:=d:x:H:n:q:on:}` of 19 bytes where Body * is taken",
        ),
        (
            "S(by=1, times=1), np.zeros(3, np.dtype([(n, dtype[n]) for n in ('x', 'tag', 'n', 'on')], align=True))",
            "TypeError: app_move: argument `bodies` has elements `T{d:x:b:tag:xH:n:xxxxl:on:}` of 24 bytes where Body * is taken",
        ),
        ("S(by=1, times=1), [1]", "TypeError: app_move: argument `bodies` must be an array of structs, not list"),
    ],
)  # fmt: skip
def test_what_is_no_such_struct_is_refused_by_name(built: Built, call: str, error: str) -> None:
    assert built.run(RUN + f"say({call})").rstrip() == error


def test_a_header_defines_a_struct_once(built: Built) -> None:
    text = header(made(MOVE, replace(MOVE, name="app_again")))
    assert text.count("typedef struct Body { int8_t tag; double x; uint16_t n; int64_t on; } Body;") == 1


def test_two_structs_of_one_name_are_refused() -> None:
    other = Struct("Step", (("by", "double"),))
    again = replace(MOVE, name="app_again", parameters=(replace(PARAMETERS[0], struct=other),))
    found = one(lambda: made(MOVE, again))
    assert (found.code, found.message) == ("ATL0310", "two things are called `Step`")
    assert found.notes == (
        "one is: the struct {double by}",
        "the other is: the struct {float by, int32_t times}",
    )


def test_a_struct_that_is_called_like_an_entry_is_refused() -> None:
    found = one(lambda: made(MOVE, replace(MOVE, name="Body")))
    assert (found.code, found.message) == ("ATL0310", "two things are called `Body`")


def test_two_roots_with_different_structs_differ() -> None:
    other = replace(PARAMETERS[0], struct=Struct("Step", (("by", "double"),)))
    roots = (
        Root(name="cpu", path="cpu", entries=(MOVE,)),
        Root(name="gpu", path="gpu", entries=(replace(MOVE, parameters=(other, *PARAMETERS[1:])),)),
    )
    assert one(lambda: interface(*roots)).code == "ATL0307"


def test_the_stub_takes_any_value_that_has_the_fields() -> None:
    assert "def app_move(step: Any, bodies: _Array) -> None:" in python_files(made(MOVE))["app/kernels.pyi"]
