"""bfloat16 of other libraries, in the host's memory: NumPy has no such type, so DLPack is read without it."""

from __future__ import annotations

import gc
import importlib.util
import sys
from typing import Any, TypeVar

import numpy as np
import pytest

import atoll
from atoll import bf16, f32, kernel, view
from atoll.runtime import dlpack
from atoll.runtime.array import Array

#: 1, -2, 3.5 and a quarter, and their doubles, as bfloat16 has them.
BITS = np.array([0x3F80, 0xC000, 0x4060, 0x3E80], np.uint16)
DOUBLED = [0x4000, 0xC080, 0x40E0, 0x3F00]


@kernel
def doubled(x: view[bf16], out: view[bf16]) -> None:
    i = atoll.global_id(0)
    if i < out.size:
        out[i] = bf16(f32(x[i]) * 2.0)


T = TypeVar("T")


@kernel
def copied(x: view[T], out: view[T]) -> None:
    i = atoll.global_id(0)
    if i < out.size:
        out[i] = x[i]


class Lent:
    """Another library's array: DLPack alone shows it, of a version or from before there were any."""

    def __init__(self, bits: Any, *, old: bool = True) -> None:
        self.bits, self.old = bits, old

    def __dlpack_device__(self) -> tuple[int, int]:
        return 1, 0

    def __dlpack__(self, **asked: Any) -> object:
        if self.old and "max_version" in asked:
            raise TypeError("max_version")
        return dlpack.words(self.bits, versioned="max_version" in asked)


@pytest.fixture
def torch() -> Any:
    if importlib.util.find_spec("torch") is None:
        pytest.skip("torch is not installed")
    return importlib.import_module("torch")


@pytest.mark.parametrize("where", ["cpu", "vulkan", "opencl", "oracle"])
@pytest.mark.parametrize("old", [False, True])
def test_a_kernel_reads_and_writes_it_in_place(where: str, old: bool) -> None:
    x, out = BITS.repeat(2)[::2], np.zeros(4, np.uint16)
    launch = doubled.python(4) if where == "oracle" else doubled.over(4, device=where)
    for _ in range(2):
        launch(Lent(x, old=old), Lent(out, old=old))
    assert out.tolist() == DOUBLED
    del launch
    gc.collect()
    assert sys.getrefcount(out) <= 2, "who lent it has it back"


def test_one_for_reading_only_is_not_written() -> None:
    out, sealed = np.zeros(4, np.uint16), BITS.copy()
    sealed.flags.writeable = False
    with pytest.raises(atoll.AtollError, match="may not be written"):
        doubled.over(4, device="cpu")(Lent(BITS), Lent(sealed, old=False))
    doubled.over(4, device="cpu")(Lent(sealed, old=False), Lent(out))
    assert out.tolist() == DOUBLED


def test_another_type_is_refused_by_its_name() -> None:
    out = np.zeros(4, np.float32)
    with pytest.raises(atoll.AtollError, match="the argument is an array of 1 dimensions of float32"):
        doubled.over(4, device="cpu")(Lent(BITS), out)
    with pytest.raises(atoll.AtollError, match="the argument is an array of 2 dimensions of bf16"):
        doubled.over(4, device="cpu")(Lent(BITS.reshape(2, 2)), Lent(BITS))


@pytest.mark.parametrize("where", ["cpu", "vulkan"])
def test_an_array_is_made_of_it(where: str) -> None:
    x: Array = atoll.array(Lent(BITS.reshape(2, 2).T), device=where)
    assert (x.element, x.shape) == ("bf16", (2, 2))
    assert x.numpy().tolist() == BITS.reshape(2, 2).T.tolist()
    out: Array = atoll.array(Lent(np.zeros(4, np.uint16)), device=where)
    doubled.over(4)(x.reshape(4), out)
    assert out.numpy().tolist() == np.array(DOUBLED).reshape(2, 2).T.reshape(4).tolist()


def test_an_array_on_the_processor_is_given_over_the_same_memory() -> None:
    x: Array = atoll.array(Lent(BITS), device="cpu")
    before = x.buffer.epoch
    seen = dlpack.take(x, None)
    assert (seen.element, seen.sizes, seen.address) == ("bf16", (4,), x.address)
    assert x.buffer.epoch != before, "who took it may write"
    there: Array = atoll.array(Lent(BITS), device="opencl")
    copied = dlpack.take(there[1:], None)
    assert (copied.element, copied.sizes) == ("bf16", (3,))
    assert dlpack.bits(copied).tolist() == BITS[1:].tolist()


def test_tensors_of_torch_go_in_and_come_out(torch: Any) -> None:
    x = torch.tensor([1, -2, 3.5, 0.25], dtype=torch.bfloat16)
    out = torch.zeros(8, dtype=torch.bfloat16)[::2]
    for where in ("cpu", "opencl", "cpu"):
        out.zero_()
        doubled.over(4, device=where)(x, out)
        assert out.tolist() == [2, -4, 7, 0.5]
    mine: Array = atoll.array(x, device="cpu")
    back = torch.from_dlpack(mine)
    assert back.dtype is torch.bfloat16
    assert back.tolist() == x.tolist()
    back[0] = 8
    assert mine.numpy()[0] == 0x4100, "one memory"
    with pytest.raises(atoll.AtollError, match="that DLPack does not give"):
        doubled.over(4, device="cpu")(x.clone().requires_grad_(), out)


def test_a_generic_kernel_takes_its_type_from_a_tensor(torch: Any) -> None:
    x, out = torch.ones(4, dtype=torch.bfloat16), torch.zeros(4, dtype=torch.bfloat16)
    copied.over(4, device="cpu")(x, out)
    assert out.tolist() == [1, 1, 1, 1]
