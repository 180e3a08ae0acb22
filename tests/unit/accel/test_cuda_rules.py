"""CUDA's rules agree with the vendor's linker, target by target, and with hardware where it was asked."""

from __future__ import annotations

import pytest

from atoll.accel import AccelSet, DeviceFacts, Version, links, provides, runs
from atoll_plugins.cuda.rules import CudaRules

RULES = {"cuda": CudaRules()}
WORDS = {"cuda": "ptx"}

# Measured 2026-11-30 with nvlink 13.0.88: a relocatable cubin for the row's target (ptxas -c -arch=sm_ROW)
# given to `nvlink -arch=sm_COLUMN`; y where it links.
NVLINK = """
have   75   80   86   87   88   89   90  90a  100 100a 100f  103 103a 103f  110 110f  120 120a 120f  121 121f
75      y    .    .    .    .    .    .    .    .    .    .    .    .    .    .    .    .    .    .    .    .
80      .    y    y    .    .    y    .    .    .    .    .    .    .    .    .    .    .    .    .    .    .
86      .    .    y    .    .    y    .    .    .    .    .    .    .    .    .    .    .    .    .    .    .
87      .    .    .    y    .    .    .    .    .    .    .    .    .    .    .    .    .    .    .    .    .
88      .    .    .    .    y    .    .    .    .    .    .    .    .    .    .    .    .    .    .    .    .
89      .    .    .    .    .    y    .    .    .    .    .    .    .    .    .    .    .    .    .    .    .
90      .    .    .    .    .    .    y    y    .    .    .    .    .    .    .    .    .    .    .    .    .
90a     .    .    .    .    .    .    y    y    .    .    .    .    .    .    .    .    .    .    .    .    .
100     .    .    .    .    .    .    .    .    y    y    y    y    y    y    .    .    .    .    .    .    .
100a    .    .    .    .    .    .    .    .    y    y    y    .    .    .    .    .    .    .    .    .    .
100f    .    .    .    .    .    .    .    .    y    y    y    y    y    y    .    .    .    .    .    .    .
103     .    .    .    .    .    .    .    .    .    .    .    y    y    y    .    .    .    .    .    .    .
103a    .    .    .    .    .    .    .    .    .    .    .    y    y    y    .    .    .    .    .    .    .
103f    .    .    .    .    .    .    .    .    .    .    .    y    y    y    .    .    .    .    .    .    .
110     .    .    .    .    .    .    .    .    .    .    .    .    .    .    y    y    .    .    .    .    .
110f    .    .    .    .    .    .    .    .    .    .    .    .    .    .    y    y    .    .    .    .    .
120     .    .    .    .    .    .    .    .    .    .    .    .    .    .    .    .    y    y    y    y    y
120a    .    .    .    .    .    .    .    .    .    .    .    .    .    .    .    .    y    y    y    .    .
120f    .    .    .    .    .    .    .    .    .    .    .    .    .    .    .    .    y    y    y    y    y
121     .    .    .    .    .    .    .    .    .    .    .    .    .    .    .    .    .    .    .    y    y
121f    .    .    .    .    .    .    .    .    .    .    .    .    .    .    .    .    .    .    .    y    y
"""


def parse(text: str) -> AccelSet:
    return AccelSet.parse(text, floor_words=WORDS)


def linked(have: str, asked: str) -> bool:
    return bool(links(parse(f"cuda13.0+{{{have}}}"), parse(f"cuda13.0+{{{asked}}}"), RULES))


def test_links_agrees_with_nvlink_for_every_pair_of_its_targets() -> None:
    head, *lines = [line.split() for line in NVLINK.strip().splitlines()]
    compared = 0
    for have, *marks in lines:
        for asked, mark in zip(head[1:], marks, strict=True):
            # Here we are stricter: an asked family names all its members, and `a` code serves one of them.
            stricter = asked.endswith("f") and have.endswith("a")
            assert linked(f"sm_{have}", f"sm_{asked}") == (mark == "y" and not stricter), (have, asked)
            compared += 1
    assert compared == 21 * 21


@pytest.mark.parametrize("tegra", ["sm_53", "sm_62", "sm_72", "sm_87", "sm_88", "sm_101"])
def test_machine_code_of_a_tegra_chip_serves_it_alone(tegra: str) -> None:
    plain = tegra[:-1] + "0"
    assert linked(tegra, tegra)
    assert not linked(plain, tegra)
    assert not linked(tegra, f"{tegra[:-1]}9")


