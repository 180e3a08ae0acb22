"""How are variant wheels told apart? PEP 825: a label in the file name, its properties in `variant.json`.

Every name of the format stands here. The properties of a variant follow from the set *measured* in its wheel;
which words state them is the lane's knowledge (:class:`atoll.accel.Properties`). The empty set is the variant
labelled ``null``, which fits every machine.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from pathlib import Path

from atoll._util.files import write_atomic
from atoll._util.values import dataclass
from atoll.accel import AccelSet, BackendRules, Properties, properties
from atoll.artifact import Fact
from atoll.diagnostics import Diagnostic
from atoll.errors import UsageError

#: Version 0.2.0, which adds the providers; `uv` 0.13 and `variantlib` 0.2 read it.
SCHEMA = "https://variants-schema.wheelnext.dev/peps/850/v0.2.0.json"
NULL = "null"
MEMBER = "variant.json"


@dataclass(frozen=True, slots=True, kw_only=True)
class Labelled:
    """One variant: its label and what its wheel was measured to need.

    Attributes:
        label: The last field of the file name.
        properties: By namespace; empty for ``null``.
        beside: Properties of the release's other variants: each wheel lists the namespaces of all.
    """

    label: str
    properties: tuple[Properties, ...] = ()
    beside: tuple[Properties, ...] = ()


def labelled(
    label: str, accel: AccelSet, requires: Iterable[Fact], rules: Mapping[str, BackendRules]
) -> Labelled:
    """Return a variant of a measured set and of the facts that were measured to be required.

    Raises:
        UsageError: Where a part of the set has no property that an installer could ask for.
    """
    found, faults = [], []
    floors = {fact.name: fact.value for fact in requires if fact.relation == ">="}
    for entry in accel:
        known = properties(entry, floors, rules)
        if known is None:
            faults.append(_nameless(label, entry.backend, "its lane states no property of wheels"))
        elif entry.archs and len(known.unnamed) == len(entry.archs) and entry.floor is None:
            archs = ", ".join(known.unnamed)
            faults.append(_nameless(label, entry.backend, f"no property names {archs}"))
        else:
            found.append(known)
    if faults:
        raise UsageError(*faults)
    return Labelled(label=label, properties=tuple(found))


def check_label(label: str, accel: AccelSet) -> None:
    """Refuse ``null`` for a set, and another label for none.

    Raises:
        UsageError: With the label and the set.
    """
    if (label == NULL) == (not accel):
        return
    raise UsageError(
        Diagnostic(
            code="ATL0471",
            message=f"the variant `{label}` has a label that means something else",
            notes=(f"its accel set: {accel or 'none'}", f"`{NULL}` is the variant without device code"),
            hint=f'label the variant with `accel = ""` as `{NULL}`, and no other',
        )
    )


def _nameless(label: str, backend: str, reason: str) -> Diagnostic:
    return Diagnostic(
        code="ATL0470",
        message=f"no installer can tell where the variant `{label}` runs",
        notes=(f"backend: {backend}", f"reason: {reason}"),
        hint="leave the backend out of the variant, or ship one wheel for all (`atoll pack`)",
    )


def document(variants: tuple[Labelled, ...]) -> bytes:
    """Return the JSON of one wheel, or the index of several: variants in the publisher's order."""
    known = {each.namespace: each for variant in variants for each in (*variant.properties, *variant.beside)}
    value = {
        "$schema": SCHEMA,
        "default-priorities": {"namespace": list(known)},
        "providers": {
            name: {"requires": [each.requires], "plugin-api": each.plugin_api} for name, each in known.items()
        },
        "variants": {
            variant.label: {each.namespace: _features(each) for each in variant.properties}
            for variant in variants
        },
    }
    return (json.dumps(value, indent=2) + "\n").encode()


def _features(known: Properties) -> dict[str, list[str]]:
    return {feature: list(values) for feature, values in known.features.items() if values}


def write_index(stem: str, variants: tuple[Labelled, ...], out: Path) -> Path:
    """Write the file that installers read before any wheel; return its path."""
    path = out / f"{stem}-variants.json"
    out.mkdir(parents=True, exist_ok=True)
    write_atomic(path, document(variants))
    return path
