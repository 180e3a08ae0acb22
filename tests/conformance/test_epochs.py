"""Every path that writes a buffer gives it a new epoch, each time: the driver is watched from below.

An upload, a copy's target, a buffer that a launch or a graph writes: nothing here knows which public function
asks for it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

import atoll
from atoll import engine, f32, kernel, view
from atoll.plugin import BufferArgument
from atoll.runtime import Device
from atoll.runtime.array import Array, array
from atoll.runtime.buffer import Buffer
from atoll_plugins.vulkan.driver import VulkanDriver
from conformance.driver_kernels import needs_device


@kernel
def shift(x: view[f32], out: view[f32]) -> None:
    i = atoll.global_id(0)
    if i < out.size:
        out[i] = x[i] + 1.0


class Watched:
    """A driver's device that counts how often each handle is written."""

    def __init__(self, inner: Any) -> None:
        self.inner, self.written = inner, Counter[int]()
        self.kept: list[int] | None = None

    def __getattr__(self, name: str) -> Any:
        return getattr(self.inner, name)

    def upload(self, handle: int, *given: Any) -> None:
        self.written[handle] += 1
        self.inner.upload(handle, *given)

    def copy(self, other: Any, source: int, start: int, target: int, *given: Any) -> bool:
        self.written[target] += 1
        return bool(self.inner.copy(other.inner, source, start, target, *given))

    def launch(self, code: Any, groups: Any, group: Any, arguments: Any) -> None:
        self.note(
            [item.handle for item in arguments if isinstance(item, BufferArgument) and item.access != "read"]
        )
        self.inner.launch(code, groups, group, arguments)

    def bind(self, code: Any, group: Any) -> Any:
        bound, access = self.inner.bind(code, group), code.access

        def launch(groups: Any, handles: Any, block: bytes, queue: int) -> None:
            self.note([handle for handle, how in zip(handles, access, strict=False) if how != "read"])
            bound(groups, handles, block, queue)

        return launch

    def note(self, found: list[int]) -> None:
        if self.kept is None:
            self.written.update(set(found))
        else:
            self.kept += found

    def capture(self) -> None:
        self.kept = []
        self.inner.capture()

    def captured(self) -> Any:
        kept, self.kept = self.kept or [], None
        return Replayed(self, self.inner.captured(), kept)


class Replayed:
    def __init__(self, device: Watched, inner: Any, kept: list[int]) -> None:
        self.device, self.inner, self.kept = device, inner, kept

    def submit(self) -> None:
        self.device.written.update(set(self.kept))
        self.inner.submit()

    def close(self) -> None:
        self.inner.close()


@pytest.fixture
def device() -> Iterator[Device]:
    needs_device(VulkanDriver())
    made = Device(Watched(VulkanDriver().open(0)))
    yield made
    made.free()


def replayed(x: Array, y: Array) -> None:
    with atoll.capture(x.device) as graph:
        shift.over(64, device=x.device)(x, y)
    graph.replay()


def prepared(x: Array, y: Array) -> None:
    launch = shift.over(64, device=x.device)
    for _ in range(3):
        launch(x, y)


PATHS: dict[str, Callable[[Array, Array], Any]] = {
    "set": lambda x, y: y.set(np.ones(64, np.float32)),
    "set a part": lambda x, y: y[8:16].set(np.ones(8, np.float32)),
    "a launch": lambda x, y: shift.over(64, device=x.device)(x, y),
    "a prepared launch": prepared,
    "a launch on a part": lambda x, y: shift.over(8, device=x.device)(x[:8], y[8:16]),
    "a batch": lambda x, y: batched(x, y),
    "a replay": replayed,
    "a copy": lambda x, y: array(x, device=x.device),
    "a primitive": lambda x, y: engine.binary("add", x, y),
    "a product": lambda x, y: engine.matmul(x.reshape(8, 8), y.reshape(8, 8)),
    "a fused function": lambda x, y: atoll.fuse(lambda x, y: x * y + x)(x, y),
    "a fused function into an array": lambda x, y: atoll.fuse(lambda x, y: x * y + x)(x, y, out=y),
}


def batched(x: Array, y: Array) -> None:
    with x.device.batch():
        prepared(x, y)


@pytest.mark.parametrize("path", PATHS)
def test_what_the_driver_writes_has_a_new_epoch(
    path: str, device: Device, monkeypatch: pytest.MonkeyPatch
) -> None:
    known: list[Buffer] = []
    make = Buffer.__init__

    def made(self: Buffer, *given: Any, **named: Any) -> None:
        make(self, *given, **named)
        known.append(self)

    monkeypatch.setattr(Buffer, "__init__", made)
    x, y = (array(np.arange(64, dtype=np.float32), device=device) for _ in range(2))
    watched: Any = device._device
    watched.written.clear()
    first = len(known)
    before = {id(buffer): buffer.epoch for buffer in known}
    told, write = Counter[int](), Buffer.written

    def written(self: Buffer) -> None:
        told[self.handle] += 1
        write(self)

    monkeypatch.setattr(Buffer, "written", written)
    PATHS[path](x, y)
    assert watched.written, "nothing was written"
    assert watched.written <= told, f"written without a new epoch: {watched.written - told}"
    for buffer in known[:first]:
        is_new = buffer.epoch != before[id(buffer)]
        assert is_new == (buffer.handle in watched.written), f"buffer {buffer.handle}"