@pytest.mark.parametrize(
    ("have", "asked", "fits"),
    [
        ("cuda13.0 ptx>=80", "cuda13.0+{sm_80,sm_87,sm_90a,sm_120}", True),
        ("cuda13.0 ptx>=90", "cuda13.0+{sm_89}", False),
        ("cuda13.0+{sm_90} ptx>=90", "cuda13.0+{sm_90} ptx>=90", True),
        ("cuda13.0+{sm_90}", "cuda13.0+{sm_90} ptx>=90", False),
        ("cuda13.0 ptx>=80", "cuda13.0 ptx>=90", True),
        ("cuda13.0 ptx>=100", "cuda13.0 ptx>=90", False),
        ("cuda13.0+{compute_90a}", "cuda13.0+{sm_90a}", True),
        ("cuda13.0+{compute_90a}", "cuda13.0+{sm_100}", False),
        ("cuda13.0+{compute_100f}", "cuda13.0+{sm_103}", True),
        ("cuda13.0+{sm_90}", "cuda13.0+{compute_90}", False),
        ("cuda13.0 ptx>=80", "cuda13.0+{compute_90}", True),
        ("cuda12.8+{sm_90}", "cuda13.0+{sm_90}", False),
        ("cuda13.4+{sm_90}", "cuda13.0+{sm_90}", True),
        ("cuda+{sm_90}", "cuda13.0+{sm_90}", True),
        ("cuda13.0+{sm_90f}", "cuda13.0+{sm_91}", False),
        ("cuda13.0+{gfx942}", "cuda13.0+{gfx942}", True),
        ("cuda13.0+{sm_90}", "cuda13.0+{gfx942}", False),
    ],
)
def test_links(have: str, asked: str, fits: bool) -> None:
    assert bool(links(parse(have), parse(asked), RULES)) == fits


def on(have: str, arch: str, driver: str = "13.0") -> bool:
    device = DeviceFacts(backend="cuda", arch=arch, version=Version.parse(driver) if driver else None)
    return bool(runs(parse(have), device, RULES))


def test_on_hardware_9_0_the_measured_answers() -> None:
    # Measured on an H200 (docs of the rules): these run there, the others are refused.
    assert on("cuda13.0+{sm_90}", "sm_90")
    assert on("cuda13.0+{sm_90a}", "sm_90")
    assert on("cuda13.0+{compute_90a}", "sm_90")
    for other in ("sm_80", "sm_89", "sm_100", "sm_100f", "compute_100f", "compute_89a"):
        assert not on(f"cuda13.0+{{{other}}}", "sm_90"), other


@pytest.mark.parametrize(
    ("have", "arch", "driver", "fits"),
    [
        ("cuda13.0+{sm_80,sm_90}", "sm_86", "13.0", True),
        ("cuda13.0+{sm_80,sm_90}", "sm_87", "13.0", False),
        ("cuda13.0+{sm_80,sm_90}", "sm_100", "13.0", False),
        ("cuda13.0+{sm_80,sm_90} ptx>=90", "sm_100", "13.0", True),
        ("cuda12.0+{sm_90}", "sm_90", "13.0", True),
        ("cuda13.4+{sm_90}", "sm_90", "13.0", True),
        ("cuda13.0+{sm_90}", "sm_90", "12.9", False),
        ("cuda13.0+{sm_90}", "sm_90", "", True),
        ("cuda13.0+{sm_90}", "", "13.0", False),
        ("cuda13.0", "sm_90", "13.0", True),
        ("vulkan1.2", "sm_90", "13.0", False),
        ("", "sm_90", "13.0", True),
    ],
)
def test_runs(have: str, arch: str, driver: str, fits: bool) -> None:
    assert on(have, arch, driver) == fits


def test_where_machine_code_serves_the_isa_of_the_ptx_beside_it_is_moot() -> None:
    have = parse("cuda13.0+{sm_90} ptx>=90")
    device = DeviceFacts(backend="cuda", arch="sm_90")
    assert runs(have, device, RULES).moot == ("ptx.isa",)
    assert runs(have, DeviceFacts(backend="cuda", arch="sm_100"), RULES).moot == ()


@pytest.mark.parametrize(
    ("target", "requirement", "met"),
    [
        ("cuda13.0+{sm_80}", "sm_35", True),
        ("cuda13.0+{sm_87}", "sm_80", True),
        ("cuda13.0+{sm_90a}", "sm_80", True),
        ("cuda13.0+{sm_80}", "sm_90", False),
        ("cuda13.0+{sm_80,sm_90}", "sm_90", False),
        ("cuda13.0+{sm_90a}", "sm_90a", True),
        ("cuda13.0+{sm_90}", "sm_90a", False),
        ("cuda13.0+{sm_100a}", "sm_90a", False),
        ("cuda13.0+{sm_103f}", "sm_100f", True),
        ("cuda13.0+{sm_103a}", "sm_100f", True),
        ("cuda13.0+{sm_103}", "sm_100f", False),
        ("cuda13.0+{sm_101a}", "sm_100f", False),
        ("cuda13.0+{sm_110f}", "sm_100f", False),
        ("cuda13.0 ptx>=90", "sm_80", True),
        ("cuda13.0 ptx>=70", "sm_80", False),
        ("cuda13.0+{sm_90} ptx>=70", "sm_80", False),
        ("cuda13.0+{sm_90} ptx>=90", "sm_80", True),
        ("cuda13.0", "sm_80", False),
        ("cuda13.0", "", True),
        ("cuda13.0+{sm_90}", "compute_80", True),
    ],
)
def test_provides(target: str, requirement: str, met: bool) -> None:
    (entry,) = parse(target)
    answer = provides(entry, requirement, RULES)
    assert bool(answer) == met
    assert all(each.asked == requirement for each in answer.differences)


def test_a_difference_names_the_archs_that_are_missing_and_what_is_there() -> None:
    (difference,) = links(parse("cuda13.0+{sm_90a}"), parse("cuda13.0+{sm_86}"), RULES).differences
    assert (difference.dimension, difference.asked, difference.carried) == ("accel", "sm_86", "sm_90a")
