"""What does the manifest say for this set, system and compiler? Overlays, chosen and merged.

Merging works on nodes, before they become values: only there can a key that was not written be told
from one that was. Lists append, tables merge, anything else is replaced; overlays apply in the order
they stand in.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from atoll._util.values import dataclass, replace
from atoll.diagnostics import Span
from atoll.errors import AccelError, ManifestError
from atoll.manifest.document import Node, anchored

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from atoll.accel import AccelSet
    from atoll.accel.cfg import Predicate
    from atoll.diagnostics import Diagnostic
    from atoll.manifest.model import Manifest


@dataclass(frozen=True, slots=True)
class Overlay:
    """One table `[target.'cfg(…)']`.

    Attributes:
        text: The predicate as written, ``cfg(accelerator = "none")``.
        span: Where it stands.
        predicate: The parsed predicate.
        body: The tables it adds.
    """

    text: str
    span: Span
    predicate: Predicate
    body: Node


def merge(base: Node, over: Node) -> Node:
    """Return `base` with `over` laid on it."""
    if isinstance(base.value, dict) and isinstance(over.value, dict):
        merged = dict(base.value)
        for name, node in over.value.items():
            merged[name] = merge(merged[name], node) if name in merged else node
        return Node(merged, base.span, base.at)
    if isinstance(base.value, list) and isinstance(over.value, list):
        return Node([*base.value, *over.value], base.span, base.at)
    return over


def resolve(manifest: Manifest, accel: AccelSet, *, os: str, arch: str, compiler: str) -> Manifest:
    """Return the manifest with the overlays merged whose predicate holds."""
    document = manifest.document
    if document is None or "target" not in document.value:
        return manifest
    from atoll.accel.cfg import evaluate
    from atoll.manifest.reader import from_document

    for overlay in manifest.overlays:
        if evaluate(overlay.predicate, accel=accel, os=os, arch=arch, compiler=compiler):
            document = merge(document, overlay.body)
    without = Node({k: v for k, v in document.value.items() if k != "target"}, document.span, document.at)
    # The overlays are kept, applied, for the warnings about their predicates.
    return replace(from_document(without, manifest.path), overlays=manifest.overlays)


def named_accelerators(overlays: Sequence[Overlay]) -> set[str]:
    """Return the accelerators that predicates name."""
    if not overlays:
        return set()
    from atoll.accel import cfg

    return {
        each.value
        for overlay in overlays
        for each in cfg.names(overlay.predicate)
        if each.key == "accelerator"
    }


def unknown_accelerators(overlays: Sequence[Overlay], known: Iterable[str]) -> list[Diagnostic]:
    """Return a warning for each accelerator in a predicate that nobody names."""
    if not overlays:
        return []
    from atoll.accel import cfg

    words = list(known)
    return [
        anchored(warning, overlay.span, len(overlay.text))
        for overlay in overlays
        for warning in cfg.unknown_accelerators(overlay.predicate, words)
    ]


def parse_accel(
    text: str, span: Span | None, file: str, floor_words: Mapping[str, str] | None = None
) -> AccelSet:
    """Return the set that a value of the manifest spells.

    Raises:
        ManifestError: With the place in the manifest.
    """
    from atoll.accel import AccelSet

    if not text:
        return AccelSet()
    try:
        return AccelSet.parse(text, floor_words=floor_words, source=file)
    except AccelError as error:
        raise ManifestError(*(anchored(fault, span, len(text)) for fault in error.diagnostics)) from None
