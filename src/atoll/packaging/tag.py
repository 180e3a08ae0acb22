"""Which machines may install the wheel? Its tag, computed from what the objects ask of the loader.

PEP 600: `manylinux_2_X` promises the C library 2.X and the C++ runtime of the distributions of its time.
The table is that of `auditwheel` 6.8.2, held against it by tests/unit/packaging/test_tag.py.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterable, Mapping
from pathlib import PurePosixPath

from atoll._util.values import dataclass
from atoll.artifact import Fact
from atoll.diagnostics import Diagnostic
from atoll.errors import UsageError

# C library 2.X -> what its manylinux policy allows at most of the other symbol families.
POLICIES: Mapping[int, Mapping[str, tuple[int, ...]]] = {
    5: {"glibcxx": (3, 4, 8), "cxxabi": (1, 3, 1), "gcc": (4, 2, 0)},
    12: {"glibcxx": (3, 4, 13), "cxxabi": (1, 3, 3), "gcc": (4, 3, 0)},
    17: {"glibcxx": (3, 4, 19), "cxxabi": (1, 3, 7), "gcc": (4, 8, 0)},
    24: {"glibcxx": (3, 4, 22), "cxxabi": (1, 3, 10), "gcc": (4, 8, 0)},
    27: {"glibcxx": (3, 4, 24), "cxxabi": (1, 3, 11), "gcc": (7, 0, 0)},
    31: {"glibcxx": (3, 4, 28), "cxxabi": (1, 3, 12), "gcc": (7, 0, 0)},
    34: {"glibcxx": (3, 4, 29), "cxxabi": (1, 3, 13), "gcc": (7, 0, 0)},
    35: {"glibcxx": (3, 4, 30), "cxxabi": (1, 3, 13), "gcc": (12, 0, 0)},
    39: {"glibcxx": (3, 4, 33), "cxxabi": (1, 3, 15), "gcc": (14, 0, 0)},
}
# What every such machine has; any other library must be in the wheel.
PROMISED = frozenset(
    (
        "ld-linux-aarch64.so.1",
        "ld-linux-x86-64.so.2",
        "libc.so.6",
        "libdl.so.2",
        "libgcc_s.so.1",
        "libm.so.6",
        "libnsl.so.1",
        "libpthread.so.0",
        "libresolv.so.2",
        "librt.so.1",
        "libstdc++.so.6",
        "libutil.so.1",
    )
)
#: The tag of the limited API that generated modules use.
STABLE = "cp311-abi3"
_CPYTHON = re.compile(r"cpython-(3[0-9]+)([a-z]*)(?:-|$)")
FAMILIES = ("glibc", "glibcxx", "cxxabi", "gcc")
LEAST = 5


@dataclass(frozen=True, slots=True, kw_only=True)
class Platform:
    """A platform tag and why it is this one.

    Attributes:
        tag: ``manylinux_2_34_x86_64``, or ``linux_x86_64`` where no promise holds, or ``any``.
        machine: ``x86_64``, or empty where no object is in the wheel.
        reasons: The object and the symbol version, or the library, that decided.
    """

    tag: str
    machine: str = ""
    reasons: tuple[str, ...] = ()


def platform(facts: Iterable[tuple[str, Fact]], inside: frozenset[str]) -> Platform:
    """Return the tag that the objects' needs allow.

    Args:
        facts: ``(object, fact)``: ``abi.machine``, ``abi.glibc`` and kin, ``abi.needed``.
        inside: File names of the wheel's own libraries.
    """
    rows = [(name, fact) for name, fact in facts if fact.name.startswith("abi.")]
    machines = sorted({fact.value for _, fact in rows if fact.name == "abi.machine"})
    if not machines:
        return Platform(tag="any")
    if len(machines) > 1:
        raise UsageError(_refused("objects of several machines", tuple(machines)))
    outside = _outside(rows, inside)
    if outside:
        return Platform(tag=f"linux_{machines[0]}", machine=machines[0], reasons=outside)
    level, reason = LEAST, "no symbol asks for more"
    for name, fact in rows:
        least = _least(fact)
        if least is not None and least > level:
            level, reason = least, f"{name} needs {_symbol(fact)}"
    return Platform(tag=f"manylinux_2_{level}_{machines[0]}", machine=machines[0], reasons=(reason,))


def _outside(rows: list[tuple[str, Fact]], inside: frozenset[str]) -> tuple[str, ...]:
    found = []
    for name, fact in rows:
        if fact.name == "abi.needed" and fact.value not in PROMISED | inside:
            found.append(f"{name} needs {fact.value}, which no tag promises")
        elif fact.name == "abi.symbol" or (fact.name[4:] in FAMILIES and _least(fact) is None):
            found.append(f"{name} needs {_symbol(fact)}, which no tag promises")
    return tuple(dict.fromkeys(found))


def _least(fact: Fact) -> int | None:
    """Return the least C library 2.X whose policy allows a symbol version; None where none does."""
    family = fact.name.removeprefix("abi.")
    if family not in FAMILIES:
        return LEAST
    version = tuple(int(part) for part in fact.value.split("."))
    if family == "glibc":
        return max(LEAST, version[1]) if version[0] == 2 and len(version) > 1 else None
    return next((level for level, allowed in POLICIES.items() if version <= allowed[family]), None)


def _symbol(fact: Fact) -> str:
    return fact.value if fact.name == "abi.symbol" else f"{fact.name[4:].upper()}_{fact.value}"


def python_tag(modules: Iterable[str]) -> str:
    """Return which Pythons load extension modules, by how they are called: ``cp311-abi3``, ``cp313-cp313t``.

    A module that says no version is taken for one of the Python that runs.

    Raises:
        UsageError: Where no Python loads all of them.
    """
    tags = {name: _python_of(PurePosixPath(name).name) for name in modules}
    own = {tag for tag in tags.values() if tag != STABLE}
    if len(own) > 1:
        each = tuple(f"{name} is for {tag}" for name, tag in tags.items())
        raise UsageError(_refused("modules of several Pythons", each))
    return next(iter(own), STABLE)


def _python_of(name: str) -> str:
    stem = name.removesuffix(".so").partition(".")[2]
    if stem == "abi3":
        return STABLE
    found = _CPYTHON.match(stem)
    major, minor = sys.version_info[:2]
    version, flags = found.groups() if found else (f"{major}{minor}", getattr(sys, "abiflags", ""))
    return f"cp{version}-cp{version}{flags}"


def check_asked(asked: str, computed: Platform) -> None:
    """Refuse a platform tag that promises more machines than the objects run on.

    Raises:
        UsageError: With the symbol and the object that decide.
    """
    if asked == computed.tag:
        return
    level, least = _level(asked), _level(computed.tag)
    if level is not None and least is not None and level >= least and asked.endswith(f"_{computed.machine}"):
        return
    if asked == f"linux_{computed.machine}":
        return
    notes = (f"asked: {asked}", f"computed: {computed.tag}", *computed.reasons)
    raise UsageError(_refused(f"the tag {asked} does not hold", notes))


def _level(tag: str) -> int | None:
    parts = tag.split("_")
    return int(parts[2]) if parts[0] == "manylinux" and len(parts) > 3 and parts[2].isdigit() else None


def _refused(message: str, notes: tuple[str, ...]) -> Diagnostic:
    return Diagnostic(
        code="ATL0463",
        message=f"no platform tag: {message}" if "tag" not in message else message,
        notes=notes,
        hint="build on an older system, or take the computed tag",
    )
