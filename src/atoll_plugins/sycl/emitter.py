"""KIR → SYCL: a free function kernel, for DPC++."""

from __future__ import annotations

from atoll.accel import Entry
from atoll.artifact import Fact
from atoll.ir import Module, ops
from atoll.plugin import Emitted, Target
from atoll_plugins.formats.emission import WIDEST, Group, lacks_nothing, prepare
from atoll_plugins.formats.inline import TYPES
from atoll_plugins.sycl.printer import SyclPrinter, needs_aspects


class SyclEmitter:
    """The emitter for SYCL."""

    @property
    def backend(self) -> str:
        """``sycl``."""
        return "sycl"

    @property
    def stage(self) -> str:
        """``sycl-cpp``."""
        return "sycl-cpp"

    @property
    def intrinsics(self) -> str:
        """The module that implements the standard set."""
        return "atoll_plugins.sycl.intrinsics"

    def target(self, entry: Entry | None, arch: str = "") -> Target:
        """Return the one target, with the entry's version: the text is the same for every device."""
        version = str(entry.version) if entry is not None and entry.version is not None else ""
        return Target(backend=self.backend, arch=arch, version=version)

    def emit(self, module: Module, kernel: str, target: Target, group: Group) -> Emitted:
        """Return one kernel as SYCL."""
        job = prepare(module, kernel, target, group, fixed=False, lacks=lacks_nothing, subgroups=WIDEST,
            inline={ops.Inline.SNIPPET: TYPES})  # fmt: skip
        printer = SyclPrinter(job)
        text = printer.text()
        return Emitted(
            target=target,
            stage=self.stage,
            code=text.encode("ascii"),
            text=True,
            entry=job.kernel.symbol,
            suffix=".cpp",
            layout=job.layout,
            requires=tuple(
                Fact(name="sycl.aspect", relation="=", value=name) for name in needs_aspects(printer)
            ),
            declared=True,
        )
