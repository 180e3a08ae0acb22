"""Types: what does not go together, conditions, literals, indices, calls, returns, signatures."""

from __future__ import annotations

import pytest

from kernel_text import body, kernel_from, refusal, refused

PARAMS = "x: view[f32], n: i32, u: u64, f: f64, b: bool_, m: view[i32, 2], h: f16, g: bf16"


@pytest.mark.parametrize(
    ("expression", "code"),
    [
        ("n + x[0]", "ATL0713"), ("n * 1.5", "ATL0713"), ("u + n", "ATL0713"), ("b + b", "ATL0713"),
        ("b + n", "ATL0713"), ("n / n", "ATL0717"), ("m[0, 0] / 2", "ATL0717"), ("f // f", "ATL0713"), ("f % 2", "ATL0713"),  # noqa: E501
        ("f & f", "ATL0713"), ("f << 1", "ATL0713"), ("~f", "ATL0713"), ("~b", "ATL0713"), ("-b", "ATL0713"),
        ("b < b", "ATL0713"), ("n == b", "ATL0713"), ("n == x[0]", "ATL0713"), ("h + g", "ATL0713"),
        ("n ** n", "ATL0713"), ("n ** -1", "ATL0713"), ("n ** 2000", "ATL0713"), ("n if b else f", "ATL0713"),
        ("max(n, f)", "ATL0713"), ("max(b, b)", "ATL0713"), ("abs(b)", "ATL0713"), ("atoll.exp(n)", "ATL0713"),  # noqa: E501
        ("atoll.exp(2.0)", "ATL0713"), ("atoll.pow(f, x[0])", "ATL0713"), ("len(n)", "ATL0713"), ("x + 1", "ATL0713"),  # noqa: E501
        ("m.shape + 1", "ATL0713"), ("n and b", "ATL0716"), ("b or n", "ATL0716"), ("not n", "ATL0716"),
        ("n if n else n", "ATL0716"), ("x and b", "ATL0716"), ("n + 2147483648", "ATL0718"), ("u - -1", "ATL0718"),  # noqa: E501
        ("i32(2.5)", "ATL0718"), ("u8_(3)", "ATL0711"), ("1 // 0", "ATL0718"), ("2 ** 5000", "ATL0718"),
        ("1 << -1", "ATL0718"), ("(-8) ** 0.5", "ATL0718"), ("~1.5", "ATL0713"), ("f32(1e99)", "ATL0718"),
        ("x[0.5]", "ATL0724"), ("x[b]", "ATL0724"), ("x[f]", "ATL0724"), ("x[0, 0]", "ATL0724"), ("m[0]", "ATL0724"),  # noqa: E501
        ("x[0:2]", "ATL0724"), ("n[0]", "ATL0724"), ("m.shape[2]", "ATL0724"), ("m.shape[n]", "ATL0724"),
        ("x.dtype", "ATL0711"), ("n.real", "ATL0711"), ("atoll.global_id(3)", "ATL0725"),
        ("atoll.global_id(n)", "ATL0725"), ("atoll.global_id(0, 1)", "ATL0725"), ("atoll.exp(x[0], f)", "ATL0725"),  # noqa: E501
        ("max(n)", "ATL0725"), ("f32(n, n)", "ATL0725"), ("atoll.exp(v=f)", "ATL0725"), ("n(1)", "ATL0711"),
        ("atoll.atomic_add(x, 0, 1, order='seq_cst')", "ATL0725"), ("atoll.atomic_min(x, 0, 1.0)", "ATL0713"),
        ("atoll.barrier()", "ATL0727"),
    ],
)  # fmt: skip
def test_an_expression_that_has_no_value_is_refused(expression: str, code: str) -> None:
    found = refusal(body(f"a = {expression}", PARAMS))
    assert found.code == code, found
    assert found.span is not None


def test_a_division_of_integers_says_what_to_write() -> None:
    found = refused("a = n / 2", "ATL0717", "n / 2")
    assert found.message == "`/` on two i32 gives a float in Python"
    assert found.hint == "use `//`, or convert first: `f32(a) / f32(b)`"


def test_two_types_are_both_named() -> None:
    found = refused("a = n + x[0]", "ATL0713", "n + x[0]")
    assert found.notes == ("the left one is an i32", "the right one is an f32")


@pytest.mark.parametrize("both", ["n + x[0]", "x[0] + n", "x[0] * n"])
def test_two_types_are_told_the_one_that_is_mostly_meant(both: str) -> None:
    """An f32 and an i32 were told `i32(…)` where the integer stood on the right."""
    assert refused(f"a = {both}", "ATL0713", both).hint == "convert one of them, as in `f32(…)`"


@pytest.mark.parametrize(
    ("lines", "at"),
    [
        ("if n:\n    pass", "n"),
        ("while x[0]:\n    pass", "x[0]"),
        ("if 1:\n    pass", "1"),
        ("a = not n", "n"),
    ],
)
def test_a_condition_is_a_bool(lines: str, at: str) -> None:
    found = refused(lines, "ATL0716", at)
    assert found.hint == "say what is asked, as in `n != 0`"


