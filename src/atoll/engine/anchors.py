"""Does a device give the bytes that it must? Small programs with a reference; their hashes are anchors.

A device whose self-test passes is in the *exact* tier: its hashes equal NumPy's, and so each other's. The
programs hold what devices are known to do differently: contraction, division, square roots, functions of
the driver, rounding of narrow floats in registers, NaNs, the order of sums. None has a subnormal operand or
result, which a device may flush.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

from atoll.diagnostics import Diagnostic
from atoll.engine.select import Tier
from atoll.errors import DeviceError

if TYPE_CHECKING:
    from atoll.runtime.array import Array


@dataclass(frozen=True, slots=True)
class Anchor:
    """One program.

    Attributes:
        name: Primitive, variant, type.
        inputs: Makes the operands from a seed.
        run: Gives the result from arrays of a device.
        reference: Gives it from NumPy's.
    """

    name: str
    inputs: Callable[[Any], tuple[Any, ...]]
    run: Callable[..., Array]
    reference: Callable[..., Any]


def _floats(*shapes: tuple[int, ...]) -> Callable[[Any], tuple[Any, ...]]:
    return lambda random: tuple(random.standard_normal(shape).astype("f4") for shape in shapes)


def _halves(*shapes: tuple[int, ...]) -> Callable[[Any], tuple[Any, ...]]:
    return lambda random: tuple(random.standard_normal(shape).astype("f2") for shape in shapes)


def _wide(random: Any) -> tuple[Any, ...]:
    """Return floats of every size, with both zeros, infinities and NaNs of other bits."""
    import numpy as np

    sizes = (random.uniform(1, 2, 2000) * 2.0 ** random.uniform(-100, 100, 2000)).astype("f4")
    near = random.uniform(-20, 20, 2000).astype("f4")
    bits = np.array([0, 0x80000000, 0x7F800000, 0xFF800000, 0x7FC00001, 0xFFC12345, 0x7F7FFFFF], np.uint32)
    edges = np.array([88.7, 88.8, -87.3, -87.4, 1, -1, 0.625, -0.625, 12345.678], np.float32)
    return (np.concatenate([sizes, -sizes, near, bits.view(np.float32), edges]),)


def _pair(random: Any) -> tuple[Any, ...]:
    (x,) = _wide(random)
    inside = x[(abs(x) > 1e-12) & (abs(x) < 1e12) | (x != x)]
    return inside, random.permutation(inside)


def _numbered(random: Any) -> tuple[Any, ...]:
    import numpy as np

    numbers = np.append(random.integers(0, 20, 60), [-1, 25]).astype("i4")
    return random.standard_normal((20, 33)).astype("f4"), numbers


def anchors() -> Iterator[Anchor]:
    """Return the programs."""
    yield from _pointwise()
    yield from _products()
    yield from _rows()
    yield from _moved()
    yield from _fused()
    for element in ("f32", "f16"):
        yield Anchor(
            f"train.20-steps.{element}", _floats((32, 8), (32, 4), (8, 16), (16, 4)),
            partial(_trained, element), partial(_trained_in_numpy, element),
        )  # fmt: skip


def _pointwise() -> Iterator[Anchor]:
    """Return a program for each function of one element or two, and each cast."""
    from atoll.engine import primitives as p
    from atoll.engine import reference as r
    from atoll.engine.kernels import pointwise

    for op in pointwise.UNARY:
        yield Anchor(f"unary.{op}.f32", _wide, lambda x, op=op: p.unary(op, x), r.UNARY[op])
    for op in pointwise.BINARY:
        yield Anchor(f"binary.{op}.f32", _pair, lambda x, y, op=op: p.binary(op, x, y), r.BINARY[op])
    yield Anchor(
        "binary.mul.f16", _halves((500,), (500,)), lambda x, y: p.binary("mul", x, y), lambda x, y: x * y
    )
    yield Anchor(
        "broadcast", _floats((7, 1)), lambda x: p.broadcast(x, (3, 7, 5)), lambda x: _repeated(x, (3, 7, 5))
    )
    for element in ("f16", "bf16", "i8", "i32", "u8"):
        yield Anchor(
            f"cast.f32.{element}", lambda g: (g.uniform(-300, 300, 999).astype("f4"),),
            lambda x, e=element: p.cast(x, e), lambda x, e=element: r.cast(x, e),
        )  # fmt: skip
    yield Anchor(
        "cast.f16.round-trip", _floats((999,)), lambda x: p.cast(p.cast(x, "f16"), "f32"),
        lambda x: x.astype("f2").astype("f4"),
    )  # fmt: skip


def _products() -> Iterator[Anchor]:
    """Return a program for each variant of a product, and each quantised one with its way back."""
    from atoll.engine import primitives as p
    from atoll.engine import quantised as q
    from atoll.engine import reference as r

    for name, shapes in (
        ("small", ((9, 21), (21, 5))), ("batched", ((3, 20, 40), (40, 18))), ("wide", ((131, 37), (37, 140))),
        ("split", ((3, 8200), (8200, 4))),
    ):  # fmt: skip
        yield Anchor(f"matmul.{name}.f32", _floats(*shapes), p.matmul, r.matmul)
    yield Anchor("matmul.small.f16", _halves((9, 21), (21, 5)), p.matmul, r.matmul)
    yield Anchor(
        "matmul.transposed.f32", _floats((21, 9), (5, 21)), lambda x, y: p.matmul(x.T, y.T),
        lambda x, y: r.matmul(x.T, y.T),
    )  # fmt: skip
    for scheme in q.SCHEMES:
        yield Anchor(
            f"matmul_q.{scheme}", _floats((9, 70), (11, 70)), lambda x, w, s=scheme: q.matmul_q(x, w, s),
            lambda x, w, s=scheme: r.matmul_q(x, w, s),
        )  # fmt: skip
        for side, what in enumerate(("input", "weights")):
            yield Anchor(
                f"matmul_q.{scheme}.backward.{what}", _floats((9, 11), (9, 70), (11, 70)),
                lambda g, x, w, s=scheme, side=side: q.matmul_q_backward(g, x, w, s)[side],
                lambda g, x, w, s=scheme, side=side: r.matmul_q_backward(g, x, w, s)[side],
            )  # fmt: skip


def _rows() -> Iterator[Anchor]:
    """Return a program for each running sum, each reduction and each norm of rows."""
    from atoll.engine import primitives as p
    from atoll.engine import reference as r
    from atoll.engine.kernels import rows

    for reverse in (False, True):
        word = "suffix" if reverse else "prefix"
        yield Anchor(
            f"scan.{word}.f32", _floats((3, 1500)), lambda x, way=reverse: p.scan(x, reverse=way),
            lambda x, way=reverse: r.scan(x, reverse=way),
        )  # fmt: skip
    yield Anchor("scan.prefix.f16", _halves((2, 700)), lambda x: p.scan(x), lambda x: r.scan(x.astype("f4")))
    for op in rows.REDUCE:
        yield Anchor(
            f"reduce.{op}.f32", _floats((5, 300)), lambda x, op=op: p.reduce(op, x, -1),
            lambda x, op=op: r.reduce(op, x, -1),
        )  # fmt: skip
    yield Anchor(
        "reduce.sum.long", _floats((40000,)), lambda x: p.reduce("sum", x), lambda x: r.reduce("sum", x)
    )
    yield Anchor("softmax", _floats((5, 300)), p.softmax, r.softmax)
    yield Anchor("layer_norm", _floats((5, 300), (300,), (300,)), p.layer_norm, r.layer_norm)


def _moved() -> Iterator[Anchor]:
    """Return a program for each that moves elements, and each that draws random ones."""
    from atoll.engine import primitives as p
    from atoll.engine import reference as r

    yield Anchor("transpose", _floats((2, 20, 35)), p.transpose, lambda x: x.swapaxes(-1, -2))
    yield Anchor("gather", _numbered, p.gather, r.gather)
    yield Anchor(
        "scatter_add", lambda g: (g.standard_normal((62, 33)).astype("f4"), _numbered(g)[1], _numbered(g)[0]),
        p.scatter_add, r.scatter_add,
    )  # fmt: skip
    for name in ("uniform", "normal"):
        yield Anchor(
            f"random.{name}", _floats((1,)),
            lambda x, n=name: getattr(p, n)(1001, 7, 3, device=x.device),
            lambda _, n=name: getattr(r, n)(1001, 7, 3),
        )  # fmt: skip


def _fused() -> Iterator[Anchor]:
    """Return a program for each layout of a fused kernel, and each kind of view."""
    import numpy as np

    from atoll.engine import fused as f
    from atoll.engine import reference as r

    chain = f.fuse(lambda a, b: f.tanh(a * b + 0.5) - f.where(a > b, a, abs(b)))

    def steps(a: Any, b: Any) -> Any:
        return r.canonical(r.tanh(a * b + np.float32(0.5)) - np.where(a > b, a, np.abs(b)))

    yield Anchor("fused.flat", _floats((7, 90), (7, 90)), chain, steps)
    yield Anchor(
        "fused.strided", _floats((7, 90), (7, 1)), lambda a, b: chain(a.T, b.T), lambda a, b: steps(a.T, b.T)
    )
    norm = f.fuse(lambda x, w: x * f.rsqrt(f.row_mean(x * x) + 1e-6) * w)

    def rms(x: Any, w: Any) -> Any:
        mean = r.fold(x * x, "sum") * r.recip(np.array([x.shape[-1]], np.float32))
        return x * r.rsqrt(mean + np.float32(1e-6))[:, None] * w

    yield Anchor("fused.rows", _floats((5, 300), (300,)), norm, rms)
    rotary = f.fuse(lambda x, c, s: x * f.repeat_rows(c) + f.rotate_half(x) * f.repeat_rows(s))

    def turned(x: Any, c: Any, s: Any) -> Any:
        half = x.shape[-1] // 2
        c, s = (np.tile(item, (x.shape[-2] // len(item), 1)) for item in (c, s))
        return x * c + np.concatenate([-x[..., half:], x[..., :half]], -1) * s

    yield Anchor("rotary", _floats((2, 6, 8), (3, 8), (3, 8)), rotary, turned)


#: Steps of the training probe, and how far each goes.
_STEPS, _RATE = 20, 0.125


def _trained(element: str, x: Array, wanted: Array, first: Array, second: Array) -> Array:
    """Return a layer's weights after steps of training: products, masks and updates after each other."""
    from atoll.engine import fused as f
    from atoll.engine import primitives as p

    def product(a: Array, b: Array) -> Array:
        return p.matmul(*(item if element == "f32" else p.cast(item, element) for item in (a, b)))

    masked = f.fuse(lambda d, h: f.where(h > 0.0, d, 0.0))
    error = f.fuse(lambda y, wanted: (y - wanted) * 0.03125)
    update = f.fuse(lambda w, g, rate: w - g * rate)
    for _ in range(_STEPS):
        hidden = p.unary("relu", product(x, first))
        wrong = error(product(hidden, second), wanted)
        back = masked(product(wrong, second.T), hidden)
        second = update(second, product(hidden.T, wrong), _RATE)
        first = update(first, product(x.T, back), _RATE)
    return first


