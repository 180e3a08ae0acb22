"""When did each launch run? Two events around each, read when the trace ends or many are waiting.

An event lies on the stream of its launch. Times are counted from one event that was waited for while the host
looked at its own clock; the interface gives them in milliseconds, to half a microsecond.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

from atoll.runtime import tracing
from atoll.runtime.native import Table

#: Launches that are timed before they are read.
MOST = 1024


class Timer:
    """The events of one device; its context is current in every call.

    Args:
        cu: The interface.
        track: What a trace calls the device.
        check: Raises what a function returned.
    """

    def __init__(self, cu: Table, track: str, check: Callable[[str, int], None]) -> None:
        self._cu, self._track, self._check = cu, track, check
        self._first: Any = None
        self._waiting: list[tuple[str, Any, Any, int]] = []
        #: Every event that was made, and those of them that time nothing now.
        self._made: list[Any] = []
        self._spare: list[Any] = []
        self._trace: tracing.Trace | None = None

    def around(self, name: str, stream: Any, queue: Callable[[], int]) -> int:
        """Queue a launch between two events; return its result. A trace is being made."""
        trace = tracing.active()
        if trace is not self._trace:
            self._waiting.clear()
            self._trace = trace
        if self._first is None:
            self._first = self._recorded(self._cu.ffi.NULL)
            self._check("cuEventSynchronize", self._cu.cuEventSynchronize(self._first))
        handed = time.perf_counter_ns()
        start = self._recorded(stream)
        result = queue()
        if result:
            self._spare.append(start)
            return result
        self._waiting.append((name, start, self._recorded(stream), handed))
        if len(self._waiting) >= MOST:
            self.read()
        return 0

    def _recorded(self, stream: Any) -> Any:
        cu = self._cu
        if self._spare:
            event = self._spare.pop()
        else:
            made = cu.ffi.new("CUevent *")
            self._check("cuEventCreate", cu.cuEventCreate(made, 0))
            event = made[0]
            self._made.append(event)
        self._check("cuEventRecord", cu.cuEventRecord(event, stream))
        return event

    def read(self) -> None:
        """Hand out what waits, once it is done."""
        waiting, self._waiting = self._waiting, []
        for name, start, end, handed in waiting:
            self._spare += (start, end)
            if self._trace is not None:
                self._check("cuEventSynchronize", self._cu.cuEventSynchronize(end))
                self._trace.device(self._track, name, self._at(start), self._at(end), handed)

    def _at(self, event: Any) -> int:
        """Return the nanoseconds from the first event to this one."""
        value = self._cu.ffi.new("float *")
        result = self._cu.cuEventElapsedTime(value, self._first, event)
        self._check("cuEventElapsedTime", result)
        return int(value[0] * 1e6)

    def destroy(self) -> None:
        """Free every event."""
        for event in self._made:
            self._cu.cuEventDestroy_v2(event)
        for kept in (self._waiting, self._made, self._spare):
            kept.clear()
        self._first = None
