"""The accelerator vocabulary: which devices, in one spelling. Pure values, no I/O, no vendor name.

Words: an *accel set* is a set of *entries*; an entry is a *backend* with an optional version, optional
*archs* and an optional *floor*. Three relations answer three questions: :func:`links`, :func:`runs`,
:func:`provides`. Lanes refine them through :class:`BackendRules`; the engine only combines.
"""

from atoll.accel.relations import BackendRules, Difference, Relation, links, provides, runs
from atoll.accel.terms import AccelSet, DeviceFacts, Entry, Floor, Version

__all__ = [
    "AccelSet",
    "BackendRules",
    "DeviceFacts",
    "Difference",
    "Entry",
    "Floor",
    "Relation",
    "Version",
    "links",
    "provides",
    "runs",
]
