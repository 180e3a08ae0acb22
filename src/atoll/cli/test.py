"""`atoll test`: build the targets of kind `test`, run each in a folder of its own, and report.

Exit 0 passes, 77 is a skip whose last line is the reason, anything else fails. The report names the device
that each test's island reported.
"""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from atoll._util import child
from atoll.cli._answer import one_line
from atoll.cli._building import Talk, build, building, session_of
from atoll.cli.run import environment_of

if TYPE_CHECKING:
    from atoll.build import Output
    from atoll.diagnostics import Diagnostic
    from atoll.session import Built, Session

SKIP = 77
NOT_STARTED = 127
LIMIT = 60.0
SHOWN_BYTES = 16 << 10
REPORT = "ATOLL_DEVICE_REPORT"


@dataclass(frozen=True, slots=True, kw_only=True)
class Tested:
    """How one test ended.

    Attributes:
        name: The target.
        verdict: ``passed``, ``skipped`` or ``failed``.
        reason: Why, where it did not pass.
        devices: What its islands reported, in order, once each.
        seconds: Wall time.
        output: What it printed, cut.
    """

    name: str
    verdict: str
    reason: str
    devices: tuple[str, ...]
    seconds: float
    output: str

    def as_json(self) -> dict[str, Any]:
        """Return an event."""
        return {
            "event": "test",
            "name": self.name,
            "verdict": self.verdict,
            "reason": self.reason,
            "devices": list(self.devices),
            "seconds": self.seconds,
            "output": self.output,
        }


@click.command(name="test")
@click.argument("names", nargs=-1)
@click.option("--require-device", is_flag=True, help="Fail a test that reported no device, or the processor.")
@building
def command(
    names: tuple[str, ...],
    require_device: bool,
    accel: str | None,
    no_accel: bool,
    profile: str,
    jobs: int | None,
    offline: bool,
    as_data: bool,
    verbose: bool,
) -> None:
    """Build the targets of kind `test` and run them: all, or those that are named."""
    talk = Talk(as_data, verbose)
    session = session_of(accel, no_accel, profile, offline, talk)
    wanted = _wanted(session, names, talk)
    if not wanted:
        talk.say("the project has no target of kind test")
        talk.result((), ok=True)
        return
    built = build(session, talk, targets=wanted, jobs=jobs)
    tests = [out for out in built.outputs if out.target in wanted]
    processors = _processors(session) if require_device else frozenset()
    found = run_all(built, tests, jobs or os.cpu_count() or 1, _Rule(require_device, processors), talk)
    failed = [result for result in found if result.verdict == "failed"]
    faults = tuple(_fault(result) for result in failed)
    talk.diagnostics(faults)
    if not as_data:
        counts = {word: sum(r.verdict == word for r in found) for word in ("passed", "skipped", "failed")}
        talk.say(", ".join(f"{count} {word}" for word, count in counts.items()))
    talk.result(faults, ok=not failed)
    sys.exit(1 if failed else 0)


@dataclass(frozen=True, slots=True)
class _Rule:
    """Whether a test must report a device, and what the processor is called."""

    require_device: bool
    processors: frozenset[str]


def _wanted(session: Session, names: tuple[str, ...], talk: Talk) -> tuple[str, ...]:
    """Return the tests to run; ends the process where a name is none."""
    from atoll.diagnostics import Diagnostic
    from atoll.errors import AtollError, UsageError

    try:
        kinds = {name: str(target.kind) for name, target in session.manifest.targets.items()}
        tests = tuple(name for name, kind in kinds.items() if kind == "test")
        wrong = [name for name in names if name not in tests]
        if wrong:
            kind = kinds.get(wrong[0])
            raise UsageError(
                Diagnostic(
                    code="ATL0554",
                    message=f"there is no test `{wrong[0]}`",
                    notes=(
                        f"tests: {', '.join(tests) or 'none'}",
                        *((f"`{wrong[0]}` is of kind {kind}",) if kind else ()),
                    ),
                    hint="name one of them, or none to run all",
                )
            )
    except AtollError as error:
        talk.fail(error)
    return names or tests


