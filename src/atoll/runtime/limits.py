"""Does a launch fit a device? What it asks of a group and of a grid, against what the device states.

Every name is one of :attr:`atoll.plugin.DeviceInfo.limits`; what a device does not state is not compared.
The C launchers refuse in the same words (``atoll_launcher.h``).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from atoll.diagnostics import Diagnostic
from atoll.errors import DeviceError
from atoll.runtime import faults

if TYPE_CHECKING:
    from atoll.plugin import DeviceInfo, Emitted

Size = tuple[int, int, int]
_ANY = 1 << 62


def most_groups(limits: Mapping[str, int]) -> Size:
    """Return the most work-groups in each dimension."""
    return _three(limits, "groups", _ANY)


def items_of(limits: Mapping[str, int]) -> tuple[Size, int]:
    """Return the most work-items of a group in each dimension, and together."""
    together = limits.get("group_size", _ANY)
    return _three(limits, "items", together), together


def stated(groups: Sequence[int] | None, items: Sequence[int] | None) -> dict[str, int]:
    """Return the limits of a grid and of a group by their names; None where a device has none."""
    return {
        f"{name}.{axis}": size
        for name, sizes in (("groups", groups), ("items", items))
        for axis, size in enumerate(sizes or ())
    }


def fits(info: DeviceInfo, groups: Size, group: Size) -> bool:
    """Tell whether a device launches so many groups of that size."""
    each, together = items_of(info.limits)
    return (
        _inside(groups, most_groups(info.limits))
        and _inside(group, each)
        and group[0] * group[1] * group[2] <= together
    )


def check_shape(info: DeviceInfo, groups: Size, group: Size, most_items: int = 0) -> None:
    """Refuse a launch of more groups, or of larger ones, than a device states.

    Args:
        info: The device.
        groups: Work-groups in each dimension.
        group: Work-items of one in each dimension.
        most_items: Of one group of this code together, where it is known to be fewer than the device's.

    Raises:
        LaunchError: With both.
    """
    check_groups(info, groups)
    check_items(info, group, most_items)


def check_groups(info: DeviceInfo, groups: Size, hint: str | None = None) -> None:
    """Refuse more groups than a device states; `hint` says what to do.

    Raises:
        LaunchError: With both.
    """
    most = most_groups(info.limits)
    if not _inside(groups, most):
        raise faults.shape(f"too many groups for {info.name}", str(groups), f"at most {most}", hint)


def check_items(info: DeviceInfo, group: Size, most_items: int = 0) -> None:
    """Refuse a group of more work-items than a device states, or this code.

    Raises:
        LaunchError: With both.
    """
    each, together = items_of(info.limits)
    together = min(together, most_items or together)
    count = group[0] * group[1] * group[2]
    if count > together or not _inside(group, each):
        asked, possible = f"{group}, {count} together", f"at most {each}, {together} together"
        raise faults.shape(f"too many work-items in a group for {info.name}", asked, possible)


def check_shared(info: DeviceInfo, code: Emitted) -> None:
    """Refuse code whose groups take more memory than a device gives one.

    Raises:
        DeviceError: With both sizes.
    """
    taken, room = code.layout.shared_bytes, info.limits.get("shared_bytes", _ANY)
    if taken > room:
        reason = f"it takes {taken} bytes of shared memory, the device has {room}"
        raise faults.code_refused(code.entry, info.name, reason)


def check_buffer(info: DeviceInfo, nbytes: int) -> None:
    """Refuse a buffer that is larger than a device lets a kernel see, however much memory it has.

    Raises:
        DeviceError: With both sizes.
    """
    most = info.limits.get("buffer_bytes", _ANY)
    if nbytes > most:
        raise DeviceError(
            Diagnostic(
                code="ATL0814",
                message=f"a buffer is larger than a kernel on {info.name} sees",
                notes=(f"asked for: {nbytes} bytes", f"possible: at most {most} bytes in one buffer"),
                hint="split the array into several; it is no matter of free memory",
            )
        )


def _three(limits: Mapping[str, int], name: str, otherwise: int) -> Size:
    first, second, third = (limits.get(f"{name}.{axis}", otherwise) for axis in range(3))
    return first, second, third


def _inside(sizes: Size, most: Size) -> bool:
    return all(size <= limit for size, limit in zip(sizes, most, strict=True))
