"""Whose device memory does a root take? The driver that it is named like says it, in numbers of DLPack.

A driver may have the member ``tensor_devices``: the DLPack device types of memory whose address its
kernels take as it is (``kDLCPU`` is 1; https://dmlc.github.io/dlpack/latest/c_api.html). A driver without
it takes none.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any


def memories(drivers: Mapping[str, Any], roots: Iterable[str]) -> dict[str, tuple[int, ...]]:
    """Return the DLPack device types by root; a root whose driver states none is left out."""
    stated = {root: getattr(drivers[root], "tensor_devices", ()) for root in roots if root in drivers}
    return {root: tuple(types) for root, types in stated.items() if types}
