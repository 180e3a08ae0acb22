"""What does the planner decide from? One project, one set, one profile, one machine."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from atoll._util.values import dataclass, field
from atoll.accel import AccelSet
from atoll.manifest import Manifest, Profile
from atoll.plugin import Registry
from atoll.store import Payload, PayloadRoot

if TYPE_CHECKING:
    from atoll.build.contributions import Packages

BUILD = ".atoll/build"
PLAN = ".atoll/plan"


@dataclass(frozen=True, slots=True, kw_only=True)
class BuildRequest:
    """Everything a plan depends on.

    Attributes:
        root: The project root, absolute.
        manifest: With its overlays applied.
        accel: The set of the build.
        accel_source: Where the set came from, for people: ``--accel``, ``--no-accel``, the manifest.
        profile_name / profile: How far code is optimised.
        registry: The installed plugins.
        environment: Where programs are looked up.
        ensure: Brings a payload into the store; asked only for what a lane needs for this build.
        host: ``linux``, ``macos`` or ``windows``.
        features: Features that were asked for; the manifest has those that are on.
        packages: The project's dependencies, which are merged into the manifest.
        identity: The folder name of this build: the profile, the set's backends, and a digest of both.
    """

    root: Path
    manifest: Manifest
    accel: AccelSet
    accel_source: str
    profile_name: str
    profile: Profile
    registry: Registry
    environment: Mapping[str, str]
    ensure: Callable[[Payload], PayloadRoot] = field(compare=False)
    host: str = "linux"
    features: tuple[str, ...] = ()
    packages: Packages | None = None
    identity: str = field(init=False, compare=False)

    def __post_init__(self) -> None:
        # Asked for with each path of a plan.
        named = build_identity(self.profile_name, self.accel, self.features)
        object.__setattr__(self, "identity", named)

    @property
    def folder(self) -> str:
        """The build folder, relative to the root; the graph's outputs lie below it."""
        return f"{BUILD}/{self.identity}"

    @property
    def plan_folder(self) -> str:
        """The folder of what the planner itself writes, relative to the root."""
        return f"{PLAN}/{self.identity}"


def build_identity(profile: str, accel: AccelSet, features: tuple[str, ...] = ()) -> str:
    """Return a folder name for a profile, a set and asked features: two of them never share one."""
    asked = "\n".join(sorted(set(features)))
    more = f"-f{hashlib.sha256(asked.encode()).hexdigest()[:8]}" if asked else ""
    if not accel:
        return f"{_plain(profile)}-none{more}"
    canonical = accel.canonical()
    shown = "-".join(sorted(_plain(f"{entry.backend}{entry.version or ''}") for entry in accel))
    digest = hashlib.sha256(canonical.encode()).hexdigest()[:8]
    return f"{_plain(profile)}-{shown[:60]}-{digest}{more}"


def _plain(text: str) -> str:
    return re.sub(r"[^A-Za-z0-9.]", "_", text)
