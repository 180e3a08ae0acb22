"""Names: undefined, captured, unmarked, reserved, maybe unbound, of a changing type."""

from __future__ import annotations

import colorsys
from typing import Any

import numpy as np
import pytest

from atoll import kernel
from kernel_text import body, kernel_from, refusal, refused


def plain(v: Any) -> Any:
    return v


def test_an_undefined_name_is_refused() -> None:
    assert refused("x[0] = nope", "ATL0711", "nope").message == "`nope` is not defined"
    assert refused("x[0] = math.nope", "ATL0711", "math.nope").message == "`math.nope` is not defined"


def test_the_nearest_name_is_the_hint() -> None:
    assert refused("x[0] = atoll.sqrtt(x[0])", "ATL0711", "atoll.sqrtt").hint == "did you mean `atoll.sqrt`?"
    assert refused("xx = x[0]\nx[0] = plainn(xx)", "ATL0711", "plainn", plain=plain).hint == (
        "did you mean `plain`?"
    )
    assert refused("x[0] = nothing_like_it", "ATL0711", "nothing_like_it").hint is None


def test_a_captured_array_is_refused() -> None:
    found = refused("x[0] = T[0]", "ATL0721", "T", T=np.zeros(3))
    assert found.message == "`T` is a captured array"
    assert found.hint == "pass it as an argument"


def test_another_captured_object_cannot_be_computed_with() -> None:
    assert refused("x[0] = T", "ATL0713", "T", T=object()).message == "this is the object `T`, not a number"


def test_an_unmarked_function_is_refused_with_the_line_to_write() -> None:
    found = refused("x[0] = plain(x[0])", "ATL0720", "plain", plain=plain)
    assert found.message == "`plain` is not marked as a device function"
    assert found.notes[0].startswith("it is defined at ")
    assert found.hint == "put `@atoll.device` above `def plain`"


def test_an_unmarked_function_of_another_library_is_not_to_be_marked() -> None:
    found = refused("x[0] = plain(x[0], x[0], x[0])", "ATL0720", "plain", plain=colorsys.rgb_to_hsv)
    assert found.message == "`plain` is not marked as a device function"
    assert found.notes[0].partition(":")[0] == "it is defined at " + colorsys.__file__
    assert found.hint == "write what the kernel needs of it as a function of your own, with `@atoll.device`"
    installed = refused("x[0] = plain(x[0])", "ATL0720", "plain", plain=pytest.approx)
    assert installed.hint == found.hint


@pytest.mark.parametrize(
    ("call", "hint"),
    [
        ("round(x[0])", "use `atoll.rint`"),
        ("int(x[0])", "name the width: `i32(…)` or `i64(…)`"),
        ("float(n)", "name the width: `f32(…)` or `f64(…)`"),
        ("math.floor(x[0])", "use `atoll.floor`, which stays a float"),
        ("math.gamma(x[0])", None),
    ],
)
def test_a_python_function_that_a_kernel_lacks_is_refused_with_what_to_write(
    call: str, hint: str | None
) -> None:
    assert refused(f"x[0] = {call}", "ATL0711", call.partition("(")[0]).hint == hint


def test_a_kernel_cannot_call_a_kernel() -> None:
    found = refusal(kernel_from("@kernel\ndef j(n: i32):\n    pass\n@kernel\ndef k(n: i32):\n    j(n)\n"))
    assert (found.code, found.message) == ("ATL0711", "`j` is a kernel, which a kernel cannot call")


def test_recursion_is_refused_with_the_chain() -> None:
    text = (
        "@device\ndef ra(n: i32) -> i32:\n    return rb(n)\n"
        "@device\ndef rb(n: i32) -> i32:\n    return ra(n)\n"
        "@kernel\ndef k(x: view[i32]):\n    x[0] = ra(1)\n"
    )
    found = refusal(kernel_from(text))
    assert (found.code, found.message) == ("ATL0719", "`ra` calls itself")
    assert found.notes[0] == "the chain: k -> ra -> rb -> ra"


@pytest.mark.parametrize(
    ("lines", "at", "first"),
    [
        ("if n > 0:\n    a = 1\nx[0] = f32(a)", "a", 8),
        ("for k in range(n):\n    a = 1\nx[0] = f32(k)", "k", 7),
        ("while n > 0:\n    a = 1\n    break\nx[0] = f32(a)", "a", 8),
        ("x[0] = f32(a)\na = 1", "a", 8),
        ("if n > 0:\n    a = 1\nelif n < 0:\n    return\nx[0] = f32(a)", "a", 8),
    ],
)
def test_a_name_that_may_be_unbound_is_refused_with_both_places(lines: str, at: str, first: int) -> None:
    found = refused(lines, "ATL0715", at)
    assert found.message == f"`{at}` may be read before it is assigned"
    assert f"it is assigned at line {first}," in found.notes[0]


@pytest.mark.parametrize(
    "lines",
    [
        "if n > 0:\n    a = 1\nelse:\n    a = 2\nx[0] = f32(a)",
        "if n > 0:\n    a = 1\nelse:\n    return\nx[0] = f32(a)",
        "while True:\n    a = 1\n    if n > 0:\n        break\nx[0] = f32(a)",
        "a = 0\nfor a in range(n):\n    pass\nx[0] = f32(a)",
    ],
)
def test_a_name_that_is_bound_on_every_way_is_let_through(lines: str) -> None:
    body(lines).compiled()


def test_a_name_that_changes_its_type_is_refused_with_the_first_assignment() -> None:
    found = refused("a = 1\na = x[0]", "ATL0714", "a")
    assert found.message == "`a` is i32 and cannot become another type"
    assert "it was first assigned at line" in found.notes[0]
    assert found.notes[1] == "this assigns an f32"
    refused("a = 1\na = 2.5", "ATL0714", "a")
    refused("a = 0\na += x.size", "ATL0714", "a")
    refused("x = n", "ATL0714", "x")
    refused("t = atoll.shared(f32, 4)\nt = 3", "ATL0714", "t")


def test_names_under_the_reserved_root_are_refused() -> None:
    refused("atoll_v1_a = n", "ATL0722", "atoll_v1_a")
    found = refusal(kernel_from("@kernel\ndef atoll_v2_k(n: i32):\n    pass\n", "atoll_v2_k"))
    assert (found.code, found.message) == ("ATL0722", "`atoll_v2_k` lies under the reserved root `atoll_v`")
    assert refusal(body("pass", "atoll_v1_n: i32")).code == "ATL0722"


def test_a_function_without_source_is_refused() -> None:
    names: dict[str, Any] = {}
    exec("from atoll import kernel\n@kernel\ndef k(): pass\n", names)
    found = refusal(names["k"])
    assert (found.code, found.notes) == ("ATL0723", ("no source is known for it",))


def test_a_file_that_changed_before_a_function_was_marked_is_refused() -> None:
    import linecache

    function = body("pass").function
    file = function.__code__.co_filename
    linecache.cache[file] = (1, None, ["\n", "\n", "x = 1\n"], file)
    assert refusal(kernel(function)).notes == ("its file changed since it was imported",)


def test_a_kernels_name_is_ascii_and_the_names_inside_are_free() -> None:
    inside = "(größe: view[f32]):\n    число = atoll.global_id(0)\n    größe[число] = 2.0\n"
    found = refusal(kernel_from(f"@kernel\ndef größer{inside}", name="größer"))
    assert (found.code, found.message) == ("ATL0722", "the kernel's name `größer` is not ASCII")
    assert found.hint == "rename the kernel; the names inside it may stay"
    assert kernel_from(f"@kernel\ndef k{inside}").compiled()
