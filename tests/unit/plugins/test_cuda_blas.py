"""Products by the vendor's library: a stand-in does what it is told, and that is the product."""

from __future__ import annotations

import contextlib
import ctypes
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import atoll
from atoll.runtime.array import Array, empty
from atoll_plugins.cuda.blas import Products

_KINDS = {0: np.float32, 2: np.float16, 3: np.int8, 10: np.int32}


def _number(value: Any) -> Any:
    return getattr(value, "value", value)


class _Library:
    """Keeps what is set by handle, and multiplies by columns as cublasLt.h says."""

    def __init__(self, fails: str = "") -> None:
        self.items: dict[int, dict[Any, Any]] = {}
        self.fails = fails
        self.alive = 0

    def __getattr__(self, name: str) -> Any:
        def call(*given: Any) -> int:
            if name == self.fails:
                return 7
            if name == "cublasLtMatmul":
                self.multiply(*given)
            elif name == "cublasLtMatmulAlgoGetHeuristic":
                given[-1]._obj.value = 1
            elif name.endswith("Create"):
                self.alive += 1
                given[0]._obj.value = len(self.items) + 1
                self.items[len(self.items) + 1] = {"made": [_number(item) for item in given[1:]]}
            elif name.endswith("Destroy"):
                self.alive -= 1
            elif name.endswith("SetAttribute"):
                item, attribute, value, size = given
                assert ctypes.sizeof(value._obj) == _number(size)
                self.items[item.value][attribute] = value._obj.value
            return 0

        return call

    def columns(self, place: Any, layout: Any) -> Any:
        item = self.items[layout.value]
        kind, rows, cols, step = item["made"]
        dtype = np.dtype(_KINDS[kind])
        whole: Any = (ctypes.c_ubyte * (1 << 20)).from_address(place.value)
        strides = item[6] * dtype.itemsize, dtype.itemsize, step * dtype.itemsize
        return np.ndarray((item[5], rows, cols), dtype, whole, 0, strides)

    def multiply(
        self, _handle: Any, operation: Any, alpha: Any, a: Any, la: Any, b: Any, lb: Any, *rest: Any
    ) -> None:
        beta, _, _, d, ld = rest[:5]
        assert (alpha._obj.value, beta._obj.value) == (1.0, 0.0)
        asked = self.items[operation.value]
        left, right, result = self.columns(a, la), self.columns(b, lb), self.columns(d, ld)
        assert asked["made"] == ([72, 10] if result.dtype == np.int32 else [68, 0])
        assert isinstance(alpha._obj, ctypes.c_int32 if result.dtype == np.int32 else ctypes.c_float)
        left = left.swapaxes(1, 2) if asked[3] else left
        right = right.swapaxes(1, 2) if asked[4] else right
        result[:] = left.astype(result.dtype) @ right.astype(result.dtype)


class _Device:
    """The processor's memory, as the driver's device is used."""

    def __init__(self) -> None:
        self.inner: Any = atoll.open("cpu")
        self.allocate, self.address = self.inner.allocate, self.inner.address

    @contextlib.contextmanager
    def current(self) -> Iterator[None]:
        yield


def _on(value: Any) -> Array:
    found: Array = atoll.array(value, device="cpu")
    return found


@pytest.mark.parametrize("kind", ["f4", "f2"])
@pytest.mark.parametrize("turn_x", [False, True])
@pytest.mark.parametrize("turn_y", [False, True])
def test_what_the_library_is_told_is_the_product(kind: str, turn_x: bool, turn_y: bool) -> None:
    random = np.random.default_rng(0)
    x, y = random.standard_normal((3, 5, 7)).astype(kind), random.standard_normal((3, 7, 4)).astype(kind)
    left = _on(np.ascontiguousarray(x.swapaxes(1, 2))).transpose(0, 2, 1) if turn_x else _on(x)
    right = _on(np.ascontiguousarray(y.swapaxes(1, 2))).transpose(0, 2, 1) if turn_y else _on(y)
    library, out = _Library(), empty((3, 5, 4), device="cpu")
    products = Products(library, _Device())
    products(left, right, out)
    np.testing.assert_allclose(out.numpy(), x.astype("f4") @ y.astype("f4"), rtol=1e-5, atol=1e-5)
    assert library.alive == 1  # the handle
    products.close()
    assert library.alive == 0


def test_products_of_bytes_are_sums_of_integers() -> None:
    random = np.random.default_rng(0)
    x, w = (random.integers(-128, 128, (1, rows, 8)).astype("i1") for rows in (5, 12))
    out = empty((1, 5, 12), "i32", device="cpu")
    Products(_Library(), _Device())(_on(x), _on(w).transpose(0, 2, 1), out)
    assert (out.numpy() == x.astype("i4") @ w.astype("i4").swapaxes(1, 2)).all()


def test_a_failing_call_is_an_error_and_leaves_nothing_behind() -> None:
    library = _Library("cublasLtMatmul")
    x = _on(np.ones((1, 2, 2), np.float32))
    with pytest.raises(atoll.AtollError, match="`cublasLtMatmul` failed"):
        Products(library, _Device())(x, x, empty((1, 2, 2), device="cpu"))
    assert library.alive == 1


def test_an_operand_with_gaps_everywhere_is_refused() -> None:
    x = _on(np.ones((1, 4, 4), np.float32))
    with pytest.raises(atoll.AtollError, match="whose rows or columns lie without gaps"):
        Products(_Library(), _Device())(x[:, ::2, ::2], x[:, :2, :2], empty((1, 2, 2), device="cpu"))
