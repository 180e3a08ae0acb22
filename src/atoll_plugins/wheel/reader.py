"""Which members of a wheel, or of any zip file, can hold device code? Only those are inflated whole.

The first bytes of every member are shown to the installed readers; one that none recognises is left.
Large members go through an unlinked temporary file that is mapped, so memory does not grow with them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager

from atoll.artifact import Fact, Finding
from atoll.plugin import Blob, Member, Reader
from atoll_plugins.formats.inflated import whole
from atoll_plugins.formats.parse import broken, forget, installed_readers
from atoll_plugins.wheel import zip_file
from atoll_plugins.wheel.zip_file import ZipEntry

HEAD = 4096


class WheelReader:
    """Reads wheels and other zip files.

    Args:
        readers: The readers to show first bytes to; the installed ones.
    """

    name = "wheel"

    def __init__(self, readers: Callable[[], Iterable[Reader]] = installed_readers) -> None:
        self._readers = readers

    def recognises(self, blob: Blob) -> bool:
        """Tell by the first four bytes; what is called a wheel has to be one."""
        return not blob.kind and (_is_zip(blob) or blob.name.endswith(".whl"))

    def read(self, blob: Blob) -> Iterator[Member | Finding | Fact]:
        """Give the members that some reader recognises by their first bytes."""
        if not _is_zip(blob):
            raise broken(blob.name, "a wheel that is no zip file")
        readers = tuple(self._readers())
        for entry in zip_file.entries(blob.data, blob.name):
            name = f"{blob.name}!{entry.name}"
            head = b"".join(zip_file.inflate(blob.data, entry, blob.name, HEAD))
            first = Blob(name=name, data=memoryview(head))
            if any(reader.recognises(first) for reader in readers):
                with _whole(blob, entry) as data:
                    yield Member(Blob(name=name, data=data))


def _is_zip(blob: Blob) -> bool:
    return blob.data[:4] in (zip_file.MAGIC, zip_file.EMPTY)


@contextmanager
def _whole(blob: Blob, entry: ZipEntry) -> Iterator[memoryview]:
    """Give all bytes of a member: a slice where stored, memory where small, else a mapped file."""
    pieces = zip_file.inflate(blob.data, entry, blob.name)
    if entry.method == zip_file.STORED:
        for _ in pieces:
            forget(blob.data)
        yield blob.data[entry.start : entry.start + entry.size]
        return
    with whole(pieces, entry.size) as data:
        forget(blob.data)
        yield data