def _processors(session: Session) -> frozenset[str]:
    """Return what an island that ran on the processor reports: the root's name, or the processor's own."""
    from atoll.accel import PROCESSOR

    drivers = session.registry.drivers
    own = drivers[PROCESSOR].devices() if PROCESSOR in drivers else ()
    return frozenset({PROCESSOR, *(device.name for device in own)})


def run_all(built: Built, tests: Iterable[Output], jobs: int, rule: _Rule, talk: Talk) -> list[Tested]:
    """Run the tests, those that are not exclusive at once; report each as it ends, in order of names."""
    listed = sorted(tests, key=lambda out: (out.exclusive, out.target))
    together = [out for out in listed if not out.exclusive]
    found: list[Tested] = []
    with ThreadPoolExecutor(max_workers=jobs) as pool:
        ended = pool.map(lambda out: run_one(built, out, rule), together)
        found.extend(_reported(result, talk) for result in ended)
    found.extend(_reported(run_one(built, out, rule), talk) for out in listed[len(together) :])
    return found


def _reported(result: Tested, talk: Talk) -> Tested:
    if talk.as_data:
        talk.emit(result.as_json())
        return result
    where = f" on {', '.join(result.devices)}" if result.devices else ""
    why = f": {result.reason}" if result.reason else ""
    # A test says both, and must not drive the terminal.
    click.echo(one_line(f"{result.verdict} {result.name}{where} ({result.seconds:.1f} s){why}"))
    if result.verdict == "failed" and result.output.strip():
        talk.say(result.output.rstrip())
    return result


def run_one(built: Built, out: Output, rule: _Rule) -> Tested:
    """Run one test in its own empty folder, within its time limit."""
    folder = built.root / built.folder / "tests" / out.target
    _empty(folder)
    report = folder.parent / f"{out.target}.devices"
    report.unlink(missing_ok=True)
    begin = time.monotonic()
    ended = child.run(
        [str(built.root / out.path), *out.args],
        env={**environment_of(out), REPORT: str(report)},
        timeout=out.timeout or LIMIT,
        cwd=folder,
        keep=SHOWN_BYTES,
    )
    seconds = round(time.monotonic() - begin, 3)
    devices = tuple(dict.fromkeys(_lines(report)))
    verdict, reason = _verdict(ended.code, ended.output, devices, out.timeout or LIMIT, rule)
    if ended.code == NOT_STARTED:
        reason = _why_not_started(built.root / out.path, environment_of(out)) or reason
    return Tested(
        name=out.target,
        verdict=verdict,
        reason=reason,
        devices=devices,
        seconds=seconds,
        output=ended.output,
    )


def _why_not_started(program: Path, environment: dict[str, str]) -> str:
    from atoll.build.loading import missing_libraries

    missing = missing_libraries(program, environment)
    return f"it cannot start, the loader does not find: {', '.join(missing)}" if missing else ""


def _empty(folder: Path) -> None:
    import shutil

    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)


def _verdict(
    code: int | None, output: str, devices: tuple[str, ...], limit: float, rule: _Rule
) -> tuple[str, str]:
    if code is None:
        return "failed", f"it ran longer than {limit:g} seconds"
    if code == SKIP:
        said = output.strip().splitlines()
        return "skipped", said[-1] if said else "it gave no reason"
    if code != 0:
        return "failed", f"it was ended by signal {-code}" if code < 0 else f"it ended with {code}"
    if rule.require_device and not devices:
        return "failed", "it reported no device"
    if rule.require_device and rule.processors.issuperset(devices):
        return "failed", "it reported the processor alone"
    return "passed", ""


def _lines(report: Path) -> list[str]:
    try:
        text = report.read_text("utf-8", "replace")
    except OSError:
        return []
    return [line for line in text.splitlines() if line]


def _fault(result: Tested) -> Diagnostic:
    from atoll.diagnostics import Diagnostic

    device = "reported" in result.reason
    return Diagnostic(
        code="ATL0564" if device else "ATL0563",
        message=f"the test `{result.name}` failed: {result.reason}",
        notes=(f"devices it reported: {', '.join(result.devices) or 'none'}",),
        hint="leave `--require-device` out, or run where the device is" if device else None,
    )
