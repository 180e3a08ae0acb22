"""What does HIP know about its architectures? Processors, their two switches, and generic processors.

A target is a processor with switches, ``gfx90a:sramecc+:xnack-``; a switch that is not written means code for
either setting. Source: LLVM, AMDGPU usage guide, "Target ID" and "Generic Processor".
"""

from __future__ import annotations

import re

from atoll.accel import DeviceFacts, Entry, Relation
from atoll.accel.relations import link_entries, run_entry

_TARGET = re.compile(
    r"(?P<processor>gfx(?:[0-9]{1,2}[0-9a-f]{2}|[0-9]+(?:-[0-9]+)?-generic))(?P<rest>(?::\w+[+-])*)"
)
_SWITCH = re.compile(r":(sramecc|xnack)([+-])")
_WITH_XNACK = frozenset({"gfx801", "gfx810", "gfx900", "gfx902", "gfx904", "gfx906", "gfx908", "gfx909"}) | {
    *("gfx90a", "gfx90c", "gfx940", "gfx941", "gfx942", "gfx950", "gfx1010", "gfx1011", "gfx1012", "gfx1013"),
    *("gfx9-generic", "gfx9-4-generic", "gfx10-1-generic"),
}
_WITH_SRAMECC = frozenset(
    {"gfx906", "gfx908", "gfx90a", "gfx940", "gfx941", "gfx942", "gfx950", "gfx9-4-generic"}
)
GENERIC = {
    "gfx9-generic": ("gfx900", "gfx902", "gfx904", "gfx906", "gfx909", "gfx90c"),
    "gfx9-4-generic": ("gfx940", "gfx941", "gfx942", "gfx950"),
    "gfx10-1-generic": ("gfx1010", "gfx1011", "gfx1012", "gfx1013"),
    "gfx10-3-generic": tuple(f"gfx103{step}" for step in range(7)),
    "gfx11-generic": (
        *("gfx1100", "gfx1101", "gfx1102", "gfx1103", "gfx1150", "gfx1151", "gfx1152", "gfx1153"),
    ),
    "gfx12-generic": ("gfx1200", "gfx1201"),
}


def processor_of(arch: str) -> str:
    """Return the processor of a target, without its switches."""
    return arch.partition(":")[0]


def _switches(arch: str) -> dict[str, str]:
    return dict(_SWITCH.findall(arch))


def target_serves(have: str, asked: str) -> bool:
    """Tell whether code for the target `have` runs on the hardware that `asked` names."""
    mine, wanted = processor_of(have), processor_of(asked)
    if mine != wanted and wanted not in GENERIC.get(mine, ()):
        return False
    setting = _switches(asked)
    return all(setting.get(name) == value for name, value in _switches(have).items())


def covers(have: Entry, arch: str) -> bool:
    """Tell whether an entry covers a target: by one of its own, or by both settings of a switch."""
    if any(target_serves(each, arch) for each in have.archs):
        return True
    settings = _switches(arch)
    free = [name for name in ("sramecc", "xnack") if name not in settings and _has_switch(arch, name)]
    return any(all(covers(have, _with(arch, name, value)) for value in "+-") for name in free)


def _has_switch(arch: str, name: str) -> bool:
    return processor_of(arch) in (_WITH_XNACK if name == "xnack" else _WITH_SRAMECC)


def _with(arch: str, name: str, value: str) -> str:
    settings = {**_switches(arch), name: value}
    return processor_of(arch) + "".join(f":{each}{settings[each]}" for each in sorted(settings))


def check_arch(arch: str) -> tuple[str, str] | None:
    """Return (reason, hint) for what is no target, else None."""
    match = _TARGET.fullmatch(arch)
    if match is None:
        return f"`{arch}` is no architecture of hip", "write `gfx942`, or with a switch `gfx90a:xnack+`"
    named = re.findall(r":(\w+)[+-]", match["rest"])
    unknown = [name for name in named if name not in ("sramecc", "xnack") or not _has_switch(arch, name)]
    if unknown:
        return f"`{match['processor']}` has no switch `{unknown[0]}`", f"write `{match['processor']}`"
    if named != sorted(set(named)):
        # Clang takes one spelling alone.
        setting = _switches(arch)
        ordered = match["processor"] + "".join(f":{name}{setting[name]}" for name in sorted(setting))
        return f"the switches of `{arch}` are not in order", f"write `{ordered}`"
    return None


class HipRules:
    """The rules of the backend `hip`. It has no portable text and so no floor."""

    floor_word: str | None = None

    def check(self, entry: Entry) -> tuple[str, str] | None:
        """Refuse targets that do not exist, a floor, and a switch that is both set and left open."""
        if entry.floor is not None:
            return "hip has no portable code, and so no floor", "name processors: `hip+{gfx942}`"
        for arch in entry.archs:
            refused = check_arch(arch)
            if refused is not None:
                return refused
        for arch in entry.archs:
            # Clang, "invalid offload arch combinations": an image for either setting beside one for one.
            for other in entry.archs:
                if (
                    processor_of(other) == processor_of(arch)
                    and _switches(other).keys() != _switches(arch).keys()
                ):
                    return (
                        f"`{arch}` and `{other}` leave open and set one switch",
                        "state it for both, or for neither",
                    )
        return None

    def links(self, have: Entry, asked: Entry) -> Relation:
        """Accept equal majors and code for the hardware of every asked target."""
        return link_entries(have, asked, covers=covers)

    def runs(self, have: Entry, device: DeviceFacts) -> Relation:
        """Accept where a target serves the device's processor and its switches."""
        return run_entry(have, device, covers=covers)

    def provides(self, target: Entry, arch: str) -> bool:
        """Tell whether a target is the processor that a source feature needs, or of its generic one."""
        return bool(target.archs) and target_serves(arch, target.archs[0])
