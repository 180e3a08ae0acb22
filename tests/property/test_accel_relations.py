"""The relations agree with a model over whole small universes: defaults, at-least versions, choice."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator

from hypothesis import given
from hypothesis import strategies as st

from atoll.accel import AccelSet, DeviceFacts, Entry, Floor, Relation, Version, links, provides, runs
from atoll.accel.atleast import AtLeastRules
from property.accel_model import default_covers, level

ARCHS = (
    "x_80",
    "x_86",
    "x_90",
    "x_90a",
    "x_100",
    "x_100f",
    "x_103",
    "x_103a",
    "x_103f",
    "y_90",
    "z942",
    "x_9",
)
FLOORS = (None, 80, 90, 103)
VERSIONS = ("", "12", "12.9", "13.0")


def entry(version: str = "", archs: tuple[str, ...] = (), floor: int | None = None) -> Entry:
    return Entry(
        backend="some",
        version=Version.parse(version) if version else None,
        archs=archs,
        floor=None if floor is None else Floor(Version((floor,))),
    )


def carried(most: int) -> Iterator[tuple[tuple[str, ...], int | None]]:
    for count in range(most + 1):
        yield from itertools.product(itertools.combinations(ARCHS, count), FLOORS)


def test_links_by_default_is_equal_majors_every_arch_covered_and_the_floor_served(
    whole: bool, tell: Callable[[str], None]
) -> None:
    total = accepted = 0
    for archs, floor in carried(3 if whole else 2):
        for asked_archs in itertools.chain(
            itertools.combinations(ARCHS, 1), itertools.combinations(ARCHS, 2)
        ):
            have, asked = entry("12.9", archs, floor), entry("12", asked_archs)
            expected = all(default_covers(archs, floor, arch) for arch in asked_archs)
            answer = links(AccelSet((have,)), AccelSet((asked,)))
            assert bool(answer) == expected, (have, asked)
            lacking = [arch for arch in asked_archs if not default_covers(archs, floor, arch)]
            assert [each.asked for each in answer.differences] == ([", ".join(lacking)] if lacking else [])
            total, accepted = total + 1, accepted + expected
    tell(f"{total} pairs, {accepted} accepted; whole: {whole}")
    assert 0 < accepted < total


def test_toolkits_and_floors_of_links_over_all_pairs() -> None:
    for have_version, asked_version in itertools.product(VERSIONS, repeat=2):
        for have_floor, asked_floor in itertools.product(FLOORS, repeat=2):
            have, asked = entry(have_version, (), have_floor), entry(asked_version, (), asked_floor)
            majors = {text.split(".")[0] for text in (have_version, asked_version) if text}
            served = asked_floor is None or (have_floor is not None and have_floor <= asked_floor)
            assert bool(links(AccelSet((have,)), AccelSet((asked,)))) == (len(majors) < 2 and served)


def test_runs_by_default_takes_any_one_arch_or_the_floor() -> None:
    for archs, floor in carried(2):
        for hardware in ARCHS:
            have = entry("12", archs, floor)
            device = DeviceFacts(backend="some", arch=hardware)
            expected = default_covers(archs, floor, hardware) or (not archs and floor is None)
            assert bool(runs(AccelSet((have,)), device)) == expected, (have, hardware)


def test_provides_by_default_reads_a_plain_level_as_a_floor_and_a_as_itself() -> None:
    for target, requirement in itertools.product(ARCHS, repeat=2):
        have, want = level(target), level(requirement)
        expected = target == requirement
        if have and want and have[0] == want[0] and not want[2]:
            expected = have[1] >= want[1]
        if have and want and have[0] == want[0] and want[2] == "f" and have[2]:
            expected = have[1] // 10 == want[1] // 10 and have[1] % 10 >= want[1] % 10
        assert bool(provides(entry(archs=(target,)), requirement)) == expected, (target, requirement)


def test_every_backend_asked_for_is_compared_and_gives_one_difference() -> None:
    parse = AccelSet.parse
    have = parse("one1.0+{a}, two2")
    answer = links(have, parse("one2.0+{a,b}, two3, three, two-b"))
    assert [(each.dimension, each.asked, each.carried) for each in answer.differences] == [
        ("accel", "one2.0+{b}", "one1.0+{a}"),
        ("accel", "two3", "two2"),
        ("accel", "three", "one, two"),
        ("accel", "two-b", "one, two"),
    ]


_versions = st.lists(st.integers(0, 3), min_size=1, max_size=3).map(tuple)


@given(_versions, _versions)
def test_at_least_compares_numbers_and_missing_ones_are_zero(
    left: tuple[int, ...], right: tuple[int, ...]
) -> None:
    expected = ((*left, 0, 0, 0))[:3] >= ((*right, 0, 0, 0))[:3]
    assert Version(left).at_least(Version(right)) == expected


RULES = AtLeastRules(format="ir", formats={"1.0": "1.0", "1.1": "1.3", "1.2": "1.5"})


def ask(have: str, asked: str) -> Relation:
    return links(AccelSet.parse(have), AccelSet.parse(asked), {"some": RULES})


def test_at_least_rules_over_all_pairs_of_versions_and_formats() -> None:
    versions, formats = ("", "1.0", "1.2", "1.3"), ("", "ir1.0", "ir1.5", "other")
    for (have, asked), (offered, wanted) in itertools.product(
        itertools.product(versions, repeat=2), itertools.product(formats, repeat=2)
    ):
        version_fits = not have or not asked or have <= asked
        format_fits = (
            not wanted or not offered or offered == wanted or (offered, wanted) == ("ir1.0", "ir1.5")
        )
        text = [f"some{v}" + (f"+{{{f}}}" if f else "") for v, f in ((have, offered), (asked, wanted))]
        assert bool(ask(*text)) == (version_fits and format_fits), text


def test_at_least_rules_on_a_device_use_what_it_states_else_what_its_version_promises() -> None:
    for have, version, stated, expected in (
        ("some1.1", "1.2", {}, True),
        ("some1.3", "1.2", {}, False),
        ("some1.1", "1.1.290", {}, True),
        ("some1.0+{ir1.5}", "1.2", {}, True),
        ("some1.0+{ir1.5}", "1.1", {}, False),
        ("some1.0+{ir1.5}", "1.1", {"ir": "1.6"}, True),
        ("some1.0+{ir1.5}", "1.2", {"ir": "1.0"}, False),
        ("some1.0+{ir1.0,ir1.5}", "1.0", {}, False),
        ("some1.0+{ir1.0,ir1.5}", "1.2", {}, True),
        ("some1.0 floor>=1.2", "1.1", {}, False),
        ("some1.3 floor>=1.2", "1.2", {}, True),
        ("some", "1.0", {}, True),
    ):
        device = DeviceFacts(backend="some", version=Version.parse(version), facts=stated)
        assert bool(runs(AccelSet.parse(have), device, {"some": RULES})) == expected, (have, version, stated)


def test_at_least_rules_provide_formats_and_versions_as_floors() -> None:
    for target, requirement, expected in (
        ("some1.1", "some1.0", True),
        ("some1.1", "some1.2", False),
        ("some1.1", "ir1.3", True),
        ("some1.1", "ir1.4", False),
        ("some1.0+{ir1.5}", "ir1.4", True),
        ("some", "some1.0", False),
        ("some", "", True),
        ("some1.1", "other", False),
    ):
        (have,) = AccelSet.parse(target)
        assert bool(provides(have, requirement, {"some": RULES})) == expected, (target, requirement)
