"""KIR → an object file for one AMD architecture, by LLVM (`atoll[llvm]`), and how it is linked.

The object is relocatable; :func:`linked` makes a code object of it where an lld is at hand.
"""

from __future__ import annotations

import subprocess
import tempfile
from collections.abc import Mapping
from pathlib import Path

from atoll.accel import Entry
from atoll.diagnostics import Diagnostic
from atoll.errors import CompileError
from atoll.ir import Module
from atoll.plugin import Emitted, Target
from atoll.plugin.tools import find_program, programs_like
from atoll_plugins.formats.emission import WIDEST, Group, cannot_emit, prepare
from atoll_plugins.hip.emitter import HipEmitter
from atoll_plugins.hip.llvmprinter import AmdFunction, lacks_maths
from atoll_plugins.llvm.compiler import LlvmError, installed, object_file

TRIPLE = "amdgcn-amd-amdhsa"
#: LLVM takes any name for a processor; these are the ones it has.
ARCHS = (
    "gfx900", "gfx906", "gfx908", "gfx90a", "gfx942", "gfx950", "gfx1030", "gfx1100", "gfx1101", "gfx1102",
    "gfx1150", "gfx1151", "gfx1200", "gfx1201",
)  # fmt: skip
SECONDS = 60


class CodeObjectEmitter:
    """The stage of AMD's GPUs that holds machine code."""

    @property
    def backend(self) -> str:
        """``hip``."""
        return "hip"

    @property
    def stage(self) -> str:
        """``object``."""
        return "object"

    def target(self, entry: Entry | None, arch: str = "") -> Target:
        """Return the architecture, as for the text."""
        return HipEmitter().target(entry, arch)

    def emit(self, module: Module, kernel: str, target: Target, group: Group) -> Emitted:
        """Return one kernel as a relocatable object."""
        if target.arch not in ARCHS:
            raise cannot_emit(str(target), ", ".join(ARCHS))
        job = prepare(module, kernel, target, group, fixed=False, lacks=lacks_maths, subgroups=WIDEST)
        if installed() is None:
            raise CompileError(_no_llvm(target))
        try:
            code = object_file(AmdFunction(job).text(), TRIPLE, target.arch)
        except LlvmError as error:
            raise CompileError(_refused(kernel, target, error)) from error
        return Emitted(
            target=target,
            stage=self.stage,
            code=code,
            text=False,
            entry=job.kernel.symbol,
            suffix=".o",
            layout=job.layout,
            arch=target.arch,
        )


def linked(code: bytes, environment: Mapping[str, str]) -> bytes | None:
    """Return the code object of an object, or None where there is no lld.

    Raises:
        LlvmError: Where the linker refuses it; its own words.
    """
    linker = find_program("ld.lld", environment)
    linker = linker or next(iter(programs_like(r"ld\.lld-\d+", environment)), None)
    if linker is None:
        return None
    with tempfile.TemporaryDirectory(prefix="atoll-hip-") as folder:
        source, out = Path(folder) / "kernel.o", Path(folder) / "kernel.hsaco"
        source.write_bytes(code)
        command = [str(linker), "-shared", "-o", str(out), str(source)]
        done = subprocess.run(command, capture_output=True, timeout=SECONDS, check=False)
        if done.returncode != 0:
            raise LlvmError(done.stderr.decode(errors="replace").strip())
        return out.read_bytes()


def _no_llvm(target: Target) -> Diagnostic:
    return Diagnostic(
        code="ATL0784",
        message=f"machine code for `{target}` needs llvmlite, and it is not installed",
        notes=("wanted: llvmlite 0.50 or newer", "found: none"),
        hint="install it with `pip install 'atoll[llvm]'`, or take the stage `hip-cpp`",
    )


def _refused(kernel: str, target: Target, error: LlvmError) -> Diagnostic:
    return Diagnostic(
        code="ATL0785",
        message=f"LLVM refused the code of `{kernel}` for `{target}`",
        notes=(f"LLVM: {error}",),
        hint="report it with the output of `atoll kernel show FILE --stage kir`",
    )
