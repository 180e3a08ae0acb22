"""What does NVIDIA device code run on? Fat binaries, cubins and PTX text, with no vendor tool.

The fat binary is undocumented; its layout here was measured and is held against `cuobjdump` by
tests/e2e/test_real_wheels.py. Nothing is inflated to learn an arch: it stands in the entry header.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from atoll.artifact import Fact, Finding
from atoll.plugin import Blob, Mark, Member
from atoll_plugins.cuda import cubin, fatbin
from atoll_plugins.formats.elf_file import machine_of

_SECTIONS = ("section:.nv_fatbin", "section:__nv_relfatbin")
_HEAD = re.compile(
    rb"\.version[ \t]+(\d{1,4}\.\d{1,4})[ \t\r\n;]+"
    rb"(?://[^\n]*\n|\s)*\.target[ \t]+sm_(\d{1,4})([af]?)\b"
)
_LOOK = 8192
# Files that claim to be device code: where their bytes are none of it, they are unknown.
_SUFFIXES = (".ptx", ".cubin", ".fatbin")


# Libraries of the driver and of toolkits, by the start of their names.
_LIBRARIES = (
    *("libcuda.", "libcudart.", "libcupti.", "libnvrtc", "libnvvm.", "libnvJitLink.", "libnvToolsExt."),
    *("libcublas", "libcudnn", "libcufft", "libcufile", "libcurand.", "libcusolver", "libcusparse"),
    *("libcutensor", "libnccl.", "libnpp", "libnvidia-", "libnvjpeg", "libnvshmem"),
)
_PTX = re.compile(rb"\.version[ \t]+\d+\.\d+[ \t\r\n]+\.target[ \t]+sm_\d+[af]?\b")


def _ptx_start(body: memoryview, at: int) -> int | None:
    before = max(0, at - 256)
    match = _PTX.search(bytes(body[before : at + 64]))
    return before + match.start() if match else None


def _cubin_start(body: memoryview, at: int) -> int | None:
    return at if machine_of(body[at : at + 64]) == cubin.MACHINE else None


class FatBinaryReader:
    """Reads fat binaries, cubins and PTX."""

    name = "cuda"
    machines = frozenset((cubin.MACHINE,))
    libraries = _LIBRARIES
    marks = (
        Mark(word=fatbin.MAGIC + b"\x01\x00\x10\x00", form="fatbin", step=8),
        Mark(word=b"\x7fELF\x02\x01", form="elf", step=4, start=_cubin_start),
        Mark(word=b".target sm_", form="ptx", start=_ptx_start),
    )

    def recognises(self, blob: Blob) -> bool:
        """Tell by section, by the kind of an embedded kernel, by the suffix, or by the first bytes."""
        if blob.kind in _SECTIONS or blob.kind.startswith("device:cuda:"):
            return True
        if blob.kind.startswith("offload:"):
            return "nvptx" in blob.kind
        if not blob.kind and blob.name.endswith(_SUFFIXES):
            return True
        if blob.kind in ("", "embedded:elf", "embedded:fatbin", "embedded:ptx"):
            return _form(blob.data) is not None
        return False

    def read(self, blob: Blob) -> Iterator[Member | Finding | Fact]:
        """Give a finding for each distinct architecture of machine code and each PTX floor."""
        form = "fatbin" if blob.kind in _SECTIONS else _form(blob.data)
        if form == "fatbin":
            yield from fatbin.findings(blob.data, blob.name, one=blob.kind == "embedded:fatbin")
        elif form == "cubin":
            yield cubin.finding(blob.data, blob.name)
        elif form == "ptx":
            yield ptx_finding(bytes(blob.data[:_LOOK]), blob.name)
        else:
            arch = blob.kind.rpartition("|")[2] if blob.kind.startswith("offload:") else ""
            note = f"neither machine code nor PTX{f', made for {arch}' if arch else ''}"
            yield Finding(member=blob.name, backend="", note=note)


def _form(data: memoryview) -> str | None:
    if data[:4] == fatbin.MAGIC:
        return "fatbin"
    if machine_of(data[:20]) == cubin.MACHINE:
        return "cubin"
    return "ptx" if _HEAD.search(bytes(data[:_LOOK])) else None


def ptx_finding(text: bytes, name: str) -> Finding:
    """Return what PTX text states: its ISA version, its arch floor, the toolkit of its first lines."""
    match = _HEAD.search(text)
    assert match is not None
    release = cubin.RELEASE.search(text)
    return cubin.portable(
        name,
        isa=match[1].decode(),
        level=int(match[2]),
        letter=match[3].decode(),
        version=release[1].decode() if release else "",
    )
