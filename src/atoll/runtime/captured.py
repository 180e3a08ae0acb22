"""What does whoever captured launches hold? Two functions of the device, which keeps the graph itself."""

from __future__ import annotations

from collections.abc import Callable


class Captured:
    """A graph as whoever captured it has it; closed with its device.

    Args:
        submit: Queues it.
        close: Lets go of it; harmless when repeated.
    """

    def __init__(self, submit: Callable[[], None], close: Callable[[], None]) -> None:
        self._submit, self._close = submit, close

    def submit(self) -> None:
        """Queue all of it once more.

        Raises:
            DeviceError: Where it or its device was closed.
        """
        self._submit()

    def close(self) -> None:
        """Let go of it; harmless when repeated. It may be in flight."""
        self._close()

    def __del__(self) -> None:
        self._close()
