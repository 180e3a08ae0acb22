"""What a payload is, as a value."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from atoll._util.values import dataclass, field


@dataclass(frozen=True, slots=True, kw_only=True)
class Payload:
    """Files that a lane needs and that the registries carry.

    Attributes:
        name: A name unique among payloads, such as ``cuda-13.0``.
        requirements: Exact pins, ``name==version``, fetched without their own dependencies.
        hashes: For each pinned distribution file name its SHA-256, where the lane pins bytes too.
        sdist: True where the requirements are source distributions to be unpacked, not wheels.
        programs: Paths below the unpacked root that must start (``--version``) before it counts.
        probe_args: The arguments a program is started with to see that it starts.
        libraries: Paths of shared libraries below the root that must load, with all that they need.
        search: Folders below the root in which they find each other.
    """

    name: str
    requirements: tuple[str, ...]
    hashes: tuple[tuple[str, str], ...] = ()
    sdist: bool = False
    programs: tuple[str, ...] = ()
    probe_args: tuple[str, ...] = ("--version",)
    libraries: tuple[str, ...] = ()
    search: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class PayloadRoot:
    """A payload that is present and verified.

    Attributes:
        payload: What was asked for.
        root: The folder that holds the unpacked files (a wheel's files lie as in site-packages).
        digest: SHA-256 over the names and hashes of the distributions, for build identity.
        why: One sentence that says where it came from.
        distributions: The SHA-256 of each distribution by its file name, for ``atoll.lock``.
    """

    payload: Payload
    root: Path
    digest: str
    why: str
    environment: tuple[tuple[str, str], ...] = field(default=())
    distributions: Mapping[str, str] = field(default_factory=dict, compare=False)
