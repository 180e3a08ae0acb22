"""How many findings become one set, and what can never enter one."""

from __future__ import annotations

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from atoll.accel import ANY_WORD, AccelSet
from atoll.artifact import Fact, Finding
from atoll.packaging.combine import accel, declared, fault, requires

ARCHS = st.sampled_from(["sm_80", "sm_90a", "sm_100f", "gfx90a:xnack+", "gfx9-4-generic", "compute_90a"])
FINDINGS = st.builds(
    Finding,
    member=st.just("a"),
    backend=st.sampled_from(["cuda", "hip", "vulkan", "toy-vm"]),
    version=st.sampled_from(["", "13.0", "12.8", "1.2"]),
    arch=st.one_of(st.just(""), ARCHS),
    floor=st.sampled_from(["", "75", "90"]),
    floor_word=st.sampled_from(["ptx", "floor"]),
    declared=st.booleans(),
)


@given(st.lists(FINDINGS, max_size=12))
def test_what_is_measured_can_be_spelled_and_read_back(found: list[Finding]) -> None:
    measured = accel(found)
    assert AccelSet.parse(str(measured), floor_words=ANY_WORD) == measured
    assert {entry.backend for entry in measured} == {item.backend for item in found if not item.declared}


@given(st.lists(FINDINGS, max_size=12), st.randoms(use_true_random=False))
def test_the_order_of_findings_does_not_matter(found: list[Finding], chance: object) -> None:
    turned = list(reversed(found))
    assert accel(found) == accel(turned)
    assert declared(found) == declared(turned)


@example(text="¹")
@given(st.text(max_size=20))
def test_any_arch_is_spelled_or_a_fault(text: str) -> None:
    finding = Finding(member="a", backend="cuda", arch=text)
    if fault(finding) is None:
        assert AccelSet.parse(str(accel([finding]))) == accel([finding])


@given(st.text(max_size=12), st.text(max_size=12), st.text(max_size=12))
def test_any_backend_and_version_is_spelled_or_a_fault(backend: str, version: str, floor: str) -> None:
    finding = Finding(member="a", backend=backend, version=version, floor=floor)
    if fault(finding) is None:
        assert AccelSet.parse(str(accel([finding])), floor_words=ANY_WORD) == accel([finding])


def test_archs_are_alternatives_the_greatest_version_and_the_greatest_floor_count() -> None:
    found = [
        Finding(member="a", backend="cuda", version="12.8", arch="sm_100", floor="90", floor_word="ptx"),
        Finding(member="b", backend="cuda", version="13.0", arch="sm_80", floor="75", floor_word="ptx"),
    ]
    assert str(accel(found)) == "cuda13.0+{sm_80,sm_100} ptx>=90"


def test_of_several_floors_of_one_code_the_least_counts() -> None:
    found = [
        Finding(member="a", backend="cuda", floor=level, floor_word="ptx", code="a#0")
        for level in ("90", "75")
    ]
    assert str(accel(found)) == "cuda ptx>=75"


def test_a_code_that_is_machine_code_alone_leaves_the_whole_without_a_floor() -> None:
    found = [
        Finding(member="a", backend="cuda", arch="sm_80", code="a#0"),
        Finding(member="a", backend="cuda", arch="sm_80", floor="80", floor_word="ptx", code="a#1"),
    ]
    assert str(accel(found)) == "cuda+{sm_80}"
    assert str(accel(found[1:])) == "cuda+{sm_80} ptx>=80"


def test_of_several_floors_of_one_fact_the_greatest_must_hold() -> None:
    facts = [Fact(name="ptx.isa", relation=">=", value=value) for value in ("9.0", "10.1", "9.2")]
    assert [str(fact) for fact in requires(facts)] == ["ptx.isa >= 10.1"]


@pytest.mark.parametrize("backend", ["", "CUDA", "a b", "-a", "none"])
def test_such_backends_are_faults(backend: str) -> None:
    assert fault(Finding(member="a", backend=backend)) is not None
