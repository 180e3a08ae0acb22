"""What a file carries and whether it fits: facts, descriptors, matching, the one refusal text.

Words: *accel* is what bytes were measured to carry (none, a set, or unknown); *requires* are facts that
must all hold; *declared* is what bytes cannot say. Reading files is :mod:`atoll.packaging`'s job.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from atoll.artifact.values import Fact, Finding, Measured

if TYPE_CHECKING:
    from atoll.artifact.abi import Abi
    from atoll.artifact.descriptor import Descriptor, Index, read_index
    from atoll.artifact.match import (
        BuildRequest,
        Choice,
        DeviceRequest,
        Verdict,
        choose,
        fit,
        refusal,
        unmet,
    )
    from atoll.artifact.unfit import Subject, compose, side

_MATCH = ("BuildRequest", "Choice", "DeviceRequest", "Verdict", "choose", "fit", "refusal", "unmet")
_LATE = {
    "Abi": "abi",
    **dict.fromkeys(("Descriptor", "Index", "read_index"), "descriptor"),
    **dict.fromkeys(_MATCH, "match"),
    **dict.fromkeys(("Subject", "compose", "side"), "unfit"),
}

__all__ = [
    "Abi",
    "BuildRequest",
    "Choice",
    "Descriptor",
    "DeviceRequest",
    "Fact",
    "Finding",
    "Index",
    "Measured",
    "Subject",
    "Verdict",
    "choose",
    "compose",
    "fit",
    "read_index",
    "refusal",
    "side",
    "unmet",
]


def __getattr__(name: str) -> Any:
    """Import what matches only where something is matched: who states facts does not."""
    if name not in _LATE:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_LATE[name]}"), name)
