"""Laws of the relations, for the engine's defaults and for every installed lane's rules.

Reflexive: what carries what is asked for is accepted. Monotone: another architecture, or a lower floor, never
takes an acceptance away; by the rules of Vulkan and OpenCL, whose `{}` names formats that a device must
read, one fewer.
A refusal names what differs, with both sides.
"""

from __future__ import annotations

from dataclasses import replace

from hypothesis import assume, given
from hypothesis import strategies as st

from atoll.accel import AccelSet, BackendRules, DeviceFacts, Entry, Floor, Relation, Version, links, runs
from atoll.accel.relations import refused_entries
from atoll.plugin.rules import backend_rules

RULES = backend_rules()
LEVELS = ("70", "75", "80", "86", "87", "89", "90", "100", "103", "110", "120", "121")
ARCHS = {
    "cuda": tuple(f"sm_{level}{letter}" for level in LEVELS for letter in ("", "a", "f")),
    "hip": ("gfx90a", "gfx90a:xnack+", "gfx942", "gfx1030", "gfx11-generic", "gfx1100"),
    "vulkan": ("spirv1.0", "spirv1.3", "spirv1.5", "spirv1.6"),
    "opencl": ("spirv1.0", "spirv1.2"),
    "sycl": ("spir64", "nvptx64-sm_89"),
    "unknown-one": ("x_80", "x_86", "x_90a", "x_100f", "z942"),
}
VERSIONS = ("1.0", "1.1", "1.2", "1.3", "6.4", "12.8", "13.0", "13.2")
FORMATS = ("vulkan", "opencl")
versions = st.none() | st.sampled_from(VERSIONS).map(Version.parse)
floors = st.none() | st.sampled_from(LEVELS).map(lambda text: Floor(Version.parse(text)))


@st.composite
def entries(draw: st.DrawFn, backend: str | None = None) -> Entry:
    name = draw(st.sampled_from(sorted(ARCHS))) if backend is None else backend
    archs = draw(st.lists(st.sampled_from(ARCHS[name]), unique=True, max_size=4))
    floor = draw(floors) if name in ("cuda", "unknown-one") else None
    return Entry(backend=name, version=draw(versions), archs=tuple(archs), floor=floor)


def sets() -> st.SearchStrategy[AccelSet]:
    several = st.lists(entries(), max_size=3, unique_by=lambda entry: entry.backend)
    return several.map(lambda found: AccelSet(tuple(found)))


rules_or_none = st.sampled_from([None, RULES])


def lawful(accel: AccelSet, rules: dict[str, BackendRules] | None) -> bool:
    """Tell whether the lanes take a set that a build asks for."""
    return not refused_entries(accel, rules or {})


@given(sets(), rules_or_none)
def test_a_set_links_with_itself(accel: AccelSet, rules: dict[str, BackendRules] | None) -> None:
    assume(lawful(accel, rules))
    assert links(accel, accel, rules), str(accel)


@given(st.data(), rules_or_none)
def test_more_architectures_take_no_acceptance_away(
    data: st.DataObject, rules: dict[str, BackendRules] | None
) -> None:
    have = data.draw(entries())
    asked = data.draw(entries(have.backend))
    more = data.draw(st.lists(st.sampled_from(ARCHS[have.backend]), max_size=3))
    wider = replace(have, archs=tuple(dict.fromkeys((*have.archs, *more))))
    if rules is not None and have.backend in FORMATS:
        have, wider = wider, have
    # An entry that names no code at all is no constraint; naming some makes it one.
    assume(have.archs or have.floor is not None)
    if links(AccelSet((have,)), AccelSet((asked,)), rules):
        assert links(AccelSet((wider,)), AccelSet((asked,)), rules), f"{wider} for {asked}"
    device = data.draw(devices(have.backend))
    if runs(AccelSet((have,)), device, rules):
        assert runs(AccelSet((wider,)), device, rules), f"{wider} on {device}"


@given(st.data(), rules_or_none)
def test_a_lower_floor_takes_no_acceptance_away(
    data: st.DataObject, rules: dict[str, BackendRules] | None
) -> None:
    backend = data.draw(st.sampled_from(["cuda", "unknown-one"]))
    two = data.draw(st.lists(st.integers(0, len(LEVELS) - 1), min_size=2, max_size=2))
    lower, higher = (Floor(Version.parse(LEVELS[place])) for place in sorted(two))
    have = replace(data.draw(entries(backend)), floor=higher)
    asked, device = data.draw(entries(backend)), data.draw(devices(backend))
    wider = replace(have, floor=lower)
    if links(AccelSet((have,)), AccelSet((asked,)), rules):
        assert links(AccelSet((wider,)), AccelSet((asked,)), rules), f"{wider} for {asked}"
    if runs(AccelSet((have,)), device, rules):
        assert runs(AccelSet((wider,)), device, rules), f"{wider} on {device}"


@given(sets(), sets(), rules_or_none)
def test_asking_for_less_takes_no_acceptance_away(
    have: AccelSet, asked: AccelSet, rules: dict[str, BackendRules] | None
) -> None:
    assume(links(have, asked, rules))
    for entry in asked:
        # Of formats the highest says what is asked; the lowest goes without a change.
        less = sorted(entry.archs)[1:] if rules is not None and entry.backend in FORMATS else entry.archs[1:]
        fewer = replace(entry, archs=tuple(less), floor=None)
        assert links(have, AccelSet((fewer,)), rules), f"{have} for {fewer}"


@st.composite
def devices(draw: st.DrawFn, backend: str) -> DeviceFacts:
    plain = tuple(arch for arch in ARCHS[backend] if not arch.endswith(("a", "f")) or backend == "hip")
    return DeviceFacts(
        backend=backend, name="a device", arch=draw(st.sampled_from(plain)), version=draw(versions)
    )


@given(sets(), sets(), rules_or_none)
def test_a_refusal_to_link_names_what_differs(
    have: AccelSet, asked: AccelSet, rules: dict[str, BackendRules] | None
) -> None:
    answer = links(have, asked, rules)
    named(answer)
    assert len(answer.differences) <= len(tuple(asked))


@given(st.data(), rules_or_none)
def test_a_refusal_to_run_names_what_differs(
    data: st.DataObject, rules: dict[str, BackendRules] | None
) -> None:
    backend = data.draw(st.sampled_from(sorted(ARCHS)))
    named(runs(data.draw(sets()), data.draw(devices(backend)), rules))


def named(answer: Relation) -> None:
    """A relation is false exactly where it has differences, each with both sides, which differ."""
    assert bool(answer) == (not answer.differences)
    for each in answer.differences:
        assert each.dimension
        assert each.asked
        assert each.carried
        assert each.asked != each.carried, f"both sides read {each.asked}"
