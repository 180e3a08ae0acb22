"""What does a file run on, as measured from its bytes? Asked of a child process, never of this one."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

from atoll.artifact import Measured
from atoll.diagnostics import Diagnostic
from atoll.errors import UnreadableError
from atoll.packaging.child import request_for
from atoll.packaging.values import Limits, Report
from atoll.packaging.walk import not_regular
from atoll.packaging.wire import decode, diagnostic


def measure(path: str | os.PathLike[str]) -> Measured:
    """Measure which devices a file runs on, from its bytes alone.

    Args:
        path: An object, archive, shared library, executable, module of device code, wheel or folder.

    Returns:
        The measured set beside what is required and what is only declared. Its `accel` is None where a
        member holds device code that no installed reader understands, or breaks its own format.

    Raises:
        UnreadableError: Where the file is missing, past the limits, or breaks its own format.
    """
    answer = report(path)
    outer = str(path)
    broken = [item for item in answer.diagnostics if item.severity == "error"]
    if broken and any(member == outer for member, _ in answer.measured.unread):
        raise UnreadableError(*broken)
    return answer.measured


def report(path: str | os.PathLike[str], limits: Limits | None = None) -> Report:
    """Measure a file and return all that its readers said, with what could not be read as diagnostics.

    Raises:
        UnreadableError: Where nothing can be said: the file is missing or past the limits.
    """
    target, limits = Path(path), limits or Limits()
    _look(target, str(path))
    return _read(_ask(target, str(path), limits), str(path), limits)


def _look(target: Path, name: str) -> None:
    try:
        usable = target.is_file() or target.is_dir()
        target.stat()
    except (OSError, ValueError) as error:
        raise UnreadableError(_unreadable(name, getattr(error, "strerror", None) or str(error))) from error
    if not usable:
        raise UnreadableError(not_regular(name))


def _ask(target: Path, name: str, limits: Limits) -> subprocess.CompletedProcess[bytes]:
    command = [sys.executable, "-P", "-m", "atoll.packaging.child"]
    request = request_for(target.absolute(), name, limits)
    try:
        return subprocess.run(
            command, input=request, capture_output=True, timeout=limits.seconds, check=False
        )
    except subprocess.TimeoutExpired as error:
        raise UnreadableError(_past(name, f"{limits.seconds:g} seconds")) from error


def _read(done: subprocess.CompletedProcess[bytes], name: str, limits: Limits) -> Report:
    if done.returncode in (-signal.SIGXCPU, -signal.SIGKILL):
        raise UnreadableError(_past(name, f"{limits.processor_seconds} seconds of processor time"))
    if done.returncode == -signal.SIGXFSZ:
        raise UnreadableError(_past(name, f"{limits.file} bytes of one member"))
    try:
        answer: dict[str, Any] = json.loads(done.stdout)
        if "report" in answer:
            return decode(answer["report"])
    except (ValueError, KeyError, TypeError) as error:
        raise UnreadableError(_failed(name, done, f"{type(error).__name__}: {error}")) from error
    if "past" in answer:
        raise UnreadableError(_past(name, str(answer["past"])))
    if "unreadable" in answer:
        raise UnreadableError(_unreadable(name, str(answer["unreadable"])))
    raise UnreadableError(*(diagnostic(row) for row in answer["diagnostics"]))


def _unreadable(name: str, reason: str) -> Diagnostic:
    return Diagnostic(code="ATL0002", message=f"`{name}` could not be read", notes=(reason,))


def _past(name: str, limit: str) -> Diagnostic:
    return Diagnostic(
        code="ATL0450",
        message=f"measuring `{name}` ran past its limits",
        notes=(f"limit: {limit}",),
        hint="honest files stay far below; nothing of it was believed",
    )


def _failed(name: str, done: subprocess.CompletedProcess[bytes], reason: str) -> Diagnostic:
    said = done.stderr.decode("utf-8", "backslashreplace").strip().splitlines()[-1:]
    return Diagnostic(
        code="ATL0451",
        message=f"the process that measures `{name}` ended without an answer",
        notes=(f"exit status: {done.returncode}", f"reason: {reason}", *said),
        hint="please report this with the file",
    )
