"""Which device images does a clang offload file hold? Bundles (HIP) and the binaries of `.llvm.offloading`.

Bundle: LLVM, ClangOffloadBundler, "Bundled Code Object Layout"; compressed (`CCOB`) its "Compressed and
Size-Reduced Bundles", versions 1 to 3. Binary: llvm/Object/OffloadBinary.h, versions 1 to 3. Each image
becomes a member whose kind is `offload:PRODUCER|TRIPLE|ARCH`.
"""

from __future__ import annotations

from collections.abc import Generator, Iterator
from struct import calcsize

from atoll.artifact import Fact, Finding
from atoll.plugin import Blob, Mark, Member
from atoll_plugins.formats.inflated import RATIO_FROM, RATIO_LIMIT, inflated, whole
from atoll_plugins.formats.parse import bomb, broken, c_text, part, unpack

BUNDLE, COMPRESSED, BINARY = b"__CLANG_OFFLOAD_BUNDLE__", b"CCOB", b"\x10\xff\x10\xad"
_SECTIONS = ("section:.llvm.offloading", "section:.hip_fatbin", "section:.hipFatBin")
ENTRY_LIMIT = 1 << 16
# OffloadKind; HIP was 3 up to LLVM 19.
_PRODUCERS = {1: "openmp", 2: "cuda", 3: "hip", 4: "hip", 8: "sycl"}
_HOST = ("host-", "host")
_METADATA = 1  # an entry without an image
# Version of a compressed bundle: its header after magic, version and method, with the hash left out.
_COMPRESSED_HEADS = {1: "<4sHHI", 2: "<4sHHII", 3: "<4sHHQQ"}
_METHODS = ("zlib", "zstd")
_HASH = 8


def _packed_start(body: memoryview, at: int) -> int | None:
    """Say that a compressed bundle starts here: a known version and method, sizes that can be."""
    head = body[at : at + 32]
    if len(head) < 32 or head[4] not in _COMPRESSED_HEADS or head[5] or head[6] > 1 or head[7]:
        return None
    return at


class OffloadReader:
    """Reads clang's containers of device images."""

    name = "offload"
    marks = (
        Mark(word=BUNDLE, form="bundle", step=8),
        Mark(word=COMPRESSED, form="bundle", step=8, start=_packed_start),
    )

    def recognises(self, blob: Blob) -> bool:
        """Tell by section or by the first bytes."""
        if blob.kind in (*_SECTIONS, "embedded:bundle"):
            return True
        return not blob.kind and (blob.data[:24] == BUNDLE or blob.data[:4] in (BINARY, COMPRESSED))

    def read(self, blob: Blob) -> Iterator[Member | Finding | Fact]:
        """Give each device image; the host's own part is none."""
        at = 0
        while at < len(blob.data):
            rest = blob.data[at:]
            if rest[:24] == BUNDLE:
                size = yield from _bundle(rest, blob.name)
            elif rest[:4] == BINARY:
                size = yield from _binary(rest, blob.name)
            elif rest[:4] == COMPRESSED:
                size = yield from _compressed(rest, blob.name)
            elif not any(rest[:8]):
                size = 8
            else:
                raise broken(blob.name, f"no offload bundle starts at {at}")
            if blob.kind == "embedded:bundle":
                return
            at += (size + 7) // 8 * 8


def _bundle(data: memoryview, name: str) -> Generator[Member, None, int]:
    """Give the images of a bundle; return where its last byte lies."""
    count = unpack("<Q", data, 24, name, "the number of bundle entries")[0]
    if count > ENTRY_LIMIT:
        raise broken(name, f"a bundle states {count} entries")
    at, end = 32, 32
    for _ in range(count):
        offset, size, length = unpack("<QQQ", data, at, name, "a bundle entry")
        target = c_text(part(data, at + 24, length, name, "a bundle entry's target"), 0, 512)
        at += 24 + length
        body = part(data, offset, size, name, f"the image for `{target}`")
        end = max(end, at, offset + size)
        if not target.startswith(_HOST):
            yield Member(Blob(name=f"{name}!{target}", data=body, kind=_kind(target)))
    return end


