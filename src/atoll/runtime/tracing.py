"""When did what run? Spans of the host and of devices in one file that Perfetto and chrome://tracing read.

The format is Chrome's trace event format: complete events in microseconds. A device's clock is its own:
nothing ran before it was submitted, so the largest difference between a submission and the start that
followed it is how far the clocks are apart.
"""

from __future__ import annotations

import json
import os
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from pathlib import Path

from atoll._util.files import write_atomic
from atoll._util.values import dataclass, field


@dataclass(frozen=True, slots=True)
class Span:
    """Something that ran, in nanoseconds of its track's clock.

    Attributes:
        track: ``host``, or a device.
        name: What ran.
        start: When it started.
        end: When it ended.
        submitted: The host's time at which it was handed to a device; 0 on the host.
        thread: The host's thread; 0 for a device.
    """

    track: str
    name: str
    start: int
    end: int
    submitted: int = 0
    thread: int = 0


@dataclass(slots=True)
class Trace:
    """What was seen so far."""

    spans: list[Span] = field(default_factory=list)
    #: What each device does before the trace ends, so that nothing of it is missed.
    settle: dict[str, Callable[[], None]] = field(default_factory=dict)

    @contextmanager
    def host(self, name: str) -> Iterator[None]:
        """Note how long the body takes."""
        start = time.perf_counter_ns()
        try:
            yield
        finally:
            thread = threading.get_native_id()
            self.spans.append(Span("host", name, start, time.perf_counter_ns(), thread=thread))

    def device(self, track: str, name: str, start: int, end: int, submitted: int) -> None:
        """Note what ran on a device, in nanoseconds of its own clock; a kernel by its author's name."""
        from atoll.ir import base_name

        self.spans.append(Span(track, base_name(name), start, end, submitted))

    def offsets(self) -> dict[str, int]:
        """Return how far each track's clock is behind the host's."""
        found = {"host": 0}
        for span in self.spans:
            if span.track != "host":
                apart = span.submitted - span.start
                found[span.track] = max(found.get(span.track, apart), apart)
        return found

    def events(self) -> list[dict[str, object]]:
        """Return the events of the file, in the host's microseconds."""
        offsets = self.offsets()
        tracks = {track: number for number, track in enumerate(sorted(offsets), 1)}
        rows: list[dict[str, object]] = [
            {"ph": "M", "name": "process_name", "pid": number, "tid": 0, "args": {"name": track}}
            for track, number in tracks.items()
        ]
        for span in sorted(self.spans, key=lambda span: span.start + offsets[span.track]):
            start = span.start + offsets[span.track]
            row = {"ph": "X", "name": span.name, "pid": tracks[span.track], "tid": span.thread}
            rows.append({**row, "ts": start / 1000, "dur": (span.end - span.start) / 1000})
        return rows


_active: Trace | None = None


def active() -> Trace | None:
    """Return the trace that is being made, or None."""
    return _active


_NOTHING: AbstractContextManager[None] = nullcontext()


def host(name: str) -> AbstractContextManager[None]:
    """Note how long a call of the host takes, where a trace is made."""
    return _NOTHING if _active is None else _active.host(name)


@contextmanager
def trace(path: str | os.PathLike[str]) -> Iterator[Trace]:
    """Write what runs on devices in the body to a file that Perfetto reads.

    The body's launches are waited for. A device says when its launches ran where its driver can; of every
    device the calls are noted.

    Args:
        path: The JSON file; it is written whole, when the body is left.
    """
    global _active
    before, made = _active, Trace()
    _active = made
    try:
        yield made
        for settle in made.settle.values():
            settle()
    finally:
        _active = before
        text = json.dumps({"traceEvents": made.events(), "displayTimeUnit": "ns"})
        write_atomic(Path(path), text)
