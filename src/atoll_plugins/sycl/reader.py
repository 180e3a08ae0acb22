"""Which device images does a SYCL library hold? Its sections ``__CLANG_OFFLOAD_BUNDLE__sycl-TARGET``.

One section a target, images one after the other, each a zstd frame where the compiler was asked to compress
(seen in DPC++ 2025 and 2026). SPIR-V goes to its reader. ``spir64_gen`` is what Intel's ocloc writes: an `ar`
archive with machine code by IP version (``64.12.60.7``), and ``generic_ir`` from which a driver compiles for
any other GPU.
"""

from __future__ import annotations

from collections.abc import Iterator

from atoll.artifact import Fact, Finding
from atoll.plugin import Blob, Member
from atoll_plugins.formats.archive import MAGIC as ARCHIVE
from atoll_plugins.formats.archive import ArchiveReader
from atoll_plugins.formats.elf import DEVICE_SECTION, embedded
from atoll_plugins.formats.inflated import Frame, whole
from atoll_plugins.formats.parse import installed_readers

ZSTD = b"\x28\xb5\x2f\xfd"
GENERATED = "offload:sycl|spir64_gen|"
GROWTH = 16


class SyclReader:
    """Reads the sections of images that DPC++ links, and the archives of Intel's offline compiler."""

    name = "sycl"
    libraries = ("libsycl.", "libur_loader.", "libze_loader.")

    def recognises(self, blob: Blob) -> bool:
        """Tell by the section's name, or by the target of an image."""
        return blob.kind.startswith(f"section:{DEVICE_SECTION}sycl-") or blob.kind == GENERATED

    def read(self, blob: Blob) -> Iterator[Member | Finding | Fact]:
        """Give each image to the reader of its target."""
        if blob.kind == GENERATED:
            yield _generated(blob)
            return
        target = blob.kind.partition("sycl-")[2]
        kind, at, number = f"offload:sycl|{target}|", 0, 0
        while at < len(blob.data) and any(blob.data[at:]):
            if not any(blob.data[at : at + 8]):
                at += 8
                continue
            rest, number = blob.data[at:], number + 1
            if rest[:4] != ZSTD:
                yield from _plain(rest, f"{blob.name}!{number}", target, kind)
                return
            frame = Frame(rest, blob.name)
            with whole(frame.pieces(), len(rest) * GROWTH) as data:
                yield Member(Blob(name=f"{blob.name}!{number}", data=data, kind=kind))
            at += (frame.used + 7) // 8 * 8


def _plain(data: memoryview, name: str, target: str, kind: str) -> Iterator[Member]:
    """Give what is not packed: each SPIR-V module that starts in it, or the whole for another target."""
    if target in ("spir64", "spirv64"):
        found = list(embedded(data, name, installed_readers()))
        if found:
            yield from found
            return
    yield Member(Blob(name=name, data=data, kind=kind))


def _generated(blob: Blob) -> Finding:
    """Say what an archive of the offline compiler runs on: any GPU where it holds intermediate code."""
    if blob.data[:8] != ARCHIVE:
        return Finding(member=blob.name, backend="", note="machine code of Intel GPUs, which is not read")
    events = ArchiveReader().read(Blob(name=blob.name, data=blob.data))
    names = [event.blob.name.rpartition("!")[2] for event in events if isinstance(event, Member)]
    versions = ", ".join(name.removeprefix("64.") for name in names if name.startswith("64."))
    if "generic_ir" not in names:
        return Finding(member=blob.name, backend="", note=f"machine code for Intel GPUs {versions} alone")
    note = f"machine code for Intel GPUs {versions}, and intermediate code for others"
    return Finding(member=blob.name, backend="opencl", note=note)
