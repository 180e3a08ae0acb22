"""What do files hold whose format no reader walks? Programs of other systems, and packed archives.

A PE or Mach-O file is searched for the words that start device code; its device sections hold them at
aligned places. A packed archive that is measured by itself is not opened, and so unknown.
"""

from __future__ import annotations

from collections.abc import Iterator

from atoll.artifact import Fact, Finding
from atoll.plugin import Blob, Member
from atoll_plugins.formats.elf import embedded

_MACH_O = (b"\xcf\xfa\xed\xfe", b"\xce\xfa\xed\xfe", b"\xca\xfe\xba\xbe", b"\xca\xfe\xba\xbf")
_PACKED = {
    b"\x1f\x8b\x08": "gzip",
    b"BZh": "bzip2",
    b"\xfd7zXZ\0": "xz",
    b"\x28\xb5\x2f\xfd": "zstd",
    b"7z\xbc\xaf\x27\x1c": "7z",
}


class ProgramReader:
    """Searches programs and libraries of Windows and macOS for device code."""

    name = "program"

    def recognises(self, blob: Blob) -> bool:
        """Tell by the magic; of PE also by the place that the header names."""
        head = bytes(blob.data[:4096])
        if blob.kind or len(head) < 64:
            return False
        if head[:2] == b"MZ":
            at = int.from_bytes(head[60:64], "little")
            return head[at : at + 4] == b"PE\0\0"
        # Java class files share a magic with universal files; their version is above any number of archs.
        universal = head[:3] == b"\xca\xfe\xba" and int.from_bytes(head[4:8], "big") < 20
        return head[:4] in _MACH_O[:2] or (universal and head[:4] in _MACH_O)

    def read(self, blob: Blob) -> Iterator[Member | Finding | Fact]:
        """Give each place where device code starts."""
        yield from embedded(blob.data, f"{blob.name}!data", "<")


class PackedReader:
    """Says of a packed archive, measured by itself, that it was not opened."""

    name = "packed"

    def recognises(self, blob: Blob) -> bool:
        """Tell by the magic; members of a container are data of its package, and left."""
        return not blob.kind and "!" not in blob.name and _packing(blob.data) != ""

    def read(self, blob: Blob) -> Iterator[Member | Finding | Fact]:
        """State that what it holds is unknown."""
        yield Finding(member=blob.name, backend="", note=f"a {_packing(blob.data)} file, which is not opened")


def _packing(data: memoryview) -> str:
    if bytes(data[257:262]) == b"ustar":
        return "tar"
    return next((name for magic, name in _PACKED.items() if data[: len(magic)] == magic), "")
