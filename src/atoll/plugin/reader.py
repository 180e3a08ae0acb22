"""The reader door: one file format, measured; run in a child with limits, every byte hostile."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Protocol

from atoll.artifact import Fact, Finding


@dataclass(frozen=True, slots=True, kw_only=True)
class Blob:
    """Bytes to look at.

    Attributes:
        name: Where they lie, member names from the outermost file inwards joined by ``!``.
        data: The bytes; a view that readers slice and never copy whole.
        kind: What the reader that found them says they are (``section:.nv_fatbin``), or empty for a
            file that has to be recognised by its first bytes. A kind that starts with ``section:``,
            ``device:`` or ``offload:`` says: these bytes are device code, so what no reader recognises
            is unknown. ``device:BACKEND:…`` also says for which backend; bytes that measure to another
            one contradict it.
    """

    name: str
    data: memoryview
    kind: str = ""


@dataclass(frozen=True, slots=True)
class Member:
    """A blob inside another one, to be read in its turn."""

    blob: Blob


class Reader(Protocol):
    """A plugin that measures one format: a container gives members, a leaf gives findings."""

    @property
    def name(self) -> str:
        """Its name, for `unread` reasons."""
        ...

    def recognises(self, blob: Blob) -> bool:
        """Tell from `kind`, the name and the first bytes whether it reads this blob. Cheap."""
        ...

    def read(self, blob: Blob) -> Iterator[Member | Finding | Fact]:
        """Give the members, findings and required facts of a blob.

        Raises:
            UnreadableError: Where the bytes break the format's own rules.
        """
        ...