@pytest.mark.parametrize(
    ("lines", "at"),
    [
        ("x[0] = n", "n"), ("x[0] = f64(n)", "f64(n)"), ("x[0] += f64(n)", "f64(n)"),
        ("atoll.atomic_add(x, 0, n)", "n"),
    ],
)  # fmt: skip
def test_an_element_takes_its_own_type_or_one_that_widens(lines: str, at: str) -> None:
    assert "an element of `x` is f32" in refused(lines, "ATL0713", at).message


def test_a_store_widens_exactly() -> None:
    body("d[0] = x[0]\ni[0] = n\nx[0] = 1", "x: view[f32], d: view[f64], i: view[i64], n: i32").compiled()


@pytest.mark.parametrize(
    ("lines", "at"),
    [
        ("for k in range(1.5):\n    pass", "1.5"), ("for k in range(x[0]):\n    pass", "x[0]"),
        ("for k in range(u, n):\n    pass", "range(u, n)"),
    ],
)  # fmt: skip
def test_a_range_takes_integers_of_a_common_type(lines: str, at: str) -> None:
    refused(lines, "ATL0713", at, PARAMS)


def test_a_range_has_a_step_that_is_not_zero_and_at_most_three_arguments() -> None:
    refused("for k in range(0, 3, 0):\n    pass", "ATL0718", "0")
    refused("for k in range():\n    pass", "ATL0725", "range()")
    refused("for k in range(1, 2, 3, 4):\n    pass", "ATL0725", "range(1, 2, 3, 4)")


def test_shared_arrays_have_a_literal_length_and_a_scalar_type() -> None:
    for lines, at in (
        ("t = atoll.shared(f32, n)", "n"), ("t = atoll.shared(f32, 0)", "0"), ("t = atoll.shared(bool_, 4)", "bool_"),  # noqa: E501
        ("t = atoll.shared(n, 4)", "n"),
    ):  # fmt: skip
        refused(lines, "ATL0725", at)
    refused("t = atoll.shared(f32, 4)\nt[4] = 1.0", "ATL0724", "4")
    refused("t = atoll.shared(f32, 4)\nt[-5] = 1.0", "ATL0724", "-5")


def test_a_kernel_returns_nothing() -> None:
    assert (
        refused("return n", "ATL0727", "n").message == "a kernel returns nothing; it writes to its arguments"
    )


def device(lines: str) -> str:
    return f"@device\ndef d(v: i32):\n{lines}\n@kernel\ndef k(x: view[i32]):\n    x[0] = d(1)\n"


@pytest.mark.parametrize(
    ("lines", "code"),
    [
        ("    if v > 0:\n        return 1", "ATL0727"), ("    pass", "ATL0727"), ("    return", "ATL0727"),
        ("    for q in range(v):\n        return 1", "ATL0727"), ("    if v > 0:\n        return v\n    return 1.5", "ATL0713"),  # noqa: E501
        ("    if v > 0:\n        return v\n    return", "ATL0727"),
    ],
)  # fmt: skip
def test_a_device_function_returns_one_scalar_on_every_way(lines: str, code: str) -> None:
    assert refusal(kernel_from(device(lines))).code == code


@pytest.mark.parametrize("call", ["d()", "d(1, 2)", "d(w=1)", "d(1, v=2)"])
def test_a_device_function_takes_its_parameters(call: str) -> None:
    text = device("    return v").replace("d(1)", call)
    assert refusal(kernel_from(text)).code == "ATL0725"


def test_an_error_in_a_device_function_says_who_inlined_it() -> None:
    found = refusal(kernel_from(device("    return v / 2")))
    assert found.notes[-1] == "inlined by: k -> d"


@pytest.mark.parametrize(
    ("params", "message"),
    [
        ("x", "the parameter `x` has no type"), ("x: int", "the parameter `x` cannot be a int"),
        ("x: 'nonsense('", "the annotation `nonsense(` cannot be evaluated"), ("*x: f32", "`*x` has no meaning"),  # noqa: E501
        ("*, x: f32", "no keyword-only parameters"), ("x: f32 = 1", "a kernel's parameter has no default"),
    ],
)  # fmt: skip
def test_a_parameter_needs_a_type_and_nothing_else(params: str, message: str) -> None:
    found = refusal(body("pass", params))
    assert found.code == "ATL0712"
    assert message in found.message


@pytest.mark.parametrize("future", ["", "from __future__ import annotations\n"])
@pytest.mark.parametrize("params", ["x: 'view[i32]', n: 'i32'", "x: view[i32], n: i32"])
def test_annotations_may_be_strings(future: str, params: str) -> None:
    kernel = kernel_from(f"@kernel\ndef k({params}):\n    x[0] = n\n", future=future)
    assert [str(param.type) for param in kernel.compiled().kernel.params] == ["view<i32, 1>", "i32"]


@pytest.mark.parametrize("block", [0, -1, 1025, (64, 32), (1, 1, 1, 1), "64", True, ()])
def test_a_block_has_one_to_three_positive_sizes(block: object) -> None:
    from atoll.errors import CompileError
    from atoll.kernels.definition import kernel

    with pytest.raises(CompileError, match="ATL0728"):
        kernel(block=block)  # type: ignore[call-overload]


def test_nesting_has_a_bound() -> None:
    assert refusal(body("a = " + "-" * 99 + "n")).code == "ATL0726"
    assert refusal(body("a = n" + " + n" * 300)).code == "ATL0726"
