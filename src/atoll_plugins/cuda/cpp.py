"""KIR → CUDA C++: text for nvcc, NVRTC and people."""

from __future__ import annotations

from atoll.accel import Entry
from atoll.ir import Module, ops
from atoll.plugin import Emitted, Target
from atoll_plugins.cuda.emitter import PtxEmitter
from atoll_plugins.cuda.printer import CudaPrinter
from atoll_plugins.cuda.ptxtext import ASSEMBLY, WARP
from atoll_plugins.formats.emission import Group, lacks_nothing, prepare
from atoll_plugins.formats.inline import TYPES


class CudaCppEmitter:
    """The second stage of CUDA."""

    @property
    def backend(self) -> str:
        """``cuda``."""
        return "cuda"

    @property
    def stage(self) -> str:
        """``cuda-cpp``."""
        return "cuda-cpp"

    def target(self, entry: Entry | None, arch: str = "") -> Target:
        """Return the target that PTX would have: the text is the same for every architecture."""
        return PtxEmitter().target(entry, arch)

    def emit(self, module: Module, kernel: str, target: Target, group: Group) -> Emitted:
        """Return one kernel as CUDA C++."""
        job = prepare(
            module, kernel, target, group, fixed=False, lacks=lacks_nothing, subgroups=WARP, links=True,
            inline={**ASSEMBLY, ops.Inline.SNIPPET: TYPES},
        )  # fmt: skip
        return Emitted(
            target=target,
            stage=self.stage,
            code=CudaPrinter(job).text().encode("ascii"),
            text=True,
            entry=job.kernel.symbol,
            suffix=".cu",
            layout=job.layout,
            declared=True,
        )
