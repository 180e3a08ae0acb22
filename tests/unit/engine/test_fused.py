# ruff: noqa: E501 - a table of refusals reads best with a row each
"""A fused function: the bytes of the primitives, one kernel for every shape, a closed world, and refusals."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import atoll
from atoll import engine
from atoll.engine import expression, world
from atoll.engine import fused as f
from atoll.runtime.array import Array

DEVICES = ["cpu", "vulkan", "opencl"]
RANDOM = np.random.default_rng(5)
X = RANDOM.standard_normal((6, 300)).astype("f4")
Y = RANDOM.standard_normal((6, 300)).astype("f4")
ROW = RANDOM.standard_normal(300).astype("f4")


def on(value: Any, device: str = "cpu") -> Array:
    found: Array = atoll.array(np.asarray(value), device=device)
    return found


def both(op: str) -> Callable[[Array, Array], Array]:
    return lambda x, y: engine.binary(op, x, y)


ONE = engine.unary
#: A function of traced values, and the primitives one after the other.
PAIRS: dict[str, tuple[Callable[..., Any], Callable[[Array, Array], Array]]] = {
    "chain": (lambda x, y: (x * y + x) * y - x, lambda x, y: both("sub")(both("mul")(both("add")(both("mul")(x, y), x), y), x)),
    "divide": (lambda x, y: x / y, both("div")),
    "functions": (
        lambda x, y: f.tanh(f.exp(x) * f.sigmoid(y)),
        lambda x, y: ONE("tanh", both("mul")(ONE("exp", x), ONE("sigmoid", y))),
    ),
    "roots": (
        lambda x, y: f.sqrt(abs(x)) + f.rsqrt(abs(y)) + f.log(abs(x)) + f.recip(y),
        lambda x, y: both("add")(
            both("add")(both("add")(ONE("sqrt", ONE("abs", x)), ONE("rsqrt", ONE("abs", y))), ONE("log", ONE("abs", x))),
            ONE("recip", y),
        ),
    ),
    "extremes": (lambda x, y: f.maximum(x, f.minimum(y, -x)), lambda x, y: both("max")(x, both("min")(y, ONE("neg", x)))),
    "select": (lambda x, y: f.where(x > 0.0, x, 0.0), lambda x, y: ONE("relu", x)),
    "softmax": (
        lambda x, y: f.exp(x - f.row_max(x)) * f.recip(f.row_sum(f.exp(x - f.row_max(x)))),
        lambda x, y: engine.softmax(x),
    ),
    "sum": (lambda x, y: f.row_sum(x * y), lambda x, y: engine.reduce("sum", both("mul")(x, y), -1).reshape(-1, 1)),
    "least": (lambda x, y: f.row_min(x) + y, lambda x, y: both("add")(engine.reduce("min", x, -1).reshape(-1, 1), y)),
}  # fmt: skip


@pytest.mark.parametrize("device", DEVICES)
def test_fused_is_unfused_to_the_byte(device: str, whole: bool, tell: Callable[[str], None]) -> None:
    names = list(PAIRS)[:: 1 if whole or device == "vulkan" else 3]
    x, y = on(X, device), on(Y, device)
    for name in names:
        fused, apart = PAIRS[name]
        assert f.fuse(fused)(x, y).numpy().tobytes() == apart(x, y).numpy().tobytes(), name
        # Not flat: turned round, and half of the columns.
        left, right = x[::-1, ::2], y[:, 1::2]
        assert f.fuse(fused)(left, right).numpy().tobytes() == apart(left, right).numpy().tobytes(), name
    tell(f"{len(names)} of {len(PAIRS)} expressions on {device}")


def test_one_kernel_serves_every_shape_and_number() -> None:
    axpy = f.fuse(lambda a, x, y: a * x + y)
    with f.record() as found:
        for shape in ((3,), (2, 5), (2, 3, 4), (1, 2, 3, 4), (70000,)):
            for a in (0.5, -3.0, 7):
                x, y = RANDOM.standard_normal(shape).astype("f4"), RANDOM.standard_normal(shape).astype("f4")
                np.testing.assert_array_equal(axpy(a, on(x), on(y)).numpy(), np.float32(a) * x + y)
    # A flat and a strided layout, for a float and for a whole number.
    assert len(found.records) == 4
    assert axpy.key(1.0, on(X), on(Y)) == axpy.key(9.5, on(X[0]), on(Y[:1]))
    assert axpy.key(1.0, on(X), on(Y)) != axpy.key(1, on(X), on(Y))


def test_operands_repeat_and_turn_as_in_numpy() -> None:
    add = f.fuse(lambda x, y: x + y)
    np.testing.assert_array_equal(add(on(X), on(ROW)).numpy(), X + ROW)
    np.testing.assert_array_equal(add(on(X[:, :1]), on(ROW)).numpy(), X[:, :1] + ROW)
    np.testing.assert_array_equal(add(on(X).T, on(Y).T).numpy(), (X + Y).T)


def test_rows_repeat_and_halves_turn() -> None:
    x, c, s = (RANDOM.standard_normal(shape).astype("f4") for shape in ((2, 3, 6, 8), (3, 8), (3, 8)))
    rotary = f.fuse(lambda x, c, s: x * f.repeat_rows(c) + f.rotate_half(x) * f.repeat_rows(s))
    turned = np.concatenate([-x[..., 4:], x[..., :4]], -1)
    want = x * np.tile(c, (2, 1)) + turned * np.tile(s, (2, 1))
    np.testing.assert_array_equal(rotary(on(x), on(c), on(s)).numpy(), want)


def test_narrow_operands_are_widened_and_the_result_is_rounded_once() -> None:
    half = X.astype("f2")
    double = f.fuse(lambda x: (x * 1.5 + x).astype("f16"))
    want = (half.astype("f4") * np.float32(1.5) + half.astype("f4")).astype("f2")
    np.testing.assert_array_equal(double(on(half)).numpy(), want)
    whole = f.fuse(lambda x: f.where(x > 3, x - 3, -x))
    given = np.arange(8, dtype=np.int32)
    np.testing.assert_array_equal(whole(on(given)).numpy(), np.where(given > 3, given - 3, -given))


def test_a_closed_world_has_what_was_recorded_and_nothing_else(tmp_path: Path) -> None:
    axpy, other = f.fuse(lambda a, x, y: a * x + y), f.fuse(lambda x: x * 2.0)
    with f.record() as recorded:
        axpy(2.0, on(X), on(Y))
    closed = f.load(recorded.save(tmp_path / "world.json"))
    with closed.use():
        np.testing.assert_array_equal(axpy(3.0, on(X).T, on(Y).T).numpy(), (np.float32(3) * X + Y).T)
        with pytest.raises(atoll.AtollError) as caught:
            other(on(X))
        engine.softmax(on(X))  # primitives are no part of it
    first = caught.value.diagnostics[0]
    assert (first.code, first.message) == ("ATL0825", "the closed world has no kernel of `mul(x0, 2.0)`")
    np.testing.assert_array_equal(other(on(X)).numpy(), X * 2)


@pytest.mark.parametrize(
    "text",
    [
        "", "[]", "{}", '{"format": "atoll-fused 2", "records": []}', "[" * 100000, '{"format": "atoll-fused 1"}',
        '{"format": "atoll-fused 1", "records": [{"name": 1}]}',
    ],
)  # fmt: skip
def test_a_file_that_is_no_world_is_refused(text: str, tmp_path: Path) -> None:
    (tmp_path / "world.json").write_text(text)
    with pytest.raises(atoll.AtollError) as caught:
        world.load(tmp_path / "world.json")
    assert caught.value.diagnostics[0].code == "ATL0826"


def test_a_record_whose_code_is_of_another_kernel_never_runs(tmp_path: Path) -> None:
    double = f.fuse(lambda x: x * 2.0)
    with f.record() as recorded:
        double(on(X))
    path = recorded.save(tmp_path / "world.json")
    whole = json.loads(path.read_text())
    kir = [row["kir"] for row in whole["records"]]
    for row, other in zip(whole["records"], reversed(kir), strict=True):
        row["kir"] = other
    path.write_text(json.dumps(whole))
    with f.load(path).use(), pytest.raises(atoll.AtollError, match="its KIR is another kernel's"):
        double(on(X))


@pytest.mark.parametrize(
    ("function", "message"),
    [
        (lambda x: x if x > 0 else -x, "a traced value decides no `if` or `while` of Python"),
        (lambda x: x[0], "a traced value is not indexed"),
        (lambda x: np.sin(x), "NumPy's `sin` is not traced"),
        (lambda x: x.cumsum(), "a traced value has no `cumsum`"),
        (lambda x: list(x), "a traced value has no elements to go through"),
        (lambda x: x**3, "a traced value is raised to the second power only"),
        (lambda x: x + X, "an expression holds a ndarray, which is neither traced nor a number"),
        (lambda x: x > 0, "the result is a comparison"),
        (lambda x: (x, x), "a fused function returns one value"),
        (lambda x: x.astype("i32") + 0.5, "the float 0.5 meets integers"),
        (lambda x: x.astype("i32") / 2, "integers are not divided"),
        (lambda x: x.astype("i32") + x, "`add` of a i32 and a f32"),
        (lambda x: f.exp(x.astype("i32")), "`exp` of a i32"),
        (lambda x: x.astype("f16") * 2.0, "`f16` inside an expression, where it can only be the result"),
        (lambda x: f.repeat_rows(x * 2.0), "`repeat_rows` of what is no operand"),
        (lambda x: f.where(x, x, x), "`where` of a f32, a f32 and a f32"),
    ],
)
def test_what_cannot_be_fused_is_named(function: Any, message: str) -> None:
    with pytest.raises(atoll.AtollError) as caught:
        f.fuse(function)(on(X))
    assert (caught.value.diagnostics[0].code, caught.value.diagnostics[0].message) == ("ATL0824", message)


def test_an_expression_without_end_is_refused() -> None:
    def long(x: Any) -> Any:
        for _ in range(3000):
            x = x + 1.0
        return x

    with pytest.raises(atoll.AtollError, match="an expression of more than 2000 operations"):
        f.fuse(long)(on(X))


def test_an_operand_from_elsewhere_is_an_error_always() -> None:
    add = f.fuse(lambda x, y: x + y)
    with pytest.raises(atoll.AtollError, match="ATL0821"):
        add(on(X), on(Y, "vulkan"))
    with pytest.raises(atoll.AtollError, match="takes arrays of a device and numbers, not a ndarray"):
        add(on(X), Y)


def test_a_result_goes_where_it_is_asked_for() -> None:
    add = f.fuse(lambda x, y: x + y)
    out = on(np.zeros_like(X))
    before = out.buffer.epoch
    assert add(on(X), on(Y), out=out) is out
    np.testing.assert_array_equal(out.numpy(), X + Y)
    assert out.buffer.epoch != before
    with pytest.raises(atoll.AtollError, match="has another result"):
        add(on(X), on(Y), out=out[1:])


def test_a_traced_value_has_a_name_for_everything_it_does() -> None:
    x = expression.Traced(expression.Node("input", (), "f32", (0, "f32")))
    assert expression.spelled((1.0 / x - 2.0).node) == "sub(div(1.0, x0), 2.0)"
