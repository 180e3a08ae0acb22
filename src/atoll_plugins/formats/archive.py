"""What are the members of a static library? Each object in turn; thin archives are refused.

Format: ar(5), with the GNU and the BSD way of long names.
"""

from __future__ import annotations

from collections.abc import Iterator

from atoll.artifact import Fact, Finding
from atoll.plugin import Blob, Member
from atoll_plugins.formats.parse import broken, part

MAGIC, THIN = b"!<arch>\n", b"!<thin>\n"
MEMBER_LIMIT = 1 << 20
_TABLES = ("/", "//", "/SYM64/", "__.SYMDEF", "__.SYMDEF SORTED", "__.SYMDEF_64")


class ArchiveReader:
    """Reads ``ar`` archives (``.a``)."""

    name = "archive"

    def recognises(self, blob: Blob) -> bool:
        """Tell by the first eight bytes."""
        return not blob.kind and blob.data[:8] in (MAGIC, THIN)

    def read(self, blob: Blob) -> Iterator[Member | Finding | Fact]:
        """Give every member that is no symbol or name table."""
        if blob.data[:8] == THIN:
            raise broken(blob.name, "a thin archive holds no members, it names files elsewhere")
        names, at = blob.data[:0], 8
        for index in range(MEMBER_LIMIT):
            if at >= len(blob.data):
                return
            raw, body, at = _member(blob, at)
            if raw == "//":
                names = body
            elif raw not in _TABLES:
                title, body = _title(blob.name, raw, body, names)
                if title not in _TABLES:
                    yield Member(Blob(name=f"{blob.name}!{title or index}", data=body))
        raise broken(blob.name, f"over {MEMBER_LIMIT} members")


def _member(blob: Blob, at: int) -> tuple[str, memoryview, int]:
    head = bytes(part(blob.data, at, 60, blob.name, "a member header"))
    if head[58:] != b"`\n":
        raise broken(blob.name, f"the member header at {at} does not end as one")
    field = head[48:58].rstrip()
    if not field.isdigit():
        raise broken(blob.name, f"the member at {at} states no size")
    size = int(field)
    body = part(blob.data, at + 60, size, blob.name, "a member")
    return head[:16].rstrip().decode("utf-8", "backslashreplace"), body, at + 60 + size + size % 2


def _title(where: str, raw: str, body: memoryview, names: memoryview) -> tuple[str, memoryview]:
    """Return a member's name, long ones from the name table (GNU) or its own first bytes (BSD)."""
    if raw.startswith("/") and raw[1:].isdigit():
        start = int(raw[1:])
        if start >= len(names):
            raise broken(where, f"a member's long name at {start} lies outside of the name table")
        text = bytes(names[start : start + 4096]).split(b"\n", 1)[0]
        return text.decode("utf-8", "backslashreplace").rstrip("/"), body
    if raw.startswith("#1/") and raw[3:].isdigit():
        length = int(raw[3:])
        text = bytes(part(body, 0, length, where, "a long name")).rstrip(b"\0")
        return text[:4096].decode("utf-8", "backslashreplace"), body[length:]
    return raw.rstrip("/"), body
