"""What primitives take and refuse, and how the engine decides; their bytes are in tests/conformance."""

# ruff: noqa: E501 - a table of refusals reads best with a row each
from __future__ import annotations

import warnings
from typing import Any, cast

import numpy as np
import pytest

import atoll
from atoll import engine
from atoll.engine import primitives, quantised, reference
from atoll.engine.capabilities import Capability
from atoll.engine.select import Product, Tier, decide_product, parts_of
from atoll.runtime.array import Array


def on(value: Any, device: str = "cpu") -> Array:
    found: Array = atoll.array(np.asarray(value), device=device)
    return found


X = np.arange(12, dtype=np.float32).reshape(3, 4)


@pytest.mark.parametrize(
    ("product", "able", "tier", "variant", "parts"),
    [
        (Product(1, 512, 512, 512), Capability("gpu:0"), Tier.EXACT, "wide", 1),
        (Product(1, 2048, 2048, 64), Capability("gpu:0"), Tier.EXACT, "block", 1),
        (Product(1, 100, 1 << 20, 64), Capability("gpu:0"), Tier.EXACT, "tiled", 1),
        (Product(1, 4, 512, 512), Capability("gpu:0"), Tier.EXACT, "tiled", 1),
        (Product(1, 512, 512, 512), Capability("cpu:0", shares=False), Tier.EXACT, "plain", 1),
        (Product(1, 512, 512, 512), Capability("gpu:0", group_size=128), Tier.EXACT, "plain", 1),
        (Product(1, 4, 4, 9000), Capability("gpu:0"), Tier.EXACT, "tiled", 5),
        (Product(1, 4, 4, 9000), Capability("cpu:0", shares=False), Tier.EXACT, "plain", 5),
        (Product(1, 512, 512, 9000), Capability("gpu:0"), Tier.EXACT, "wide", 1),
        (Product(1, 512, 512, 512), Capability("gpu:0", library=True), Tier.DEVICE, "library", 1),
        (Product(1, 512, 512, 512), Capability("gpu:0", library=True), Tier.EXACT, "wide", 1),
    ],
)
def test_a_variant_is_decided_on_a_capability(
    product: Product, able: Capability, tier: Tier, variant: str, parts: int
) -> None:
    found = decide_product(product, able, tier)
    assert (found.variant, found.parts, found.fallback) == (variant, parts, False)
    assert found.reason


def test_what_decides_on_bytes_never_asks_a_device() -> None:
    able = [Capability("a:0"), Capability("b:0", shares=False), Capability("c:0", group_size=64)]
    product = Product(1, 4, 4, 9000)
    assert {decide_product(product, item, Tier.EXACT).parts for item in able} == {parts_of(product)}


def test_a_fallback_is_never_silent() -> None:
    with pytest.warns(engine.FallbackWarning, match="`cpu:0` has no library for the device tier"):
        engine.matmul(on(X), on(X.T), tier="device")
    assert engine.decisions[-1].fallback
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        engine.matmul(on(X), on(X.T))
    assert not engine.decisions[-1].fallback


class _Library:
    """A driver's library: multiplies with NumPy and counts."""

    calls = 0

    def __call__(self, x: Array, y: Array, out: Array) -> None:
        self.calls += 1
        out.set(x.numpy() @ y.numpy())


def test_the_device_tier_calls_the_library_of_the_driver(monkeypatch: pytest.MonkeyPatch) -> None:
    library = _Library()
    monkeypatch.setattr("atoll.engine.primitives.library", lambda _: library)
    found = engine.matmul(on(X), on(X.T), tier="device")
    np.testing.assert_array_equal(found.numpy(), X @ X.T)
    assert (library.calls, engine.decisions[-1].tier) == (1, Tier.DEVICE)


@pytest.mark.parametrize(
    ("ask", "code", "message"),
    [
        (lambda: engine.matmul(on(X), on(X)), "ATL0822", "`matmul` takes (…, m, k) and (…, k, n)"),
        (lambda: engine.matmul(on(X), on(X.astype("i4"))), "ATL0822", "`matmul` takes two arrays of one float type"),
        (lambda: engine.binary("add", on(X), on(X[:, :3])), "ATL0822", "`add` has operands whose shapes do not fit together"),
        (lambda: engine.binary("xor", on(X), on(X)), "ATL0822", "`xor` is no operation on two operands"),
        (lambda: engine.unary("sin", on(X)), "ATL0822", "`sin` is no operation on one operand"),
        (lambda: engine.unary("exp", cast("Any", X)), "ATL0822", "`exp` takes arrays of a device, not a ndarray"),
        (lambda: engine.reduce("mean", on(X)), "ATL0822", "`mean` is no reduction of this type"),
        (lambda: engine.reduce("max", on(X[:0]), 0), "ATL0822", "`max` has no value along an axis without elements"),
        (lambda: engine.softmax(on(X.astype("i4"))), "ATL0822", "`softmax` takes an array of floats"),
        (lambda: engine.layer_norm(on(X), on(X), on(X)), "ATL0822", "`layer_norm` takes rows, and a scale and a shift for each column"),
        (lambda: engine.cast(on(X), "f64"), "ATL0822", "`cast` does not convert between these types"),
        (lambda: engine.gather(on(X), on(X)), "ATL0822", "`gather` takes a matrix and numbers of rows in i32"),
        (lambda: engine.matmul_q(on(X), on(X), "int3"), "ATL0822", "`matmul_q` has no scheme `int3`"),
        (lambda: engine.binary("add", on(X), on(X, "vulkan")), "ATL0821", "the operand `operand 2 of add` lies on another device"),
    ],
)  # fmt: skip
def test_operands_that_do_not_fit_are_refused(ask: Any, code: str, message: str) -> None:
    with pytest.raises(atoll.AtollError) as caught:
        ask()
    assert (caught.value.diagnostics[0].code, caught.value.diagnostics[0].message) == (code, message)


