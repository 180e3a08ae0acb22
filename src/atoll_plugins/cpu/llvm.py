"""KIR → LLVM IR for the processor, and the device that compiles it in this process (`atoll[llvm]`)."""

from __future__ import annotations

import ctypes
import re
from dataclasses import replace
from typing import Any

from atoll.accel import Entry
from atoll.ir import Module
from atoll.plugin import DeviceInfo, Emitted, Target
from atoll.runtime import faults
from atoll_plugins.cpu.llvmprinter import LIBRARY, CpuFunction
from atoll_plugins.formats.emission import Group, lacks_nothing, prepare

#: The architecture whose code is LLVM IR.
ARCH = "llvm"
_CALLED = re.compile(rf"^declare (?:float|double) @((?:{'|'.join(sorted(LIBRARY))})f?)\(", re.MULTILINE)


class CpuLlvmEmitter:
    """The stage of the processor that LLVM compiles."""

    @property
    def backend(self) -> str:
        """``cpu``."""
        return "cpu"

    @property
    def stage(self) -> str:
        """``llvm-ir``."""
        return "llvm-ir"

    def target(self, entry: Entry | None, arch: str = "") -> Target:
        """Return the one target: LLVM learns the processor where it compiles."""
        return Target(backend="cpu", arch=arch or ARCH)

    def emit(self, module: Module, kernel: str, target: Target, group: Group) -> Emitted:
        """Return one kernel as LLVM IR."""
        job = prepare(module, kernel, target, group, fixed=False, lacks=lacks_nothing, fuses=False)
        function = CpuFunction(job)
        return Emitted(
            target=target,
            stage=self.stage,
            code=function.text().encode("ascii"),
            text=True,
            entry=job.kernel.symbol,
            suffix=".ll",
            layout=replace(job.layout, shared_bytes=function.group_bytes()),
        )


def load(code: Emitted, info: DeviceInfo) -> tuple[Any, Any]:
    """Return the function of emitted LLVM IR, and what keeps it alive."""
    from atoll_plugins.llvm.compiler import LlvmError
    from atoll_plugins.llvm.compiler import load as compiled

    text = code.code.decode("ascii", errors="replace")
    try:
        loaded = compiled(text, code.entry, tuple(sorted(set(_CALLED.findall(text)))))
    except LlvmError as error:
        raise faults.code_refused(code.entry, info.name, "LLVM refused it", str(error)) from error
    return ctypes.CFUNCTYPE(None)(loaded.address), loaded


__all__ = ["ARCH", "CpuLlvmEmitter", "load"]
