"""How many work-items run, in groups of what size? A domain or a grid, made to fit its device."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from atoll.diagnostics import Diagnostic
from atoll.errors import LaunchError
from atoll.ir import Kernel, has_barrier
from atoll.ir.nodes import Builtin
from atoll.ir.ops import Id
from atoll.ir.walk import all_expressions
from atoll.kernels.definition import MAX_BLOCK, Sizes, block_sizes
from atoll.runtime import limits

if TYPE_CHECKING:
    from atoll.plugin import DeviceInfo

Triple = tuple[int, int, int]
#: The block that serves a domain of one, two or three dimensions where nobody says which.
DEFAULT_BLOCKS: dict[int, Triple] = {1: (64, 1, 1), 2: (16, 16, 1), 3: (8, 8, 4)}
#: The most work-items in one dimension (docs/reference/launch-abi.md).
MAX_ITEMS = (1 << 31) - 1


def rank_of(kernel: Kernel) -> int:
    """Return how many dimensions a kernel's ids use: what its domain should have."""
    ids = [node.dimension for node in all_expressions(kernel.body) if isinstance(node, Builtin)]
    return 1 + max(ids, default=0)


def block_for(kernel: Kernel) -> Triple:
    """Return the block of a kernel's contract, else the one that serves its rank."""
    return kernel.group if any(kernel.group) else DEFAULT_BLOCKS[rank_of(kernel)]


@dataclass(frozen=True, slots=True)
class Shape:
    """How many work-items run, in groups of what size.

    Attributes:
        free: Whether nobody named the block and no work-item sees it, so that a device may have another.
    """

    domain: Triple
    groups: Triple
    block: Triple
    free: bool = False


def over_shape(kernel: Kernel, shape: Sizes, block: Sizes | None) -> Shape:
    """Return the groups that cover a domain.

    Raises:
        LaunchError: Where the kernel does not allow it.
    """
    parts = shape if isinstance(shape, tuple) else (shape,)
    domain = _triple(kernel, parts, "domain", least=0)
    chosen = _chosen(kernel, block, len(parts))
    rounded = [-(-size // by) for size, by in zip(domain, chosen, strict=True)]
    if has_barrier(kernel) and any(size % by for size, by in zip(domain, chosen, strict=True)):
        raise LaunchError(
            refusal(
                f"the work-items of `{kernel.name}` wait for each other, "
                "so its domain has to be whole work-groups",
                f"the domain: {_shown(domain)}",
                f"the block: {_shown(chosen)}",
                hint="round the domain up and guard the accesses, as in `if i < x.size`",
            )
        )
    free = block is None and not any(kernel.group) and _sees_no_block(kernel)
    return Shape(domain, (rounded[0], rounded[1], rounded[2]), chosen, free)


def grid_shape(kernel: Kernel, groups: Sizes, block: Sizes) -> Shape:
    """Return a launch of whole groups.

    Raises:
        LaunchError: Where the kernel does not allow it.
    """
    parts = groups if isinstance(groups, tuple) else (groups,)
    counts = _triple(kernel, parts, "grid", least=0)
    chosen = _chosen(kernel, block, len(parts))
    domain = tuple(count * size for count, size in zip(counts, chosen, strict=True))
    return Shape(_triple(kernel, domain, "grid", least=0), counts, chosen)


def _triple(kernel: Kernel, parts: tuple[Any, ...], what: str, least: int) -> Triple:
    import operator

    try:
        sizes = tuple(operator.index(part) for part in parts)
    except TypeError:
        sizes = ()
    if not 1 <= len(sizes) <= 3 or any(not least <= size <= MAX_ITEMS for size in sizes):
        raise LaunchError(
            refusal(
                f"`{kernel.name}` has no {what} {_told(parts)}",
                f"a {what} has one to three sizes from {least} to {MAX_ITEMS}",
                hint=None
                if sizes or what != "domain"
                else "write how many work-items run, as `x.size` or `x.shape`",
            )
        )
    filled = (*sizes, 1, 1)
    return filled[0], filled[1], filled[2]


def _sees_no_block(kernel: Kernel) -> bool:
    """Tell whether a kernel does the same in groups of any size."""
    if has_barrier(kernel):
        return False
    ids = {node.op for node in all_expressions(kernel.body) if isinstance(node, Builtin)}
    return ids <= {Id.GLOBAL_ID}


def _told(parts: tuple[Any, ...]) -> str:
    """Return sizes for a sentence, in short where they are none: an array has many lines."""
    if all(isinstance(part, int | float | str) for part in parts):
        return f"{parts!r}"
    return f"of {', '.join(type(part).__name__ for part in parts)}"


def _chosen(kernel: Kernel, block: Sizes | None, rank: int) -> Triple:
    contract = kernel.group if any(kernel.group) else None
    if block is None:
        return contract or DEFAULT_BLOCKS[rank]
    asked = block_sizes(block)
    if contract is not None and asked != contract:
        raise LaunchError(
            refusal(
                f"`{kernel.name}` has a launch contract on its block",
                f"the contract: {_shown(contract)}",
                f"this launch: {_shown(asked)}",
            )
        )
    return asked


def _shown(sizes: Triple) -> str:
    return " x ".join(map(str, sizes))


def refusal(message: str, *notes: str, hint: str | None = None) -> Diagnostic:
    """Return what is said of a launch that cannot be."""
    return Diagnostic(code="ATL0761", message=message, notes=notes, hint=hint)


# --- on a device ---------------------------------------------------------------------------------


def fitted(shape: Shape, device: DeviceInfo) -> Shape:
    """Return a launch with the block that a device needs for it, where the block is free.

    Raises:
        LaunchError: Where the device has no groups of that size, with both.
    """
    most, (each, together) = limits.most_groups(device.limits), limits.items_of(device.limits)
    if not shape.free or limits.fits(device, shape.groups, shape.block):
        limits.check_items(device, shape.block)
        return shape
    room, block = min(together, MAX_BLOCK), list(shape.block)
    for axis, size in enumerate(shape.domain):
        while -(-size // block[axis]) > most[axis] and 2 * block[axis] <= min(each[axis], room):
            block[axis] *= 2
    while math.prod(block) > room:
        spare = [axis for axis in range(3) if block[axis] > 1 and _halves(shape, block, axis, most)]
        if not spare:
            return shape
        block[max(spare, key=lambda axis: block[axis])] //= 2
    groups = [-(-size // by) for size, by in zip(shape.domain, block, strict=True)]
    return replace(shape, groups=(groups[0], groups[1], groups[2]), block=(block[0], block[1], block[2]))


def _halves(shape: Shape, block: list[int], axis: int, most: Triple) -> bool:
    """Tell whether half a block serves in a dimension; where no block does, it is not asked."""
    needed = -(-shape.domain[axis] // (block[axis] // 2))
    return needed <= most[axis]


def check_grid(shape: Shape, device: DeviceInfo) -> None:
    """Refuse more groups than a device launches.

    Raises:
        LaunchError: With both, and what to do.
    """
    parts = "launch it in parts, or let each work-item do the work of several"
    whole = shape.free or math.prod(shape.block) >= MAX_BLOCK
    hint = parts if whole else f"name a larger block, {parts}"
    limits.check_groups(device, shape.groups, hint)
