"""How are lines, registers and labels of a PTX module kept?

PTX is text with typed virtual registers that are declared at the head of a function. What to write is
:mod:`atoll_plugins.cuda.emitter`'s business. Source: PTX ISA 9.0, sections 2 and 5, and the table of
targets in section 11.1.2.
"""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass, field

from atoll.ir import ops
from atoll_plugins.formats.inline import Languages

PREFIXES = {"pred": "%p", "b16": "%h", "b32": "%r", "b64": "%rd", "f32": "%f", "f64": "%fd"}

# The first PTX ISA that names an architecture (PTX ISA 9.0, table of `.target`).
_FIRST_ISA = {
    "sm_50": (4, 0), "sm_52": (4, 1), "sm_53": (4, 2), "sm_60": (5, 0), "sm_61": (5, 0), "sm_62": (5, 0),
    "sm_70": (6, 0), "sm_72": (6, 1), "sm_75": (6, 3), "sm_80": (7, 0), "sm_86": (7, 1), "sm_87": (7, 4),
    "sm_88": (9, 0), "sm_89": (7, 8), "sm_90": (7, 8), "sm_90a": (8, 0), "sm_100": (8, 6), "sm_100a": (8, 6),
    "sm_100f": (8, 8), "sm_103": (8, 8), "sm_103a": (8, 8), "sm_103f": (8, 8), "sm_110": (9, 0),
    "sm_110a": (9, 0), "sm_110f": (9, 0), "sm_120": (8, 7), "sm_120a": (8, 7), "sm_120f": (8, 8),
    "sm_121": (8, 8), "sm_121a": (8, 8), "sm_121f": (8, 8),
}  # fmt: skip
_ARCH = re.compile(r"sm_(\d{2,4})[af]?")
LEAST_ARCH = 70
#: The work-items of a warp, on every architecture.
#: What PTX assembly takes: what the constraints of NVIDIA's compilers hold.
ASSEMBLY: Languages = {
    ops.Inline.ASM: {
        "f": frozenset({"f32"}), "d": frozenset({"f64"}), "r": frozenset({"i32", "u32", "shared"}),
        "l": frozenset({"i64", "u64", "ptr"}),
    }
}  # fmt: skip
WARP = 32
_NEWEST_ISA = (9, 0)


def arch_level(arch: str) -> int | None:
    """Return the number in ``sm_90a``, or None where `arch` is not spelled so."""
    match = _ARCH.fullmatch(arch)
    return int(match[1]) if match else None


def least_isa(arch: str) -> tuple[int, int]:
    """Return the least PTX ISA that names `arch`; an architecture newer than the table takes the newest."""
    return _FIRST_ISA.get(arch, _NEWEST_ISA)


def float_literal(value_bits: int, kind: str) -> str:
    """Return the exact literal of a float from its bits: ``0f3F800000`` or ``0d…``."""
    return f"0f{value_bits:08X}" if kind == "f32" else f"0d{value_bits:016X}"


@dataclass(slots=True)
class PtxFunction:
    """The lines of one function, with its registers and labels."""

    lines: list[str] = field(default_factory=list)
    counts: Counter[str] = field(default_factory=Counter)
    labels: int = 0

    def register(self, kind: str) -> str:
        """Return a new register of a kind: ``pred b16 b32 b64 f32 f64``."""
        self.counts[kind] += 1
        return f"{PREFIXES[kind]}{self.counts[kind]}"

    def label(self, word: str) -> str:
        """Return a new label; `word` says what it is for."""
        self.labels += 1
        return f"$L{self.labels}_{word}"

    def line(self, text: str) -> None:
        """Add one instruction; the semicolon is added here."""
        self.lines.append(f"\t{text};")

    def place(self, label: str) -> None:
        """Put a label here."""
        self.lines.append(f"{label}:")

    def branch(self, label: str, predicate: str = "", *, unless: bool = False) -> None:
        """Jump to a label, always or as a predicate says."""
        guard = f"@{'!' if unless else ''}{predicate} " if predicate else ""
        self.line(f"{guard}bra {label}")

    def declarations(self) -> list[str]:
        """Return the declarations of the registers that were used."""
        return [
            f"\t.reg .{kind} {prefix}<{self.counts[kind] + 1}>;"
            for kind, prefix in PREFIXES.items()
            if self.counts[kind]
        ]
