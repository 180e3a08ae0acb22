"""How do packaging standards name what an entry runs on? Properties, stated by the lane of its backend."""

from __future__ import annotations

from collections.abc import Mapping

from atoll._util.values import dataclass
from atoll.accel.relations import BackendRules
from atoll.accel.terms import Entry

Facts = Mapping[str, str]


@dataclass(frozen=True, slots=True, kw_only=True)
class Properties:
    """The properties of one namespace (PEP 825); all features must hold, any value of a feature serves.

    Attributes:
        namespace: Whose words they are.
        requires: The package that asks a machine for them, as an installer may install it.
        plugin_api: The object in it that is asked.
        features: The values by feature.
        unnamed: Architectures of the entry that no value names.
    """

    namespace: str
    requires: str
    plugin_api: str
    features: Mapping[str, tuple[str, ...]]
    unnamed: tuple[str, ...] = ()


def properties(entry: Entry, floors: Facts, rules: Mapping[str, BackendRules]) -> Properties | None:
    """Return the properties of an entry; None where its lane states none.

    A lane states them by a method ``properties(entry, floors)`` of its rules; `floors` are the required
    floors that were measured, by name.
    """
    ask = getattr(rules.get(entry.backend), "properties", None)
    answer = None if ask is None else ask(entry, floors)
    return answer if isinstance(answer, Properties) else None
