"""How is a sequence of launches recorded once and run often? `with atoll.capture(device) as graph`.

A driver that records (:class:`atoll.plugin.RecordingDevice`) runs all of it as one submission; for every
other one the same launches are queued one after the other. Only launches on arrays that lie on the device are
recorded: a graph owns what it refers to, and it cannot own memory of the host.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Protocol

from atoll.runtime import faults, tracing

if TYPE_CHECKING:
    from atoll.plugin import Bound, Recorded, RecordingDevice
    from atoll.plugin.driver import Size
    from atoll.runtime.device import Device


class Written(Protocol):
    """Memory that knows when it was written (:class:`atoll.runtime.buffer.Buffer`)."""

    def written(self) -> None:
        """Say that it was written."""
        ...


class Graph:
    """Launches that were recorded on one device; nothing runs while they are.

    Attributes:
        device: Where they run.
    """

    def __init__(self, device: Device) -> None:
        self.device = device
        self._buffers: dict[int, Written] = {}
        self._writes: dict[int, Written] = {}
        self._calls: list[Callable[[], None]] = []
        self._recorded: Recorded | None = None
        self._is_ready = False

    def __len__(self) -> int:
        """How many launches it has."""
        return self._count

    _count = 0

    def note(self, buffer: Written, *, written: bool) -> None:
        """Keep what a launch refers to."""
        self._buffers[id(buffer)] = buffer
        if written:
            self._writes[id(buffer)] = buffer

    def add(self, call: Callable[[], None] | None) -> None:
        """Count a launch; keep what queues it, where the driver does not record."""
        self._count += 1
        if call is not None:
            self._calls.append(call)

    def bound(self, bound: Bound, *, recorded: bool) -> Bound:
        """Return what records a launch on addresses instead of queueing it.

        Args:
            bound: Queues it, or records it where the driver records.
            recorded: Whether it does.
        """

        def record(groups: Size, addresses: Any, block: bytes, queue: int) -> None:
            if recorded:
                bound(groups, addresses, block, queue)
                self.add(None)
                return
            kept = tuple(addresses)
            self.add(lambda: bound(groups, kept, block, queue))

        return record

    def ready(self, recorded: Recorded | None) -> None:
        """Say that everything is recorded."""
        self._recorded, self._is_ready = recorded, True

    def replay(self) -> None:
        """Queue all of it once more; what is queued after it sees its writes.

        Raises:
            LaunchError: Where it is still recorded.
            DeviceError: Where the device or the graph was closed.
        """
        if not self._is_ready:
            raise faults.arguments(
                "a graph is replayed while it is recorded", "replay()", "the end of its `with`"
            )
        made = tracing.active()
        if made is None:
            self._queue()
        else:
            with made.host(f"replay of {len(self)} launches"):
                self._queue()
        for buffer in self._writes.values():
            buffer.written()

    def _queue(self) -> None:
        if self._recorded is not None:
            self._recorded.submit()
        for call in self._calls:
            call()

    def close(self) -> None:
        """Let go of it and of what it refers to; harmless when repeated."""
        if self._recorded is not None:
            self._recorded.close()
        else:
            self._calls = [lambda: self._closed()] if self._count else []
        self._buffers.clear()
        self._writes.clear()

    def _closed(self) -> None:
        raise faults.closed(f"a graph on {self.device.name}")


@contextmanager
def capture(device: object = None) -> Iterator[Graph]:
    """Record the launches of the body on arrays of a device, for :meth:`Graph.replay`.

    Args:
        device: Its name, an open device, or None for the default.

    Raises:
        DeviceError: Where there is none.
        LaunchError: Where one is recording already.
    """
    from atoll.runtime.device import Device
    from atoll.runtime.device import open as open_device

    opened = device if isinstance(device, Device) else open_device(device)  # type: ignore[arg-type]
    if opened.graph is not None:
        raise faults.arguments(f"{opened.name} is recording already", "a second graph", "one at a time")
    graph = Graph(opened)
    records: RecordingDevice | None = opened.recording
    if records is not None:
        records.capture()
    opened.graph = graph
    recorded = None
    try:
        yield graph
    finally:
        opened.graph = None
        if records is not None:
            recorded = records.captured()
    graph.ready(recorded)
