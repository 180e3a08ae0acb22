"""What are the first bytes of a compressed entry? A prefix, never the whole; empty where it breaks."""

from __future__ import annotations


def prefix(data: memoryview, method: str, want: int) -> bytes:
    """Return up to `want` bytes of what was compressed by ``zstd``, ``lz4`` or, if empty, not at all."""
    if method == "zstd":
        return _zstd(data, want)
    if method == "lz4":
        return _lz4(bytes(data[: want + 64]), want)
    return bytes(data[:want])


def _zstd(data: memoryview, want: int) -> bytes:
    import zstandard

    reader = zstandard.ZstdDecompressor(max_window_size=1 << 27).stream_reader(data, read_size=1 << 16)
    try:
        return reader.read(want)
    except zstandard.ZstdError:
        return b""


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
