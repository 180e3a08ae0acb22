"""How a kernel's arguments reach it on every target: launch ABI 1 (docs/reference/launch-abi.md)."""

from __future__ import annotations

from dataclasses import dataclass

from atoll.ir.module import Kernel, Parameter
from atoll.ir.types import SCALARS, U32, Scalar
from atoll.ir.walk import accesses, has_barrier

#: The version of the launch ABI; part of every cache key and of every artifact.
LAUNCH_ABI = 1


@dataclass(frozen=True, slots=True, kw_only=True)
class ParamField:
    """One field of the parameter block (docs/reference/launch-abi.md).

    Attributes:
        path: ``a`` for a scalar; ``x.offset``, ``x.size.0``, ``x.stride.0`` for a view; ``domain.0``.
        type: A KIR scalar type by name, ``f32`` or ``i64``; the kernel's own type. A type of fewer than
            32 bits still takes four bytes: sign or zero extended, f16 and bf16 bits in the low half.
        offset: Bytes from the start of the block.
    """

    path: str
    type: str
    offset: int

    @property
    def nbytes(self) -> int:
        """Bytes it takes in the block, its alignment too: 4 or 8."""
        return max(4, SCALARS[self.type].nbytes)


@dataclass(frozen=True, slots=True, kw_only=True)
class LaunchLayout:
    """How arguments reach a kernel on every target (launch ABI 1).

    Attributes:
        buffers: The names of the view parameters, in order; buffer k is binding or argument k.
        access: For each buffer ``read``, ``write`` or ``both``. A written buffer is not known to be
            written whole: who launches keeps what the kernel leaves alone.
        fields: The parameter block that follows the buffers.
        block_bytes: Its size, a multiple of 8.
        group: The work-group size the code was emitted for; zeros where any size serves.
        shared_bytes: Bytes of work-group memory.
    """

    buffers: tuple[str, ...]
    access: tuple[str, ...]
    fields: tuple[ParamField, ...]
    block_bytes: int
    group: tuple[int, int, int] = (0, 0, 0)
    shared_bytes: int = 0

    @property
    def has_domain(self) -> bool:
        """Whether the block starts with the domain; without it the domain is the whole grid."""
        return bool(self.fields) and self.fields[0].path == "domain.0"

    def offset_of(self, path: str) -> int:
        """Return the byte offset of a field; KeyError where there is none."""
        for item in self.fields:
            if item.path == path:
                return item.offset
        raise KeyError(path)


def layout(kernel: Kernel, group: tuple[int, int, int] = (0, 0, 0)) -> LaunchLayout:
    """Return the launch layout of a kernel, for code emitted for `group`."""
    wanted = [] if has_barrier(kernel) else [(f"domain.{axis}", U32) for axis in range(3)]
    for param in kernel.params:
        wanted += _fields(param)
    fields: list[ParamField] = []
    end = 0
    for path, scalar in wanted:
        size = max(4, scalar.nbytes)
        offset = -(-end // size) * size
        fields.append(ParamField(path=path, type=scalar.name, offset=offset))
        end = offset + size
    used = accesses(kernel)
    return LaunchLayout(
        buffers=tuple(view.name for view in kernel.views),
        access=tuple(used[view.name] for view in kernel.views),
        fields=tuple(fields),
        block_bytes=-(-end // 8) * 8,
        group=group,
        shared_bytes=shared_bytes(kernel),
    )


def _fields(param: Parameter) -> list[tuple[str, Scalar]]:
    if isinstance(param.type, Scalar):
        return [(param.name, param.type)]
    i64 = SCALARS["i64"]
    sizes = [(f"{param.name}.size.{axis}", i64) for axis in range(param.type.rank)]
    strides = [(f"{param.name}.stride.{axis}", i64) for axis in range(param.type.rank)]
    return [(f"{param.name}.offset", i64), *sizes, *strides]


def shared_bytes(kernel: Kernel) -> int:
    """Return the bytes of work-group memory a kernel declares, each array aligned to 8."""
    return sum(-(-item.length * item.element.nbytes // 8) * 8 for item in kernel.shared)


__all__ = ["LAUNCH_ABI", "LaunchLayout", "ParamField", "layout", "shared_bytes"]
