"""f16 and bf16 convert exactly and round once, for every value, on every device at hand."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np
import numpy.typing as npt
import pytest

from atoll.ir import BF16, F16, F32, F64, nodes, ops
from atoll.ir.parse import parse
from atoll.ir.verify import verify
from atoll.plugin import BufferArgument, DriverDevice, ScalarArgument
from atoll.testing.evaluate import ViewValue
from atoll.testing.launching import parameter_block
from atoll_plugins.formats import cnarrow, narrow
from emitter_kit import BACKENDS, device, emitter

Array = npt.NDArray[np.unsignedinteger]

_TEXT = """kir 1

kernel convert(x: view<{given}, 1>, out: view<{made}, 1>) group(0, 0, 0) {{
  local i: i64
  %i = sext.i64(global_id.0)
  out[%i] = {value}
}}
"""


@pytest.fixture(scope="module", params=BACKENDS)
def opened(request: pytest.FixtureRequest) -> Iterator[tuple[str, DriverDevice]]:
    with device(request.param) as found:
        yield request.param, found


def converted(opened: tuple[str, DriverDevice], value: str, given: Array, made: type) -> Array:
    """Return what a device makes of each element: `value` is KIR of ``x[%i]``."""
    backend, found = opened
    text = _TEXT.format(given=f"u{given.itemsize * 8}", made=f"u{np.dtype(made).itemsize * 8}", value=value)
    module = verify(parse(text))
    code = emitter(backend).emit(module, "convert", found.target(), (64, 1, 1))
    out: Array = np.zeros(len(given), made)
    view = ViewValue([], (len(given),), (1,))
    handles = [found.allocate(item.nbytes) for item in (given, out)]
    found.upload(handles[0], given.data.cast("B"))
    block = parameter_block(code.layout, {"x": view, "out": view}, (len(given), 1, 1))
    arguments = (
        BufferArgument(handles[0], "read"),
        BufferArgument(handles[1], "write"),
        ScalarArgument(block, 8),
    )
    found.launch(found.load(code), (-(-len(given) // 64), 1, 1), (64, 1, 1), arguments)
    found.wait()
    found.download(handles[1], out.data.cast("B"))
    for handle in handles:
        found.release(handle)
    return out


EVERY = np.arange(1 << 16, dtype=np.uint16)


def single_of(name: str) -> npt.NDArray[np.float32]:
    """Return the f32 of every 16 bits."""
    if name == "f16":
        return EVERY.view(np.float16).astype(np.float32)
    return (EVERY.astype(np.uint32) << 16).view(np.float32)


def between(name: str) -> npt.NDArray[np.float64]:
    """Return every finite value, and the middle of each two neighbours: exact in f32, and so in f64."""
    values = np.sort(single_of(name)[np.isfinite(single_of(name))]).astype(np.float64)
    beyond = 65520.0 if name == "f16" else 2.0**128 - 2.0**119
    return np.concatenate([values, (values[1:] + values[:-1]) / 2, [beyond, -beyond]])


def same(found: Array, wanted: Array, nan: Callable[[Array], npt.NDArray[np.bool_]]) -> bool:
    """Tell whether all are equal; the bits of a NaN are free."""
    return bool(np.all((found == wanted) | (nan(found) & nan(wanted))))


def nan_of(name: str) -> Callable[[Array], npt.NDArray[np.bool_]]:
    """Return the test for the bits of a NaN."""
    limit = 0x7C00 if name == "f16" else 0x7F80

    def is_nan(bits: Array) -> npt.NDArray[np.bool_]:
        found: npt.NDArray[np.bool_] = (bits & 0x7FFF) > limit
        return found

    return is_nan


def nearest(name: str, values: npt.NDArray[np.floating]) -> npt.NDArray[np.uint16]:
    """Return the bits of the nearest narrow floats, by NumPy and by KIR's own constants."""
    if name == "f16":
        with np.errstate(over="ignore"):
            return values.astype(np.float16).view(np.uint16)
    return np.array([nodes.bits_of(BF16, float(value)) for value in values], np.uint16)


def _is_tiny(opened: tuple[str, DriverDevice], values: npt.NDArray[np.floating]) -> npt.NDArray[np.bool_]:
    """Return which values are below the least normal f32: a target may flush those."""
    tiny: npt.NDArray[np.bool_] = (np.abs(values) < 2.0**-126) & (values != 0)
    return tiny if not opened[1].info.software else np.zeros_like(tiny)