def _trained_in_numpy(element: str, x: Any, wanted: Any, first: Any, second: Any) -> Any:
    import numpy as np

    from atoll.engine import reference as r

    def product(a: Any, b: Any) -> Any:
        return r.matmul(*(item if element == "f32" else item.astype("f2") for item in (a, b)))

    f4 = np.float32
    for _ in range(_STEPS):
        hidden = product(x, first)
        hidden = np.where(hidden > 0, hidden, f4(0))
        wrong = (product(hidden, second) - wanted) * f4(0.03125)
        back = np.where(hidden > 0, product(wrong, second.T), f4(0))
        second = second - product(hidden.T, wrong) * f4(_RATE)
        first = first - product(x.T, back) * f4(_RATE)
    return first


def _repeated(x: Any, shape: tuple[int, ...]) -> Any:
    import numpy as np

    return np.broadcast_to(x, shape)


@dataclass(frozen=True, slots=True)
class Result:
    """What a device gave for an anchor: its hash, and NumPy's."""

    name: str
    found: str
    expected: str

    @property
    def is_equal(self) -> bool:
        """Whether they are the same bytes."""
        return self.found == self.expected


def digest(value: Any) -> str:
    """Return a hash of an array's type, shape and bytes."""
    import numpy as np

    whole = np.ascontiguousarray(value)
    return hashlib.sha256(f"{whole.dtype.str}{value.shape}".encode() + whole.tobytes()).hexdigest()


