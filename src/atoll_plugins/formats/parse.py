"""How do readers take numbers and texts out of hostile bytes, every access bounded; and who else reads?"""

from __future__ import annotations

import mmap
import struct
from collections.abc import Iterable
from functools import cache
from typing import Any

from atoll.diagnostics import Diagnostic
from atoll.errors import UnreadableError
from atoll.plugin import Reader, registry


def broken(name: str, reason: str) -> UnreadableError:
    """Return the error for bytes that break the rules of their own format."""
    return UnreadableError(
        Diagnostic(
            code="ATL0452",
            message=f"`{name}` breaks the rules of its own format",
            notes=(reason,),
            hint="what it carries is unknown; get the file again, or leave the member out",
        )
    )


def refused(archive: str, entry: str, reason: str) -> UnreadableError:
    """Return the error for an entry that no honest archive has."""
    return UnreadableError(
        Diagnostic(
            code="ATL0455",
            message=f"`{archive}` holds an entry that is refused",
            notes=(f"entry: {entry!r}", f"reason: {reason}"),
            hint="nothing of the archive was believed; get it from its author again",
        )
    )


def check_name(archive: str, name: str) -> None:
    """Refuse a member's name that would lead outside of where the archive is unpacked.

    Raises:
        UnreadableError: With the name and what is wrong with it.
    """
    if not name or "\0" in name or name.startswith("/") or "\\" in name or name[1:2] == ":":
        raise refused(archive, name, "the name is no relative path")
    if any(piece in ("", ".", "..") for piece in name.rstrip("/").split("/")):
        raise refused(archive, name, "the name leads outside, or has an empty part")


def bomb(archive: str, entry: str, reason: str) -> UnreadableError:
    """Return the error for an archive that grows past its limits."""
    return UnreadableError(
        Diagnostic(
            code="ATL0456",
            message=f"`{archive}` inflates past its limits",
            notes=(f"entry: {entry!r}", f"reason: {reason}"),
            hint="nothing of the archive was believed; get it from its author again",
        )
    )


@cache
def _struct(layout: str) -> struct.Struct:
    return struct.Struct(layout)


def unpack(layout: str, data: memoryview, at: int, name: str, what: str) -> tuple[Any, ...]:
    """Return the numbers at an offset.

    Raises:
        UnreadableError: Where they do not lie within the bytes; `what` says what was looked for.
    """
    shape = _struct(layout)
    if at < 0 or at + shape.size > len(data):
        raise broken(name, f"{what} at {at} lies outside of the {len(data)} bytes")
    return shape.unpack_from(data, at)


def part(data: memoryview, at: int, size: int, name: str, what: str) -> memoryview:
    """Return a slice that lies whole within the bytes.

    Raises:
        UnreadableError: Where it does not.
    """
    if at < 0 or size < 0 or at + size > len(data):
        raise broken(name, f"{what} at {at} of {size} bytes lies outside of the {len(data)} bytes")
    return data[at : at + size]


def c_text(data: memoryview, at: int, limit: int = 4096) -> str:
    """Return the text up to the next zero byte, cut at `limit`; empty where it lies outside."""
    if not 0 <= at < len(data):
        return ""
    raw = bytes(data[at : at + limit])
    return raw.split(b"\0", 1)[0].decode("utf-8", "backslashreplace")


def installed_readers() -> Iterable[Reader]:
    """Return the readers that a container may ask which of its parts are theirs."""
    return registry().readers.values()


def forget(view: memoryview) -> None:
    """Let the kernel drop the pages of a mapped file that were looked at; they are read again if needed."""
    if isinstance(view.obj, mmap.mmap) and hasattr(view.obj, "madvise"):
        view.obj.madvise(mmap.MADV_DONTNEED)
