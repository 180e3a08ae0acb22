"""The values that readers make and that matching compares."""

from __future__ import annotations

from dataclasses import dataclass, field

from atoll.accel import AccelSet


@dataclass(frozen=True, slots=True, kw_only=True, order=True)
class Fact:
    """A stated version or level: ``(name, relation, value)``.

    A *fact* (relation ``=``) says what is; a *floor* (``>=``) says the least that serves.
    """

    name: str
    relation: str
    value: str

    def __str__(self) -> str:
        return f"{self.name} {self.relation} {self.value}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """One piece of device code that a reader understood, or failed to understand.

    Attributes:
        member: Where it lies: member names from the outermost file inwards, ``a.whl!b.so``.
        backend: The accel backend, such as ``vulkan``; empty for device code nobody understood.
        version: The toolkit or API version that its bytes state; empty where they state none.
        arch: The architecture of machine code, in the lane's spelling; empty where there is none.
        floor: The value of a portable floor (a PTX arch level); empty where there is none.
        floor_word: The lane's word for that floor.
        requires: Facts that must hold for this piece.
        declared: True where the backend is not in the bytes but in what the author wrote
            (OpenCL source); it then never enters `accel`.
        note: What a person should know, such as an entry kind that is neither machine code nor text.
    """

    member: str
    backend: str
    version: str = ""
    arch: str = ""
    floor: str = ""
    floor_word: str = ""
    requires: tuple[Fact, ...] = ()
    declared: bool = False
    note: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Measured:
    """What one file was measured to carry.

    Attributes:
        path: The file, as it was named.
        accel: The measured set; empty for no device code; None for *unknown*.
        requires: Facts that must all hold, sorted.
        declared: What stands beside the bytes: accel entries as text, sorted.
        findings: Every piece, in file order.
        unread: Members that may hold device code and that no reader understood, with the reason.
    """

    path: str
    accel: AccelSet | None
    requires: tuple[Fact, ...] = ()
    declared: tuple[str, ...] = ()
    findings: tuple[Finding, ...] = ()
    unread: tuple[tuple[str, str], ...] = field(default=())
