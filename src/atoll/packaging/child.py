"""The child that measures: ``python -P -m atoll.packaging.child``, request in, answer out, under limits.

The request is one JSON object on stdin: ``path``, ``name``, ``limits``. The answer is one on stdout:
``report``, or ``diagnostics`` where nothing can be said of the file.
"""

from __future__ import annotations

import json
import sys
from dataclasses import asdict
from pathlib import Path
from typing import Any

from atoll.packaging.values import Limits


def confine(limits: Limits, mapped: int) -> None:
    """Put this process under its limits; where a system has one not, the parent's clock is left."""
    try:
        import resource
    except ImportError:
        return
    space = 2 * limits.memory + 2 * mapped + limits.file
    for name, value in (
        ("RLIMIT_CORE", 0),
        ("RLIMIT_CPU", limits.processor_seconds),
        ("RLIMIT_DATA", limits.memory),
        ("RLIMIT_AS", space),
        ("RLIMIT_FSIZE", limits.file),
    ):
        number = getattr(resource, name, None)
        if number is not None:
            hard = resource.getrlimit(number)[1]
            value = value if hard == resource.RLIM_INFINITY else min(value, hard)
            resource.setrlimit(number, (value, hard))


def answer(request: dict[str, Any]) -> dict[str, Any]:
    """Measure what a request names and return the answer."""
    from atoll.diagnostics import as_json
    from atoll.errors import AtollError
    from atoll.packaging.walk import TooMuch, walk_path
    from atoll.packaging.wire import encode
    from atoll.plugin import registry

    path, limits = Path(request["path"]), Limits(**request["limits"])
    try:
        readers = tuple(registry().readers.values())
        return {"report": encode(walk_path(path, request["name"], readers, limits))}
    except AtollError as error:
        return {"diagnostics": [as_json(item) for item in error.diagnostics]}
    except MemoryError:
        return {"past": f"{limits.memory} bytes of memory"}
    except TooMuch:
        return {"past": f"{limits.pieces} members and findings"}
    except OSError as error:
        return {"unreadable": error.strerror or str(error)}


def request_for(path: Path, name: str, limits: Limits) -> bytes:
    """Return the request to measure a path."""
    return json.dumps({"path": str(path), "name": name, "limits": asdict(limits)}).encode()


def main() -> None:
    """Read the request, confine, measure, answer."""
    request = json.load(sys.stdin)
    path = Path(request["path"])
    size = path.stat().st_size if path.is_file() else 0
    confine(Limits(**request["limits"]), size)
    json.dump(answer(request), sys.stdout)


if __name__ == "__main__":
    main()
