"""An index that wraps inside a row wraps on the processor through LLVM too (decision 190)."""

from __future__ import annotations

import numpy as np
import pytest

from atoll.runtime import Device
from atoll_plugins.cpu.driver import CpuDriver
from atoll_plugins.llvm import compiler
from kernel_text import kernel_from

ROTATED = """\
@kernel(block=64)
def k(x: view[i32], out: view[i32]):
    mine = atoll.shared(i32, (16, 32))
    lane = atoll.local_id(0)
    for at in range(lane, 512, 64):
        mine[at // 32, at % 32] = x[at]
    atoll.barrier()
    if lane < 16:
        total = 0
        for c in range(32):
            total += mine[lane, (c + lane) % 32]
        out[lane] = total
"""


def test_a_rotated_row_is_the_row() -> None:
    if compiler.installed() is None:
        pytest.skip("no llvmlite")
    device = Device(CpuDriver(with_llvm=True).open(0))
    x, out = np.arange(512, dtype=np.int32) ** 2, np.zeros(16, np.int32)
    kernel_from(ROTATED).over(64, device=device)(x, out)
    assert out.tolist() == x.reshape(16, 32).sum(axis=1).tolist()
    device.free()
