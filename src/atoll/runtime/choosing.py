"""Which device does a name mean? Drivers are asked what there is; nothing is opened.

A name is a driver (``cpu``), a driver with an index (``cpu:0``), a part of a device's own name, or its
identity (``uuid``) where the driver states one. A driver alone means its first device that is not software,
else its first. Nothing named means the first device that is not software by the drivers' rank, else the
processor: a device that is software is taken only when it is named.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cache, cached_property

from atoll._util.near import nearest
from atoll.accel import PROCESSOR
from atoll.diagnostics import Diagnostic
from atoll.errors import DeviceError
from atoll.plugin import DeviceInfo, Driver
from atoll.runtime.status import DriverStatus, ask


class Chooser:
    """The choice among the installed drivers.

    Args:
        ranks: The drivers and their ranks; a rank is asked for where drivers are compared.
        status: Asks one driver; called for no more drivers than the choice needs.
        environment: ATOLL_DEVICE and ATOLL_REQUIRE_DEVICE are read from it.
    """

    def __init__(
        self, ranks: Mapping[str, int], status: Callable[[str], DriverStatus], environment: Mapping[str, str]
    ) -> None:
        self._ranks = ranks
        self._status = status
        self._environment = environment

    @cached_property
    def _order(self) -> list[str]:
        return sorted(self._ranks, key=lambda name: (self._ranks[name], name))

    def choose(self, name: str | None) -> DeviceInfo:
        """Return the device that `name` means.

        Raises:
            DeviceError: Where there is none; it lists what exists.
        """
        if name is not None:
            return self._named(name, "")
        stated = self._environment.get("ATOLL_DEVICE", "")
        return self._named(stated, "ATOLL_DEVICE") if stated else self._default()

    def _named(self, name: str, source: str) -> DeviceInfo:
        driver, colon, index = name.partition(":")
        if driver in self._ranks and not colon:
            return self._of_driver(driver)
        if driver in self._ranks and re.fullmatch("[0-9]{1,9}", index):
            status = self._status(driver)
            if int(index) < len(status.devices):
                return status.devices[int(index)]
            raise DeviceError(self._missing(name, source))
        wanted = name.casefold()
        found = [info for info in self._all() if wanted and _is_called(info, wanted)]
        if not found:
            raise DeviceError(self._missing(name, source))
        return _best(found)

    def _of_driver(self, driver: str) -> DeviceInfo:
        status = self._status(driver)
        if not status.devices:
            raise DeviceError(_no_devices(status))
        return _best(status.devices)

    def _default(self) -> DeviceInfo:
        for driver in self._order:
            hardware = [info for info in self._status(driver).devices if not info.software]
            if hardware:
                return hardware[0]
        if self._environment.get("ATOLL_REQUIRE_DEVICE", "") not in ("", "0"):
            raise DeviceError(self._required())
        # The last choice, and no device in the sense of ATOLL_REQUIRE_DEVICE.
        if PROCESSOR in self._order and self._status(PROCESSOR).devices:
            return self._status(PROCESSOR).devices[0]
        raise DeviceError(self._missing("", ""))

    def _all(self) -> list[DeviceInfo]:
        return [info for driver in self._order for info in self._status(driver).devices]

    def _present(self) -> tuple[str, ...]:
        lines = [f"present: {info} ({info.name})" for info in self._all()]
        for driver in self._order:
            status = self._status(driver)
            if not status.devices:
                lines.append(f"{driver}: {status.reason}")
        return tuple(lines)

    def _missing(self, name: str, source: str) -> Diagnostic:
        # Never the processor: what is one letter from it (`gpu`) means the opposite.
        devices = [driver for driver in self._order if driver != PROCESSOR]
        near = nearest(name.partition(":")[0], devices) if name else None
        if not name:
            message = "no device can be opened"
        else:
            message = f"there is no device `{name}`" + (f", which {source} names" if source else "")
        hint = f"did you mean `{near}`?" if near and near != name.partition(":")[0] else None
        return Diagnostic(
            code="ATL0801",
            message=message,
            notes=self._present() or ("no driver is installed",),
            hint=hint or "name a driver, a driver with an index, or a part of a device's name",
        )

    def _required(self) -> Diagnostic:
        return Diagnostic(
            code="ATL0808",
            message="a device is required and only the processor is left",
            notes=("ATOLL_REQUIRE_DEVICE is set", *self._present()),
            hint="name a device with `ATOLL_DEVICE`, or unset `ATOLL_REQUIRE_DEVICE`",
        )


class _Ranks(Mapping[str, int]):
    """The ranks of drivers; a driver is imported where its rank is asked for."""

    def __init__(self, drivers: Mapping[str, Driver]) -> None:
        self._drivers = drivers

    def __getitem__(self, name: str) -> int:
        return self._drivers[name].rank

    def __iter__(self) -> Iterator[str]:
        return iter(self._drivers)

    def __len__(self) -> int:
        return len(self._drivers)

    def __contains__(self, name: object) -> bool:
        return name in self._drivers


def chooser(drivers: Mapping[str, Driver], environment: Mapping[str, str]) -> Chooser:
    """Return the choice among drivers; each of them is asked once, and only when the choice needs it."""
    status = cache(lambda name: ask(drivers[name], name))
    return Chooser(_Ranks(drivers), status, environment)


def _no_devices(status: DriverStatus) -> Diagnostic:
    return Diagnostic(
        code="ATL0802",
        message=f"the driver `{status.name}` reaches no device",
        notes=(f"reason: {status.reason}",),
        hint=status.fix or None,
    )


def _is_called(info: DeviceInfo, wanted: str) -> bool:
    return wanted in info.name.casefold() or wanted.replace("-", "") == info.facts.facts.get("uuid")


def _best(found: Sequence[DeviceInfo]) -> DeviceInfo:
    return next((info for info in found if not info.software), found[0])
