"""What do files hold whose tables no reader walks? Programs of other systems, and packed files.

A PE or Mach-O file is searched for the words that start device code; its device sections hold them at
aligned places. A packed file that is measured by itself, such as an sdist, is inflated; packed data inside
a package is that package's own business.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from pathlib import PurePosixPath

from atoll.artifact import Fact, Finding
from atoll.plugin import Blob, Member, Reader
from atoll_plugins.formats.elf import embedded
from atoll_plugins.formats.inflated import inflated, method_of, whole
from atoll_plugins.formats.parse import installed_readers

_MACH_O = (b"\xcf\xfa\xed\xfe", b"\xce\xfa\xed\xfe", b"\xca\xfe\xba\xbe", b"\xca\xfe\xba\xbf")
GROWTH = 64  # what is packed better goes through memory at most this often its size
_SEVEN = b"7z\xbc\xaf\x27\x1c"


class ProgramReader:
    """Searches programs and libraries of Windows and macOS for device code.

    Args:
        readers: The readers to ask how their formats show themselves; the installed ones.
    """

    name = "program"

    def __init__(self, readers: Callable[[], Iterable[Reader]] = installed_readers) -> None:
        self._readers = readers

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
        yield from embedded(blob.data, f"{blob.name}!data", self._readers())


class PackedReader:
    """Inflates a packed file that is measured by itself; 7z is not opened, and so unknown."""

    name = "packed"

    def recognises(self, blob: Blob) -> bool:
        """Tell by the magic; members of a container are data of its package, and left."""
        return not blob.kind and "!" not in blob.name and (_seven(blob) or method_of(blob.data) != "")

    def read(self, blob: Blob) -> Iterator[Member | Finding | Fact]:
        """Give what it inflates to, named without its last suffix."""
        if _seven(blob):
            yield Finding(member=blob.name, backend="", note="a 7z file, which is not opened")
            return
        inner = PurePosixPath(blob.name).stem.removesuffix(".tar") or "data"
        with whole(inflated(blob.data, method_of(blob.data), blob.name), len(blob.data) * GROWTH) as data:
            yield Member(Blob(name=f"{blob.name}!{inner}", data=data))


def _seven(blob: Blob) -> bool:
    return bytes(blob.data[:6]) == _SEVEN
