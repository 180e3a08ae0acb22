"""Which ABI was a file built for? The dash-joined tag beside `accel`.

``arch-os-libc-compiler-c++library-standard``, such as ``x86_64-linux-gnu-gcc12-libstdcxx12-c++20``; from the
fourth part on each may be missing, and what is missing is no constraint. Compiler and library carry their
major version; the standard is a floor. Finding out what this machine is, is the host lane's job.
"""

from __future__ import annotations

import re

from atoll._util.values import dataclass, fields
from atoll.accel import Difference
from atoll.diagnostics import Diagnostic
from atoll.errors import AtollError

MAX_TAG = 128

_PART = re.compile(r"[a-z0-9_.]+")
_STANDARD = re.compile(r"c\+\+[0-9][0-9]")

_DIMENSIONS = {"cxx_library": "c++ library", "standard": "c++ standard"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Abi:
    """An ABI tag; an empty part is no constraint.

    Attributes:
        arch: ``x86_64``, ``aarch64`` …
        os: ``linux``, ``macos``, ``windows``.
        libc: ``gnu``, ``musl`` …
        compiler: The compiler with its major version, ``gcc12``.
        cxx_library: The C++ library with its major version, ``libstdcxx12``; it starts with ``lib``.
        standard: The C++ standard its headers need at least, ``c++20``.
    """

    arch: str = ""
    os: str = ""
    libc: str = ""
    compiler: str = ""
    cxx_library: str = ""
    standard: str = ""

    @classmethod
    def parse(cls, text: str) -> Abi:
        """Return the tag that `text` spells; the empty text spells no constraint.

        Raises:
            AtollError: Where a part is malformed, out of place or one too many.
        """
        if not text:
            return cls()
        named: dict[str, str] = {}
        for place, part in enumerate(text.split("-") if len(text) <= MAX_TAG else [""]):
            name = _name(place, part)
            if name is None or name in named:
                raise AtollError(_unlawful(text))
            named[name] = part
        return cls(**named)

    def differences(self, asked: Abi) -> tuple[Difference, ...]:
        """Return where a file of this tag does not fit a consumer of the tag `asked`."""
        found = []
        for each in fields(self):
            have, want = getattr(self, each.name), getattr(asked, each.name)
            serves = _year(want) >= _year(have) if each.name == "standard" else have == want
            if have and want and not serves:
                found.append(Difference(_DIMENSIONS.get(each.name, each.name), want, have))
        return tuple(found)

    def __bool__(self) -> bool:
        """Tell whether it constrains anything."""
        return any(getattr(self, each.name) for each in fields(self))

    def __str__(self) -> str:
        return "-".join(part for part in (getattr(self, each.name) for each in fields(self)) if part)


def _name(place: int, part: str) -> str | None:
    """Return the field that the part at `place` fills, or None where it fills none."""
    if _STANDARD.fullmatch(part):
        return "standard" if place >= 1 else None
    if not _PART.fullmatch(part):
        return None
    if place < 3:
        return ("arch", "os", "libc")[place]
    return "cxx_library" if part.startswith("lib") else "compiler"


def _year(standard: str) -> int:
    digits = int(standard[-2:]) if standard else 0
    return 1900 + digits if digits >= 90 else 2000 + digits


def _unlawful(text: str) -> Diagnostic:
    return Diagnostic(
        code="ATL0401",
        message=f"`{text[:MAX_TAG]}` is not an ABI tag",
        notes=("expected: arch-os-libc-compiler-library-standard, such as x86_64-linux-gnu-gcc12-c++20",),
    )
