"""What does an ELF file of the host carry? Its sections with device code, embedded modules, libraries.

Device machine code is ELF too, but of other machines; its own readers claim it.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator

from atoll.artifact import Fact, Finding
from atoll.plugin import Blob, Member, Reader
from atoll.plugin.reader import libraries, machines, marks
from atoll_plugins.formats.elf_file import MAGIC, Elf, Section, machine_of, needed, needed_versions, parse
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
DEVICE_SECTION = "__CLANG_OFFLOAD_BUNDLE__"  # how names of such sections start, each for one target
# What is searched at once; which bytes of it tell which byte of a word is rare; how rare it has to be.
WINDOW, STRIDE, OFTEN = 1 << 20, 251, 64
_MODULE = re.compile(rb"PyInit_([A-Za-z0-9_]{1,200})\0")
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
        return machine is None or machine in HOSTS or machine not in machines(self._readers())

    def read(self, blob: Blob) -> Iterator[Member | Finding | Fact]:
        """Give the parts with device code, and the libraries and symbol versions it needs."""
        elf = parse(blob.data, blob.name)
        if elf.machine not in HOSTS:
            yield Finding(member=blob.name, backend="", note=f"machine code of ELF machine {elf.machine}")
            return
        readers = tuple(self._readers())
        yield from _facts(elf, libraries(readers))
        for section in elf.sections:
            yield from _section(elf, section, readers)


def _facts(elf: Elf, of_vendors: tuple[str, ...]) -> Iterator[Fact]:
    yield Fact(name="abi.machine", relation="=", value=HOSTS[elf.machine])
    for library in needed(elf):
        yield Fact(name="abi.needed", relation="=", value=library)
        if library.rsplit("/", 1)[-1].startswith(of_vendors):
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
    known = section.name in DEVICE_SECTIONS or section.name.startswith(DEVICE_SECTION)
    if known or _is_taken(kind, readers):
        yield Member(Blob(name=f"{elf.name}!{section.name}", data=elf.body(section), kind=kind))
    elif section.loaded and not section.executable and section.size:
        yield from embedded(elf.body(section), f"{elf.name}!{section.name}", readers)


def _is_taken(kind: str, readers: tuple[Reader, ...]) -> bool:
    """Tell whether a reader takes a section by its name alone."""
    blob = Blob(name="", data=memoryview(b""), kind=kind)
    return any(reader.recognises(blob) for reader in readers)


def embedded(body: memoryview, name: str, readers: Iterable[Reader]) -> Iterator[Member]:
    """Give the places of constant data where device code starts, each named by its offset."""
    known = marks(readers)
    for word, at in _words(body, tuple(known)):
        for mark in known[word]:
            start = mark.start(body, at) if at % mark.step == 0 else None
            if start is not None:
                kind = f"embedded:{mark.form}"
                yield Member(Blob(name=f"{name}+{start:#x}", data=body[start:], kind=kind))
                break


def _words(body: memoryview, words: tuple[bytes, ...]) -> Iterator[tuple[bytes, int]]:
    """Give the places of the words, window by window, so that memory does not grow with the file."""
    longest = max(map(len, words), default=1)
    letters = frozenset(b"".join(words))
    for start in range(0, len(body), WINDOW):
        window = bytes(body[start : start + WINDOW + longest - 1])
        sample = window[::STRIDE]
        often = {letter: sample.count(letter) for letter in letters}
        for word in words:
            counts = [often[letter] for letter in word]
            rare = counts.index(min(counts))
            for at in _places(window, word, rare):
                if at < WINDOW:
                    yield word, start + at
        forget(body)


def _places(window: bytes, word: bytes, rare: int) -> Iterator[int]:
    """Give where a word stands, by its rarest byte: one byte is found ten times as fast as several are."""
    byte, budget, here = word[rare : rare + 1], len(window) // OFTEN, window.startswith
    at = window.find(byte, rare)
    while at >= 0:
        if here(word, at - rare):
            yield at - rare
        budget -= 1
        if budget < 0:  # not rare here after all
            yield from _overlapping(window, word, at - rare + 1)
            return
        at = window.find(byte, at + 1)


def _overlapping(window: bytes, word: bytes, start: int) -> Iterator[int]:
    pattern = re.compile(re.escape(word))
    found = pattern.search(window, start)
    while found:
        yield found.start()
        found = pattern.search(window, found.start() + 1)
