"""Generic kernels: type variables, constant parameters, functions as arguments; each use its own code."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from atoll.errors import AtollError, CompileError
from atoll.kernels.definition import KernelFunction
from atoll.kernels.files import kernels_of, load
from atoll_plugins.cpu.driver import CpuDriver
from kernel_text import kernel_from, namespace

SCALE = """
from typing import TypeVar
T = TypeVar("T")

@device
def twice(v: T) -> T:
    return v + v

@kernel
def k(a: T, x: view[T], out: view[T], times: atoll.const[int]):
    i = atoll.global_id(0)
    total = T(0)
    for _ in range(times):
        total += a * x[i]
    if times > 2:
        total = twice(total)
    out[i] = total
"""


def run(found: KernelFunction, domain: int, *arguments: Any) -> list[Any]:
    """Launch in the oracle, the interpreter and on the processor; return the last argument of each."""
    answers = []
    for where in ("oracle", CpuDriver({"PATH": "/nowhere"}).open(0), "cpu"):
        given = [item.copy() if isinstance(item, np.ndarray) else item for item in arguments]
        launch = found.python(domain) if where == "oracle" else found.over(domain, device=where)
        launch(*given)
        answers.append(next(item for item in reversed(given) if isinstance(item, np.ndarray)).tolist())
    return answers


@pytest.mark.parametrize("kind", [np.float32, np.int32, np.uint64, np.float64, np.float16])
@pytest.mark.parametrize(("times", "factor"), [(1, 2), (3, 12)])
def test_a_launch_takes_the_instance_that_its_arguments_ask_for(kind: Any, times: int, factor: int) -> None:
    x = np.arange(4).astype(kind)
    for answer in run(kernel_from(SCALE), 4, 2, x, np.zeros(4, kind), times):
        assert answer == (x * factor).tolist()


def test_an_instance_is_a_kernel_with_a_name_and_code_of_its_own() -> None:
    found = namespace(SCALE)
    one = found["k"].instance(T=found["f32"], times=3)
    other = found["k"].instance(T=found["i64"], times=-1)
    assert (one.__name__, other.__name__) == ("k__f32_3", "k__i64_m1")
    assert found["k"].instance(T=found["f32"], times=3) is one
    assert one.module.kernels[0].symbol == "atoll_v1_kernel_4c624493_k__f32_3"
    assert [param.name for param in one.module.kernels[0].params] == ["a", "x", "out"]
    assert one.module != found["k"].instance(T=found["f32"], times=2).module
    x, out = np.arange(3, dtype=np.float32), np.zeros(3, np.float32)
    one.over(3, device="cpu")(1.0, x, out)
    assert out.tolist() == [0.0, 6.0, 12.0]


@pytest.mark.parametrize("bindings", [{}, {"T": "f32"}, {"T": "f32", "times": 1, "n": 2}])
def test_an_instance_binds_what_is_open_and_nothing_else(bindings: dict[str, Any]) -> None:
    found = namespace(SCALE)
    given = {name: found[value] if isinstance(value, str) else value for name, value in bindings.items()}
    with pytest.raises(AtollError) as caught:
        found["k"].instance(**given)
    only = caught.value.diagnostics[0]
    assert (only.code, only.message) == ("ATL0730", "the generic kernel `k` has no such instance")
    assert only.notes[-1] == "it leaves open: T, times"
    assert only.hint == "name one, as `k.instance(T=f32, times=16)`"


@pytest.mark.parametrize(
    ("bindings", "note"),
    [
        ({"T": int, "times": 1}, "`T` is a type, this is <class 'int'>"),
        ({"T": "f32", "times": 1.5}, "`times` is a constant int, this is 1.5"),
        ({"T": "f32", "times": True}, "`times` is a constant int, this is True"),
    ],
)
def test_a_binding_has_its_kind(bindings: dict[str, Any], note: str) -> None:
    found = namespace(SCALE)
    given = {name: found["f32"] if value == "f32" else value for name, value in bindings.items()}
    with pytest.raises(AtollError) as caught:
        found["k"].instance(**given)
    assert caught.value.diagnostics[0].notes[0] == note


def test_a_generic_kernel_has_no_code_of_its_own() -> None:
    with pytest.raises(AtollError) as caught:
        kernel_from(SCALE).compiled()
    assert caught.value.diagnostics[0].message == "the generic kernel `k` has no code of its own"
    with pytest.raises(AtollError) as caught:
        kernel_from("@kernel\ndef k(n: i32):\n    pass\n").instance(T=1)
    assert caught.value.diagnostics[0].message == "the kernel `k` is not generic"


CONSTANTS = """
@kernel(block=8)
def k(x: view[i32], width: atoll.const[int], flag: atoll.const[bool], half: atoll.const[float]):
    tile = atoll.shared(i32, (width, 2))
    own = fixed[i32, width](3)
    i = atoll.local_id(0)
    tile[i % width, 1] = own[width - 1]
    atoll.barrier()
    if flag:
        x[i] = tile[0, 1] + i32(f32(i) * half)
    else:
        x[i] = 0
