"""What did the author write? `atoll.toml`, or `[tool.atoll]` in `pyproject.toml`, as one checked value.

Words: a *manifest* is the whole file as frozen values; an *overlay* is a table under a `cfg(…)`
predicate; a *constraint* is the `accel` of a source entry. Which devices a set names is
:mod:`atoll.accel`'s; which actions follow is :mod:`atoll.build`'s.
"""

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
from atoll.manifest.reader import find, manifest_in, read
from atoll.manifest.selection import LeftOut, SelectedUnit, Selection, select

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
