"""Devices, buffers and launches over the installed drivers.

Which device, how arguments become a launch, what a launch reports. A driver reaches hardware
(:mod:`atoll.plugin`); compiling a kernel is :mod:`atoll.kernels`' job.

Words: a *record* is one piece of device code embedded in a linked file (:mod:`atoll.runtime.record`);
the *core* and a *launcher* are the C sources that a program launches with; a *status* is what a driver
reaches, or why it reaches nothing.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

# Not late: the function and its module have one name.
from atoll.runtime.record import Embedded, Record, c_array, read_records, record

if TYPE_CHECKING:
    from atoll.runtime.device import Device, Launched, choose, devices, open, statuses  # noqa: A004
    from atoll.runtime.graphs import Graph, capture
    from atoll.runtime.sources import core_source, include_folder, launcher_source, stored_source
    from atoll.runtime.status import DriverStatus
    from atoll.runtime.tracing import trace

_LATE = {
    **dict.fromkeys(("Device", "Launched", "choose", "devices", "open", "statuses"), "device"),
    **dict.fromkeys(("core_source", "include_folder", "launcher_source", "stored_source"), "sources"),
    **dict.fromkeys(("Graph", "capture"), "graphs"),
    "DriverStatus": "status",
    "trace": "tracing",
}

__all__ = [
    "Device",
    "DriverStatus",
    "Embedded",
    "Graph",
    "Launched",
    "Record",
    "c_array",
    "capture",
    "choose",
    "core_source",
    "devices",
    "include_folder",
    "launcher_source",
    "open",
    "read_records",
    "record",
    "statuses",
    "stored_source",
    "trace",
]


def __getattr__(name: str) -> Any:
    """Import a room's part only where it is used: a build takes sources and opens no device."""
    if name not in _LATE:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_LATE[name]}"), name)
