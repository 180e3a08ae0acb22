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
        answers.append([plain(item.tolist()) for item in given if isinstance(item, np.ndarray)])
    assert answers[0] == answers[1] == answers[2]
    return tuple(answers[0])


def plain(value: Any) -> Any:
    """Return a value of NumPy with its arrays as lists."""
    if isinstance(value, np.ndarray):
        return value.tolist()
    return type(value)(map(plain, value)) if isinstance(value, list | tuple) else value


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


BALL = """
@struct
class Ball:
    kind: i32
    at: vec[f32, 3]
    mass: f64
    speed: vec[f32, 2]
"""


def balls(kind: Any) -> Any:
    made = np.zeros(4, kind.dtype)
    made["kind"], made["mass"] = np.arange(4), 0.5
    made["at"], made["speed"] = np.arange(12).reshape(4, 3), np.arange(8).reshape(4, 2)
    return made


def with_balls(text: str, domain: int, *arguments: Any) -> tuple[Any, ...]:
    """Run the kernel `k`, whose structs are `Ball`, everywhere."""
    return everywhere(BALL + text + "\nPair = Ball\n", domain, *arguments)


def test_a_vector_lies_in_a_struct_as_an_array() -> None:
    dtype = namespace(BALL)["Ball"].dtype
    assert [dtype.fields[name][1] for name in dtype.names] == [0, 4, 16, 24]
    assert (dtype.itemsize, dtype["at"].shape, dtype["speed"].shape) == (32, (3,), (2,))


def test_vectors_in_structs_are_read_written_and_made() -> None:
    text = """
@device
def moved(b: Ball, by: f32) -> Ball:
    at = b.at + vec[f32, 3](b.speed.x, b.speed[1], 0.0) * by
    return Ball(b.kind + 1, at, speed=-b.speed, mass=b.mass * 2)

@kernel
def k(x: view[Ball], one: Ball, out: view[f32]):
    i = atoll.global_id(0)
    before = x[i]
    x[i] = moved(before, 2.0)
    x[i].at.z = before.at.x
    x[i].at.y += 100
    x[i].speed = x[i].speed * 2
    x[i].speed -= one.speed
    out[i] = one.at.z + x[i].at[0] + before.at.x
"""

    def one(kind: Any) -> Any:
        return kind(7, (1.0, 2.0, 3.0), 0.25, (10.0, 20.0))

    after, out = with_balls(text, 4, balls, one, np.zeros(4, np.float32))
    for i, (kind, at, mass, speed) in enumerate(after):
        a, s = [3.0 * i, 3 * i + 1, 3 * i + 2], [2.0 * i, 2 * i + 1]
        assert (kind, mass) == (i + 1, 1.0)
        assert at == [a[0] + 2 * s[0], a[1] + 2 * s[1] + 100, a[0]]
        assert speed == [-2 * s[0] - 10, -2 * s[1] - 20]
        assert out[i] == 3 + at[0] + a[0]


def test_a_shared_array_of_structs_holds_vectors() -> None:
    text = """
@kernel(block=4)
def k(x: view[Ball]):
    part = atoll.shared(Ball, 4)
    me = atoll.local_id(0)
    part[me] = x[me]
    part[me].at.x = -1
    atoll.barrier()
    x[me].at = part[3 - me].at
"""
    (after,) = with_balls(text, 4, balls)
    assert [item[1] for item in after] == [[-1, 3 * i + 1, 3 * i + 2] for i in (3, 2, 1, 0)]


def test_a_struct_has_the_members_of_what_it_is_derived_from() -> None:
    text = "\n@struct\nclass Three(Pair):\n    c: f32\n    a: i64\n\nPair = Three\n"
    text += "\n@kernel\ndef k(x: view[Three]):\n    i = atoll.global_id(0)\n"
    text += "    x[i] = Three(x[i].a * 2, x[i].b, f32(x[i].a))\n"

    def made(kind: Any) -> Any:
        found = np.zeros(4, kind.dtype)
        found["a"] = np.arange(4)
        return found

    (after,) = everywhere(text, 4, made)
    assert after == [(2 * i, 0.0, float(i)) for i in range(4)]


@pytest.mark.parametrize(
    ("line", "code", "message"),
    [
        ("x[0] = Ball(1, 2, 3, 4)", "ATL0713", "the field `at` is a vec[f32, 3], this is the literal 2"),
        ("x[0].at = x[0].speed", "ATL0713", "an element is a vec[f32, 3], this is a vec[f32, 2]"),
        ("x[0].at.w = 1.0", "ATL0710", "this cannot be assigned in a kernel"),
        ("x[0].at_x = 1.0", "ATL0710", "this cannot be assigned in a kernel"),
        ("a = x[0].at_x", "ATL0711", "a Ball has no attribute `at_x` in a kernel"),
    ],
)  # fmt: skip
def test_what_does_not_fit_a_vector_of_a_struct_is_refused(line: str, code: str, message: str) -> None:
    found = refusal(namespace(f"{BALL}\n@kernel\ndef k(x: view[Ball]):\n    {line}\n")["k"])
    assert (found.code, found.message) == (code, message)


@pytest.mark.parametrize("written", ["", "frozen=True", "slots=True", "frozen=True, slots=True, eq=False"])
def test_a_dataclass_that_is_marked_is_the_same_struct(written: str) -> None:
    text = f"""
import dataclasses

@struct
@dataclasses.dataclass({written})
class Both:
    at: vec[f32, 2]
    count: i32 = 3

@kernel
def k(bodies: view[Both]):
    i = atoll.global_id(0)
    bodies[i] = Both(bodies[i].at * 2.0, bodies[i].count + 1)
"""
    scope = namespace(text)
    both = scope["Both"]
    assert type(both((1, 2)).count).__name__ == "i32"
    assert both((1, 2)).count == 3
    for launch in (scope["k"].over(2, device="cpu"), scope["k"].python(2)):
        bodies = np.ones(2, both.dtype)
        launch(bodies)
        assert bodies["at"].tolist() == [[2.0, 2.0]] * 2
        assert bodies["count"].tolist() == [2, 2]


def test_two_parts_of_one_name_are_refused() -> None:
    with pytest.raises(CompileError) as caught:
        namespace("\n@struct\nclass Twice:\n    a_x: f32\n    a: vec[f32, 2]\n")
    assert caught.value.diagnostics[0].message == "`Twice` has two parts that are called `a_x`"


def test_a_vector_of_another_length_is_refused_at_the_launch() -> None:
    names = namespace(f"{BALL}\n@kernel\ndef k(x: view[Ball]):\n    x[0].kind = 1\n")
    wrong = np.zeros(2, [("kind", "i4"), ("at", "f4", (4,)), ("mass", "f8"), ("speed", "f4", (2,))])
    with pytest.raises(LaunchError) as caught:
        names["k"].over(2, device="cpu")(wrong)
    assert caught.value.diagnostics[0].notes == (
        "the field `at` is a vec[f32, 3], in NumPy an array of 3",
        "the argument has float32 of shape (4,) there",
    )
