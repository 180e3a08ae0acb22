"""How is a source named for people? Atoll's own by what it is, the author's by its path."""

from __future__ import annotations

import re

from atoll.runtime import core_source

# What the engine generates for one build; the folders say nothing that the rest of a name does not.
_GENERATED = re.compile(r"^\.atoll/(?:build|plan)/[^/]+/")
_PLANNED = re.compile(r"(launchers|modules|registries|roots)/(?:[^/]+/)?([^/]+)\.c")
_ONE = {"launchers": "launcher", "modules": "module", "registries": "registry", "roots": "root"}


def shown(path: str) -> str:
    """Return the name of a source in what a build says."""
    if path == str(core_source()):
        return "runtime core"
    plain = _GENERATED.sub("", path)
    planned = _PLANNED.fullmatch(plain) if plain != path else None
    return f"{_ONE[planned[1]]} {planned[2]}" if planned else plain
