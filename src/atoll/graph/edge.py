"""What does the executor start for an action? A spec in a file, found by the digest of what it says.

The digest is over everything that decides the outputs; limits on time and memory do not. The base
environment is part of it, so that nothing of the caller's environment reaches a command unsaid.
"""

from __future__ import annotations

import hashlib
import json
from functools import lru_cache

from atoll._util.jsontext import is_plain, listed, quoted
from atoll.graph.action import Action

# The whole environment of an action that sets nothing.
BASE_ENVIRONMENT = {"LC_ALL": "C.UTF-8", "PATH": "/usr/bin:/bin"}
# Raised where the runner treats outputs in a new way.
RUNNER_VERSION = 1


def _deciding(action: Action) -> str:
    """Return everything of a spec that decides the outputs, as JSON with sorted keys.

    Nothing of most specs is escaped: the whole is put together as if so, and looked at once.
    """
    argv, inputs, outputs = action.argv, action.inputs, action.outputs
    environment = _environment(action.env)
    depfile = "null" if action.depfile is None else f'"{action.depfile}"'
    dyndep = "null" if action.dyndep is None else f'"{action.dyndep}"'
    text = (
        f'{{"argv": ["{_BETWEEN.join(argv)}"], "depfile": {depfile}'
        f', "depfile_style": "{action.depfile_style}", "dyndep": {dyndep}'
        f', "env": {environment}, "inputs": ["{_BETWEEN.join(inputs)}"]'
        f', "key": "{action.key}", "outputs": ["{_BETWEEN.join(outputs)}"], "version": {RUNNER_VERSION}}}'
    )
    words = len(argv) + len(inputs) + len(outputs) + (depfile != "null") + (dyndep != "null")
    quotes = environment.count('"') + 2 * (words + len(_KEYS) + 2)
    if (
        argv
        and inputs
        and outputs
        and text.count('"') == quotes
        and "\\" not in environment
        and is_plain(text)
    ):
        return text
    return _escaped(action)


_BETWEEN = '", "'
_KEYS = ("argv", "depfile", "depfile_style", "dyndep", "env", "inputs", "key", "outputs", "version")


def _escaped(action: Action) -> str:
    """Return the same of any action."""
    depfile = "null" if action.depfile is None else quoted(action.depfile)
    dyndep = "null" if action.dyndep is None else quoted(action.dyndep)
    return (
        f'{{"argv": {listed(action.argv)}, "depfile": {depfile}'
        f', "depfile_style": {quoted(action.depfile_style)}, "dyndep": {dyndep}'
        f', "env": {_environment(action.env)}, "inputs": {listed(action.inputs)}'
        f', "key": {quoted(action.key)}, "outputs": {listed(action.outputs)}, "version": {RUNNER_VERSION}}}'
    )


@lru_cache(maxsize=64)
def _environment(env: tuple[tuple[str, str], ...]) -> str:
    """Return the whole environment of an action as JSON."""
    return json.dumps(BASE_ENVIRONMENT | dict(env), sort_keys=True)


_digests: dict[Action, str] = {}
_MOST = 1 << 14


def digest(action: Action) -> str:
    """Return the digest that names the action's spec and record."""
    found = _digests.get(action)
    return _kept(action, _digest(_deciding(action))) if found is None else found


def _kept(action: Action, found: str) -> str:
    if len(_digests) >= _MOST:
        _digests.clear()
    _digests[action] = found
    return found


def _digest(deciding: str) -> str:
    return hashlib.sha256(deciding.encode()).hexdigest()[:32]


@lru_cache(maxsize=64)
def _seconds(limit: float | None) -> str:
    return json.dumps(limit)


def named_spec(action: Action) -> tuple[str, str]:
    """Return the digest of an action, and its spec as its text among the others.

    What decides the digest comes first in the text, then what does not.
    """
    deciding = _deciding(action)
    more = f'"name": {quoted(action.name)}, "time_limit": {_seconds(action.time_limit)}'
    return _kept(action, _digest(deciding)), f"{deciding[:-1]}, {more}}}\n"
