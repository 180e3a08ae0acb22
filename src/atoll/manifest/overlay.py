"""What does the manifest say for this set, system and compiler? Overlays, chosen and merged.

Merging works on nodes, before they become values: only there can a key that was not written be told
from one that was. Lists append, tables merge, anything else is replaced; overlays apply in the order
they stand in.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from atoll.diagnostics import Span
from atoll.manifest.document import Node

if TYPE_CHECKING:
    from atoll.accel import AccelSet
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
    predicate: Any
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
    from atoll.accel.cfg import evaluate
    from atoll.manifest.reader import from_document

    document = manifest.document
    if document is None or not manifest.overlays:
        return manifest
    for overlay in manifest.overlays:
        if evaluate(overlay.predicate, accel=accel, os=os, arch=arch, compiler=compiler):
            document = merge(document, overlay.body)
    without = Node({k: v for k, v in document.value.items() if k != "target"}, document.span, document.at)
    return from_document(without, manifest.path)
