"""How did an action fail? The runner's report as a diagnostic."""

from __future__ import annotations

import json
import shlex
import signal
from collections.abc import Mapping
from typing import Any

from atoll._util.values import dataclass
from atoll.diagnostics import Diagnostic, Span
from atoll.graph.action import Action

MAX_COMMAND = 4000
# In front of a line of JSON, it is an action's own refusal: an action that judges sources says what is wrong
# with them, as one line for each finding, and ends with a code other than 0.
REFUSED = "\x1erefused "
_TIME_HINT = "find out what it waits for, or give it longer: `time-limit` of `[lane.NAME]`, in seconds"
_MEMORY_HINT = "run fewer at once (`-j 1`), or free memory"


def failures(action: Action, report: Mapping[str, Any]) -> tuple[Diagnostic, ...]:
    """Return what an action refused, or the one diagnostic of how it ended."""
    said = str(report.get("output", "")).split("\n") if report["end"] == "exit" else ()
    lines = [line.removeprefix(REFUSED) for line in said if line.startswith(REFUSED)]
    try:
        return tuple(_refusal(json.loads(line)) for line in lines) or (failure(action, report),)
    except (ValueError, KeyError, TypeError, AttributeError):
        return (failure(action, report),)


def _refusal(fields: Mapping[str, Any]) -> Diagnostic:
    path, line = str(fields.get("path", "")), int(fields.get("line", 0))
    return Diagnostic(
        code=str(fields["code"]),
        message=str(fields["message"]),
        notes=tuple(str(note) for note in fields["notes"]),
        hint=str(fields["hint"]) or None,
        span=Span(file=path, line=line) if path and line > 0 else None,
    )


def failure(action: Action, report: Mapping[str, Any]) -> Diagnostic:
    """Return the diagnostic of an action that did not end well.

    Args:
        action: What ran.
        report: The runner's line.
    """
    found, output = _how(action, report), str(report.get("output", ""))
    command = f"command: {_shown(shlex.join(action.argv))}"
    printed = f"output:\n{output.rstrip()}" if output.strip() else "output: none"
    return Diagnostic(
        code=found.code,
        message=f"`{action.name}` {found.what}",
        notes=(*found.notes, command, printed),
        hint=found.hint,
    )


@dataclass(frozen=True, slots=True)
class _How:
    """How an action ended: a code, the end of the sentence, its notes."""

    code: str
    what: str
    notes: tuple[str, ...]
    hint: str | None = None


def _how(action: Action, report: Mapping[str, Any]) -> _How:
    match report["end"]:
        case "time":
            return _How("ATL0604", "took too long", (f"limit: {report['limit']:g} s",), _TIME_HINT)
        case "outputs":
            declared, missing = ", ".join(action.outputs), ", ".join(report["missing"])
            return _How(
                "ATL0605",
                "did not write all it should",
                (f"declared: {declared}", f"missing: {missing}"),
            )
        case "depfile":
            notes = (f"depfile: {report['depfile']}", f"reason: {report['reason']}")
            return _How("ATL0606", "left a depfile that cannot be read", notes)
        case "missing":
            notes = (f"program: {report['program']}", f"in: {report['path']}")
            return _How("ATL0607", "could not be started", notes)
    if killed_for_memory(report):
        return _for_memory(action, report)
    if report["end"] == "signal":
        return _How("ATL0602", f"was ended by {_signal(int(report['signal']))}", ())
    return _How("ATL0601", "failed", (f"exit code: {report['code']}",))


def _for_memory(action: Action, report: Mapping[str, Any]) -> _How:
    counted = bool(report.get("oom"))
    return _How(
        "ATL0603",
        "was killed for memory" if counted else "was killed, most likely for want of memory",
        (
            f"stated need: {action.memory >> 20} MiB",
            f"largest process: {int(report.get('memory', 0)) >> 20} MiB",
            f"the kernel counted a kill for memory: {'yes' if counted else 'it does not say'}",
        ),
        _MEMORY_HINT,
    )


def _shown(command: str) -> str:
    if len(command) <= MAX_COMMAND:
        return command
    half = MAX_COMMAND // 2
    return f"{command[:half]} [{len(command) - MAX_COMMAND} characters left out] {command[-half:]}"


def killed_for_memory(report: Mapping[str, Any]) -> bool:
    """Tell whether a command, or a process below it, was killed as the kernel does for memory."""
    if report["end"] == "signal":
        return int(report["signal"]) == signal.SIGKILL or bool(report.get("oom"))
    return bool(report.get("oom")) or report.get("code") == 128 + signal.SIGKILL


def _signal(number: int) -> str:
    try:
        return f"signal {number} ({signal.Signals(number).name})"
    except ValueError:
        return f"signal {number}"
