"""What does each installed driver reach, and if nothing, why? Asked in bounded time.

A driver asks a vendor's library, which may wait for hardware that does not answer. So each driver is
asked on a thread of its own, and one that takes too long is reported as such.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Iterable

from atoll._util.values import dataclass
from atoll.plugin import DeviceInfo, Driver

#: Seconds that a driver has to list its devices.
ANSWER_SECONDS = 30.0


@dataclass(frozen=True, slots=True, kw_only=True)
class DriverStatus:
    """What one driver reaches.

    Attributes:
        name: The driver's name.
        rank: Its place in the order of default devices.
        devices: In the driver's order.
        reason: Why there are none; empty where there are.
        fix: What to do about it.
    """

    name: str
    rank: int
    devices: tuple[DeviceInfo, ...] = ()
    reason: str = ""
    fix: str = ""


#: What each driver answered last, and to which process.
_told: dict[str, tuple[int, DriverStatus]] = {}
#: Held while a driver is asked.
_asking: dict[str, threading.RLock] = {}


def is_left_behind(driver: str) -> bool:
    """Tell whether a driver reached devices in a process of which this one was forked.

    What a vendor's library started there, threads for one, is not in this process: calls into it may
    never return.
    """
    process, status = _told.get(driver, (os.getpid(), None))
    return status is not None and process != os.getpid() and bool(status.devices)


def ask(driver: Driver, name: str, seconds: float = ANSWER_SECONDS) -> DriverStatus:
    """Return what a driver reaches; never raises, and returns in bounded time.

    After a fork it is what the driver answered before, and the driver is left alone.
    """
    if is_left_behind(name):
        return _told[name][1]
    with _asking.setdefault(name, threading.RLock()):  # libraries list devices to one thread at a time
        status = _ask(driver, name, seconds)
        _told[name] = (os.getpid(), status)
    return status


def _ask(driver: Driver, name: str, seconds: float) -> DriverStatus:
    answers: list[DriverStatus] = []
    thread = threading.Thread(target=lambda: answers.append(_answer(driver, name)), daemon=True)
    thread.start()
    thread.join(seconds)
    if answers:
        return answers[0]
    reason = f"it did not answer in {seconds:g} seconds"
    return DriverStatus(
        name=name, rank=driver.rank, reason=reason, fix="check the vendor's own tool for the device"
    )


def _answer(driver: Driver, name: str) -> DriverStatus:
    try:
        devices = tuple(driver.devices())
        missing = None if devices else driver.unavailable()
    except Exception as error:
        said = f"{type(error).__name__}: {error}"
        return DriverStatus(name=name, rank=driver.rank, reason=said, fix="report it to the driver's authors")
    reason, fix = missing or ("", "")
    if not devices and not reason:
        reason = "it lists no device and gives no reason"
    return DriverStatus(name=name, rank=driver.rank, devices=devices, reason=reason, fix=fix)


def ask_all(drivers: Iterable[tuple[str, Driver]]) -> tuple[DriverStatus, ...]:
    """Return what each driver reaches, lowest rank first."""
    return tuple(
        sorted((ask(driver, name) for name, driver in drivers), key=lambda one: (one.rank, one.name))
    )
