"""What a process that exists to import one kernel file does beside importing it.

What the file prints goes to stderr: stdout belongs to the caller.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import Any


def quiet_stdout() -> int:
    """Send everything that is printed to stderr; return a descriptor of the true stdout."""
    sys.stdout.flush()
    true = os.dup(1)
    os.dup2(2, 1)
    return true


def project_files(root: str) -> list[str]:
    """Return every file below the root that this process imported, relative to it."""
    base = Path(root).resolve()
    found: set[str] = set()
    for module in list(sys.modules.values()):
        file: Any = getattr(module, "__file__", None)
        if isinstance(file, str) and Path(file).resolve().is_relative_to(base):
            inside = Path(file).resolve().relative_to(base)
            if not any(part in (".venv", "site-packages") for part in inside.parts):
                found.add(inside.as_posix())
    return sorted(found)
