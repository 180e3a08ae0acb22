"""A command that has ended is noticed at once, however long it ran."""

from __future__ import annotations

import os
import select
from typing import Any

import pytest

from atoll.graph import runner


def test_how_long_is_waited_for_an_end_does_not_grow_with_the_run(monkeypatch: pytest.MonkeyPatch) -> None:
    waits: list[float] = []
    turns = iter(range(40))
    poll = os.wait4

    def ready(read: list[int], write: Any, other: Any, seconds: float) -> Any:
        if read and next(turns, None) is not None:  # the command is at work
            return [], [], []
        waits.extend([seconds] if not read else [])
        return select.select(read, write, other, seconds if read else 0.0)

    def ended(child: int, options: int) -> Any:
        # It is gone a little after its output, as a process that is taken apart is.
        return poll(child, options) if len(waits) > 3 else (0, 0, None)

    monkeypatch.setattr(runner, "select", type("Fake", (), {"select": staticmethod(ready)}))
    monkeypatch.setattr(os, "wait4", ended)
    spec = {"argv": ["/bin/sh", "-c", "exit 3"], "env": {"PATH": "/usr/bin:/bin"}, "time_limit": None}
    report = runner.run(spec, runner.Output(), -1)
    assert (report["end"], report["code"]) == ("exit", 3)
    assert sum(waits[:4]) < 0.01
    assert waits == sorted(waits)
