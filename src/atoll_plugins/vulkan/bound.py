"""Code that is launched again and again: what one launch found out serves the next on the same buffers."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from atoll_plugins.vulkan.device import VulkanDevice, VulkanExecutable
    from atoll_plugins.vulkan.recorder import DispatchRequest

Size = tuple[int, int, int]


#: How many dispatches a pipeline keeps, by the buffers that they bind.
_MOST_KEPT = 32


class BoundPipeline:
    """A pipeline with its work-group size, and the last dispatches of it."""

    def __init__(self, device: VulkanDevice, executable: VulkanExecutable, group: Size) -> None:
        self._device, self._executable, self._group = device, executable, group
        self._groups: Size | None = None
        #: By handles: the parameter block, and the dispatch; all of one grid, all handles alive.
        self._kept: dict[tuple[int, ...], tuple[bytes, DispatchRequest]] = {}
        self._retired = device.retired

    def launch(self, groups: Size, addresses: Sequence[int], block: bytes, queue: int) -> None:
        """Queue one launch on buffers by handle, or keep it for the graph; there is one queue."""
        device, handles = self._device, tuple(addresses)
        with device.lock:
            device.enter()
            if groups != self._groups or device.retired != self._retired:
                self._forget(groups)
            kept = self._kept.get(handles)
            if kept is not None and kept[0] == block:
                device.put(kept[1])
            else:
                device.put(self._made(groups, handles, block, kept))

    def _forget(self, groups: Size) -> None:
        """Keep nothing that was made for another grid, or before a buffer was released."""
        if groups != self._groups:
            self._device.check_shape(self._executable, groups, self._group)
        self._groups, self._retired = groups, self._device.retired
        self._kept.clear()

    def _made(
        self,
        groups: Size,
        handles: tuple[int, ...],
        block: bytes,
        kept: tuple[bytes, DispatchRequest] | None,
    ) -> DispatchRequest:
        """Return a dispatch, and keep it where another may be the same."""
        known = None if kept is None else kept[1].operands
        made = self._device.request(self._executable, handles, groups, block, known)
        if made.spilled is None:
            while len(self._kept) >= _MOST_KEPT:
                del self._kept[next(iter(self._kept))]
            self._kept[handles] = block, made
        return made
