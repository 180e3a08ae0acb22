"""A corpus of crafted files, each made to hurt a reader: over a hundred, by format; made here, byte by byte.

Used through the child by `test_hostile.py`, which holds that each gives an answer or a diagnostic in bounded
time, and that nothing is written anywhere. Names say what is wrong.
"""

from __future__ import annotations

import bz2
import gzip
import io
import lzma
import struct
import tarfile
import zipfile
from collections.abc import Callable, Iterator

import zstandard

from unit.packaging.binaries import UNREAD, archive, elf, entry, fatbin, spirv, words, zipped
from unit.plugins.test_offload_reader import BUNDLE, bundle, compressed, offload, offload2

HUGE = (0, 1, 0x7FFFFFFF, 0xFFFFFFFF)
WIDE = (*HUGE, 0x7FFFFFFFFFFFFFFF, 0xFFFFFFFFFFFFFFFF)


def corpus() -> dict[str, bytes]:
    """Return every file by its name."""
    made: dict[str, bytes] = {}
    for group in (_elf, _fat, _spirv, _offload, _zip, _tar, _packed, _archive, _text):
        for name, data in group():
            assert name not in made, name
            made[name] = data
    return made


def _elf() -> Iterator[tuple[str, bytes]]:
    good = elf({".nv_fatbin": fatbin(entry(2, 80)), ".rodata": bytes(64) + spirv()}, needed=["libcuda.so.1"])
    fields = {
        "e_shoff": (0x28, "<Q"),
        "e_phoff": (0x20, "<Q"),
        "e_shnum": (0x3C, "<H"),
        "e_shstrndx": (0x3E, "<H"),
    }
    for field, (at, layout) in fields.items():
        for value in WIDE:
            size = struct.calcsize(layout)
            data = bytearray(good)
            data[at : at + size] = struct.pack(layout, value & (1 << 8 * size) - 1)
            yield f"elf-{field}-{value:x}.so", bytes(data)
    table = int.from_bytes(good[0x28:0x30], "little")
    for place, field in ((24, "offset"), (32, "size"), (40, "link")):
        for value in WIDE[2:]:
            data = bytearray(good)
            size = 4 if field == "link" else 8
            at = table + 64 + place
            data[at : at + size] = (value & (1 << 8 * size) - 1).to_bytes(size, "little")
            yield f"elf-section-{field}-{value:x}.so", bytes(data)
    yield "elf-only-magic.so", b"\x7fELF"
    yield "elf-every-byte-set.so", b"\x7fELF\x02\x01" + b"\xff" * 500
    yield "elf-escape-in-needed.so", elf(needed=["libcuda.so.1\x1b[31m", "lib\u202e.so"])
    yield "elf-section-is-itself.so", elf({".nv_fatbin": elf({".nv_fatbin": elf({".hip_fatbin": b"x"})})})


def _fat() -> Iterator[tuple[str, bytes]]:
    for length in (0, 1, 63, 0xFFFFFFFF):
        data = bytearray(fatbin(entry(2, 80)))
        data[20:24] = struct.pack("<I", length)
        yield f"fatbin-entry-header-{length:x}.fatbin", bytes(data)
    for size in WIDE:
        data = bytearray(fatbin(entry(2, 80), entry(1, 90)))
        data[24:32] = struct.pack("<Q", size)
        yield f"fatbin-entry-payload-{size:x}.fatbin", bytes(data)
        data = bytearray(fatbin(entry(2, 80)))
        data[8:16] = struct.pack("<Q", size)
        yield f"fatbin-payload-{size:x}.fatbin", bytes(data)
    yield "fatbin-entries-without-end.fatbin", fatbin(*[entry(2, 80)] * 20_000)
    yield "fatbin-arch-of-many-digits.fatbin", fatbin(entry(2, 0xFFFFFFFF))
    yield (
        "fatbin-zstd-of-noise.fatbin",
        fatbin(entry(1, 80, flags=0x8011, payload=b"\x28\xb5\x2f\xfd" + b"\xff" * 90)),
    )
    bomb = zstandard.compress(bytes(64 << 20))
    yield "fatbin-zstd-bomb.fatbin", fatbin(entry(1, 80, flags=0x8011, payload=bomb))
    yield "fatbin-lz4-of-itself.fatbin", fatbin(entry(1, 80, flags=0x2011, payload=b"\xff" * 4096))
    yield "ptx-without-end.ptx", b".version 8.0\n.target sm_80" + b"0" * 100_000
    yield "ptx-of-comments.ptx", b".version 8.0\n" + b"//\n" * 50_000 + b".target sm_80\n"
    yield "cubin-without-arch.cubin", elf(machine=190)


