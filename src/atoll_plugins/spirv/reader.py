"""What does a SPIR-V module run on? The least Vulkan for its version, or OpenCL for kernels.

Format: SPIR-V specification, "Physical Layout of a SPIR-V Module and Instruction". The first part is
read; it states capabilities, extensions and entry points. The end of a module is known only where it is
a file or a record of its own; then every instruction's length is checked.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import lru_cache

from atoll.artifact import Fact, Finding
from atoll.errors import UnreadableError
from atoll.plugin import Blob, Mark, Member
from atoll_plugins.formats.parse import broken
from atoll_plugins.spirv.capabilities import CAPABILITIES

MAGIC, SWAPPED = b"\x03\x02\x23\x07", b"\x07\x23\x02\x03"
# Vulkan specification, "Versions and Formats": the SPIR-V versions a Vulkan version must take.
VULKAN = {0: "1.0", 1: "1.1", 2: "1.1", 3: "1.1", 4: "1.2", 5: "1.2", 6: "1.3"}
MODELS = {
    0: "Vertex",
    1: "TessellationControl",
    2: "TessellationEvaluation",
    3: "Geometry",
    4: "Fragment",
    5: "GLCompute",
    6: "Kernel",
    5267: "TaskNV",
    5268: "MeshNV",
    5313: "RayGeneration",
    5314: "Intersection",
    5315: "AnyHit",
    5316: "ClosestHit",
    5317: "Miss",
    5318: "Callable",
    5364: "TaskEXT",
    5365: "MeshEXT",
}
_EXTENSION, _MEMORY_MODEL, _ENTRY_POINT, _CAPABILITY = 10, 14, 15, 17
# Logical layout, parts 1 to 6: capabilities, extensions, imports, memory model, entry points, modes.
_LEADING = frozenset((_EXTENSION, 11, _MEMORY_MODEL, _ENTRY_POINT, 16, _CAPABILITY, 331))


@dataclass(slots=True)
class _Preamble:
    minor: int
    capabilities: list[str] = field(default_factory=list)
    extensions: list[str] = field(default_factory=list)
    models: list[str] = field(default_factory=list)
    memory_model: bool = False


def _start(body: memoryview, at: int) -> int | None:
    """Say that a module starts here: version 1.x, some identifiers, schema 0."""
    head = body[at : at + 20]
    if len(head) < 20:
        return None
    version = int.from_bytes(head[4:8], "little")
    minor = version >> 8 & 0xFF
    bound = int.from_bytes(head[12:16], "little")
    lawful = version == 0x10000 | minor << 8 and minor < 32 and 0 < bound < 1 << 22
    return at if lawful and not any(head[16:20]) else None


class SpirvReader:
    """Reads SPIR-V modules, alone, embedded by Atoll, or found in constant data."""

    name = "spirv"
    libraries = ("libvulkan.",)
    marks = (Mark(word=MAGIC, form="spirv", step=4, start=_start),)

    def recognises(self, blob: Blob) -> bool:
        """Tell by kind, by the suffix or by the magic word."""
        if blob.kind.endswith(":spirv"):
            return True
        if not blob.kind and blob.name.endswith(".spv"):
            return True
        plain = not blob.kind or blob.kind.startswith("offload:")
        return plain and blob.data[:4] in (MAGIC, SWAPPED)

    def read(self, blob: Blob) -> Iterator[Member | Finding | Fact]:
        """Give the backend, its least version, and what the device must support."""
        module = _preamble(blob.data, blob.name, whole=not blob.kind.startswith("embedded:"))
        kernel = "Kernel" in module.models or (not module.models and "Kernel" in module.capabilities)
        others = sorted(set(module.models) - {"GLCompute", "Kernel"})
        yield Finding(
            member=blob.name,
            backend="opencl" if kernel else "vulkan",
            version="" if kernel else VULKAN[module.minor],
            requires=_facts(module.minor, tuple(module.capabilities), tuple(module.extensions)),
            note=", ".join(others) if module.models else "no entry point",
        )


@lru_cache(maxsize=256)
def _facts(minor: int, capabilities: tuple[str, ...], extensions: tuple[str, ...]) -> tuple[Fact, ...]:
    """Return what a device must have; the many modules of a program share few such lists."""
    facts = [Fact(name="spirv.capability", relation="=", value=name) for name in capabilities]
    facts += [Fact(name="spirv.extension", relation="=", value=name) for name in extensions]
    return tuple(sorted({*facts, Fact(name="spirv", relation=">=", value=f"1.{minor}")}))


def _preamble(data: memoryview, name: str, *, whole: bool) -> _Preamble:
    if data[:4] == SWAPPED:
        raise broken(name, "a SPIR-V module of the other byte order")
    if len(data) < 20 or data[:4] != MAGIC:
        raise broken(name, "no SPIR-V header")
    words = data[: len(data) // 4 * 4].cast("B").cast("I")
    version, bound, schema = words[1], words[3], words[4]
    minor = version >> 8 & 0xFF
    if version != 0x10000 | minor << 8 or minor not in VULKAN or schema:
        raise broken(name, f"SPIR-V version word {version:#x}, schema {schema}")
    if not 0 < bound < 1 << 22:
        raise broken(name, f"SPIR-V bound {bound}, the limit is {1 << 22}")
    return _walk(words, name, _Preamble(minor), whole=whole)


def _walk(words: memoryview, name: str, module: _Preamble, *, whole: bool) -> _Preamble:
    """Read the instructions before debug information, annotations and types; check the rest where asked."""
    at, end = 5, len(words)
    while at < end:
        word = words[at]
        length, operation = word >> 16, word & 0xFFFF
        if length == 0 or at + length > end:
            raise _short(length, at, name)
        if operation not in _LEADING:
            break
        if operation == _CAPABILITY and length > 1:
            number = words[at + 1]
            module.capabilities.append(CAPABILITIES.get(number) or str(number))
        else:
            _note(module, operation, words[at : at + length])
        at += length
    if not module.memory_model:
        raise broken(name, "a SPIR-V module without a memory model in its first part")
    while whole and at < end:
        length = words[at] >> 16
        if length == 0 or at + length > end:
            raise _short(length, at, name)
        at += length
    return module


def _short(length: int, at: int, name: str) -> UnreadableError:
    return broken(name, f"the SPIR-V instruction at word {at} states {length} words")


def _note(module: _Preamble, operation: int, instruction: memoryview) -> None:
    if operation == _MEMORY_MODEL:
        module.memory_model = True
    elif operation == _EXTENSION:
        raw = bytes(instruction[1:65]).split(b"\0", 1)[0]
        module.extensions.append(raw.decode("ascii", "backslashreplace"))
    elif operation == _ENTRY_POINT and len(instruction) > 1:
        module.models.append(MODELS.get(instruction[1], f"execution model {instruction[1]}"))
