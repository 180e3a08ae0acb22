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
_FREE = {"time_limit", "name"}
_encoded = json.encoder.encode_basestring_ascii


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


@lru_cache(maxsize=4)
def _deciding(action: Action) -> str:
    """Return everything of a spec that decides the outputs, as JSON."""
    return json.dumps(
        {name: value for name, value in spec(action).items() if name not in _FREE}, sort_keys=True
    )


@lru_cache(maxsize=1 << 14)
def digest(action: Action) -> str:
    """Return the digest that names the action's spec and record."""
    return hashlib.sha256(_deciding(action).encode()).hexdigest()[:32]


def spec_text(action: Action) -> str:
    """Return the spec as its text among the others: what decides the digest, and what does not."""
    more = f'"name": {_encoded(action.name)}, "time_limit": {json.dumps(action.time_limit)}'
    return f"{_deciding(action)[:-1]}, {more}}}\n"
