"""What did the author write? `atoll.toml`, or `[tool.atoll]` in `pyproject.toml`, as one checked value.

Words: a *manifest* is the whole file as frozen values; an *overlay* is a table under a `cfg(…)`
predicate; a *constraint* is the `accel` of a source entry. Which devices a set names is
:mod:`atoll.accel`'s; which actions follow is :mod:`atoll.build`'s.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from atoll.manifest.features import enable
    from atoll.manifest.lanes import LaneFacts
    from atoll.manifest.model import (
        Boundary,
        Build,
        Data,
        Dependency,
        Feature,
        LaneTable,
        Link,
        Manifest,
        Package,
        Profile,
        RuntimeArtifact,
        Shape,
        Source,
        Storage,
        Target,
        TargetKind,
        Variant,
    )
    from atoll.manifest.place import find, manifest_in
    from atoll.manifest.reader import read
    from atoll.manifest.selection import LeftOut, SelectedUnit, Selection, select

_MODEL = (
    *("Boundary", "Build", "Data", "Dependency", "Feature", "LaneTable", "Link", "Manifest", "Package"),
    *("Profile", "RuntimeArtifact", "Shape", "Source", "Storage", "Target", "TargetKind", "Variant"),
)
_LATE = {
    **dict.fromkeys(_MODEL, "model"),
    **dict.fromkeys(("LeftOut", "SelectedUnit", "Selection", "select"), "selection"),
    "LaneFacts": "lanes",
    "enable": "features",
    "find": "place",
    "manifest_in": "place",
    "read": "reader",
}

__all__ = [
    "Boundary",
    "Build",
    "Data",
    "Dependency",
    "Feature",
    "LaneFacts",
    "LaneTable",
    "LeftOut",
    "Link",
    "Manifest",
    "Package",
    "Profile",
    "RuntimeArtifact",
    "SelectedUnit",
    "Selection",
    "Shape",
    "Source",
    "Storage",
    "Target",
    "TargetKind",
    "Variant",
    "enable",
    "find",
    "manifest_in",
    "read",
    "select",
]


def __getattr__(name: str) -> Any:
    """Import a part only where it is used: a build whose plan still holds reads no manifest."""
    if name not in _LATE:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_LATE[name]}"), name)
