"""`atoll device`: which devices do drivers reach, what do they say of themselves, and is it so?"""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import click

from atoll.cli._answer import answering
from atoll.cli._group import WholeGroup

if TYPE_CHECKING:
    from atoll.diagnostics import Diagnostic
    from atoll.engine.anchors import Result
    from atoll.plugin import DeviceInfo
    from atoll.runtime import DriverStatus


@click.group(name="device", cls=WholeGroup)
def command() -> None:
    """List, describe, test and time the devices that drivers reach."""


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
            row = _row(found) | {"target": str(opened.target()), "memory": _memory(found)}
        answer["device"] = row
    if as_data:
        return
    limits: dict[str, int] = row.pop("limits")
    facts: dict[str, str] = row.pop("facts")
    memory = {f"memory {name}": size for name, size in row.pop("memory").items()}
    for fact, value in {**row, **facts, **limits, **memory}.items():
        click.echo(f"{fact.replace('_', ' '):16} {_shown(value)}")


_DEVICE = click.option(
    "--device", metavar="NAME", help="A driver, driver:index, or a part of a name; else the default."
)
_JSON = click.option("--json", "as_data", is_flag=True, help="Print one JSON object.")


@command.command(name="selftest")
@_DEVICE
@_JSON
def selftest(device: str | None, as_data: bool) -> None:
    """Compare what a device computes with NumPy, and say in which tier of exactness it is."""
    from atoll import runtime

    with answering(as_data) as answer, runtime.open(device) as opened:
        from atoll.engine import selftest as test

        found = test(opened)
        answer |= {"device": _row(opened.info), "tier": str(found.tier), "results": _results(found.results)}
    if not as_data:
        click.echo(str(found))


@command.command(name="hash")
@_DEVICE
@_JSON
def hash_(device: str | None, as_data: bool) -> None:
    """Print a hash of the bytes of each anchor; exit 1 where one is not NumPy's."""
    from atoll import runtime

    with answering(as_data) as answer, runtime.open(device) as opened:
        from atoll.engine import results

        found = results(opened)
        answer |= {"device": _row(opened.info), "results": _results(found)}
    if not as_data:
        for item in found:
            click.echo(
                f"{item.found} {item.name}{'' if item.is_equal else '  (NumPy: ' + item.expected + ')'}"
            )
        click.echo(opened.name, err=True)
    sys.exit(0 if all(item.is_equal for item in found) else 1)


@command.command(name="bench")
@_DEVICE
@_JSON
def bench(device: str | None, as_data: bool) -> None:
    """Time launches, graphs and copies on a device: medians, of this machine at this moment."""
    from atoll import runtime

    with answering(as_data) as answer, runtime.open(device) as opened:
        from atoll.engine.bench import figures

        found = figures(opened)
        rows = [{"name": item.name, "value": item.value, "unit": item.unit} for item in found]
        answer |= {"device": _row(opened.info), "figures": rows}
    if not as_data:
        for item in found:
            click.echo(str(item))
        click.echo(opened.name, err=True)


@command.command(name="trace")
@_DEVICE
@_JSON
@click.option("--out", metavar="FILE", default="trace.json", show_default=True, help="What is written.")
def trace(device: str | None, as_data: bool, out: str) -> None:
    """Write what the self-test runs on a device, for Perfetto or chrome://tracing."""
    from atoll import runtime

    with answering(as_data) as answer, runtime.open(device) as opened:
        from atoll.engine import results

        with runtime.trace(out) as made:
            results(opened)
        counts = {"file": out, "spans": len(made.spans)}
        answer |= {"device": _row(opened.info), **counts}
    if not as_data:
        click.echo(f"{out}: {counts['spans']} spans of {opened.name}")


def _memory(device: DeviceInfo) -> dict[str, int]:
    """Return what its driver says of its memory now, or nothing."""
    from atoll.plugin import registry

    drivers = registry().drivers
    asked = getattr(drivers[device.driver], "memory", None) if device.driver in drivers else None
    return {} if asked is None else dict(asked(device.index))


def _results(found: Sequence[Result]) -> list[dict[str, Any]]:
    return [{"name": item.name, "hash": item.found, "same": item.is_equal} for item in found]


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
