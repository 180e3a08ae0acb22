"""What does each emitter make of KIR's orders and scopes? Read off what it emits, for a page and a check.

`rows` are the lines of an emitter for an atomic, a fence or a barrier; `strength` says what they order.
The page `docs/reference/memory-order.md` is made of the first, the test `test_memory_order.py` holds the
second.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from atoll.ir import Module
from atoll.ir.ops import Order, Scope
from atoll.ir.parse import parse
from atoll.ir.verify import verify
from atoll.plugin import Disassembler, Emitter, registry

KERNEL = """kir 1

kernel k(x: view<i32, 1>) group(64, 1, 1) {{
  local old: i32
  {statement}
  x[i64:1] = {value}
}}
"""
BARRIER = "barrier work_group"
_RELEVANT = re.compile(r"atom\.|fence|FENCE\(\)|barrier|membar|[Aa]tomic|Barrier|bar\.sync|__syncthreads")
_NOISE = re.compile(
    r"^static |atoll_atomic_|^atomic_work_item_fence|^\(defined|^#|^//|^Op(Name|EntryPoint|Decorate|ExtInst)"
)
#: The same words for the orders of C11, PTX, LLVM and SYCL.
_WORDS = ("acq_rel", "ACQ_REL", "acquire", "ACQUIRE", "release", "RELEASE", "relaxed", "RELAXED", "monotonic")


def module(statement: str) -> Module:
    """Return a kernel with one statement on its first element."""
    return verify(parse(KERNEL.format(statement=statement, value="%old" if "->" in statement else "i32:1")))


def atomic(order: Order, scope: Scope) -> str:
    """Return an atomic sum in KIR."""
    return f"atomic add {order} {scope} x[i64:0], i32:1 -> %old"


def emitters() -> Iterator[tuple[str, Emitter]]:
    """Give every emitter whose code can be read, by backend and stage."""
    for backend in registry().emitters:
        for stage, emitter in registry().emitters_of(backend).items():
            if _text(emitter, BARRIER):
                yield f"{backend} {stage}", emitter


def _text(emitter: Emitter, statement: str) -> str:
    code = emitter.emit(module(statement), "k", emitter.target(None), (64, 1, 1))
    if code.text:
        return code.code.decode()
    return emitter.disassemble(code.code) if isinstance(emitter, Disassembler) else ""


def rows(emitter: Emitter, statement: str) -> list[str]:
    """Return the lines that a statement becomes, without operands that say nothing of the order."""
    text = _text(emitter, statement)
    constants = dict(re.findall(r"(%\d+) = OpConstant %\d+ (\d+)", text))
    lines = [line.strip() for line in text.splitlines()]
    found = [line for line in lines if _RELEVANT.search(line) and not _NOISE.search(line)]
    return [_plain(line, constants) for line in found]


def _plain(line: str, constants: dict[str, str]) -> str:
    if line.startswith(("Op", "%")) and "Op" in line:
        return _spirv(line, constants)
    if line.startswith(("atom.", "fence.", "bar.")):
        return line.split(" ")[0].rstrip(";") + (" 0" if line.startswith("bar.") else "")
    line = re.sub(r"&b_x\[[^\]]*\]", "&x[0]", line)
    line = re.sub(r"^(const int old|l_old(\[t\])?|%v\d+) = ", "", line)
    return re.sub(r"ptr %v\d+", "ptr", line).rstrip(";")


#: Bits of memory semantics (SPIR-V, 3.25).
_BITS = {
    0x2: "Acquire",
    0x4: "Release",
    0x8: "AcquireRelease",
    0x40: "UniformMemory",
    0x100: "WorkgroupMemory",
}
_SCOPES = {1: "Device", 2: "Workgroup", 3: "Subgroup"}


def _spirv(line: str, constants: dict[str, str]) -> str:
    words = line.split("= ")[-1].split()
    numbers = [int(constants[word]) for word in words[1:] if word in constants]
    if words[0] == "OpAtomicIAdd":
        numbers = [int(constants[words[3]]), int(constants[words[4]])]
    *scopes, semantics = numbers
    bits = "|".join(name for bit, name in _BITS.items() if semantics & bit) or "Relaxed"
    return f"{words[0]} {' '.join(_SCOPES[scope] for scope in scopes)} {bits}"


# --- what the lines order -----------------------------------------------------------------------------

#: How far a word of each language reaches: 0 the sub-group, 1 the group, 2 the device, 3 more.
_REACH = (
    (r"Subgroup|wavefront|WAVEFRONT|sub_group", 0),
    (r"Workgroup\b|workgroup|WORKGROUP|work_group|\bcta\b|\.cta|_block", 1),
    (r"mem_fence\(", 1),
    (r"Device|agent|AGENT|memory_scope::device|\.gpu|__threadfence\(|atomicAdd\(|DEVICE_FENCE", 2),
)


@dataclass(frozen=True, slots=True)
class Strength:
    """What lines order: earlier accesses before the atomic, later ones after it, and as whom they reach."""

    releases: bool
    acquires: bool
    reach: int

    def holds(self, order: Order, scope: Scope) -> bool:
        """Tell whether it is at least an order and a scope of KIR."""
        releases = self.releases or order in (Order.RELAXED, Order.ACQUIRE)
        acquires = self.acquires or order in (Order.RELAXED, Order.RELEASE)
        return (
            releases
            and acquires
            and self.reach >= (Scope.SUB_GROUP, Scope.WORK_GROUP, Scope.DEVICE).index(scope)
        )

    @property
    def order(self) -> Order:
        """The order of KIR that it is."""
        both = {(True, True): Order.ACQ_REL, (True, False): Order.RELEASE, (False, True): Order.ACQUIRE}
        return both.get((self.releases, self.acquires), Order.RELAXED)


def strength(lines: list[str]) -> Strength:
    """Return what the lines of an atomic order: its own words, and the fences around it."""
    at = next(index for index, line in enumerate(lines) if not _is_fence(line))
    own = _word(lines[at])
    before = [_word(line) for line in lines[:at]]
    after = [_word(line) for line in lines[at + 1 :]]
    releases = own in ("release", "acq_rel") or any(word in ("release", "acq_rel") for word in before)
    acquires = own in ("acquire", "acq_rel") or any(word in ("acquire", "acq_rel") for word in after)
    return Strength(releases, acquires, min(map(_reach, lines)))


def _is_fence(line: str) -> bool:
    return re.search(r"fence|FENCE\(\)|MemoryBarrier|membar", line) is not None


def _word(line: str) -> str:
    if line.startswith("Op"):
        names = {"AcquireRelease": "acq_rel", "Acquire": "acquire", "Release": "release"}
        both = "UniformMemory" in line and "WorkgroupMemory" in line
        return next(
            (word for name, word in names.items() if both and re.search(rf"\b{name}\b", line)), "relaxed"
        )
    found = next((word.lower() for word in _WORDS if word in line), "")
    # A fence without a word orders both ways.
    return found or ("acq_rel" if _is_fence(line) else "relaxed")


def _reach(line: str) -> int:
    # What names no scope is of the whole system: C11 and LLVM; and OpenCL 1.2, which has no others.
    return next((reach for pattern, reach in _REACH if re.search(pattern, line)), 3)


# --- the page -------------------------------------------------------------------------------------------

_HEAD = """# Orders and scopes on each target

