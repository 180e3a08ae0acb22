"""What does an ELF file of the host carry? Its sections with device code, embedded modules, libraries.

Device machine code is ELF too, but of other machines; its own readers claim it.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator

from atoll.artifact import Fact, Finding
from atoll.plugin import Blob, Member, Reader
from atoll_plugins.formats.elf_file import MAGIC, Elf, Section, machine_of, needed, needed_versions, parse
from atoll_plugins.formats.libraries import of_vendor
from atoll_plugins.formats.parse import forget, installed_readers

# e_machine of processors that run a host program, and what Python's platform tags call them.
HOSTS = {
    3: "i686",
    8: "mips",
    20: "ppc",
    21: "ppc64le",
    22: "s390x",
    40: "armv7l",
    62: "x86_64",
    183: "aarch64",
    243: "riscv64",
    258: "loongarch64",
}
# Sections that are known to hold device code: where no reader takes one, what the file runs on is unknown.
# Any other section counts that an installed reader recognises by its kind, `section:NAME`.
DEVICE_SECTIONS = frozenset(
    (".nv_fatbin", "__nv_relfatbin", ".llvm.offloading", ".hip_fatbin", ".hipFatBin", ".atoll.kernels")
)
# Words that start device code of other formats and stand in constant data, each with its alignment.
WORDS = {
    b"\x03\x02\x23\x07": ("spirv", 4),
    b"\x50\xed\x55\xba\x01\x00\x10\x00": ("fatbin", 8),
    b"\x7fELF\x02\x01": ("elf", 4),
    b"__CLANG_OFFLOAD_BUNDLE__": ("bundle", 8),
    b".target sm_": ("ptx", 1),
}
WINDOW = 4 << 20
_MODULE = re.compile(rb"PyInit_([A-Za-z0-9_]{1,200})\0")
_PTX = re.compile(rb"\.version[ \t]+\d+\.\d+[ \t\r\n]+\.target[ \t]+sm_\d+[af]?\b")
_VERSION = re.compile(r"(GLIBC|GLIBCXX|CXXABI|GCC)_(\d+(?:\.\d+){0,3})")


class ElfReader:
    """Reads objects, shared libraries and executables of host processors.

    Args:
        readers: The readers to ask which sections are theirs; the installed ones.
    """

    name = "elf"

    def __init__(self, readers: Callable[[], Iterable[Reader]] = installed_readers) -> None:
        self._readers = readers

    def recognises(self, blob: Blob) -> bool:
        """Tell whether it is an ELF file whose machine no device reader claims."""
        if blob.kind or blob.data[:4] != MAGIC:
            return False
        machine = machine_of(blob.data)
        return machine is None or machine in HOSTS or not _claimed(machine)

    def read(self, blob: Blob) -> Iterator[Member | Finding | Fact]:
        """Give the parts with device code, and the libraries and symbol versions it needs."""
        elf = parse(blob.data, blob.name)
        if elf.machine not in HOSTS:
            yield Finding(member=blob.name, backend="", note=f"machine code of ELF machine {elf.machine}")
            return
        yield from _facts(elf)
        readers = tuple(self._readers())
        for section in elf.sections:
            yield from _section(elf, section, readers)


def _claimed(machine: int) -> bool:
    """Tell whether a machine is one that device readers claim: 190 (CUDA), 224 (AMD GPU)."""
    return machine in (190, 224)


def _facts(elf: Elf) -> Iterator[Fact]:
    yield Fact(name="abi.machine", relation="=", value=HOSTS[elf.machine])
    for library in needed(elf):
        yield Fact(name="abi.needed", relation="=", value=library)
        if of_vendor(library):
            yield Fact(name="needed", relation="=", value=library)
    for _, version in needed_versions(elf):
        match = _VERSION.fullmatch(version)
        if match:
            yield Fact(name=f"abi.{match[1].lower()}", relation=">=", value=match[2])
        elif version.startswith(("GLIBC_", "GLIBCXX_", "CXXABI_")):
            yield Fact(name="abi.symbol", relation="=", value=version)
    names = elf.find(".dynstr")
    if names is not None:
        for found in _MODULE.finditer(elf.body(names)):
            yield Fact(name="abi.module", relation="=", value=found[1].decode())


def _section(elf: Elf, section: Section, readers: tuple[Reader, ...]) -> Iterator[Member]:
    kind = f"section:{section.name}"
    if section.name in DEVICE_SECTIONS or _is_taken(kind, readers):
        yield Member(Blob(name=f"{elf.name}!{section.name}", data=elf.body(section), kind=kind))
    elif section.loaded and not section.executable and section.size:
        yield from embedded(elf.body(section), f"{elf.name}!{section.name}", elf.order)


def _is_taken(kind: str, readers: tuple[Reader, ...]) -> bool:
    """Tell whether a reader takes a section by its name alone."""
    blob = Blob(name="", data=memoryview(b""), kind=kind)
    return any(reader.recognises(blob) for reader in readers)


def embedded(body: memoryview, name: str, order: str) -> Iterator[Member]:
    """Give the places of constant data where device code starts, each named by its offset."""
    for kind, at in _words(body):
        start = _start(kind, at, body, order)
        if start is not None:
            yield Member(Blob(name=f"{name}+{start:#x}", data=body[start:], kind=f"embedded:{kind}"))


def _words(body: memoryview) -> Iterator[tuple[str, int]]:
    """Give the places of the words, window by window, so that memory does not grow with the file."""
    longest = max(map(len, WORDS))
    for start in range(0, len(body), WINDOW):
        window = bytes(body[start : start + WINDOW + longest])
        for word, (kind, step) in WORDS.items():
            at = window.find(word)
            while 0 <= at < WINDOW:
                if (start + at) % step == 0:
                    yield kind, start + at
                at = window.find(word, at + 1)
        forget(body)


def _start(kind: str, at: int, body: memoryview, order: str) -> int | None:
    """Return where device code starts whose word stands at an offset, or None where it is none."""
    if kind == "spirv":
        return at if order == "<" and _module_header(body[at : at + 20]) else None
    if kind == "elf":
        machine = machine_of(body[at : at + 64])
        return at if machine is not None and _claimed(machine) else None
    if kind == "ptx":
        before = bytes(body[max(0, at - 256) : at + 64])
        match = _PTX.search(before)
        return max(0, at - 256) + match.start() if match else None
    return at


def _module_header(head: memoryview) -> bool:
    """Tell whether 20 bytes are a SPIR-V module header: version 1.x, some identifiers, schema 0."""
    if len(head) < 20:
        return False
    version = int.from_bytes(head[4:8], "little")
    bound = int.from_bytes(head[12:16], "little")
    minor = version >> 8 & 0xFF
    return version == 0x10000 | minor << 8 and minor < 32 and 0 < bound < 1 << 22 and not any(head[16:20])