def _kind(target: str) -> str:
    """Turn ``hipv4-amdgcn-amd-amdhsa--gfx90a:xnack+`` into producer, triple and arch."""
    producer, _, rest = target.partition("-")
    triple, _, arch = rest.rpartition("--" if "--" in rest else "-")
    return f"offload:{producer}|{triple}|{arch}"


def _compressed(data: memoryview, name: str) -> Generator[Member, None, int]:
    """Give the images of a compressed bundle; return where its last byte lies."""
    _, version, method = unpack("<4sHH", data, 0, name, "a compressed bundle header")
    if version not in _COMPRESSED_HEADS or method >= len(_METHODS):
        raise broken(name, f"a compressed bundle states version {version} and method {method}")
    layout = _COMPRESSED_HEADS[version]
    row = unpack(layout, data, 0, name, "a compressed bundle header")
    start, size = calcsize(layout) + _HASH, int(row[-1])
    # Version 1 does not state where it ends: it is the last one of its section.
    end = int(row[3]) if version > 1 else len(data)
    packed = part(data, start, end - start, name, "a compressed bundle")
    if size > RATIO_FROM and size > RATIO_LIMIT * len(packed):
        raise bomb(name, name, f"{len(packed)} bytes state to inflate to {size}")
    with whole(_exactly(packed, _METHODS[method], name, size), size) as bundle:
        if bundle[:24] != BUNDLE:
            raise broken(name, "a compressed bundle holds no bundle")
        yield from _bundle(bundle, name)
    return end


def _exactly(packed: memoryview, method: str, name: str, size: int) -> Iterator[bytes]:
    got = 0
    for piece in inflated(packed, method, name):
        got += len(piece)
        if got > size:
            break
        yield piece
    if got != size:
        raise broken(name, f"a compressed bundle does not inflate to the {size} bytes that it states")


def _binary(data: memoryview, name: str) -> Generator[Member | Finding, None, int]:
    """Give the images of one offload binary; return its size."""
    _, version, total, entries, count = unpack("<4sIQQQ", data, 0, name, "an offload binary header")
    if version not in (1, 2, 3) or not 40 <= total <= len(data):
        raise broken(name, f"an offload binary states version {version} and {total} bytes")
    if version == 3 and unpack("<Q", data, 32, name, "an offload binary header")[0]:
        yield Finding(member=name, backend="", note="a compressed offload binary")
        return int(total)
    body = data[:total]
    count = 1 if version == 1 else count
    if count > ENTRY_LIMIT:
        raise broken(name, f"an offload binary states {count} entries")
    for index in range(count):
        yield from _image(body, entries + 40 * index, name, 16 if version == 1 else 24)
    return int(total)


def _image(body: memoryview, entry: int, name: str, width: int) -> Iterator[Member]:
    """Give the image of one entry; `width` is that of a row of its texts."""
    fields = unpack("<HHIQQQQ", body, entry, name, "an offload entry")
    _, producer, flags, strings, count, image, size = fields
    if count > ENTRY_LIMIT:
        raise broken(name, f"an offload entry states {count} strings")
    texts = {}
    for index in range(count):
        key, value = unpack("<QQ", body, strings + width * index, name, "an offload string")
        texts[c_text(body, key, 256)] = c_text(body, value, 512)
    if flags & _METADATA and not size:
        return
    kind = f"offload:{_PRODUCERS.get(producer, producer)}|{texts.get('triple', '')}|{texts.get('arch', '')}"
    where = f"{name}!{texts.get('triple', '?')}--{texts.get('arch', '')}"
    yield Member(Blob(name=where, data=part(body, image, size, name, "an offload image"), kind=kind))
