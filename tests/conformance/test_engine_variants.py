"""Variants of a primitive give the same bytes: rows held or read again, spans or chunks, tiles, words."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

import atoll
from atoll import engine
from atoll.engine import primitives, quantised, reference, select, shapes
from atoll.engine.capabilities import capability
from atoll.engine.kernels import scans
from atoll.runtime import Device
from atoll.runtime.array import Array
from emitter_kit import device


@pytest.fixture(params=["cpu", "opencl", "vulkan"], scope="module")
def opened(request: pytest.FixtureRequest) -> Iterator[Device]:
    with device(request.param) as inner:
        yield Device(inner)


def numbers(*shape: int) -> Any:
    """Return floats of many sizes, with some that are no numbers, infinite, or a zero of either sign."""
    random = np.random.default_rng(sum(shape))
    found = random.standard_normal(shape).astype("f4") * 10.0 ** random.integers(-3, 3, shape)
    found.flat[:: found.size // 7 + 1] = -0.0
    if found.ndim > 1 and found.shape[0] > 2:
        found[1, -1], found[2, 0] = np.nan, np.inf
    return found.astype("f4")


def both(patch: pytest.MonkeyPatch, call: Any, *without: tuple[Any, str, Any]) -> tuple[bytes, bytes]:
    """Return the bytes of a call as it is, and with something replaced."""
    first: Array = call()
    with patch.context() as other:
        for owner, name, value in without:
            other.setattr(owner, name, value)
        second: Array = call()
        return first.numpy().tobytes(), second.numpy().tobytes()


READ_AGAIN = (primitives, "_held", lambda kernel, held, size: kernel)
IN_CHUNKS = (scans, "FOUR", 1 << 40)


@pytest.mark.parametrize("size", [1, 100, 128, 640, 1000, 4096, 4100])
def test_rows_that_are_held_and_rows_that_are_read_again_are_the_same(
    opened: Device, monkeypatch: pytest.MonkeyPatch, size: int
) -> None:
    x, scale = atoll.array(numbers(3, size), device=opened), atoll.array(numbers(size), device=opened)
    held, read = both(monkeypatch, lambda: engine.softmax(x), READ_AGAIN)
    assert held == read
    held, read = both(monkeypatch, lambda: engine.layer_norm(x, scale, scale), READ_AGAIN)
    assert held == read


@pytest.mark.parametrize("size", [4, 512, 516, 2048, 4096, 4100, 9000])
@pytest.mark.parametrize("reverse", [False, True])
def test_spans_and_chunks_add_up_in_one_order(
    opened: Device, monkeypatch: pytest.MonkeyPatch, size: int, reverse: bool
) -> None:
    x = atoll.array(numbers(3, size), device=opened)
    spans, chunks = both(monkeypatch, lambda: engine.scan(x, reverse=reverse), IN_CHUNKS)
    assert spans == chunks


def test_a_row_of_several_launches_adds_up_in_one_order(
    opened: Device, monkeypatch: pytest.MonkeyPatch
) -> None:
    x = atoll.array(numbers(2, 40000), device=opened)
    once, often = both(monkeypatch, lambda: engine.scan(x), (shapes, "MOST", 3))
    assert once == often
    once, often = both(monkeypatch, lambda: engine.softmax(x.reshape(80, 1000)), (shapes, "MOST", 3))
    assert once == often


@pytest.mark.parametrize("element", ["f32", "f16"])
def test_the_largest_tiles_give_the_bytes_of_the_plain_product(
    opened: Device, monkeypatch: pytest.MonkeyPatch, element: str
) -> None:
    sizes = ((150, 37), (37, 201)) if element == "f16" else ((128, 40), (40, 256))  # tiles outside; inside
    x, y = (engine.cast(atoll.array(numbers(*size), device=opened), element) for size in sizes)
    monkeypatch.setattr(primitives, "capability", lambda of: replace(capability(of), shares=True))
    monkeypatch.setattr(select, "MANY", 1)
    plain = (primitives, "capability", lambda of: replace(capability(of), shares=False))
    block, one = both(monkeypatch, lambda: engine.matmul(x, y), plain)
    assert engine.decisions[-2].variant == "block"
    assert block == one


@pytest.mark.parametrize("scheme", ["int8", "ternary"])
@pytest.mark.parametrize(("rows", "columns", "k"), [(1, 7, 64), (2, 130, 1040), (3, 5, 20), (70, 67, 100)])
def test_words_of_whole_numbers_multiply_exactly(
    opened: Device, monkeypatch: pytest.MonkeyPatch, scheme: str, rows: int, columns: int, k: int
) -> None:
    able = replace(capability(opened), shares=True, software=False)
    monkeypatch.setattr(quantised, "capability", lambda _: able)
    random = np.random.default_rng(rows)
    x, w = (random.standard_normal((size, k)).astype("f4") for size in (rows, columns))
    left, right = (atoll.array(item, device=opened) for item in (x, w))
    found = engine.matmul_q(left, right, scheme).numpy()
    assert engine.decisions[-1].variant == ("row" if rows <= quantised.FEW else "words")
    assert found.tobytes() == reference.matmul_q(x, w, scheme).tobytes()


def test_the_vendors_library_multiplies_bytes_and_the_rest_is_scaled(
    opened: Device, monkeypatch: pytest.MonkeyPatch
) -> None:
    x, w = numbers(1, 20, 8)[0], numbers(1, 12, 8)[0]

    def multiply(a: Array, b: Array, out: Array) -> None:
        sums = a.numpy()[0].astype("i4") @ b.numpy()[0].astype("i4")
        out.reshape(20, 12).set(sums)

    monkeypatch.setattr(quantised, "LIBRARY", 1)
    monkeypatch.setattr(quantised, "library", lambda _: multiply)
    able = replace(capability(opened), shares=True)
    monkeypatch.setattr(quantised, "capability", lambda _: able)
    found = engine.matmul_q(atoll.array(x, device=opened), atoll.array(w, device=opened))
    assert engine.decisions[-1].variant == "library"
    assert found.numpy().tobytes() == reference.matmul_q(x, w, "int8").tobytes()