def _spirv() -> Iterator[tuple[str, bytes]]:
    good = spirv()
    for count in (0, 1, 0xFFFF):
        data = bytearray(good)
        data[22:24] = struct.pack("<H", count)
        yield f"spirv-word-count-{count:x}.spv", bytes(data)
    for bound in (0, 0xFFFFFFFF):
        yield f"spirv-bound-{bound:x}.spv", spirv(bound=bound)
    yield "spirv-other-order.spv", b"".join(good[at : at + 4][::-1] for at in range(0, len(good), 4))
    yield "spirv-odd-length.spv", good + b"\1"
    yield "spirv-version-9.spv", good[:4] + words(0x10900) + good[8:]
    yield "spirv-escape-in-extension.spv", spirv(extensions=["\x1b[2J<script>"])
    yield "spirv-many-capabilities.spv", spirv(capabilities=range(20_000))
    yield "spirv-header-alone.spv", good[:20]


def _offload() -> Iterator[tuple[str, bytes]]:
    for count in WIDE:
        yield f"bundle-entries-{count:x}.hipfb", BUNDLE[:24] + struct.pack("<Q", count) + BUNDLE[32:]
    yield "bundle-of-itself.hipfb", bundle({"hipv4-amdgcn-amd-amdhsa--gfx942": BUNDLE})
    target = "hipv4-amdgcn-amd-amdhsa--gfx\x1b]0;title\x07"
    yield "bundle-escape-in-target.hipfb", bundle({target: b"\x7fELF"})
    for version in (1, 2, 3):
        yield f"bundle-bomb-{version}.hipfb", compressed(bytes(70 << 20), version=version)
        yield f"bundle-states-less-{version}.hipfb", compressed(BUNDLE, version=version, size=3)
    yield "bundle-states-a-tebibyte.hipfb", compressed(BUNDLE, size=0x7FFFFFFF)
    yield "bundle-of-noise.hipfb", compressed(BUNDLE)[:32] + b"\xff" * 200
    for field in range(4):
        for value in (0, 0xFFFFFFFFFFFFFFFF):
            data = bytearray(offload(2, "nvptx64-nvidia-cuda", "sm_90", b"image"))
            at = 8 + 8 * field
            data[at : at + 8] = struct.pack("<Q", value)
            yield f"offload-header-{field}-{value:x}.bin", bytes(data)
    many = bytearray(offload2(2, [("t", "a", b"i")]))
    many[24:32] = struct.pack("<Q", 0xFFFFFFFF)
    yield "offload-many-entries.bin", bytes(many)
    yield "offload-compressed.bin", UNREAD


def _zip() -> Iterator[tuple[str, bytes]]:
    good = zipped({"p/a.so": elf({".nv_fatbin": fatbin(entry(2, 80))}), "p/b.spv": spirv()})
    end = good.rindex(b"PK\5\6")
    for place, field in ((8, "entries"), (12, "size"), (16, "start")):
        for value in HUGE:
            width = 2 if field == "entries" else 4
            data = bytearray(good)
            data[end + place : end + place + width] = (value & (1 << 8 * width) - 1).to_bytes(width, "little")
            yield f"zip-directory-{field}-{value:x}.whl", bytes(data)
    for name in ("../out", "/out", "a/../../out", "C:out", "a\\b", "a//b"):
        yield f"zip-name-{name.encode().hex()}.whl", zipped({name: spirv()})
    yield "zip-escape-in-name.whl", zipped({"a\x1b]0;x\x07<img src=x>.spv": spirv()})
    yield "zip-bomb.whl", zipped({"a.so": b"\x7fELF" + bytes(80 << 20)})
    yield "zip-of-zip-of-zip.whl", _nested(8)
    yield "zip-without-end.whl", good[:-10]
    yield "zip-many-members.whl", zipped({f"{n}": b"" for n in range(20_000)})
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w") as file:
        link = zipfile.ZipInfo("link.so")
        link.create_system, link.external_attr = 3, 0o120777 << 16
        file.writestr(link, "/etc/passwd")
    yield "zip-link.whl", stream.getvalue()


