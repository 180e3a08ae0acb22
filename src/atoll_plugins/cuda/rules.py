"""What does CUDA know about its architectures? Which code runs where, and which targets exist.

Words: *machine code* is built for one compute capability (``sm_86`` is 8.6); *PTX* is portable text with a
floor. An asked architecture names hardware: code covers it where it runs there. The table was checked
against nvlink 13.0 for every pair of targets it knows (``tests/unit/accel/test_cuda_rules.py``) and against
an H200 for 9.0 (docs/decisions/0010-asked-arch-names-hardware.md).
"""

from __future__ import annotations

from collections.abc import Mapping

from atoll.accel import DeviceFacts, Entry, Properties, Relation, Version
from atoll.accel.levels import Level, floor_level, meets
from atoll.accel.relations import link_entries, run_entry

# Compute capabilities of Tegra chips: their machine code serves themselves alone, and no other machine
# code serves them. nvlink 13.0 agrees on 8.7 and 8.8; 10.1 (later renamed 11.0) has a family of its own in
# the table of targets of the PTX ISA 8.8.
TEGRA = frozenset({(5, 3), (6, 2), (7, 2), (8, 7), (8, 8), (10, 1)})

FIRST_FAMILY = 100
FIRST_SPECIFIC = 90
ISA = "ptx.isa"


def machine_code_serves(have: Level, hardware: Level) -> bool:
    """Tell whether machine code for `have` runs on hardware of the level `hardware`."""
    if have.pair == hardware.pair:
        return True
    if have.suffix == "a" or (have.suffix == "f" and have.number < FIRST_FAMILY):
        return False
    if have.pair in TEGRA or hardware.pair in TEGRA:
        return False
    return have.major == hardware.major and hardware.minor >= have.minor


def text_serves(have: Level, hardware: Level) -> bool:
    """Tell whether PTX for the target `have` is compiled by a driver for `hardware`."""
    if have.suffix:
        return machine_code_serves(have, hardware)
    return hardware.number >= have.number


def _level(arch: str) -> Level | None:
    level = Level.of(arch)
    return level if level is not None and level.prefix in ("sm", "compute") else None


def _machine_code(have: Entry, hardware: Level) -> bool:
    levels = [level for level in map(_level, have.archs) if level is not None and level.prefix == "sm"]
    return any(machine_code_serves(level, hardware) for level in levels)


def _text(have: Entry, hardware: Level) -> bool:
    floor = floor_level(have.floor)
    if floor is not None and floor <= hardware.number:
        return True
    levels = [level for level in map(_level, have.archs) if level is not None and level.prefix == "compute"]
    return any(text_serves(level, hardware) for level in levels)


def covers(have: Entry, arch: str) -> bool:
    """Tell whether an entry covers an asked architecture: its code runs on the hardware it names.

    An asked family (``sm_100f``) names every member, so code of one architecture alone covers none.
    """
    if arch in have.archs:
        return True
    asked = _level(arch)
    if asked is None:
        return False
    if asked.prefix == "compute":
        return _text(have, asked)
    whole_family = Entry(
        backend=have.backend,
        archs=tuple(each for each in have.archs if asked.suffix != "f" or not each.endswith("a")),
        floor=have.floor,
    )
    return _machine_code(whole_family, asked) or _text(whole_family, asked)


def driver_serves(have: Version | None, driver: Version | None) -> bool:
    """Tell whether a driver for CUDA `driver` loads code of toolkit `have`: its major is not below."""
    return have is None or driver is None or driver.major >= have.major


