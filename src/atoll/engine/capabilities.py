"""What can a device do? A value that the engine's decisions ask; they never see the device itself."""

from __future__ import annotations

import weakref
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True)
class Capability:
    """What decisions are made on.

    Attributes:
        device: The device's place, as `cpu:0`.
        shares: Whether memory that a work-group shares is faster than memory.
        group_size: The most work-items of a group.
        shared_bytes: The most shared memory of a group.
        library: Whether the driver multiplies matrices with its vendor's library; asked only where the device
            tier is, as looking for it loads it.
        software: Whether it is a processor, whose compiler joins work-items itself.
    """

    device: str
    shares: bool = True
    group_size: int = 1024
    shared_bytes: int = 32768
    library: bool = False
    software: bool = False


_known: weakref.WeakKeyDictionary[Any, Capability] = weakref.WeakKeyDictionary()


def capability(device: Any) -> Capability:
    """Return what an open device can do."""
    found = _known.get(device)
    if found is None:
        limits = device.info.limits
        found = _known[device] = Capability(
            device=str(device.info),
            shares=device.memory != "host",
            group_size=limits.get("group_size", 1024),
            shared_bytes=limits.get("shared_bytes", 32768),
            software=device.info.software,
        )
    return found


def library(device: Any) -> Any:
    """Return what multiplies matrices with the vendor's library on a device, or None.

    It is called with three arrays, as :class:`atoll.engine.select.Product` describes them.
    """
    inner = getattr(device, "_device", device)
    return getattr(inner, "product", None)
