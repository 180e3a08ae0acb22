"""What does an AMD code object run on? ELF of machine 224; its flags name the processor.

Numbers: LLVM, AMDGPU usage guide, "ELF Header" (EF_AMDGPU_MACH). Where an offload bundle names the
target too, the bundle's spelling is taken, since it also states xnack and sramecc; both must agree.
"""

from __future__ import annotations

from collections.abc import Iterator

from atoll.artifact import Fact, Finding
from atoll.plugin import Blob, Mark, Member
from atoll_plugins.formats.elf_file import Elf, machine_of, parse
from atoll_plugins.formats.parse import broken

MACHINE = 224
PROCESSORS = {
    0x020: "gfx600",
    0x021: "gfx601",
    0x022: "gfx700",
    0x023: "gfx701",
    0x024: "gfx702",
    0x025: "gfx703",
    0x026: "gfx704",
    0x028: "gfx801",
    0x029: "gfx802",
    0x02A: "gfx803",
    0x02B: "gfx810",
    0x02C: "gfx900",
    0x02D: "gfx902",
    0x02E: "gfx904",
    0x02F: "gfx906",
    0x030: "gfx908",
    0x031: "gfx909",
    0x032: "gfx90c",
    0x033: "gfx1010",
    0x034: "gfx1011",
    0x035: "gfx1012",
    0x036: "gfx1030",
    0x037: "gfx1031",
    0x038: "gfx1032",
    0x039: "gfx1033",
    0x03A: "gfx602",
    0x03B: "gfx705",
    0x03C: "gfx805",
    0x03D: "gfx1035",
    0x03E: "gfx1034",
    0x03F: "gfx90a",
    0x040: "gfx940",
    0x041: "gfx1100",
    0x042: "gfx1013",
    0x043: "gfx1150",
    0x044: "gfx1103",
    0x045: "gfx1036",
    0x046: "gfx1101",
    0x047: "gfx1102",
    0x048: "gfx1200",
    0x049: "gfx1250",
    0x04A: "gfx1151",
    0x04B: "gfx941",
    0x04C: "gfx942",
    0x04E: "gfx1201",
    0x04F: "gfx950",
    0x051: "gfx9-generic",
    0x052: "gfx10-1-generic",
    0x053: "gfx10-3-generic",
    0x054: "gfx11-generic",
    0x055: "gfx1152",
    0x058: "gfx1153",
    0x059: "gfx12-generic",
    0x05A: "gfx1251",
    0x05F: "gfx9-4-generic",
}
_XNACK = {0x200: ":xnack-", 0x300: ":xnack+"}
_SRAMECC = {0x800: ":sramecc-", 0xC00: ":sramecc+"}


def _start(body: memoryview, at: int) -> int | None:
    return at if machine_of(body[at : at + 64]) == MACHINE else None


class CodeObjectReader:
    """Reads AMD code objects, alone or out of an offload bundle."""

    name = "hip"
    machines = frozenset((MACHINE,))
    libraries = (
        *("libamdhip64.", "libhip", "libhsa-runtime64.", "libmiopen", "libMIOpen", "librccl."),
        *("librocblas.", "librocfft", "librocrand", "librocsolver", "librocsparse", "libroctx64."),
    )
    marks = (Mark(word=b"\x7fELF\x02\x01", form="elf", step=4, start=_start),)

    def recognises(self, blob: Blob) -> bool:
        """Tell by the target an offload bundle names, or by the ELF machine."""
        if blob.kind.startswith("offload:"):
            return "amdgcn" in blob.kind
        if not blob.kind and blob.name.endswith(".hsaco"):
            return True
        return blob.kind in ("", "embedded:elf") and machine_of(blob.data[:20]) == MACHINE

    def read(self, blob: Blob) -> Iterator[Member | Finding | Fact]:
        """Give the processor that the code object is for."""
        named = blob.kind.rpartition("|")[2] if blob.kind.startswith("offload:") else ""
        if machine_of(blob.data[:20]) != MACHINE:
            note = f"no code object{f', made for {named}' if named else ''}"
            yield Finding(member=blob.name, backend="", note=note)
            return
        elf = parse(blob.data, blob.name)
        number = elf.flags & 0xFF
        processor = PROCESSORS.get(number, "")
        if not processor and not named:
            note = f"code object of an unknown processor, ELF flags {elf.flags:#x}"
            yield Finding(member=blob.name, backend="", note=note)
            return
        if processor and named and named.partition(":")[0] != processor:
            raise broken(blob.name, f"its bundle says {named}, its ELF flags say {processor}")
        note = "" if processor else f"named by its bundle alone: number {number:#x} is newer than the reader"
        yield Finding(member=blob.name, backend="hip", arch=named or processor + _modes(elf), note=note)


def _modes(elf: Elf) -> str:
    """Return what the flags say of modes; code objects before version 4 (ABI version 2) say only "on"."""
    if elf.abi_version >= 2:
        return _SRAMECC.get(elf.flags & 0xC00, "") + _XNACK.get(elf.flags & 0x300, "")
    return (":sramecc+" if elf.flags & 0x200 else "") + (":xnack+" if elf.flags & 0x100 else "")