class CudaRules:
    """The rules of the backend `cuda`."""

    floor_word: str | None = "ptx"

    def check(self, entry: Entry) -> tuple[str, str] | None:
        """Refuse targets that no toolkit has: a family below 10.0, `a` below 9.0, a foreign name."""
        for arch in entry.archs:
            refused = _check_arch(arch)
            if refused is not None:
                return refused
        if entry.floor is not None and floor_level(entry.floor) is None:
            whole = "".join(str(part) for part in entry.floor.value.parts)
            return (
                f"`{entry.floor}` is not an architecture level",
                f"write `{entry.floor.word}>={whole}`; the version of PTX itself is measured, not asked",
            )
        return None

    def links(self, have: Entry, asked: Entry) -> Relation:
        """Accept equal toolkit majors and code for the hardware of every asked architecture."""
        return link_entries(have, asked, covers=covers)

    def runs(self, have: Entry, device: DeviceFacts) -> Relation:
        """Accept where the driver is new enough and machine code or PTX serves the hardware.

        Where machine code serves, the version of the PTX beside it is moot.
        """
        answer = run_entry(have, device, covers=_runs_on, compatible=driver_serves)
        hardware = _level(device.arch)
        if answer and hardware is not None and _machine_code(have, hardware):
            return Relation(moot=(ISA,))
        return answer

    def properties(self, entry: Entry, floors: Mapping[str, str]) -> Properties:
        """Name architectures and driver as NVIDIA's provider does; it has no names for `a` and `f`."""
        levels = [(arch, _level(arch)) for arch in entry.archs]
        values = [f"{level.number}_real" for arch, level in levels if level and not level.suffix]
        floor = floor_level(entry.floor)
        least = max(filter(None, (_toolkit(entry), _of_isa(floors.get(ISA, "")))), default=None)
        return Properties(
            namespace="nvidia",
            requires="nvidia-variant-provider",
            plugin_api="nvidia_variant_provider.plugin:NvidiaVariantPlugin",
            features={
                "sm_arch": (*values, *((f"{floor}_virtual",) if floor is not None else ())),
                "cuda_version_lower_bound": (f"{least[0]}.{least[1]}",) if least else (),
            },
            unnamed=tuple(arch for arch, level in levels if level is None or level.suffix),
        )

    def provides(self, target: Entry, arch: str) -> bool:
        """Read a plain level as a floor, an `a` as itself alone, an `f` as its family's targets."""
        requirement = _level(arch)
        if requirement is None:
            return arch in target.archs
        wanted = f"sm_{requirement.number}{requirement.suffix}"
        return meets(_target(target), wanted) and not _foreign_family(_target(target), wanted)


def _toolkit(entry: Entry) -> tuple[int, int] | None:
    parts = (*entry.version.parts, 0) if entry.version is not None else ()
    return (parts[0], parts[1]) if parts else None


def _of_isa(text: str) -> tuple[int, int] | None:
    """Return the first toolkit whose driver reads PTX of this ISA; PTX 9.x came with toolkit 13.x."""
    from atoll_plugins.cuda.driver import NEWEST_ISA

    if not text:
        return None
    major, minor = _pair(text)
    known = (_pair(toolkit) for toolkit, isa in NEWEST_ISA.items() if _pair(isa) >= (major, minor))
    return min(known, default=(major + 4, minor))


def _pair(text: str) -> tuple[int, int]:
    major, _, minor = text.partition(".")
    return int(major or 0), int(minor or 0)


def _runs_on(have: Entry, arch: str) -> bool:
    hardware = _level(arch)
    return hardware is not None and (_machine_code(have, hardware) or _text(have, hardware))


def _target(target: Entry) -> str:
    """Return the one target of an entry of one arch, or of its floor alone."""
    level = _level(target.archs[0]) if target.archs else None
    if level is not None:
        return f"sm_{level.number}{level.suffix}"
    floor = floor_level(target.floor)
    return f"sm_{floor}" if floor is not None else ""


def _foreign_family(target: str, wanted: str) -> bool:
    """Tell whether `wanted` is a family to which a Tegra target of the same major does not belong."""
    have, floor = Level.of(target), Level.of(wanted)
    if have is None or floor is None or floor.suffix != "f" or have.pair == floor.pair:
        return False
    return floor.number < FIRST_FAMILY or have.pair in TEGRA or floor.pair in TEGRA


def _check_arch(arch: str) -> tuple[str, str] | None:
    level = _level(arch)
    if level is None or level.prefix != "sm":
        return f"`{arch}` is no architecture of cuda", "write `sm_90`; portable code is asked with `ptx>=90`"
    plain = f"sm_{level.number}"
    if level.suffix == "f" and level.number < FIRST_FAMILY:
        return f"`{arch}` is no target: families start at sm_{FIRST_FAMILY}f", f"write `{plain}`"
    if level.suffix == "a" and level.number < FIRST_SPECIFIC:
        return f"`{arch}` is no target: `a` starts at sm_{FIRST_SPECIFIC}a", f"write `{plain}`"
    return None
