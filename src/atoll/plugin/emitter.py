"""The emitter door: KIR in, text or bytes out. Pure; needs no device and no compiler."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol, runtime_checkable

from atoll._util.values import dataclass
from atoll.accel import Entry
from atoll.artifact import Fact

if TYPE_CHECKING:
    # A build without kernels imports no KIR.
    from atoll.ir import LaunchLayout, Module


@dataclass(frozen=True, slots=True, kw_only=True)
class Target:
    """What code is emitted for: a backend, an architecture and a version, where they matter.

    Attributes:
        lines: Whether the code says which line of the source each part is from, for profilers and debuggers.
            Off by default, so that a kernel's code does not depend on where it stands.
        plain: Whether the launcher promises that every view starts at a multiple of 16 bytes (and where its
            buffer does, where buffers are addresses), has a last stride of 1, and other strides of
            whole fours of elements, less than 2**28 of them; and that every size is less than 2**31.
        apart: Whether it promises that no view that is written overlaps another.
    """

    backend: str
    arch: str = ""
    version: str = ""
    lines: bool = False
    plain: bool = False
    apart: bool = False

    def __str__(self) -> str:
        return f"{self.backend}:{self.arch or self.version}".rstrip(":")


@dataclass(frozen=True, slots=True, kw_only=True)
class Emitted:
    """One kernel's code for one target.

    Attributes:
        stage: The stage's name, such as ``spirv`` or ``ptx``.
        code: The bytes; UTF-8 where `text` is true.
        text: Whether `code` is text.
        entry: The entry point's name in the code.
        suffix: The file suffix it is written with (``.spv``).
        layout: How to launch it.
        requires: Facts that a device must meet.
        arch / floor / version: What the code asks of a device, as `atoll_code` and a record state it: the
            architecture of machine code, the value of a portable floor, an API or toolkit version; empty
            where it asks nothing.
        declared: True where nothing in the bytes says which backend they are for (source text).
    """

    target: Target
    stage: str
    code: bytes
    text: bool
    entry: str
    suffix: str
    layout: LaunchLayout
    requires: tuple[Fact, ...] = ()
    arch: str = ""
    floor: str = ""
    version: str = ""
    declared: bool = False


class Emitter(Protocol):
    """A plugin that turns a verified KIR module into code for one backend."""

    @property
    def backend(self) -> str:
        """The accel backend it emits for; ``cpu`` for the processor."""
        ...

    @property
    def stage(self) -> str:
        """The name of its native stage, for `kernel show --stage`."""
        ...

    def target(self, entry: Entry | None, arch: str = "") -> Target:
        """Return the target for an entry of the build's set, or its default for None."""
        ...

    def emit(self, module: Module, kernel: str, target: Target, group: tuple[int, int, int]) -> Emitted:
        """Return the code of one kernel of a module.

        Args:
            module: Verified KIR.
            kernel: The base name of the kernel.
            target: What to emit for.
            group: The work-group size, which some targets fix at compile time.

        Raises:
            CompileError: With every operation the target lacks, each with its span.
        """
        ...


@runtime_checkable
class Disassembler(Protocol):
    """What an emitter of a binary may have beside: people read its code as text."""

    def disassemble(self, code: bytes) -> str:
        """Return code of its own as text."""
        ...


@runtime_checkable
class Specialiser(Protocol):
    """What an emitter may have beside: better code where :class:`Target` promises more of the views."""

    @property
    def takes_promises(self) -> bool:
        """Whether `Target.plain` and `Target.apart` change its code."""
        ...

    @property
    def unrolls(self) -> bool:
        """Whether its code is better where loops were written out before: what compiles it does not."""
        ...

    @property
    def subgroup_width(self) -> int:
        """How many work-items every full sub-group has; 0 where devices differ."""
        ...


__all__ = ["Disassembler", "Emitted", "Emitter", "Specialiser", "Target"]
