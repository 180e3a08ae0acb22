"""How fast is a device? Launches, graphs and copies, each the median of several runs after one to warm up.

The figures are of this machine at this moment: what is compared is measured in one run.
"""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

#: Bytes that are copied, where the device is the processor or pretends to be one; and else.
SMALL, LARGE = 16 << 20, 256 << 20
NODES = 200


@dataclass(frozen=True, slots=True)
class Figure:
    """One measured value.

    Attributes:
        name: What was done.
        value: How fast.
        unit: ``us`` or ``GB/s``.
    """

    name: str
    value: float
    unit: str

    def __str__(self) -> str:
        return f"{self.name:36} {self.value:10.3f} {self.unit}"


def _seconds(run: Callable[[], Any], runs: int) -> float:
    """Return the median time of a run, the first one apart."""
    taken = []
    for _ in range(runs + 1):
        start = time.perf_counter()
        run()
        taken.append(time.perf_counter() - start)
    return statistics.median(taken[1:])


def figures(device: object = None, *, nbytes: int | None = None, runs: int = 7) -> tuple[Figure, ...]:
    """Measure a device.

    Args:
        device: Its name, an open device, or None for the default.
        nbytes: Bytes of the array that is copied.
        runs: Of which the median is taken.
    """
    import numpy as np

    from atoll.engine.primitives import copy
    from atoll.kernels.launch import open_device
    from atoll.runtime import capture
    from atoll.runtime.array import array

    opened: Any = open_device(device)
    size = nbytes or (SMALL if opened.info.software else LARGE)
    size = min(size, opened.info.limits.get("buffer_bytes", size))
    small = array(np.zeros(256, np.float32), device=opened)
    host = np.zeros(size // 4, np.float32)
    large = array(host, device=opened)

    def many() -> None:
        with opened.batch():
            for _ in range(NODES):
                copy(small)
        opened.wait()

    def waited(x: Any) -> None:
        copy(x)
        opened.wait()

    def replayed() -> None:
        graph.replay()
        opened.wait()

    with capture(opened) as graph:
        for _ in range(NODES):
            copy(small)
    once, moved = _seconds(lambda: waited(small), runs * 5), size / 1e9
    return (
        Figure("one launch, waited for", 1e6 * once, "us"),
        Figure(f"a launch of {NODES} together", 1e6 * _seconds(many, runs) / NODES, "us"),
        Figure(f"a launch of a graph of {NODES}", 1e6 * _seconds(replayed, runs) / NODES, "us"),
        Figure(
            f"upload of {size >> 20} MiB",
            moved / _seconds(lambda: large.buffer.upload(_bytes(host)), runs),
            "GB/s",
        ),
        Figure(f"download of {size >> 20} MiB", moved / _seconds(large.numpy, runs), "GB/s"),
        Figure(
            f"copy of {size >> 20} MiB, read and written",
            2 * moved / _seconds(lambda: waited(large), runs),
            "GB/s",
        ),
    )


def _bytes(host: Any) -> memoryview:
    return memoryview(host).cast("B")