Generated by `tools/reference.py` from what the emitters emit for `atomic add ORDER SCOPE x[i], 1`,
`fence SCOPE` and `barrier`. [KIR](kir.md) says what they mean. Global memory that work-items share is
`Coherent` in SPIR-V (the memory model is `GLSL450`, which every device of Vulkan 1.2 takes); atomics are
relaxed and of the device in OpenCL 1.2 and CUDA C++, where fences make the order; `ATOLL_DEVICE_FENCE` is
`atomic_work_item_fence` since OpenCL C 2.0, and `membar.gl` on NVIDIA. There is no order over all
(`seq_cst`): Vulkan has none. `tools/litmus.py` runs programs on a device that would show a wrong row.
"""


def page() -> str:
    """Return `docs/reference/memory-order.md`."""
    return _HEAD + "".join(_section(name, emitter) for name, emitter in emitters())


def _section(name: str, emitter: Emitter) -> str:
    scopes = (Scope.SUB_GROUP, Scope.WORK_GROUP, Scope.DEVICE)
    lines = [f"\n## {name}\n", f"| | {' | '.join(f'`{scope}`' for scope in scopes)} |", "|---|---|---|---|"]
    for order in Order:
        cells = (_cell(rows(emitter, atomic(order, scope))) for scope in scopes)
        lines.append(f"| `atomic {order}` | {' | '.join(cells)} |")
    fences = (_cell(rows(emitter, f"fence {scope}")) for scope in scopes)
    lines.append(f"| `fence` | {' | '.join(fences)} |")
    barrier = _cell(rows(emitter, BARRIER)) or "the loop over work-items is split"
    lines.append(f"| `barrier` | | {barrier} | |")
    return "\n".join(lines) + "\n"


def _cell(lines: list[str]) -> str:
    return "<br>".join(f"`{line}`".replace("|", "\\|") for line in lines)
