"""Code that is launched again and again: what one launch found out serves the next on the same buffers."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from atoll_plugins.vulkan.device import VulkanDevice, VulkanExecutable
    from atoll_plugins.vulkan.recorder import DispatchRequest, Operands

Size = tuple[int, int, int]


class BoundPipeline:
    """A pipeline with its work-group size, and the last dispatch of it."""

    def __init__(self, device: VulkanDevice, executable: VulkanExecutable, group: Size) -> None:
        self._device, self._executable, self._group = device, executable, group
        self._groups: Size | None = None
        self._handles: tuple[int, ...] = ()
        self._operands: Operands | None = None
        self._block = b""
        self._request: DispatchRequest | None = None
        self._retired = 0

    def launch(self, groups: Size, addresses: Sequence[int], block: bytes, queue: int) -> None:
        """Queue one launch on buffers by handle, or keep it for the graph; there is one queue."""
        device, handles = self._device, tuple(addresses)
        with device.lock:
            device.enter()
            request = self._request
            if (
                request is None
                or handles != self._handles
                or block != self._block
                or groups != self._groups
                or device.retired != self._retired
            ):
                request = self._made(groups, handles, block)
            device.put(request)

    def _made(self, groups: Size, handles: tuple[int, ...], block: bytes) -> DispatchRequest:
        """Return a dispatch, and keep it where the next may be the same."""
        device, executable = self._device, self._executable
        if groups != self._groups:
            device.check_shape(executable, groups, self._group)
            self._groups = groups
        if handles != self._handles or device.retired != self._retired or self._operands is None:
            self._request = None
            self._operands = device.operands(executable, handles)
            self._retired = device.retired
        made = device.request(executable, handles, groups, block, self._operands)
        self._handles, self._block = handles, block
        self._request = None if made.spilled is not None else made
        return made
