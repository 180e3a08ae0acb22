"""Runs kernels on the processor where there is no compiler: KIR interpreted on NumPy arrays."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from atoll.ir import SCALARS, Kernel, LaunchLayout, View
from atoll.ir.nodes import value_of
from atoll.plugin import Argument, BufferArgument, Emitted, Executable, ScalarArgument, Target
from atoll.runtime import faults
from atoll.runtime.pack import EVERYTHING, pack_scalars
from atoll_plugins.cpu.memory import HostMemory, Memory

#: The architecture whose code is the KIR text itself.
ARCH = "kir"

Size = tuple[int, int, int]


@dataclass(frozen=True, slots=True)
class Interpreted:
    """A kernel as KIR, with its layout."""

    entry: str
    kernel: Kernel
    layout: LaunchLayout


class InterpreterDevice(HostMemory):
    """The processor through the interpreter, opened."""

    def target(self) -> Target:
        """Return KIR itself."""
        return Target(backend="cpu", arch=ARCH)

    def load(self, code: Emitted) -> Executable:
        """Read a kernel's KIR."""
        from atoll.errors import CompileError
        from atoll.ir.parse import parse
        from atoll.ir.verify import verify

        self._using()
        try:
            module = verify(parse(code.code.decode("utf-8", errors="replace"), code.entry))
            kernel = next((item for item in module.kernels if item.symbol == code.entry), None)
        except CompileError as error:
            raise faults.code_refused(code.entry, self.info.name, "it is no KIR", str(error)) from error
        if kernel is None:
            raise faults.code_refused(code.entry, self.info.name, "it holds no such kernel")
        return Interpreted(code.entry, kernel, code.layout)

    def launch(
        self, executable: Executable, groups: Size, group: Size, arguments: tuple[Argument, ...]
    ) -> None:
        """Run one launch to its end."""
        from atoll.ir.interpret import interpret

        assert isinstance(executable, Interpreted)
        layout = executable.layout
        handles = [item.handle for item in arguments if isinstance(item, BufferArgument)]
        block = pack_scalars(item for item in arguments if isinstance(item, ScalarArgument))
        fields = _fields(layout, block)
        with self._using():
            memory = dict(zip(layout.buffers, map(self._buffers.get, handles), strict=True))
            given: dict[str, Any] = {}
            for param in executable.kernel.params:
                if isinstance(param.type, View):
                    given[param.name] = _view(param.name, param.type, memory[param.name], fields)
                else:
                    given[param.name] = fields[param.name]
            interpret(executable.kernel, given, groups, group, _domain(layout, fields))


def _fields(layout: LaunchLayout, block: bytes) -> dict[str, Any]:
    """Return the values of the parameter block by path."""
    found = {}
    for item in layout.fields:
        scalar = SCALARS[item.type]
        raw = int.from_bytes(block[item.offset : item.offset + item.nbytes], "little")
        found[item.path] = value_of(scalar, raw & ((1 << scalar.bits) - 1))
    return found


def _view(name: str, view: View, memory: Memory, fields: dict[str, Any]) -> Any:
    import numpy as np

    from atoll.ir.interpret import ViewArgument
    from atoll.ir.vector import memory_dtype

    size = view.element.nbytes
    elements = len(memory.view) // size
    axes = range(view.rank)
    return ViewArgument(
        np.frombuffer(memory.view[: elements * size], dtype=memory_dtype(view.element)),
        tuple(fields[f"{name}.size.{axis}"] for axis in axes),
        tuple(fields[f"{name}.stride.{axis}"] for axis in axes),
        fields[f"{name}.offset"],
    )


def _domain(layout: LaunchLayout, fields: dict[str, Any]) -> Size | None:
    if not layout.has_domain:
        return None
    sizes = fields["domain.0"], fields["domain.1"], fields["domain.2"]
    return None if all(size == EVERYTHING for size in sizes) else sizes
