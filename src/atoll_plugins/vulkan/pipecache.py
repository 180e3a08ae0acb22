"""Keeps compiled pipelines on disk, for the next process that opens the same device and driver.

A file is the SHA-256 of the driver's data and the data: a driver is handed nothing else, since not every one
survives a damaged cache. One that cannot be read or written costs time and nothing more.
"""

from __future__ import annotations

import hashlib
import os
from pathlib import Path
from typing import Any

from atoll.plugin.tools import cache_folder, write_atomic
from atoll_plugins.vulkan.make import Maker

MOST_BYTES = 64 << 20


class PipelineCache:
    """The cache of one open device.

    Args:
        maker: Of the device.
        properties: ``VkPhysicalDeviceProperties``; device, driver and its cache's id name the file.
        folder: Where files are; else Atoll's cache.
    """

    def __init__(self, maker: Maker, properties: Any, folder: Path | None = None) -> None:
        self._maker = maker
        uuid = bytes(maker.vk.ffi.buffer(properties.pipelineCacheUUID))
        numbers = properties.vendorID, properties.deviceID, properties.driverVersion
        name = hashlib.sha256(uuid + repr(numbers).encode()).hexdigest()[:32]
        self._file = (folder or cache_folder(os.environ, "pipelines")) / f"{name}.bin"
        self._known = self._read()
        vk = maker.vk
        values: dict[str, Any] = {"sType": vk.VK_STRUCTURE_TYPE_PIPELINE_CACHE_CREATE_INFO}
        data = vk.ffi.from_buffer(self._known)
        if self._known:
            values |= {"initialDataSize": len(self._known), "pInitialData": data}
        kind = "VkPipelineCache"
        self.handle: int = maker.make("vkCreatePipelineCache", kind, f"{kind}CreateInfo", values)

    def _read(self) -> bytes:
        try:
            if self._file.stat().st_size > MOST_BYTES:
                return b""
            text = self._file.read_bytes()
        except OSError:
            return b""
        return text[32:] if hashlib.sha256(text[32:]).digest() == text[:32] else b""

    def save(self) -> None:
        """Write what the driver compiled since it was read, where that is more."""
        data = self._data()
        if not data or data == self._known or len(data) > MOST_BYTES:
            return
        try:
            self._file.parent.mkdir(parents=True, exist_ok=True)
            write_atomic(self._file, hashlib.sha256(data).digest() + data)
        except OSError:
            return

    def _data(self) -> bytes:
        vk, maker = self._maker.vk, self._maker
        size = vk.ffi.new("size_t *")
        if vk.vkGetPipelineCacheData(maker.device, self.handle, size, vk.ffi.NULL) or not size[0]:
            return b""
        data = vk.ffi.new("char[]", size[0])
        if vk.vkGetPipelineCacheData(maker.device, self.handle, size, data):
            return b""
        return bytes(vk.ffi.buffer(data, size[0]))

    def destroy(self) -> None:
        """Free it."""
        self._maker.destroy("vkDestroyPipelineCache", self.handle)
        self.handle = 0
