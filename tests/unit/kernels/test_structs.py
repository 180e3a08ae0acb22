"""Structs: by value, in arrays of three kinds, through device functions, and from NumPy."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from atoll.errors import AtollError, CompileError, LaunchError
from atoll_plugins.cpu.driver import CpuDriver
from kernel_text import namespace, refusal

PAIR = """
@struct
class Pair:
    a: i32
    b: f64

@struct
class Other:
    a: i32
"""


def everywhere(text: str, domain: int, *arguments: Any) -> tuple[Any, ...]:
    """Run the kernel `k` in the oracle, the interpreter and on the processor; return the arguments after."""
    names = namespace(PAIR + text)
    found, pair = names["k"], names["Pair"]
    answers = []
    for where in ("oracle", CpuDriver({"PATH": "/nowhere"}).open(0), "cpu"):
        given = tuple(item(pair) if callable(item) else np.copy(item) for item in arguments)
        if where == "oracle":
            found.python(domain)(*given)
        else:
            found.over(domain, device=where)(*given)
        answers.append([item.tolist() for item in given if isinstance(item, np.ndarray)])
    assert answers[0] == answers[1] == answers[2]
    return tuple(answers[0])


def pairs(pair: Any) -> Any:
    made = np.zeros(4, pair.dtype)
    made["a"], made["b"] = np.arange(4), np.arange(4) / 2
    return made


def test_its_dtype_is_laid_out_as_c_does() -> None:
    dtype = namespace(PAIR)["Pair"].dtype
    assert dtype.itemsize == 16
    assert dtype.fields["b"][1] == 8


def test_elements_are_values_and_their_fields_are_places() -> None:
    text = """
@kernel
def k(x: view[Pair]):
    i = atoll.global_id(0)
    before = x[i]
    x[i].a = 100 + before.a
    x[i].b += 2 * f64(i)
    x[i] = Pair(x[i].a + before.a, b=before.b - x[i].b)
"""
    (after,) = everywhere(text, 4, pairs)
    assert after == [(100 + 2 * i, -2.0 * i) for i in range(4)]


def test_a_swap_takes_both_elements_first() -> None:
    text = "\n@kernel\ndef k(x: view[Pair]):\n    x[0], x[3] = x[3], x[0]\n"
    (after,) = everywhere(text, 1, pairs)
    assert after == [(3, 1.5), (1, 0.5), (2, 1.0), (0, 0.0)]


def test_device_functions_take_and_give_structs() -> None:
    text = """
@device
def larger(one: Pair, two: Pair) -> Pair:
    if one.b > two.b:
        return one
    return two

@device
def last(x: view[Pair]) -> Pair:
    return x[-1]

@kernel
def k(x: view[Pair], o: view[f64]):
    i = atoll.global_id(0)
    best = Pair(7, 1.0)
    for n in range(2):
        best = larger(x[i], best)
    o[i] = best.b + f64(best.a) * 10.0 + last(x).b + f64(len(x)) + f64(x.size)
"""
    after = everywhere(text, 4, pairs, np.zeros(4))
    assert after[1] == [1.0 + 70 + 9.5] * 3 + [1.5 + 30 + 9.5]


def test_a_group_shares_an_array_of_structs() -> None:
    text = """
@kernel(block=4)
def k(x: view[Pair]):
    tile = atoll.shared(Pair, 4)
    i = atoll.local_id(0)
    tile[i] = x[i]
    atoll.barrier()
    x[i] = tile[3 - i]
"""
    (after,) = everywhere(text, 4, pairs)
    assert after == [(3, 1.5), (2, 1.0), (1, 0.5), (0, 0.0)]


def test_a_struct_is_an_argument_by_value() -> None:
    text = """
@kernel
def k(p: Pair, o: view[f64]):
    o[0] = p.b + f64(p.a)
"""
    after = everywhere(text, 1, lambda pair: pair(3, 0.25), np.zeros(1))
    assert after == ([3.25],)


def test_a_strided_array_of_structs_is_launched_without_a_copy() -> None:
    text = "\n@kernel\ndef k(x: view[Pair]):\n    i = atoll.global_id(0)\n    x[i].a = -1\n"
    names = namespace(PAIR + text)
    made = pairs(names["Pair"])
    names["k"].over(2, device="cpu")(made[::2])
    assert made["a"].tolist() == [-1, 1, -1, 3]
    assert made["b"].tolist() == [0.0, 0.5, 1.0, 1.5]


@pytest.mark.parametrize(
    ("line", "code", "message"),
    [
        ("p = Pair(1, 2.0)\n    p.a = 3", "ATL0710", "this cannot be assigned in a kernel"),
        ("p = Pair(1)", "ATL0725", "`Pair` has 2 fields, not 1"),
        ("p = Pair(1, 2.0, a=3)", "ATL0725", "`Pair` takes no field `a` here"),
        ("p = Pair(1.5, 2.0)", "ATL0713", "the literal 1.5 meets an i32"),
        ("p = Pair(1, 2.0)\n    p = Other(1)", "ATL0714", "`p` cannot become a Other"),
        ("p = Pair(1, 2.0)\n    p = 1", "ATL0714", "`p` is a Pair and cannot become the literal 1"),
        ("x[0] = Other(1)", "ATL0713", "an element is a Pair, this is a Other"),
        ("x[0] = 1", "ATL0713", "an element is a Pair, this is the literal 1"),
        ("y = x", "ATL0710", "an array of Pair cannot be given another name"),
        ("p = x[0].c", "ATL0711", "a Pair has no attribute `c` in a kernel"),
        ("p = x[0] + 1", "ATL0713", "this is a Pair, not a number"),
        (
            "if x.size > 2:\n        p = x[0]\n    x[1] = p",
            "ATL0715",
            "`p` may be read before it is assigned",
        ),
    ],
)
def test_what_a_struct_cannot_do_is_refused(line: str, code: str, message: str) -> None:
    found = namespace(PAIR + f"\n@kernel\ndef k(x: view[Pair]):\n    {line}\n")["k"]
    said = refusal(found)
    assert (said.code, said.message) == (code, message)


@pytest.mark.parametrize(
    "lines",
    ["a: bool_", "a: view[f32]", "a: int", "a: 'Missing'", "pass"],
)
def test_a_field_is_a_scalar(lines: str) -> None:
    with pytest.raises(AtollError) as caught:
        namespace(f"\n@struct\nclass S:\n    {lines}\n")
    assert isinstance(caught.value, CompileError)
    assert caught.value.diagnostics[0].code == "ATL0712"


@pytest.mark.parametrize(
    ("argument", "note"),
    [
        (np.zeros(4, np.float32), "the argument is an array of float32"),
        ([1, 2], "the argument is a list"),
        (np.zeros(4, [("a", np.int32), ("c", np.float64)]), "the argument is an array of [('a'"),
    ],
)
def test_an_array_of_something_else_is_refused(argument: Any, note: str) -> None:
    found = namespace(PAIR + "\n@kernel\ndef k(x: view[Pair]):\n    x[0].a = 1\n")["k"]
    with pytest.raises(LaunchError) as caught:
        found.over(1, device="cpu")(argument)
    said = caught.value.diagnostics[0]
    assert said.code == "ATL0760"
    assert any(item.startswith(note) for item in said.notes), said.notes
