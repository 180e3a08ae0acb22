"""Which host compiler may the toolkit drive? The bound is read from its own ``crt/host_config.h``."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path

from atoll.diagnostics import Diagnostic
from atoll.errors import LaneError
from atoll.plugin.values import dataclass
from atoll_plugins.formats.host_compilers import Compiler, choose, installed

_GCC = re.compile(r"gcc versions later than (\d+) are not supported")
_CLANG = re.compile(r"clang version must be less than (\d+)(?: and greater than (\d+(?:\.\d+)?))?")


@dataclass(frozen=True, slots=True, kw_only=True)
class Bound:
    """What the toolkit accepts; None where its header says nothing.

    Attributes:
        gcc_highest: The newest accepted major version of gcc.
        clang_below: The first major version of clang that is too new.
        clang_above: The version that clang must exceed.
    """

    gcc_highest: int | None = None
    clang_below: int | None = None
    clang_above: str | None = None

    def admits(self, compiler: Compiler) -> bool:
        """Tell whether a compiler lies within the bound; an unstated bound excludes nothing."""
        if compiler.family == "gcc":
            return self.gcc_highest is None or compiler.major <= self.gcc_highest
        if self.clang_below is not None and compiler.major >= self.clang_below:
            return False
        return self.clang_above is None or compiler.major > int(self.clang_above.split(".")[0])

    def __str__(self) -> str:
        parts = [f"gcc up to {self.gcc_highest}"] if self.gcc_highest is not None else []
        parts += [f"clang below {self.clang_below}"] if self.clang_below is not None else []
        return ", ".join(parts) or "no bound stated"


def read_bound(header: Path) -> Bound:
    """Return the bound that a toolkit's header states; nothing is concluded from what it does not say."""
    try:
        text = header.read_text("utf-8", "replace")
    except OSError:
        return Bound()
    gcc, clang = _GCC.search(text), _CLANG.search(text)
    return Bound(
        gcc_highest=int(gcc[1]) if gcc else None,
        clang_below=int(clang[1]) if clang else None,
        clang_above=clang[2] if clang else None,
    )


def choose_host(
    bound: Bound,
    wanted: str | None,
    toolkit: str,
    environment: Mapping[str, str],
    usual: str = "",
) -> tuple[Compiler, str]:
    """Return the host compiler that nvcc drives, and why that one.

    Args:
        bound: What the toolkit accepts.
        wanted: The one that the project names for nvcc; it is never replaced.
        toolkit: The toolkit's version, for the refusal.
        environment: Where compilers are looked up.
        usual: The one that compiles the project's other units; taken where it is within the bound.

    Raises:
        LaneError: Where the one that the project names, or every installed one, is outside the bound.
    """
    first = choose(wanted or usual or None, environment)
    if first is not None and bound.admits(first[0]):
        return first[0], f"{first[1]}, within the toolkit's bound ({bound})"
    if wanted is None:
        for compiler in installed(environment):
            if bound.admits(compiler):
                assert first is not None
                return (
                    compiler,
                    f"{first[0].cxx.name} {first[0].version} is outside the toolkit's bound ({bound})",
                )
    raise LaneError(_outside(bound, wanted, first, toolkit, environment))


def _outside(
    bound: Bound,
    wanted: str | None,
    first: tuple[Compiler, str] | None,
    toolkit: str,
    environment: Mapping[str, str],
) -> Diagnostic:
    if first is None:
        have = f"`{wanted}`, which is not there" if wanted else "none on PATH"
    elif wanted:
        have = str(first[0])
    else:
        have = ", ".join(str(compiler) for compiler in installed(environment))
    return Diagnostic(
        code="ATL0506",
        message="no host compiler lies within the bound of the CUDA toolkit",
        notes=(f"toolkit {toolkit} accepts: {bound}", f"at hand: {have}"),
        hint='install one it accepts, or name it with `[lane.cuda] host-compiler = "g++-12"`',
    )
