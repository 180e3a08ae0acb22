"""Who owns a piece of a device's memory, and was it written since? Knows devices by their protocol alone.

Words: a *write epoch* is a number of a buffer that is another one after every write; what was derived from
the buffer is good as long as the number is the same.
"""

from __future__ import annotations

import itertools
import weakref
from collections import deque
from typing import Any

from atoll.runtime.handles import room

#: Never given twice, so that a buffer at another's place has no epoch of it.
_epochs = itertools.count(1)
#: What was let go of: handle, bytes, and address where that was asked; no bytes where others may use it.
_Gone = deque[tuple[int, int, int]]
#: Buffers that nobody refers to any more, by a device that has no `gone` for them. A finaliser may run inside
#: any lock, so it only appends here; the next allocation takes one of its size, or frees them.
_dropped: weakref.WeakKeyDictionary[Any, _Gone] = weakref.WeakKeyDictionary()


class Buffer:
    """Memory of one device; freed when nothing refers to it. It keeps its device alive.

    Attributes:
        device: The open device.
        nbytes: Its size.
        handle: What the device calls it; 0 for memory that another library owns.
    """

    __slots__ = (
        "__weakref__",
        "_address",
        "_epoch",
        "_gone",
        "_owner",
        "_shared",
        "_size",
        "device",
        "handle",
        "nbytes",
    )

    def __init__(self, device: Any, nbytes: int, *, address: int = 0, owner: object = None) -> None:
        self.device, self.nbytes = device, nbytes
        self._owner, self._shared, self._address = owner, owner is not None, address
        self._gone: _Gone | None = None
        self._epoch = next(_epochs)
        self.handle = self._size = 0
        if owner is None:
            self._size = room(nbytes)
            self._gone = _gone(device)
            self.handle, self._address = _taken(device, self._gone, self._size)

    @property
    def address(self) -> int:
        """Where it lies, on a device whose memory has addresses: always in one place."""
        if not self._address:
            self._address = int(self.device.address(self.handle))
        return self._address

    @property
    def epoch(self) -> int:
        """The write epoch. What another library may write has a new one whenever it is asked."""
        return next(_epochs) if self._shared else self._epoch

    def written(self) -> None:
        """Say that it was written: every path that writes ends here."""
        self._epoch = next(_epochs)

    def share(self) -> None:
        """Say that another library may write it from now on."""
        if not self._shared and self.handle:
            self.device.expose(self.handle)
        self._shared = True

    def upload(self, data: memoryview, offset: int = 0) -> None:
        """Copy host bytes in."""
        self.written()
        self.device.upload(self.handle, data, offset)

    def __del__(self) -> None:
        if self.handle and self._gone is not None:
            self._gone.append((self.handle, 0 if self._shared else self._size, self._address))


def _gone(device: Any) -> _Gone:
    """Return what nobody refers to any more on a device."""
    found: _Gone | None = getattr(device, "gone", None)
    return _dropped.setdefault(device, deque()) if found is None else found


def _taken(device: Any, gone: _Gone, size: int) -> tuple[int, int]:
    """Return a buffer's handle, and its address if that is known: what was let go of last, else a new one.

    A device works in order, so what uses a buffer next comes after what used it last.
    """
    while gone:
        try:
            handle, was, address = gone.pop()
        except IndexError:  # another thread was quicker
            break
        if was == size and getattr(device, "is_usable", False):
            return handle, address
        device.release(handle)
    return int(device.allocate(size)), 0
