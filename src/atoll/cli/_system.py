"""What does a command do where the system takes something from it: its streams, its folder, its disk?

A descriptor that the caller closed is given to the next file that is opened, and talk would go into that.
A refusal of the system that nobody below expected is a diagnostic all the same.
"""

from __future__ import annotations

import contextlib
import json
import os
import sys
from collections.abc import Sequence
from typing import Any, NoReturn

_STREAMED = ("build", "run", "test")


def open_closed() -> None:
    """Open the standard streams that the caller closed, on nothing."""
    while (handle := os.open(os.devnull, os.O_RDWR)) <= 2:
        os.set_inheritable(handle, True)
    os.close(handle)
    sys.stdin = sys.stdin or open(0, encoding="utf-8")  # noqa: SIM115 - lives as long as the process
    sys.stdout = sys.stdout or open(1, "w", encoding="utf-8")  # noqa: SIM115 - lives as long as the process
    sys.stderr = sys.stderr or open(2, "w", encoding="utf-8")  # noqa: SIM115 - lives as long as the process


def refuse(error: OSError, argv: Sequence[str]) -> NoReturn:
    """Say what the system refused, as far as it can still be said, and end.

    A reader that went away has what it wanted: nothing is said.
    """
    if isinstance(error, BrokenPipeError):
        os._exit(1)
    from atoll.diagnostics import as_json
    from atoll.errors import refused_by_system

    refused = refused_by_system(error)
    own = argv[: argv.index("--")] if "--" in argv else argv
    if "--json" not in own or not _written(own[0], [as_json(item) for item in refused.diagnostics]):
        with contextlib.suppress(OSError):
            print(refused, file=sys.stderr, flush=True)  # noqa: T201 - a refusal
    # What is left in a stream that takes nothing must not fail again.
    os._exit(refused.exit_code)


def _written(command: str, found: list[dict[str, Any]]) -> bool:
    """Write a refusal as data; tell whether stdout took it."""
    event = {"event": "result", "ok": False} if command in _STREAMED else {}
    try:
        print(json.dumps({**event, "diagnostics": found}), flush=True)  # noqa: T201 - data
    except OSError:
        return False
    return True
