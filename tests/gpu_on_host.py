"""Run the text of a C++ GPU language on the processor, through a header that defines what it uses.

It tells whether what is printed means what KIR says; it tells nothing about a real compiler, which
`test_emitters.py` asks.
"""

from __future__ import annotations

import ctypes
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from atoll.accel import DeviceFacts
from atoll.plugin import Argument, BufferArgument, DeviceInfo, Emitted, Executable, ScalarArgument, Target
from emitter_kit import accepted, tool

HEADERS = Path(__file__).parent / "fixtures" / "gpu_on_host"
#: Instructions that no header can define, and functions that do the same.
_INSTRUCTIONS = {
    'asm("cvt.f32.f16 %0, %1;" : "=f"(wide) : "h"(a));': "wide = host::widened(a);",
    'asm("cvt.rn.f16.f32 %0, %1;" : "=h"(bits) : "f"(a));': "bits = host::narrowed(a);",
}
_KERNEL = """
namespace program_{number} {{
{text}
}}
extern "C" void launch_{number}(void *const *buffers, const void *block, const unsigned *groups,
                                const unsigned *size)
{{
  host::launch(program_{number}::{entry}, buffers, block, groups, size);
}}
"""

Size = tuple[int, int, int]


@dataclass(frozen=True)
class _Loaded:
    entry: str
    function: Any


def compiled(codes: Sequence[Emitted], folder: Path) -> dict[bytes, Any]:
    """Compile texts of one language in one go; return the function that launches each, by its text."""
    backend = codes[0].target.backend
    parts = ["#include <sycl/sycl.hpp>" if backend == "sycl" else f'#include "{backend}.hpp"']
    for number, code in enumerate(codes):
        text = code.code.decode()
        for real, stand_in in _INSTRUCTIONS.items():
            text = text.replace(real, stand_in)
        parts.append(_KERNEL.format(number=number, text=text, entry=code.entry))
    source, library = folder / f"{backend}.cpp", folder / f"{backend}.so"
    source.write_text("\n".join(parts))
    command = [tool("g++"), "-std=c++20", "-O0", "-fPIC", "-shared", "-pthread", "-w", "-ffp-contract=off"]
    accepted([*command, "-I", str(HEADERS), "-o", str(library), str(source)])
    opened = ctypes.CDLL(str(library))
    return {code.code: opened[f"launch_{number}"] for number, code in enumerate(codes)}


@dataclass
class HostDevice:
    """A device that runs what was compiled, one thread a work-item."""

    target_of: Target
    functions: dict[bytes, Any]
    buffers: dict[int, bytearray] = field(default_factory=dict)
    info: DeviceInfo = field(init=False)

    def __post_init__(self) -> None:
        facts = DeviceFacts(backend=self.target_of.backend, name="g++")
        self.info = DeviceInfo(
            driver="host", index=0, name="g++ on threads", facts=facts, software=True, limits={}
        )

    def target(self) -> Target:
        return self.target_of

    def load(self, code: Emitted) -> Executable:
        return _Loaded(code.entry, self.functions[code.code])

    def allocate(self, nbytes: int) -> int:
        handle = max(self.buffers, default=0) + 1
        self.buffers[handle] = bytearray(nbytes)
        return handle

    def release(self, handle: int) -> None:
        del self.buffers[handle]

    def upload(self, handle: int, data: memoryview, offset: int = 0) -> None:
        self.buffers[handle][offset : offset + data.nbytes] = data.cast("B")

    def download(self, handle: int, out: memoryview, offset: int = 0) -> None:
        out.cast("B")[:] = self.buffers[handle][offset : offset + out.nbytes]

    def launch(
        self, executable: Executable, groups: Size, group: Size, arguments: tuple[Argument, ...]
    ) -> None:
        assert isinstance(executable, _Loaded)
        held = [self.buffers[item.handle] for item in arguments if isinstance(item, BufferArgument)]
        pointers = [ctypes.addressof(ctypes.c_char.from_buffer(item)) for item in held]
        blocks = [item.data for item in arguments if isinstance(item, ScalarArgument)]
        words = ctypes.c_uint32 * 3
        block = (ctypes.c_uint64 * 1024).from_buffer_copy(b"".join(blocks).ljust(8192, b"\0"))
        executable.function(
            (ctypes.c_void_p * (len(pointers) or 1))(*pointers), block, words(*groups), words(*group)
        )

    def wait(self) -> None:
        pass

    def close(self) -> None:
        self.buffers.clear()