def test_weights_are_quantised_once_for_each_write_of_them() -> None:
    x, w = on(X), on(np.ones((5, 4), np.float32))
    first = quantised.weights(w, "ternary")
    engine.matmul_q(x, w, "ternary")
    assert quantised.weights(w, "ternary") is first
    assert quantised.weights(w, "int8") is not first
    w.set(-np.ones((5, 4), np.float32))
    assert quantised.weights(w, "ternary") is not first
    np.testing.assert_allclose(engine.matmul_q(x, w, "ternary").numpy()[:, 0], -X.sum(1), rtol=1e-2)
    np.from_dlpack(w)  # another library may write it now
    assert quantised.weights(w, "ternary") is not quantised.weights(w, "ternary")


def test_arrays_without_elements_have_results_without_elements() -> None:
    none = on(X[:0])
    assert engine.softmax(none).shape == (0, 4)
    assert engine.binary("add", none, none).shape == (0, 4)
    np.testing.assert_array_equal(engine.matmul(on(X[:, :0]), on(X[:0])).numpy(), np.zeros((3, 4)))
    np.testing.assert_array_equal(engine.reduce("sum", none, 0).numpy(), np.zeros(4))


def test_a_long_array_is_launched_in_rows_and_a_rest() -> None:
    long = np.arange(4096 * 65 + 3, dtype=np.float32)
    np.testing.assert_array_equal(engine.unary("neg", on(long)).numpy(), -long)


@pytest.mark.parametrize("device", ["cpu", "vulkan", "opencl"])
def test_more_rows_than_a_device_has_groups(device: str) -> None:
    """A device promises 65535 groups in a dimension, and 128 work-items a group."""
    rows = np.arange(70_000, dtype=np.int32) % 3
    x = on(X, device)
    assert np.array_equal(engine.gather(x, on(rows, device)).numpy(), X[rows])
    tall = on(np.tile(X, (24_000, 1)), device)
    doubled = np.zeros((72_000, 2), np.float32)
    doubled += np.tile(X, (24_000, 1))[:, ::2]
    assert np.array_equal(engine.copy(tall[:, ::2]).numpy(), doubled)
    row, weights = np.ones((1, 4), np.float32), np.tile(X - 5, (24_000, 1))
    few, many = (engine.matmul_q(on(row, device), on(w, device), "ternary").numpy() for w in (X - 5, weights))
    assert np.array_equal(many, np.tile(few, (1, 24_000)))


def test_a_long_axis_is_reduced_in_few_launches(monkeypatch: pytest.MonkeyPatch) -> None:
    """Pieces of 16384 are rows of one launch where they lie evenly, a launch each where they do not."""
    launched: list[int] = []
    over = primitives._over_rows

    def counted(kernel: Any, count: int, *rest: Any, **how: Any) -> None:
        launched.append(count)
        over(kernel, count, *rest, **how)

    monkeypatch.setattr(primitives, "_over_rows", counted)
    line = np.arange(5 * 16384 + 7, dtype=np.float32) % 11
    for values, counts in ((line, [5, 1, 1]), (np.stack([line, line]), [2, 2, 2, 2, 2, 2, 2])):
        launched.clear()
        found = engine.reduce("sum", on(values), -1).numpy()
        assert np.array_equal(found, reference.reduce("sum", values, -1))
        assert launched == counts


@pytest.mark.parametrize("device", ["cpu", "vulkan", "opencl"])
def test_a_second_call_asks_nothing_anew(device: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """The launch that the first call prepared takes the second one's arrays."""
    from atoll.kernels import resident

    x = on(X, device)
    engine.binary("add", x, x)
    monkeypatch.setattr(resident, "_checked", None)
    assert np.array_equal(engine.binary("add", x, x).numpy(), X + X)


def test_views_reach_every_primitive_without_a_copy_by_hand() -> None:
    x = np.random.default_rng(1).standard_normal((4, 5, 6)).astype("f4")
    given = on(x)[::2, ::-1].transpose(2, 0, 1)
    want = x[::2, ::-1].transpose(2, 0, 1)
    np.testing.assert_array_equal(engine.unary("neg", given).numpy(), -want)
    np.testing.assert_allclose(engine.reduce("sum", given, 1).numpy(), want.sum(1), rtol=1e-5, atol=1e-6)
    np.testing.assert_allclose(
        engine.matmul(given, given.transpose(0, 2, 1)).numpy(),
        want @ want.swapaxes(1, 2),
        rtol=1e-4,
        atol=1e-5,
    )


def test_runtime_holds_no_device_text() -> None:
    """No emitter, and none of the words that a text for a device would have."""
    import re
    from pathlib import Path

    import atoll.engine
    import atoll.runtime

    words = re.compile(
        r"__global__|__kernel|#version|OpEntryPoint|gl_GlobalInvocationID|get_global_id|\.visible \.entry"
    )
    files = [
        path
        for room in (atoll.runtime, atoll.engine)
        for path in Path(str(room.__file__)).parent.rglob("*.py")
    ]
    found = [path.name for path in files if words.search(path.read_text(encoding="utf-8"))]
    emitters = [path.name for path in files if re.search(r"def emit\(", path.read_text(encoding="utf-8"))]
    assert (found, emitters) == ([], [])
    assert len(files) > 20
