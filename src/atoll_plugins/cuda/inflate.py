"""What are the first bytes of a compressed entry? A prefix, never the whole; what breaks ends it."""

from __future__ import annotations

from collections.abc import Iterator

WINDOW = 8 << 20  # what RFC 8878 asks every decoder to support
PIECE = 1 << 18
LZ4_LIMIT = 1 << 14


def prefix(data: memoryview, method: str, want: int) -> Iterator[bytes]:
    """Give up to `want` bytes of what ``zstd``, ``lz4`` or, where empty, nothing compressed, in pieces."""
    if method == "zstd":
        yield from _zstd(data, want)
    elif method == "lz4":
        yield _lz4(bytes(data[: LZ4_LIMIT + 64]), min(want, LZ4_LIMIT))
    else:
        for at in range(0, min(want, len(data)), PIECE):
            yield bytes(data[at : at + PIECE])


def _zstd(data: memoryview, want: int) -> Iterator[bytes]:
    import zstandard

    reader = zstandard.ZstdDecompressor(max_window_size=WINDOW).stream_reader(data, read_size=1 << 16)
    while want > 0:
        try:
            piece = reader.read(min(want, PIECE))
        except zstandard.ZstdError:
            return
        if not piece:
            return
        want -= len(piece)
        yield piece


def _lz4(data: bytes, want: int) -> bytes:
    """Inflate an LZ4 block (lz4_Block_format.md) as far as its bytes are at hand."""
    out, at = bytearray(), 0
    while at < len(data) and len(out) < want:
        token = data[at]
        literal, at = _length(data, at + 1, token >> 4)
        out += data[at : at + literal]
        at += literal
        if at + 2 > len(data):
            break
        offset = int.from_bytes(data[at : at + 2], "little")
        match, at = _length(data, at + 2, token & 15)
        if not 0 < offset <= len(out):
            break
        for _ in range(min(match + 4, want - len(out))):
            out.append(out[-offset])
    return bytes(out[:want])


def _length(data: bytes, at: int, short: int) -> tuple[int, int]:
    if short < 15:
        return short, at
    while at < len(data):
        short += data[at]
        at += 1
        if data[at - 1] != 255:
            break
    return short, at