def results(device: object, seed: int = 0, only: Callable[[str], bool] = bool) -> tuple[Result, ...]:
    """Run the anchors on a device.

    Args:
        device: A device's name, or an open device.
        seed: Of the operands; the anchors that are kept have 0.
        only: Which names are run.
    """
    import numpy as np

    from atoll.kernels.launch import open_device
    from atoll.runtime.array import array

    opened, found = open_device(device), []
    for anchor in anchors():
        if not only(anchor.name):
            continue
        given = anchor.inputs(np.random.default_rng(seed))
        with np.errstate(all="ignore"):
            wanted = anchor.reference(*given)
        got = anchor.run(*(array(item, device=opened) for item in given)).numpy()
        found.append(Result(anchor.name, digest(got), digest(wanted)))
    return tuple(found)


@dataclass(frozen=True, slots=True)
class SelfTest:
    """What a self-test tried on a device, and what came of it."""

    device: str
    results: tuple[Result, ...]

    @property
    def tier(self) -> Tier:
        """The tier that the device is in."""
        return Tier.EXACT if all(item.is_equal for item in self.results) else Tier.DEVICE

    def __str__(self) -> str:
        lines = [f"{'same' if item.is_equal else 'OTHER':5} {item.name}" for item in self.results]
        return "\n".join([*lines, f"{self.device}: {self.tier} tier, of {len(self.results)} programs"])


_tested: dict[tuple[str, str], SelfTest] = {}


def selftest(device: object, *, again: bool = False) -> SelfTest:
    """Compare a device with NumPy; once a process for each device. `print` it to see what was tried."""
    from atoll.kernels.launch import open_device

    opened = open_device(device)
    key = str(opened.info), opened.info.name
    if again or key not in _tested:
        _tested[key] = SelfTest(opened.info.name, results(opened))
    return _tested[key]


def require_exact(device: object) -> SelfTest:
    """Return the self-test of a device in the exact tier.

    Raises:
        DeviceError: Where it is not: with the programs whose bytes differ.
    """
    found = selftest(device)
    if found.tier is not Tier.EXACT:
        other = [f"other bytes than NumPy: {item.name}" for item in found.results if not item.is_equal]
        raise DeviceError(
            Diagnostic(
                code="ATL0823",
                message=f"{found.device} is not in the exact tier",
                notes=tuple(other),
                hint="`print(atoll.engine.selftest(device))` shows everything that was tried",
            )
        )
    return found
