"""What does the executor start for an action? A spec in a file, found by the digest of what it says.

The digest is over everything that decides the outputs; limits on time and memory do not. The base
environment is part of it, so that nothing of the caller's environment reaches a command unsaid.
"""

from __future__ import annotations

import hashlib
import json
from functools import lru_cache
from typing import Any

from atoll.graph.action import Action

# The whole environment of an action that sets nothing.
BASE_ENVIRONMENT = {"LC_ALL": "C.UTF-8", "PATH": "/usr/bin:/bin"}
# Raised where the runner treats outputs in a new way.
RUNNER_VERSION = 1


def spec(action: Action) -> dict[str, Any]:
    """Return what the runner reads."""
    return {
        "name": action.name,
        "argv": list(action.argv),
        "env": BASE_ENVIRONMENT | dict(action.env),
        "inputs": list(action.inputs),
        "outputs": list(action.outputs),
        "depfile": action.depfile,
        "depfile_style": action.depfile_style,
        "dyndep": action.dyndep,
        "key": action.key,
        "time_limit": action.time_limit,
        "version": RUNNER_VERSION,
    }


@lru_cache(maxsize=1 << 14)
def digest(action: Action) -> str:
    """Return the digest that names the action's spec and record."""
    decides = {name: value for name, value in spec(action).items() if name not in {"time_limit", "name"}}
    text = json.dumps(decides, sort_keys=True, ensure_ascii=True)
    return hashlib.sha256(text.encode()).hexdigest()[:32]


def spec_text(action: Action) -> str:
    """Return the spec as the text of its file."""
    return json.dumps(spec(action), sort_keys=True, ensure_ascii=False) + "\n"
