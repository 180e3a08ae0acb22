"""Which device images does a clang offload file hold? Bundles (HIP) and the binaries of `.llvm.offloading`.

Bundle: LLVM, ClangOffloadBundler, "Bundled Code Object Layout". Binary: llvm/Object/OffloadBinary.h,
version 1. Each image becomes a member whose kind is `offload:PRODUCER|TRIPLE|ARCH`. A compressed bundle
(`CCOB`) is not opened and so unknown.
"""

from __future__ import annotations

from collections.abc import Generator, Iterator

from atoll.artifact import Fact, Finding
from atoll.plugin import Blob, Member
from atoll_plugins.formats.parse import broken, c_text, part, unpack

BUNDLE, COMPRESSED, BINARY = b"__CLANG_OFFLOAD_BUNDLE__", b"CCOB", b"\x10\xff\x10\xad"
_SECTIONS = ("section:.llvm.offloading", "section:.hip_fatbin", "section:.hipFatBin")
ENTRY_LIMIT = 1 << 16
# OffloadKind; HIP was 3 up to LLVM 19.
_PRODUCERS = {1: "openmp", 2: "cuda", 3: "hip", 4: "hip", 8: "sycl"}
_HOST = ("host-", "host")


class OffloadReader:
    """Reads clang's containers of device images."""

    name = "offload"

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
                yield Finding(member=blob.name, backend="", note="a compressed offload bundle")
                return
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


def _binary(data: memoryview, name: str) -> Generator[Member, None, int]:
    """Give the image of one offload binary; return its size."""
    total: int
    _, version, total, entry, _ = unpack("<4sIQQQ", data, 0, name, "an offload binary header")
    if version != 1 or not 40 <= total <= len(data):
        raise broken(name, f"an offload binary states version {version} and {total} bytes")
    body = data[:total]
    fields = unpack("<HHIQQQQ", body, entry, name, "an offload entry")
    _, producer, _, strings, count, image, size = fields
    if count > ENTRY_LIMIT:
        raise broken(name, f"an offload entry states {count} strings")
    texts = {}
    for index in range(count):
        key, value = unpack("<QQ", body, strings + 16 * index, name, "an offload string")
        texts[c_text(body, key, 256)] = c_text(body, value, 512)
    kind = f"offload:{_PRODUCERS.get(producer, producer)}|{texts.get('triple', '')}|{texts.get('arch', '')}"
    where = f"{name}!{texts.get('triple', '?')}--{texts.get('arch', '')}"
    yield Member(Blob(name=where, data=part(body, image, size, name, "an offload image"), kind=kind))
    return total
