"""What is raised when a device refuses: one function a kind, so that every driver says it alike."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import TypeVar

from atoll.artifact import Fact
from atoll.diagnostics import Diagnostic
from atoll.errors import DeviceError, DeviceLostError, DeviceTimeoutError, LaunchError, OutOfMemoryError
from atoll.plugin import DeviceInfo

F = TypeVar("F")


class Here:
    """Which process this is, without a call of the system for each launch.

    Attributes:
        process: Its number; another one in a process that was forked.
    """

    process = os.getpid()


def _forked() -> None:
    Here.process = os.getpid()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forked)


def check_usable(device: str, *, is_open: bool, process: int) -> None:
    """Refuse a device that was closed, or opened in another process.

    Raises:
        DeviceError: With the reason.
    """
    if not is_open:
        raise closed(device)
    if process != Here.process:
        raise closed(device, "this process was forked after it had been opened")


def one_of(driver: str, found: Sequence[F], index: int) -> F:
    """Return the device of an index, counted from 0.

    Raises:
        DeviceError: Where the driver has none of that index.
    """
    if not 0 <= index < len(found):
        raise no_index(driver, index, len(found))
    return found[index]


def unavailable(driver: str, reason: str, fix: str) -> DeviceError:
    """Return the error of a driver that reaches no device."""
    return DeviceError(
        Diagnostic(
            code="ATL0802",
            message=f"the driver `{driver}` reaches no device",
            notes=(f"reason: {reason}",),
            hint=fix,
        )
    )


def no_index(driver: str, index: int, count: int) -> DeviceError:
    """Return the error of an index that a driver does not have."""
    return DeviceError(
        Diagnostic(
            code="ATL0801",
            message=f"there is no device `{driver}:{index}`",
            notes=(f"`{driver}` has {count} device(s), counted from 0",),
            hint="`atoll device list` prints the devices",
        )
    )


def call_failed(function: str, result: str, device: str) -> DeviceError:
    """Return the error of a vendor's function that failed."""
    return DeviceError(
        Diagnostic(
            code="ATL0803",
            message=f"`{function}` failed on {device}",
            notes=(f"it returned {result}",),
            hint="`atoll device info` prints the device and its limits",
        )
    )


def out_of_memory(device: str, asked: int, *report: str) -> OutOfMemoryError:
    """Return the error of a buffer that there is no room for; `report` says what there is."""
    return OutOfMemoryError(
        Diagnostic(
            code="ATL0810",
            message=f"{device} has no room for {asked} bytes",
            notes=report,
            hint="release buffers, or use smaller ones",
        )
    )


def no_memory(function: str, result: str, device: str) -> OutOfMemoryError:
    """Return the error of a vendor's function that had no memory for what it makes."""
    return OutOfMemoryError(
        Diagnostic(
            code="ATL0810",
            message=f"`{function}` found no memory on {device}",
            notes=(f"it returned {result}",),
            hint="release buffers, or use smaller ones",
        )
    )


def lost(device: str, function: str, result: str) -> DeviceLostError:
    """Return the error of the call that found a device lost."""
    return DeviceLostError(
        Diagnostic(
            code="ATL0811",
            message=f"{device} was lost",
            notes=(f"`{function}` returned {result}", "everything on it is gone; nothing was tried again"),
            hint="close it, and open it again with `atoll.open`",
        )
    )


def timed_out(device: str, function: str, seconds: float) -> DeviceTimeoutError:
    """Return the error of work that did not finish in time."""
    return DeviceTimeoutError(
        Diagnostic(
            code="ATL0812",
            message=f"{device} did not finish in {seconds:g} seconds",
            notes=(f"`{function}` waited for it", "the work may still run, so the device is given up"),
            hint="split the work into smaller launches",
        )
    )


def code_refused(entry: str, device: str, *reasons: str) -> DeviceError:
    """Return the error of code that a device does not take; the first reason says what, logs follow."""
    return DeviceError(
        Diagnostic(
            code="ATL0804",
            message=f"{device} refuses the code of `{entry}`",
            notes=tuple(reason for reason in reasons if reason),
        )
    )


def check_required(entry: str, requires: Sequence[Fact], device: DeviceInfo) -> None:
    """Refuse code whose required facts the device states otherwise.

    Raises:
        DeviceError: With every fact.
    """
    from atoll.artifact import unmet

    unmet_facts = unmet(requires, device.facts)
    if unmet_facts:
        lacks = (f"it requires {item.dimension} {item.carried}" for item in unmet_facts)
        stated = {item.dimension: f"the device states {item.dimension}: {item.asked}" for item in unmet_facts}
        raise code_refused(entry, device.name, *lacks, *stated.values())


def closed(device: str, why: str = "it was closed", *, is_lost: bool = False) -> DeviceError:
    """Return the error of a device that can no longer be used."""
    return (DeviceLostError if is_lost else DeviceError)(
        Diagnostic(
            code="ATL0807",
            message=f"{device} can no longer be used",
            notes=(why,),
            hint="open it again with `atoll.open`",
        )
    )


def forked(device: str) -> DeviceError:
    """Return the error of a device that a parent process knew before it forked."""
    return DeviceError(
        Diagnostic(
            code="ATL0807",
            message=f"{device} cannot be used in this process",
            notes=("this process was forked after the device had been found",),
            hint="start workers with the method `spawn`, or look for devices in the workers alone",
        )
    )


def outside(device: str, asked: str, present: str) -> DeviceError:
    """Return the error of a copy that is not inside a buffer."""
    return DeviceError(
        Diagnostic(
            code="ATL0809",
            message=f"a copy on {device} lies outside its buffer",
            notes=(f"asked for: {asked}", f"present: {present}"),
        )
    )


def shape(message: str, asked: str, possible: str, hint: str | None = None) -> LaunchError:
    """Return the error of a launch with an impossible grid or group."""
    notes = (f"asked for: {asked}", f"possible: {possible}")
    return LaunchError(Diagnostic(code="ATL0806", message=message, notes=notes, hint=hint))


def arguments(message: str, given: str, wanted: str, hint: str | None = None) -> LaunchError:
    """Return the error of arguments that do not fit the kernel."""
    return LaunchError(
        Diagnostic(
            code="ATL0805",
            message=message,
            notes=(f"given: {given}", f"the kernel takes: {wanted}"),
            hint=hint,
        )
    )
