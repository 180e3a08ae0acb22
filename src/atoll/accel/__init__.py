"""The accelerator vocabulary: which devices, in one spelling. Pure values, no I/O, no vendor name.

Words: an *accel set* is a set of *entries*; an entry is a *backend* with an optional version, optional
*archs* and an optional *floor*. Three relations answer three questions: :func:`links`, :func:`runs`,
:func:`provides`. Lanes refine them through :class:`BackendRules`; the engine only combines.
"""

from atoll.accel.parse import parse_option
from atoll.accel.properties import Properties, properties
from atoll.accel.relations import BackendRules, Difference, Relation, links, provides, refused_entries, runs
from atoll.accel.terms import PROCESSOR, AccelSet, DeviceFacts, Entry, Floor, Version
from atoll.accel.words import ANY_WORD, provide_floor_words

__all__ = [
    "ANY_WORD",
    "PROCESSOR",
    "AccelSet",
    "BackendRules",
    "DeviceFacts",
    "Difference",
    "Entry",
    "Floor",
    "Properties",
    "Relation",
    "Version",
    "links",
    "parse_option",
    "properties",
    "provide_floor_words",
    "provides",
    "refused_entries",
    "runs",
]
