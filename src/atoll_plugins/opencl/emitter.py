"""KIR → OpenCL C 1.2: text that the device's own compiler takes."""

from __future__ import annotations

from atoll.accel import Entry
from atoll.artifact import Fact
from atoll.ir import Module, nodes, ops
from atoll.plugin import Emitted, Target
from atoll_plugins.formats.emission import Group, Node, prepare
from atoll_plugins.formats.inline import TYPES
from atoll_plugins.opencl.printer import OpenClPrinter, uses_double

DEFAULT_VERSION = "1.2"


class OpenClEmitter:
    """The emitter for OpenCL."""

    #: Its code is source, which says no device.
    declared = True

    @property
    def backend(self) -> str:
        """``opencl``."""
        return "opencl"

    @property
    def stage(self) -> str:
        """``opencl-c``."""
        return "opencl-c"

    @property
    def takes_promises(self) -> bool:
        """True: plain views are accessed four elements at a time."""
        return True

    @property
    def unrolls(self) -> bool:
        """False: devices' compilers write loops out themselves."""
        return False

    @property
    def subgroup_width(self) -> int:
        """Sub-groups are emulated."""
        return 0

    @property
    def intrinsics(self) -> str:
        """The module that implements the standard set."""
        return "atoll_plugins.opencl.intrinsics"

    def target(self, entry: Entry | None, arch: str = "") -> Target:
        """Return the version of the entry; the text is OpenCL C 1.2, which every later one takes."""
        version = str(entry.version) if entry is not None and entry.version is not None else DEFAULT_VERSION
        return Target(backend=self.backend, arch=arch, version=version)

    def emit(self, module: Module, kernel: str, target: Target, group: Group) -> Emitted:
        """Return one kernel as OpenCL C."""
        job = prepare(
            module, kernel, target, group, fixed=False, lacks=_lacks, inline={ops.Inline.SNIPPET: TYPES}
        )
        extensions = ["cl_khr_fp64"] if uses_double(job) else []
        return Emitted(
            target=target,
            stage=self.stage,
            code=OpenClPrinter(job).text().encode("ascii"),
            text=True,
            entry=job.kernel.symbol,
            suffix=".cl",
            layout=job.layout,
            requires=tuple(Fact(name="opencl.extension", relation="=", value=name) for name in extensions),
            version=target.version,
            declared=self.declared,
        )


def _lacks(node: Node) -> str | None:
    """Return what OpenCL 1.2 lacks at a node, or None."""
    if isinstance(node, nodes.Atomic) and node.value.type.bits == 64:
        return f"`atomic {node.op}` on {node.value.type}"
    return None
