"""What does a result of the driver interface mean? Lost is lost for good, no room is an error of its own."""

from __future__ import annotations

from atoll.errors import DeviceError
from atoll.runtime import faults
from atoll.runtime.native import Table

OUT_OF_MEMORY = 2
#: After these every later call of the process on that context fails ("the process must be terminated and
#: relaunched", CUresult in the CUDA driver API): a kernel read what is not there, memory went bad, the device
#: fell off the bus.
LOST = frozenset({46, 214, 220, 226, 700, 702, 709, 710, *range(714, 720), 721})


class CallError(Exception):
    """A function that failed before a device was open."""


def error_text(cu: Table, result: int) -> str:
    """Return a result with the interface's own name and sentence for it."""
    said = []
    for function in (cu.cuGetErrorName, cu.cuGetErrorString):
        text = cu.ffi.new("const char **")
        function(result, text)
        said.append(cu.ffi.string(text[0]).decode(errors="replace") if text[0] != cu.ffi.NULL else "unknown")
    return f"{result} ({said[0]}: {said[1]})"


def failure(cu: Table, function: str, result: int, name: str) -> DeviceError:
    """Return the error of a function that did not succeed on the device `name`."""
    text = error_text(cu, result)
    if result in LOST:
        return faults.lost(name, function, text)
    if result == OUT_OF_MEMORY:
        return faults.no_memory(function, text, name)
    return faults.call_failed(function, text, name)
