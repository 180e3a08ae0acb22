"""The values that readers make and that matching compares."""

from __future__ import annotations

from atoll._util.values import dataclass, field
from atoll.accel import AccelSet
from atoll.diagnostics import Diagnostic
from atoll.errors import AtollError


@dataclass(frozen=True, slots=True, kw_only=True, order=True)
class Fact:
    """A stated version or level: ``(name, relation, value)``.

    A *fact* (relation ``=``) says what is; a *floor* (``>=``) says the least that serves.
    """

    name: str
    relation: str
    value: str

    @classmethod
    def parse(cls, text: str) -> Fact:
        """Return the fact that ``name relation value`` spells.

        Raises:
            AtollError: Where a part is missing or the relation is neither ``=`` nor ``>=``.
        """
        parts = text.split(" ", 2)
        if len(parts) != 3 or parts[1] not in ("=", ">=") or not all(parts):
            raise AtollError(
                Diagnostic(
                    code="ATL0404",
                    message=f"`{text[:80]}` is not a fact",
                    notes=("expected: name, `=` or `>=`, value, each after one space",),
                )
            )
        return cls(name=parts[0], relation=parts[1], value=parts[2])

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
        code: What it is a form of: findings of one code are alternatives; the member where empty.
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
    code: str = ""


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
