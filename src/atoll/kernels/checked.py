"""What does ``@kernel(debug=True)`` mean? Every launch is checked, on any device.

The code has a check wherever an index may leave its array, a signed integer wrap, a divisor be zero or an
`assert` fail (:mod:`atoll.kernels.front.checks`), and a buffer to report to. After a launch the first report
is raised with its line and its work-item, and what was printed is shown in the order of the work-items.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from atoll.diagnostics import Diagnostic
from atoll.errors import LaunchError
from atoll.kernels.definition import KernelFunction, Sizes

if TYPE_CHECKING:
    from atoll.ir import Scalar
    from atoll.kernels.front.checks import Check
    from atoll.kernels.launch import Done, Launch

#: The words of the buffer that a launch reports to.
CAPACITY = 1 << 16


class Instrumented(KernelFunction):
    """The code of a checked kernel: one parameter more, the buffer."""

    checked = CAPACITY


class CheckedKernel(KernelFunction):
    """A kernel whose launches are checked; ahead of time it is compiled without its checks."""

    def _instrumented(self) -> KernelFunction:
        known: KernelFunction | None = self.__dict__.get("_inner")
        if known is None:
            known = Instrumented(
                self.function,
                self.block,
                None,
                bindings=self.bindings,
                exported=self.__name__,
                contract=self.contract,
            )
            known.requires = self.requires
            self.__dict__["_inner"] = known
        return known

    def __repr__(self) -> str:
        return f"<checked kernel {self.__name__}>"

    def over(
        self, shape: Sizes, *, device: object = None, block: Sizes | None = None, wait: bool = True
    ) -> Any:
        """Return a checked launch over a domain; it always waits."""
        del wait
        return CheckedLaunch(self._instrumented().over(shape, device=device, block=block))

    def __getitem__(self, key: tuple[Any, ...]) -> Any:
        """Return a checked launch by grid, block and device."""
        return CheckedLaunch(self._instrumented()[key])

    def python(self, shape: Sizes, **how: Any) -> Any:
        """Return a launch in the oracle that also looks for wrapping, and prints."""
        from dataclasses import replace

        return replace(super().python(shape, **how), checked=True)

    def show(self, target: str, stage: str | None = None, **how: Any) -> str | bytes:
        """Return a stage of compilation, checks included."""
        return self._instrumented().show(target, stage, **how)


@dataclass(frozen=True, slots=True)
class CheckedLaunch:
    """A launch that is waited for and whose report is read."""

    launch: Launch = field(repr=False)

    def __call__(self, *arguments: Any, **named: Any) -> Done:
        """Launch, print what was printed, raise what was found.

        Raises:
            LaunchError: Where a check failed, with its place, its work-item and the device.
        """
        import numpy as np

        if named:
            arguments = self.launch.kernel.ordered(arguments, named)
        report = np.zeros(CAPACITY, np.uint32)
        done = self.launch(*arguments, report)
        done.wait()
        words = report.tolist()
        checks = self.launch.kernel.compiled().checks
        for line in printed(checks, words):
            print(line)  # noqa: T201 - what the kernel's author asked for
        if words[0]:
            raise LaunchError(_failed(checks[words[0] - 1], words, done.device))
        return done


def _failed(check: Check, words: list[int], device: str) -> Diagnostic:
    from atoll.kernels.front.checks import NUMBERS, WHO

    numbers = [_signed(words[at] | words[at + 1] << 32) for at in (NUMBERS, NUMBERS + 2)]
    return Diagnostic(
        code=check.code,
        message=check.message.format(*numbers),
        span=check.span,
        notes=(f"work-item {_place(words[WHO : WHO + 3])}", f"device: {device}"),
    )


def _place(ids: list[int]) -> str:
    return f"({', '.join(map(str, ids))})"


def _signed(word: int) -> int:
    return word - (1 << 64) if word >> 63 else word


def printed(checks: tuple[Check, ...], words: list[int]) -> list[str]:
    """Return the lines that were printed, by work-item, and how many found no room."""
    found = sorted(_records(checks, words), key=lambda row: row[0])
    lines = [f"{_place(list(reversed(who)))} {text}" for who, text in found]
    from atoll.kernels.front.checks import PRINTED, RECORDS

    lost = words[PRINTED] - (CAPACITY - RECORDS)
    if lost > 0:
        lines.append(f"… {lost} words of output found no room")
    return lines


def _records(checks: tuple[Check, ...], words: list[int]) -> Iterator[tuple[tuple[int, ...], str]]:
    from atoll.kernels.front.checks import HEAD, PRINTED, RECORDS

    at, end = RECORDS, min(RECORDS + words[PRINTED], CAPACITY)
    while at < end and words[at]:
        check = checks[words[at] - 1]
        who = tuple(reversed(words[at + 1 : at + HEAD]))
        place, shown = at + HEAD, []
        for part in check.parts:
            if isinstance(part, str):
                shown.append(part)
                continue
            shown.append(_value(part, words[place] | words[place + 1] << 32))
            place += 2
        yield who, " ".join(shown)
        at = place


def _value(scalar: Scalar, word: int) -> str:
    if scalar.name == "bool":
        return str(bool(word))
    if not scalar.is_float:
        return str(_signed(word) if scalar.is_signed else word)
    form = "<d" if scalar.bits == 64 else "<f"
    size = 8 if scalar.bits == 64 else 4
    value: float = struct.unpack(form, word.to_bytes(8, "little")[:size])[0]
    return repr(value) if scalar.bits == 64 else f"{value:.9g}"