def _nested(depth: int) -> bytes:
    data = spirv()
    for level in range(depth):
        data = zipped({f"{level}.zip" if level else "a.spv": data})
    return data


def _tar() -> Iterator[tuple[str, bytes]]:
    stream = io.BytesIO()
    with tarfile.open(fileobj=stream, mode="w", format=tarfile.USTAR_FORMAT) as file:
        item = tarfile.TarInfo("a.spv")
        item.size = len(spirv())
        file.addfile(item, io.BytesIO(spirv()))
    good = stream.getvalue()
    for text in (b"77777777777\0", b"\x80" + b"\xff" * 11, b"-1         \0", b"            "):
        yield f"tar-size-{text.hex()}.tar", _summed(good[:124] + text + good[136:])
    for kind in b"34678SX":
        yield f"tar-type-{kind:x}.tar", _summed(good[:156] + bytes((kind,)) + good[157:])
    yield "tar-name-outside.tar", _summed(b"../../out.spv".ljust(100, b"\0") + good[100:])
    yield "tar-pax-length-0.tar", _summed(good[:156] + b"x" + good[157:])
    yield "tar-header-alone.tar", good[:512]


def _summed(data: bytes) -> bytes:
    """Return an archive whose first header has the sum that it states."""
    total = sum(data[:148]) + sum(data[156:512]) + 8 * 32
    return data[:148] + f"{total:06o}\0 ".encode() + data[156:]


def _packed() -> Iterator[tuple[str, bytes]]:
    zeros = bytes(100 << 20)
    packers: dict[str, Callable[[bytes], bytes]] = {
        "gz": gzip.compress,
        "xz": lambda data: lzma.compress(data, preset=0),
        "bz2": bz2.compress,
    }
    for suffix, pack in packers.items():
        yield f"packed-bomb.{suffix}", pack(zeros)
        yield f"packed-cut.{suffix}", pack(spirv() * 50)[:-5]
        yield f"packed-noise.{suffix}", pack(spirv())[:12] + b"\xff" * 300
    yield "packed-bomb.zst", zstandard.compress(zeros)
    yield "packed-zst-of-blocks.zst", b"\x28\xb5\x2f\xfd\x00\x58" + b"\x02\xff\xff\x00" * 2000
    yield "packed-in-packed.gz", gzip.compress(gzip.compress(gzip.compress(b"x")))


def _archive() -> Iterator[tuple[str, bytes]]:
    good = archive({"a.o": elf({".nv_fatbin": fatbin(entry(2, 80))})})
    for text in (b"9999999999", b"-1        ", b"          ", b"0         "):
        yield f"ar-size-{text.strip().decode() or 'none'}.a", good[:56] + text + good[66:]
    yield "ar-thin.a", b"!<thin>\n" + good[8:]
    yield "ar-name-outside-of-table.a", b"!<arch>\n" + b"/99999".ljust(16) + good[24:]
    yield "ar-long-name-longer-than-body.a", b"!<arch>\n" + b"#1/999999999".ljust(16) + good[24:]
    yield "ar-many-empty-members.a", archive({"a": b""}) + archive({"a": b""})[8:] * 30_000


def _text() -> Iterator[tuple[str, bytes]]:
    yield "text-of-kernels.cl", b"kernel " * 50_000
    yield "record-cut.so", elf({".atoll.kernels": b"ATOLLKRN" + b"\xff" * 40})
    yield "nothing.so", b""
    yield "zeros.so", bytes(1 << 20)
