"""Which code serves a launch best? What its arguments are known to be decides, where the emitter uses it.

Arrays that lie on a device in the usual way (whole, in C order, from an address of sixteen bytes) allow wide
accesses, arrays that do not overlap allow loads ahead of stores. The general code serves everything else;
both give the same to the bit.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from atoll.kernels.arguments import ArrayArgument

if TYPE_CHECKING:
    from atoll.ir import Module
    from atoll.kernels.front import Compiled
    from atoll.kernels.shapes import Shape
    from atoll.plugin import DeviceInfo

#: What a plain array starts at a multiple of, in bytes, and its rows, in elements.
START, ROW = 16, 4
#: Sizes are less than this, and strides than that: in bytes of any element they fit 32 bits.
SIZE, STRIDE = 1 << 31, 1 << 28


@dataclass(frozen=True, slots=True)
class Promises:
    """What is known of the arrays of a launch; as :class:`atoll.plugin.Target` says it.

    Attributes:
        fours: Whether the domain's first size is a multiple of four, too.
    """

    plain: bool = False
    apart: bool = False
    fours: bool = False


NOTHING = Promises()


def is_plain(first: int, sizes: tuple[int, ...], strides: tuple[int, ...]) -> bool:
    """Tell whether an array starts at an even place, its last dimension without gaps, and is not huge."""
    if first % START or (strides[-1] != 1 and sizes[-1] > 1):
        return False
    return max(sizes) < SIZE and all(stride % ROW == 0 and 0 <= stride < STRIDE for stride in strides[:-1])


def are_apart(extents: Sequence[tuple[int, int, bool]]) -> bool:
    """Tell whether no array that is written overlaps another; each is low, high, written."""
    for at, (low, high, written) in enumerate(extents):
        for other_low, other_high, other_written in extents[:at]:
            if (written or other_written) and low < other_high and other_low < high:
                return False
    return True


def promises(arrays: Sequence[ArrayArgument], shape: Shape) -> Promises:
    """Return what is known of the arrays of a launch; nothing where one does not lie on the device."""
    if not arrays or any(item.queue is None for item in arrays):
        return NOTHING
    plain = all(is_plain(item.first, item.sizes, item.strides) for item in arrays)
    apart = are_apart([(item.low, item.high, item.written) for item in arrays])
    return Promises(plain, apart, plain and shape.domain[0] % ROW == 0)


def served(known: Promises, info: DeviceInfo) -> Promises:
    """Return what code is made for on a device: a processor's compiler joins work-items itself.

    Where it finds four joined already it makes less of them: a sigmoid of 2**20 on PoCL took 6.7 and 33 ms.
    """
    return replace(known, fours=known.fours and not info.software)


def module_for(
    compiled: Compiled, known: Promises, width: int = 0, *, unrolls: bool = True
) -> tuple[Module, bool]:
    """Return KIR for what is known, and whether a work-item does four neighbours' work.

    Args:
        compiled: The kernel.
        known: What is promised of the arrays.
        width: How many work-items every sub-group has, where that is known.
        unrolls: Whether loops are written out.
    """
    from atoll.ir.module import Module
    from atoll.ir.subgroups import sized
    from atoll.ir.unroll import unroll
    from atoll.ir.widen import widen

    whole = compiled.optimised
    if width:
        whole = Module(kernels=tuple(sized(kernel, width) for kernel in whole.kernels))
    whole = unroll(whole) if unrolls else whole
    wide = widen(whole, compiled.kernel.name) if known.fours else None
    if wide is None and known.plain:
        from atoll.ir.rows import rows

        whole = rows(whole)
    return (whole, False) if wide is None else (wide, True)


def narrowed(shape: Shape) -> Shape:
    """Return the launch of a kernel whose work-items do four neighbours' work."""
    first = shape.domain[0] // ROW
    domain = (first, *shape.domain[1:])
    groups = (-(-first // shape.block[0]), *shape.groups[1:])
    return replace(shape, domain=domain, groups=groups)


def width_for(emitter: Any, block: Sequence[int]) -> int:
    """Return how many work-items every sub-group of such a work-group has; 0 where that is not known."""
    width = int(getattr(emitter, "subgroup_width", 0))
    return width if width and math.prod(block) % width == 0 else 0


def unrolls(emitter: Any) -> bool:
    """Tell whether an emitter wants loops written out before."""
    return bool(getattr(emitter, "unrolls", False))


def takes_promises(emitter: Any) -> bool:
    """Tell whether an emitter's code changes with what is promised."""
    return bool(getattr(emitter, "takes_promises", False))