"""


def test_constants_stand_in_shapes_ranges_and_branches() -> None:
    for answer in run(kernel_from(CONSTANTS), 8, np.zeros(8, np.int32), 4, True, 0.5):
        assert answer == [3 + at // 2 for at in range(8)]
    for answer in run(kernel_from(CONSTANTS), 8, np.ones(8, np.int32), 4, False, 0.5):
        assert answer == [0] * 8


def test_a_constant_is_not_assigned() -> None:
    text = "@kernel\ndef k(x: view[i32], n: atoll.const[int]):\n    n = 3\n    x[0] = n\n"
    with pytest.raises(AtollError) as caught:
        kernel_from(text).instance(n=3).compiled()
    assert caught.value.diagnostics[0].message == "the constant parameter `n` is assigned"


FUNCTIONS = """
from collections.abc import Callable

@device
def plus(a: f32, b: f32) -> f32:
    return a + b

@device
def larger(a: f32, b: f32) -> f32:
    return max(a, b)

@device
def fold(step: Callable[[f32, f32], f32], x: view[f32], by: atoll.const[int]) -> f32:
    total = x[0]
    for at in range(by, x.size, by):
        total = step(total, x[at])
    return total

@device
def applied(f: Callable, v: f32) -> f32:
    return f(v)

@kernel
def k(x: view[f32], out: view[f32]):
    out[0] = fold(plus, x, 1)
    out[1] = fold(larger, x, 2)
    out[2] = applied(math.sqrt, x[1])
    out[3] = applied(atoll.floor, x[2])
