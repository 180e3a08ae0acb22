"""When is a device closed that nobody refers to any more? At once, or where the collector found it, later.

The collector runs wherever something is allocated, so what it ends may run inside any lock: inside cffi's
parser, which has one for all, closing a device never came back. What it finds is closed by the next who
opens or lists devices, and at the end of the process.
"""

from __future__ import annotations

import gc
from collections import deque
from contextlib import suppress
from typing import Any

from atoll.errors import AtollError

_left: deque[Any] = deque()


class Collector:
    """Whether it is running now.

    Attributes:
        runs: It is.
    """

    runs = False


def _note(phase: str, _info: object) -> None:
    Collector.runs = phase == "start"


gc.callbacks.append(_note)


def leave(device: Any) -> None:
    """Close a driver's device, unless the collector asks: then later."""
    _left.append(device)
    if not Collector.runs:
        close_left()


def close_left() -> None:
    """Close what was left; a device that is lost says nothing here."""
    while True:
        try:
            device = _left.popleft()
        except IndexError:
            return
        with suppress(AtollError):
            device.close()
