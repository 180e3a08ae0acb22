"""How is a child process run so that it cannot run away? Time, output and descendants are bounded."""

from __future__ import annotations

import contextlib
import os
import selectors
import signal
import subprocess
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from atoll._util.values import dataclass


@dataclass(frozen=True, slots=True)
class Ended:
    """How a child ended.

    Attributes:
        code: Its exit code; minus the signal's number where a signal ended it; None past the time limit.
        output: The last bytes that it printed, both streams together.
    """

    code: int | None
    output: str


def run(
    argv: Sequence[str],
    *,
    env: Mapping[str, str],
    timeout: float,
    cwd: Path | None = None,
    keep: int = 64 << 10,
    on_line: Callable[[str], None] | None = None,
) -> Ended:
    """Run a program without standard input and return how it ended.

    Args:
        argv: The program and its arguments.
        env: Its whole environment.
        timeout: Seconds after which it is killed with its descendants.
        cwd: Where it runs.
        keep: The last bytes of output that are kept.
        on_line: Called for every whole line it prints.

    Raises:
        OSError: Where it cannot be started.
    """
    process = subprocess.Popen(
        argv,
        env=dict(env),
        cwd=cwd,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        start_new_session=True,
    )
    try:
        code, output = _follow(process, time.monotonic() + timeout, keep, on_line)
    finally:
        with contextlib.suppress(OSError):
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()
        assert process.stdout is not None
        process.stdout.close()
    return Ended(code, output.decode("utf-8", "replace"))


def _follow(
    process: subprocess.Popen[bytes], end: float, keep: int, on_line: Callable[[str], None] | None
) -> tuple[int | None, bytes]:
    assert process.stdout is not None
    tail, line, late = b"", b"", False
    with selectors.DefaultSelector() as selector:
        selector.register(process.stdout, selectors.EVENT_READ)
        while True:
            left = end - time.monotonic()
            if left <= 0:
                return process.poll(), tail
            ready = selector.select(min(left, 0.25))
            data = os.read(process.stdout.fileno(), 1 << 16) if ready else b""
            tail = (tail + data)[-keep:]
            if on_line is not None and data:
                *whole, line = (line + data).split(b"\n")
                line = line[-keep:]
                for text in whole:
                    on_line(text.decode("utf-8", "replace").rstrip("\r"))
            if ready and not data:
                return _wait(process, end), tail
            # A descendant that keeps the pipe, silent or not, holds nobody up: its output is cut off here.
            if (not ready or late) and process.poll() is not None:
                return process.returncode, tail
            late = process.poll() is not None


def _wait(process: subprocess.Popen[bytes], end: float) -> int | None:
    try:
        return process.wait(max(0.0, end - time.monotonic()))
    except subprocess.TimeoutExpired:
        return None
