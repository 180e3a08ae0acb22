"""How are packed bytes made whole? In pieces, held against limits; large results in a mapped file."""

from __future__ import annotations

import mmap
import tempfile
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from atoll_plugins.formats.parse import bomb, broken


def _fast() -> Any:
    """Return what inflates deflate: twice as fast as the standard library where it is installed."""
    try:
        from isal import isal_zlib
    except ImportError:
        import zlib

        return zlib
    return isal_zlib


fast = _fast()  # docs/decisions/0210

IN_MEMORY = 4 << 20
CHUNK = 1 << 18
FED = 1 << 9
PIECE = 1 << 20
# No deflate stream can do better than 1032 to 1; honest files of this size stay far below.
RATIO_LIMIT, RATIO_FROM = 250, 64 << 20
MEMORY = 256 << 20  # of a decoder
WINDOW = 128 << 20

METHODS = {
    b"\x1f\x8b\x08": "gzip",
    b"BZh": "bzip2",
    b"\xfd7zXZ\0": "xz",
    b"\x28\xb5\x2f\xfd": "zstd",
}


def method_of(head: memoryview) -> str:
    """Return how a file is packed, by its first bytes; empty where it is not."""
    return next((method for magic, method in METHODS.items() if head[: len(magic)] == magic), "")


def inflated(data: memoryview, method: str, name: str) -> Iterator[bytes]:
    """Give the bytes of all streams that ``zlib``, ``gzip``, ``bzip2``, ``xz`` or ``zstd`` packed.

    Raises:
        UnreadableError: Where a stream is broken, ends early, or grows past what an honest one does.
    """
    grown = 0
    for piece in _zstd(data, name) if method == "zstd" else _streams(data, method, name):
        grown += len(piece)
        if grown > RATIO_FROM and grown > RATIO_LIMIT * len(data):
            raise bomb(name, name, f"{len(data)} bytes inflate past {grown}")
        yield piece


def _decoder(method: str) -> Any:
    if method == "bzip2":
        import bz2

        return bz2.BZ2Decompressor()
    if method == "xz":
        import lzma

        return lzma.LZMADecompressor(memlimit=MEMORY)
    return fast.decompressobj(31 if method == "gzip" else 15)


def _streams(data: memoryview, method: str, name: str) -> Iterator[bytes]:
    at = 0
    while at < len(data):
        decoder, start = _decoder(method), at
        while not decoder.eof:
            source = data[at : at + CHUNK]
            if not len(source):
                raise broken(name, f"the {method} stream at {start} ends early")
            yield from _fed(decoder, source, name, method)
            at += len(source)
        at -= len(decoder.unused_data)
        if at <= start or not any(data[at:]):
            return


def _fed(decoder: Any, source: memoryview, name: str, method: str) -> Iterator[bytes]:
    """Give what a decoder makes of one piece of its stream, a mebibyte at a time."""
    rest: Any = source
    try:
        while True:
            piece = decoder.decompress(rest, PIECE)
            yield piece
            rest = getattr(decoder, "unconsumed_tail", b"")
            more = bool(rest) if hasattr(decoder, "unconsumed_tail") else not decoder.needs_input
            if decoder.eof or not more:
                return
    except _faults() as error:
        raise broken(name, f"its {method} stream cannot be inflated: {error}") from error


def _faults() -> tuple[type[Exception], ...]:
    import lzma

    return (fast.error, OSError, EOFError, ValueError, lzma.LZMAError)


def _zstd(data: memoryview, name: str) -> Iterator[bytes]:
    at = 0
    while at < len(data) and any(data[at:]):
        frame = Frame(data[at:], name)
        yield from frame.pieces()
        at += frame.used


@dataclass(slots=True)
class Frame:
    """One zstd frame at the start of some bytes; `used` is how many it took, once it was inflated.

    A block of 4 bytes may become 128 KiB, so little is fed at once.
    """

    data: memoryview
    name: str
    used: int = 0

    def pieces(self) -> Iterator[bytes]:
        """Give what it inflates to.

        Raises:
            UnreadableError: Where it is broken, ends early, or grows past what an honest one does.
        """
        import zstandard

        decoder, grown = zstandard.ZstdDecompressor(max_window_size=WINDOW).decompressobj(), 0
        while not decoder.eof:
            source = self.data[self.used : self.used + FED]
            if not len(source):
                raise broken(self.name, "a zstd frame ends early")
            try:
                piece = decoder.decompress(source)
            except zstandard.ZstdError as error:
                raise broken(self.name, f"its zstd stream cannot be inflated: {error}") from error
            grown, self.used = grown + len(piece), self.used + len(source)
            if grown > RATIO_FROM and grown > RATIO_LIMIT * self.used:
                raise bomb(self.name, self.name, f"{self.used} bytes inflate past {grown}")
            yield piece
        self.used -= len(decoder.unused_data)


@contextmanager
def whole(pieces: Iterable[bytes], size: int) -> Iterator[memoryview]:
    """Give the bytes of all pieces as one: in memory where `size` is small, else a mapped unlinked file."""
    if size <= IN_MEMORY:
        yield memoryview(b"".join(pieces))
        return
    with tempfile.TemporaryFile() as file:
        for piece in pieces:
            file.write(piece)
        file.flush()
        yield memoryview(mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) if file.tell() else b"")
