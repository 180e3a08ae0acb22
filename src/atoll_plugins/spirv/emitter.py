"""KIR → SPIR-V: one compute shader a module, the binary itself and no compiler."""

from __future__ import annotations

from dataclasses import replace

from atoll.accel import Entry
from atoll.artifact import Fact
from atoll.ir import F64, Module, nodes, ops
from atoll.ir.ops import Math
from atoll.plugin import Emitted, Target
from atoll_plugins.formats.emission import WIDEST, Group, Job, Node, cannot_emit, prepare
from atoll_plugins.formats.inline import VALUES
from atoll_plugins.formats.vulkan_rules import SPIRV_OF_VULKAN
from atoll_plugins.spirv.assembler import Assembler
from atoll_plugins.spirv.disassembler import disassemble
from atoll_plugins.spirv.function import MATHS, WIDE_MATHS, Function

DEFAULT_VERSION = "1.2"
#: Vulkan 1.0 takes SPIR-V 1.0 only, whose storage buffers are another construct.
SERVED = {version: spirv for version, spirv in SPIRV_OF_VULKAN.items() if version != "1.0"}


class SpirvEmitter:
    """The emitter for Vulkan."""

    @property
    def backend(self) -> str:
        """``vulkan``."""
        return "vulkan"

    @property
    def stage(self) -> str:
        """``spirv``."""
        return "spirv"

    @property
    def takes_promises(self) -> bool:
        """True: plain views are accessed four elements at a time."""
        return True

    @property
    def unrolls(self) -> bool:
        """False: drivers write loops out themselves."""
        return False

    @property
    def subgroup_width(self) -> int:
        """Devices differ."""
        return 0

    @property
    def intrinsics(self) -> str:
        """The module that implements the standard set."""
        return "atoll_plugins.spirv.intrinsics"

    def target(self, entry: Entry | None, arch: str = "") -> Target:
        """Return the Vulkan version of the entry; the SPIR-V version is the one every such device takes."""
        version = str(entry.version) if entry is not None and entry.version is not None else DEFAULT_VERSION
        return Target(backend=self.backend, arch=arch, version=version)

    def emit(self, module: Module, kernel: str, target: Target, group: Group) -> Emitted:
        """Return one kernel as a SPIR-V module."""
        version = _version(target)
        job = prepare(module, kernel, target, group, fixed=True, lacks=_lacks, subgroups=WIDEST,
            inline={ops.Inline.OPERATIONS: VALUES})  # fmt: skip
        assembler = Assembler(version)
        Function(job, assembler).write()
        names = [capability.name for capability in assembler.capabilities]
        facts = [Fact(name="spirv.capability", relation="=", value=name) for name in names]
        facts += [Fact(name="spirv.extension", relation="=", value=name) for name in assembler.extensions]
        facts.append(Fact(name="spirv", relation=">=", value=f"{version[0]}.{version[1]}"))
        return Emitted(
            target=target,
            stage=self.stage,
            code=assembler.binary(),
            text=False,
            entry=job.kernel.symbol,
            suffix=".spv",
            layout=replace(job.layout, shared_bytes=_shared_bytes(job)),
            requires=tuple(sorted(facts)),
            floor=f"{version[0]}.{version[1]}",
            version=target.version,
        )

    def disassemble(self, code: bytes) -> str:
        """Return a module as text, one line an instruction."""
        return disassemble(code)


def _version(target: Target) -> tuple[int, int]:
    spirv = SERVED.get(target.version)
    if spirv is None:
        raise cannot_emit(str(target), ", ".join(f"vulkan:{version}" for version in SERVED))
    if target.arch:
        asked = target.arch.removeprefix("spirv")
        if asked not in SERVED.values() or float(asked) > float(spirv):
            raise cannot_emit(f"{target} on Vulkan {target.version}", f"spirv1.3 to spirv{spirv}")
        spirv = asked
    major, minor = spirv.split(".")
    return int(major), int(minor)


def _shared_bytes(job: Job) -> int:
    """Return what the shader takes: narrow elements stand in 32 bits there."""
    return sum(-(-item.length * max(4, item.element.nbytes) // 8) * 8 for item in job.kernel.shared)


def _lacks(node: Node) -> str | None:
    """Return what Vulkan lacks at a node, or None."""
    if isinstance(node, nodes.MathCall):
        if node.op is Math.FMA:
            return "`fma` with one rounding (its own may round twice)"
        if node.op not in MATHS or (node.type == F64 and node.op not in WIDE_MATHS):
            return f"`{node.op}` on {node.type}"
    return None
