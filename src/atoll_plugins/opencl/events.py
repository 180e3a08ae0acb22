"""When did each launch run? The event of each, read when the trace ends or many are waiting.

Only a queue that was made for it keeps times, so a device changes its queue when the first trace is made.
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
    """The events of one device.

    Args:
        cl: The interface.
        track: What a trace calls the device.
        check: Raises what a function returned.
    """

    def __init__(self, cl: Table, track: str, check: Callable[[str, int], None]) -> None:
        self._cl, self._track, self._check = cl, track, check
        self._waiting: list[tuple[str, Any, int]] = []
        self._trace: tracing.Trace | None = None

    def around(self, name: str, queue: Callable[[Any], int]) -> int:
        """Queue a launch, which takes where its event goes; return its result. A trace is being made."""
        trace = tracing.active()
        if trace is not self._trace:
            self.drop()
            self._trace = trace
        event = self._cl.ffi.new("cl_event *")
        handed = time.perf_counter_ns()
        result = queue(event)
        if result:
            return result
        self._waiting.append((name, event[0], handed))
        if len(self._waiting) >= MOST:
            self.read()
        return 0

    def read(self) -> None:
        """Hand out what waits, once it is done."""
        cl = self._cl
        while self._waiting:
            name, event, handed = self._waiting[0]
            self._check("clWaitForEvents", cl.clWaitForEvents(1, cl.ffi.new("cl_event[]", [event])))
            start, end = (
                self._at(event, what) for what in (cl.CL_PROFILING_COMMAND_START, cl.CL_PROFILING_COMMAND_END)
            )
            self._waiting.pop(0)
            cl.clReleaseEvent(event)
            if self._trace is not None:
                self._trace.device(self._track, name, start, end, handed)

    def _at(self, event: Any, what: int) -> int:
        value = self._cl.ffi.new("cl_ulong *")
        null = self._cl.ffi.NULL
        result = self._cl.clGetEventProfilingInfo(event, what, 8, value, null)
        self._check("clGetEventProfilingInfo", result)
        return int(value[0])

    def drop(self) -> None:
        """Free what was not read."""
        for _, event, _ in self._waiting:
            self._cl.clReleaseEvent(event)
        self._waiting.clear()