"""


def test_a_device_function_takes_functions_and_constants() -> None:
    x = np.array([1, 4, 2.5, 9], np.float32)
    for answer in run(kernel_from(FUNCTIONS), 1, x, np.zeros(4, np.float32)):
        assert answer == [16.5, 2.5, 2.0, 2.0]


def test_a_function_parameter_takes_a_function() -> None:
    text = FUNCTIONS.replace("fold(plus, x, 1)", "fold(1.5, x, 1)")
    with pytest.raises(AtollError) as caught:
        kernel_from(text).compiled()
    assert (
        caught.value.diagnostics[0].message == "the parameter `step` is a function, this is the literal 1.5"
    )


def test_functions_that_call_each_other_through_an_argument_are_seen() -> None:
    text = FUNCTIONS.replace("return f(v)", "return applied(f, f(v))")
    with pytest.raises(AtollError) as caught:
        kernel_from(text).compiled()
    assert caught.value.diagnostics[0].notes[0] == "the chain: k -> applied -> applied"


def test_a_file_ships_the_instances_that_it_lists(tmp_path: Any) -> None:
    head = "import atoll\nfrom atoll import f32, i32, kernel, view\n"
    (tmp_path / "generic_one.py").write_text(head + SCALE.replace("@device", "@atoll.device"))
    with pytest.raises(AtollError) as caught:
        kernels_of(load("generic_one.py", str(tmp_path)), "generic_one.py")
    only = caught.value.diagnostics[0]
    assert (only.code, only.message) == ("ATL0745", "the generic kernel `k` lists no instance")
    listed = "k.instance(T=f32, times=1)\nk.instance(T=i32, times=2)\n"
    (tmp_path / "generic_two.py").write_text(head + SCALE.replace("@device", "@atoll.device") + listed)
    found = kernels_of(load("generic_two.py", str(tmp_path)), "generic_two.py")
    assert [kernel.__name__ for kernel in found] == ["k__f32_1", "k__i32_2"]


def test_annotations_may_be_strings_in_a_generic_kernel_too() -> None:
    found = namespace(SCALE, future="from __future__ import annotations\n")["k"]
    out = np.zeros(2, np.int32)
    found.over(2, device="cpu")(3, np.ones(2, np.int32), out, 2)
    assert out.tolist() == [6, 6]


VECTORS = """
from typing import TypeVar
T = TypeVar("T")
V = TypeVar("V")

@device
def dot(a: vec[T, 3], b: vec[T, 3]) -> T:
    p = a * b
    return p.x + p.y + p.z

@device
def twice(v: V) -> V:
    return v + v

@kernel
def k(x: view[vec[T, 3]], by: vec[T, 3], out: view[T]):
    i = atoll.global_id(0)
    out[i] = dot(twice(x[i]), by) + twice(T(1))
"""


@pytest.mark.parametrize("kind", [np.float32, np.int64])
def test_vectors_are_generic_too(kind: Any) -> None:
    x = np.arange(6).reshape(2, 3).astype(kind)
    for answer in run(kernel_from(VECTORS), 2, x, (1, 2, 3), np.zeros(2, kind)):
        assert answer == [2 * (0 + 2 + 6) + 2, 2 * (3 + 8 + 15) + 2]


FOLDED = """
@device
def larger(a: T, b: T) -> T:
    return a if a > b else b

@device
def both(a: T, b: T) -> T:
    return a + b

@kernel
def k(x: view[T], fold: Callable[[T, T], T], start: atoll.const[int]):
    total = T(start)
    for at in range(x.size):
        total = fold(total, x[at])
    x[0] = total
"""


def test_a_kernel_takes_a_device_function() -> None:
    scope = namespace(
        "from collections.abc import Callable\nfrom typing import TypeVar\nT = TypeVar('T')\n" + FOLDED
    )
    found, larger, both = scope["k"], scope["larger"], scope["both"]
    for launch in (found.over(1, device="cpu"), found.python(1)):
        for fold, wanted in ((larger, 7), (both, 12)):
            x = np.array([3, 7, 2], np.int32)
            launch(x, fold, 0)
            assert x.tolist() == [wanted, 7, 2]
    x = np.array([3, 7, 2], np.float32)
    found.over(1, device="cpu")(x=x, start=1, fold=both)
    assert x[0] == 13
    assert found.instance(T=scope["i32"], fold=larger, start=0).__name__ == "k__i32_larger_0"


def test_what_is_no_device_function_is_refused_where_one_is_asked() -> None:
    scope = namespace(
        "from typing import Callable\n@kernel\ndef k(x: view[f32], f: Callable):\n    x[0] = f(x[0])\n"
    )
    for wrong in (abs, lambda a: a, 3):
        with pytest.raises(CompileError) as caught:
            scope["k"].over(1, device="cpu")(np.ones(1, np.float32), wrong)
        (told,) = caught.value.diagnostics
        assert told.code == "ATL0730"
        assert told.notes[0].startswith("`f` is a function marked with `@atoll.device`, this is ")
