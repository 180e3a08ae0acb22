from __future__ import annotations

import pytest

from atoll.ir import BOOL, F16, F32, F64, I8, I64, Kernel, Parameter, SharedArray, View, layout, ops
from atoll.ir import nodes as n


def test_saxpy_has_the_layout_of_the_reference_page() -> None:
    x, out = View(F32), View(F32, 2)
    found = layout(
        Kernel(name="k", params=(Parameter("a", F32), Parameter("x", x), Parameter("out", out))), (64, 1, 1)
    )
    assert [(field.path, field.type, field.offset) for field in found.fields] == [
        ("domain.0", "u32", 0), ("domain.1", "u32", 4), ("domain.2", "u32", 8), ("a", "f32", 12),
        ("x.offset", "i64", 16), ("x.size.0", "i64", 24), ("x.stride.0", "i64", 32),
        ("out.offset", "i64", 40), ("out.size.0", "i64", 48), ("out.size.1", "i64", 56),
        ("out.stride.0", "i64", 64), ("out.stride.1", "i64", 72),
    ]  # fmt: skip
    assert (found.block_bytes, found.group, found.buffers) == (80, (64, 1, 1), ("x", "out"))
    assert found.has_domain
    assert found.offset_of("a") == 12
    with pytest.raises(KeyError):
        found.offset_of("b")


def test_narrow_scalars_take_four_bytes_and_wide_ones_their_alignment() -> None:
    params = tuple(
        Parameter(name, scalar)
        for name, scalar in (("b", BOOL), ("c", I8), ("h", F16), ("d", F64), ("e", I8))
    )
    found = layout(Kernel(name="k", params=params, body=(n.Barrier(),)))
    assert [(field.path, field.offset, field.nbytes) for field in found.fields] == [
        ("b", 0, 4), ("c", 4, 4), ("h", 8, 4), ("d", 16, 8), ("e", 24, 4),
    ]  # fmt: skip
    assert found.block_bytes == 32
    assert not found.has_domain


def test_access_and_shared_bytes_come_from_the_body() -> None:
    index = (n.const(I64, 0),)
    load = n.Load("x", index, F32)
    kernel = Kernel(
        name="k",
        params=tuple(Parameter(name, View(F32)) for name in ("x", "y", "z", "idle")),
        shared=(SharedArray("s", F32, 3), SharedArray("t", I8, 1)),
        body=(
            n.Store("y", index, load),
            n.Atomic(ops.AtomicOp.ADD, "z", index, n.const(F32, 1)),
        ),
    )
    found = layout(kernel)
    assert found.access == ("read", "write", "both", "read")
    assert found.shared_bytes == 16 + 8