@pytest.mark.parametrize("name", ["f16", "bf16"])
def test_every_narrow_float_widens_exactly(opened: tuple[str, DriverDevice], name: str) -> None:
    wide = converted(opened, f"bits.u32(fext.f32(bits.{name}(x[%i])))", EVERY, np.uint32)
    assert same(wide, single_of(name).view(np.uint32), lambda bits: (bits & 0x7FFFFFFF) > 0x7F800000)
    back = converted(opened, f"bits.u16(ftrunc.{name}(fext.f32(bits.{name}(x[%i]))))", EVERY, np.uint16)
    assert same(back, EVERY, nan_of(name))
    moved = converted(opened, f"bits.u16(fneg(bits.{name}(x[%i])))", EVERY, np.uint16)
    assert np.array_equal(moved, EVERY ^ 0x8000), "negation is not the sign bit alone"


@pytest.mark.parametrize("name", ["f16", "bf16"])
def test_a_single_rounds_half_to_even_around_every_middle(
    opened: tuple[str, DriverDevice], name: str, tell: Callable[[str], None]
) -> None:
    middle = between(name).astype(np.float32).view(np.uint32)
    special = np.array([0, 1 << 31, 1, 0x7F7FFFFF, 0x7F800000, 0xFF800000, 0x7FC00000, 0x7F800001], np.uint32)
    bits = np.concatenate([middle, middle + np.uint32(1), middle - np.uint32(1), special])
    found = converted(opened, f"bits.u16(ftrunc.{name}(bits.f32(x[%i])))", bits, np.uint16)
    values = bits.view(np.float32)
    wanted = nearest(name, values)
    flushed = _is_tiny(opened, values)
    assert same(found[~flushed], wanted[~flushed], nan_of(name))
    tell(f"{len(bits)} f32 around every middle of {name} on {opened[1].info.name}")


@pytest.mark.parametrize("name", ["f16", "bf16"])
def test_a_double_rounds_once(opened: tuple[str, DriverDevice], name: str, whole: bool) -> None:
    middle = between(name)[:: 1 if whole else 7]
    bits = middle.view(np.uint64)
    bits = np.concatenate(
        [bits, bits + np.uint64(1), bits - np.uint64(1), np.array([1, 2047 << 52], np.uint64)]
    )
    values = bits.view(np.float64)
    found = converted(opened, f"bits.u16(ftrunc.{name}(bits.f64(x[%i])))", bits, np.uint16)
    wanted = nearest(name, values)
    flushed = _is_tiny(opened, values)
    assert same(found[~flushed], wanted[~flushed], nan_of(name))
    twice = nearest(name, values.astype(np.float32))
    assert not same(twice, wanted, nan_of(name)), "no value here tells one rounding from two"


@pytest.mark.parametrize("name", ["f16", "bf16"])
@pytest.mark.parametrize("source", ["i32", "u32", "i64", "u64"])
def test_an_integer_rounds_once(opened: tuple[str, DriverDevice], name: str, source: str) -> None:
    bits, signed = int(source[1:]), source[0] == "i"
    least, most = (-(1 << (bits - 1)) if signed else 0), (1 << (bits - signed)) - 1
    middles = [m << s for m in range(129, 512, 2) for s in range(bits)]
    given = {sign * (value + by) for value in middles for by in (-1, 0, 1) for sign in (1, -1)}
    listed = sorted(value for value in given | {least, most, most - 1} if least <= value <= most)
    words = np.array([value & ((1 << bits) - 1) for value in listed], f"u{bits // 8}")
    read = "x[%i]" if not signed else f"sign.{source}(x[%i])"
    op = "sitof" if signed else "uitof"
    found = converted(opened, f"bits.u16({op}.{name}({read}))", words, np.uint16)
    scalar = F16 if name == "f16" else BF16
    wanted = np.array([nodes.bits_of(scalar, _rounded(scalar.name, value)) for value in listed], np.uint16)
    assert np.array_equal(found, wanted)


def _rounded(name: str, value: int) -> float:
    """Return an integer rounded once to the significand of a narrow float, half to even, in integers."""
    size, digits = abs(value), 11 if name == "f16" else 8
    spare = max(0, size.bit_length() - digits)
    whole, rest = size >> spare, size & ((1 << spare) - 1)
    half = 1 << spare >> 1
    whole += rest > half or (spare > 0 and rest == half and whole & 1)
    return float((whole << spare) * (1 if value >= 0 else -1))


def test_two_roundings_are_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cnarrow, "F64", object())  # no type is f64 any more: it is rounded to f32 first
    with device("cpu") as found, pytest.raises(AssertionError):
        test_a_double_rounds_once(("cpu", found), "bf16", whole=False)


def test_two_roundings_of_a_shader_are_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(
        narrow, "odd_of_double", lambda out, value: out.convert(ops.Cast.FTRUNC, F64, F32, value)
    )
    with device("vulkan") as found, pytest.raises(AssertionError):
        test_a_double_rounds_once(("vulkan", found), "f16", whole=False)
