"""`atoll device`: which devices do the installed drivers reach, and what do they say of themselves?"""

from __future__ import annotations

import json
import sys
from typing import TYPE_CHECKING, Any

import click

from atoll.cli._answer import answering

if TYPE_CHECKING:
    from atoll.diagnostics import Diagnostic
    from atoll.plugin import DeviceInfo
    from atoll.runtime import DriverStatus


@click.group(name="device")
def command() -> None:
    """List and describe the devices that drivers reach."""


@command.command(name="list")
@click.option("--device", metavar="NAME", help="Only this one: a driver, driver:index, or a part of a name.")
@click.option("--json", "as_data", is_flag=True, help="Print one JSON object.")
def list_(device: str | None, as_data: bool) -> None:
    """List the devices, the first default first; why a driver has none is said on stderr."""
    from atoll import runtime

    statuses = runtime.statuses()
    found = [info for status in statuses for info in status.devices]
    problems = _refused(device) if device is not None else []
    if device is not None:
        found = [] if problems else [runtime.choose(device)]
    if as_data:
        data = {"devices": [_row(info) for info in found], "drivers": [_driver(one) for one in statuses]}
        _print_json(data, problems)
    else:
        for info in found:
            click.echo(f"{info!s:12} {info.name}{'  (software)' if info.software else ''}")
        for status in statuses:
            if not status.devices and device is None:
                click.echo(f"{status.name}: {status.reason}; {status.fix}", err=True)
        _print(problems)
    sys.exit(1 if problems else 0)


@command.command(name="info")
@click.argument("name", metavar="[DEVICE]", required=False)
@click.option(
    "--device", metavar="NAME", help="A driver, driver:index, or a part of a name; else the default."
)
@click.option("--json", "as_data", is_flag=True, help="Print one JSON object.")
def info(name: str | None, device: str | None, as_data: bool) -> None:
    """Describe one device: its version, driver, facts and limits, and what is emitted for it."""
    from atoll import runtime

    if name is not None and device not in {None, name}:
        raise click.UsageError(f"two devices are named: {name} and --device {device}")
    device = device or name
    problems = _refused(device)
    if problems:
        if as_data:
            _print_json({"device": None}, problems)
        _print([] if as_data else problems)
        sys.exit(1)
    found = runtime.choose(device)
    with answering(as_data) as answer:
        with runtime.open(str(found)) as opened:
            row = _row(found) | {"target": str(opened.target())}
        answer["device"] = row
    if as_data:
        return
    limits: dict[str, int] = row.pop("limits")
    facts: dict[str, str] = row.pop("facts")
    for fact, value in {**row, **facts, **limits}.items():
        click.echo(f"{fact.replace('_', ' '):16} {_shown(value)}")


def _shown(value: object) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    return str(value) or "-"


def _refused(device: str | None) -> list[Diagnostic]:
    """Return why a device cannot be chosen, or nothing."""
    from atoll import runtime
    from atoll.errors import DeviceError

    try:
        runtime.choose(device)
    except DeviceError as error:
        return list(error.diagnostics)
    return []


def _row(device: DeviceInfo) -> dict[str, Any]:
    facts = device.facts
    return {
        "device": str(device),
        "name": device.name,
        "software": device.software,
        "arch": facts.arch,
        "version": str(facts.version or ""),
        "facts": dict(facts.facts),
        "limits": dict(device.limits),
    }


def _driver(status: DriverStatus) -> dict[str, Any]:
    return {
        "driver": status.name,
        "rank": status.rank,
        "devices": len(status.devices),
        "reason": status.reason,
        "fix": status.fix,
    }


def _print_json(data: dict[str, Any], problems: list[Diagnostic]) -> None:
    from atoll.diagnostics import as_json

    click.echo(json.dumps(data | {"diagnostics": [as_json(item) for item in problems]}, indent=2))


def _print(problems: list[Diagnostic]) -> None:
    from atoll.diagnostics import render

    for item in problems:
        click.echo(render(item), err=True)
