"""KIR → C for the processor: one function that runs a range of work-groups."""

from __future__ import annotations

from dataclasses import replace

from atoll.accel import Entry
from atoll.ir import Module
from atoll.ir.text import canonical
from atoll.plugin import Emitted, Target
from atoll_plugins.cpu import llvm
from atoll_plugins.cpu.interpreter import ARCH
from atoll_plugins.cpu.printer import CpuPrinter
from atoll_plugins.formats.emission import Group, lacks_nothing, prepare
from atoll_plugins.llvm import compiler


class CpuEmitter:
    """The emitter of the processor."""

    @property
    def backend(self) -> str:
        """``cpu``."""
        return "cpu"

    @property
    def stage(self) -> str:
        """``c``."""
        return "c"

    @property
    def takes_promises(self) -> bool:
        """Whether LLVM is here, which makes one loop of rows without gaps; C text is the same for all."""
        return compiler.installed() is not None

    @property
    def unrolls(self) -> bool:
        """False: what compiles it does."""
        return False

    @property
    def intrinsics(self) -> str:
        """The module that implements the standard set."""
        return "atoll_plugins.cpu.intrinsics"

    def target(self, entry: Entry | None, arch: str = "") -> Target:
        """Return the one target: the C text is the same for every processor."""
        return Target(backend="cpu", arch=arch)

    def emit(self, module: Module, kernel: str, target: Target, group: Group) -> Emitted:
        """Return one kernel as C11; for ``llvm`` as LLVM IR, for ``kir`` as KIR."""
        if target.arch == llvm.ARCH:
            return llvm.CpuLlvmEmitter().emit(module, kernel, target, group)
        # Not every processor fuses, and a call of the library for each product is slower than the product.
        job = prepare(module, kernel, target, group, fixed=False, lacks=lacks_nothing, fuses=False)
        if target.arch == ARCH:
            return Emitted(
                target=target,
                stage=ARCH,
                code=canonical(Module(kernels=(job.kernel,))),
                text=True,
                entry=job.kernel.symbol,
                suffix=".kir",
                layout=job.layout,
            )
        printer = CpuPrinter(job)
        return Emitted(
            target=target,
            stage=self.stage,
            code=printer.text().encode("ascii"),
            text=True,
            entry=job.kernel.symbol,
            suffix=".c",
            layout=replace(job.layout, shared_bytes=printer.group_bytes()),
        )
