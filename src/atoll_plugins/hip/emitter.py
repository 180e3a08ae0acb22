"""KIR → HIP C++: text for hipcc, HIPRTC or clang."""

from __future__ import annotations

from atoll.accel import Entry
from atoll.ir import Module, ops
from atoll.plugin import Emitted, Target
from atoll_plugins.formats.emission import WIDEST, Group, lacks_nothing, prepare
from atoll_plugins.formats.inline import TYPES
from atoll_plugins.hip.printer import ASSEMBLY, HipPrinter

DEFAULT_ARCH = "gfx942"


class HipEmitter:
    """The emitter for AMD's GPUs."""

    @property
    def backend(self) -> str:
        """``hip``."""
        return "hip"

    @property
    def stage(self) -> str:
        """``hip-cpp``."""
        return "hip-cpp"

    @property
    def intrinsics(self) -> str:
        """The module that implements the standard set."""
        return "atoll_plugins.hip.intrinsics"

    def target(self, entry: Entry | None, arch: str = "") -> Target:
        """Return the architecture: the one named, else the entry's first; the text is the same for all."""
        version = str(entry.version) if entry is not None and entry.version is not None else ""
        listed = sorted(entry.archs) if entry is not None else []
        return Target(backend=self.backend, arch=arch or (listed or [DEFAULT_ARCH])[0], version=version)

    def emit(self, module: Module, kernel: str, target: Target, group: Group) -> Emitted:
        """Return one kernel as HIP C++."""
        job = prepare(
            module, kernel, target, group, fixed=False, lacks=lacks_nothing, subgroups=WIDEST, links=True,
            inline={**ASSEMBLY, ops.Inline.SNIPPET: TYPES},
        )  # fmt: skip
        return Emitted(
            target=target,
            stage=self.stage,
            code=HipPrinter(job).text().encode("ascii"),
            text=True,
            entry=job.kernel.symbol,
            suffix=".hip",
            layout=job.layout,
            declared=True,
        )
