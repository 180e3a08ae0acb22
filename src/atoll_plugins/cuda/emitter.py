"""KIR → PTX text: no toolkit, no compiler."""

from __future__ import annotations

import re

from atoll.accel import Entry
from atoll.artifact import Fact
from atoll.ir import F64, Module, nodes
from atoll.ir.ops import Math
from atoll.plugin import Emitted, Target
from atoll_plugins.cuda.ptxfunction import Function
from atoll_plugins.cuda.ptxtext import ASSEMBLY, LEAST_ARCH, WARP, arch_level, least_isa
from atoll_plugins.formats.emission import Group, Node, cannot_emit, prepare
from atoll_plugins.formats.maths32 import OFFERED

DEFAULT_ARCH = "sm_80"
_EXACT = frozenset({Math.SQRT, Math.RSQRT, Math.FLOOR, Math.CEIL, Math.TRUNC, Math.RINT, Math.FMA})
_LEVEL = re.compile(r"\d{2,4}")


class PtxEmitter:
    """The emitter for CUDA."""

    @property
    def backend(self) -> str:
        """``cuda``."""
        return "cuda"

    @property
    def stage(self) -> str:
        """``ptx``."""
        return "ptx"

    @property
    def takes_promises(self) -> bool:
        """True: plain views are accessed sixteen bytes at a time, views apart through the read-only path."""
        return True

    @property
    def unrolls(self) -> bool:
        """True: ptxas writes loops out late or not at all, and a work-item's arrays want constant indices."""
        return True

    @property
    def subgroup_width(self) -> int:
        """A sub-group is a warp."""
        return WARP

    @property
    def intrinsics(self) -> str:
        """The module that implements the standard set."""
        return "atoll_plugins.cuda.intrinsics"

    def target(self, entry: Entry | None, arch: str = "") -> Target:
        """Return the architecture: the one named, else the entry's portable floor, else its least."""
        version = str(entry.version) if entry is not None and entry.version is not None else ""
        return Target(backend=self.backend, arch=arch or _arch(entry), version=version)

    def emit(self, module: Module, kernel: str, target: Target, group: Group) -> Emitted:
        """Return one kernel as PTX of the least version that names the architecture."""
        level = arch_level(target.arch)
        if level is None or level < LEAST_ARCH:
            raise cannot_emit(str(target), f"sm_{LEAST_ARCH} and newer")
        job = prepare(
            module,
            kernel,
            target,
            group,
            fixed=False,
            lacks=_lacks,
            subgroups=WARP,
            width=WARP,
            inline=ASSEMBLY,
        )
        major, minor = least_isa(target.arch)
        head = ["// Made by Atoll from KIR: launch ABI 1, no contraction.", f".version {major}.{minor}"]
        head += [f".target {target.arch}", ".address_size 64", ""]
        return Emitted(
            target=target,
            stage=self.stage,
            code="\n".join([*head, *Function(job).text()]).encode("ascii"),
            text=True,
            entry=job.kernel.symbol,
            suffix=".ptx",
            layout=job.layout,
            requires=(Fact(name="ptx.isa", relation=">=", value=f"{major}.{minor}"),),
            floor=target.arch.removeprefix("sm_"),
        )


def _arch(entry: Entry | None) -> str:
    if entry is None:
        return DEFAULT_ARCH
    if entry.floor is not None and _LEVEL.fullmatch(str(entry.floor.value)):
        return f"sm_{entry.floor.value}"
    known = [arch for arch in entry.archs if arch_level(arch) is not None]
    return min(known, key=lambda arch: (arch_level(arch) or 0, arch), default=DEFAULT_ARCH)


def _lacks(node: Node) -> str | None:
    """Return what PTX lacks at a node, or None."""
    if isinstance(node, nodes.MathCall) and not _offers(node):
        return f"`{node.op}` on {node.type}"
    return None


def _offers(node: nodes.MathCall) -> bool:
    return node.op in _EXACT or (node.op in OFFERED and node.type != F64)
