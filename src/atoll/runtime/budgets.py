"""How many bytes may the buffers of an open device take together?

A driver that takes its memory in blocks holds the budget itself, blocks counted
(:class:`atoll.plugin.BudgetingDriver`); on every other one the buffers are counted here.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from atoll._util.values import dataclass, field
from atoll.diagnostics import Diagnostic
from atoll.errors import DeviceError
from atoll.runtime import faults
from atoll.runtime.storage.pool import Budget, NoRoomError

if TYPE_CHECKING:
    from atoll.plugin import DriverDevice


@dataclass(slots=True)
class Counter:
    """The buffers of one device, against its budget.

    Attributes:
        budget: What they may take, and take.
        sizes: The bytes of each buffer, by handle.
    """

    budget: Budget
    sizes: dict[int, int] = field(default_factory=dict)

    def allocate(self, device: DriverDevice, nbytes: int) -> int:
        """Return the handle of a new buffer.

        Raises:
            OutOfMemoryError: Where it would exceed the budget; nothing was asked of the driver then.
        """
        try:
            self.budget.take(nbytes)
        except NoRoomError as error:
            raise faults.out_of_memory(device.info.name, nbytes, f"{error}") from error
        try:
            handle = device.allocate(nbytes)
        except BaseException:
            self.budget.give_back(nbytes)
            raise
        self.sizes[handle] = nbytes
        return handle

    def release(self, handle: int) -> None:
        """Count a buffer no longer; harmless when repeated."""
        self.budget.give_back(self.sizes.pop(handle, 0))


def counter(budget: int) -> Counter:
    """Return what counts the buffers of a device that has none yet."""
    return Counter(Budget(budget))


def checked(budget: object) -> int | None:
    """Return a budget, or None where none is asked for.

    Raises:
        DeviceError: Where it is no number of bytes.
    """
    if budget is None:
        return None
    if isinstance(budget, int) and not isinstance(budget, bool) and budget > 0:
        return budget
    asked = repr(budget) if isinstance(budget, int | float | str) else type(budget).__name__
    raise _refused(
        "a memory budget is no number of bytes", asked, "a whole number from 1", "64 MiB is `64 << 20`"
    )


def check_same(name: str, asked: int | None, has: int | None) -> None:
    """Refuse another budget than the one that a device was opened with; none asked is any.

    Raises:
        DeviceError: With both.
    """
    if asked is not None and asked != has:
        raise _refused(
            f"{name} is open with another memory budget",
            f"{asked} bytes",
            "no budget" if has is None else f"{has} bytes",
            "a process has one of each device: open it with its budget before anything else uses it",
            open_with=True,
        )


def opened(driver: Any, index: int, budget: int | None) -> tuple[DriverDevice, int | None]:
    """Return a device, open, and the budget that is left to be held here."""
    within = getattr(driver, "open_within", None)
    if budget is None or within is None:
        return driver.open(index), budget
    return within(index, budget), None


def _refused(message: str, asked: str, possible: str, hint: str, *, open_with: bool = False) -> DeviceError:
    notes = (f"asked for: {asked}", f"{'it is open with' if open_with else 'possible'}: {possible}")
    return DeviceError(Diagnostic(code="ATL0813", message=message, notes=notes, hint=hint))
