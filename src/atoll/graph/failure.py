"""How did an action fail? The runner's report as a diagnostic."""

from __future__ import annotations

import json
import shlex
import signal
from collections.abc import Mapping
from typing import Any

from atoll.diagnostics import Diagnostic, Span
from atoll.graph.action import Action

MAX_COMMAND = 4000
# In front of a line of JSON, it is an action's own refusal: an action that judges sources says what is wrong
# with them, as one line for each finding, and ends with a code other than 0.
REFUSED = "\x1erefused "
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
    ending, output = report["end"], str(report.get("output", ""))
    command = f"command: {_shown(shlex.join(action.argv))}"
    printed = (f"output:\n{output.rstrip()}",) if output.strip() else ("output: none",)

    def say(code: str, what: str, *notes: str, hint: str | None = None) -> Diagnostic:
        return Diagnostic(
            code=code,
            message=f"`{action.name}` {what}",
            notes=(*notes, command, *printed),
            hint=hint,
        )

    if ending == "time":
        return say("ATL0604", "took too long", f"limit: {report['limit']:g} s")
    if ending == "outputs":
        return say(
            "ATL0605",
            "did not write all it should",
            f"declared: {', '.join(action.outputs)}",
            f"missing: {', '.join(report['missing'])}",
        )
    if ending == "depfile":
        return say(
            "ATL0606",
            "left a depfile that cannot be read",
            f"depfile: {report['depfile']}",
            f"reason: {report['reason']}",
        )
    if ending == "missing":
        return say(
            "ATL0607", "could not be started", f"program: {report['program']}", f"in: {report['path']}"
        )
    if killed_for_memory(report):
        return say(
            "ATL0603",
            "was killed, most likely for want of memory"
            if not report.get("oom")
            else "was killed for memory",
            f"stated need: {action.memory >> 20} MiB",
            f"largest process: {int(report.get('memory', 0)) >> 20} MiB",
            f"the kernel counted a kill for memory: {'yes' if report.get('oom') else 'it does not say'}",
            hint=_MEMORY_HINT,
        )
    if ending == "signal":
        return say("ATL0602", f"was ended by {_signal(int(report['signal']))}")
    return say("ATL0601", "failed", f"exit code: {report['code']}")


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
