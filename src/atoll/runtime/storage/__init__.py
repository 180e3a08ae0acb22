"""Where do buffers lie in a device's memory? Knows no backend: blocks come from whoever has the device.

Words: a *block* is one allocation of the driver; a *piece* is the part of a block that a buffer has; a
*ring* is memory that is handed out in order and comes back in order; a *shelf* has what was released and
waits for the next of its size.
"""

from atoll.runtime.storage.pool import Budget, NoRoomError, Piece, Pool, Statistics
from atoll.runtime.storage.ring import Ring
from atoll.runtime.storage.shelf import Shelf, grain

__all__ = ["Budget", "NoRoomError", "Piece", "Pool", "Ring", "Shelf", "Statistics", "grain"]
