"""The reader door: one file format, measured; run in a child with limits, every byte hostile."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Protocol

from atoll._util.values import dataclass
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


def at_the_word(_body: memoryview, at: int) -> int | None:
    """Say that device code starts where its word stands."""
    return at


@dataclass(frozen=True, slots=True, kw_only=True)
class Mark:
    """A word by which a format shows itself inside the constant data of a program.

    Attributes:
        word: The bytes to search for, at least four.
        form: What the place is given as: a blob of kind ``embedded:FORM``.
        step: The alignment of the word.
        start: Returns where the code starts whose word stands at an offset of the data, or None where
            the word alone is there by chance.
    """

    word: bytes
    form: str
    step: int = 1
    start: Callable[[memoryview, int], int | None] = at_the_word


class Reader(Protocol):
    """A plugin that measures one format: a container gives members, a leaf gives findings.

    A reader of device code may state three more things, which containers ask of every installed one:
    ``marks``, a tuple of :class:`Mark`; ``machines``, the ELF machine numbers that are its own and no
    host's; and ``libraries``, how the names of the libraries start that its code is reached through, so
    that needing one is a fact.
    """

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


def marks(readers: Iterable[Reader]) -> Mapping[bytes, tuple[Mark, ...]]:
    """Return by word the marks of all readers that state some."""
    found: dict[bytes, tuple[Mark, ...]] = {}
    for reader in readers:
        for mark in getattr(reader, "marks", ()):
            found[mark.word] = (*found.get(mark.word, ()), mark)
    return found


def machines(readers: Iterable[Reader]) -> frozenset[int]:
    """Return the ELF machine numbers that readers of device code claim."""
    return frozenset(number for reader in readers for number in getattr(reader, "machines", ()))


def libraries(readers: Iterable[Reader]) -> tuple[str, ...]:
    """Return how the names of libraries start that readers of device code count as a vendor's."""
    return tuple(start for reader in readers for start in getattr(reader, "libraries", ()))
