"""Choice: what fits, in which order, and what is said of the rest."""

from __future__ import annotations

import itertools
import json
import time
from collections.abc import Callable, Sequence
from dataclasses import replace

import pytest

from atoll.accel import AccelSet, BackendRules, DeviceFacts, Version, links
from atoll.artifact import (
    Abi,
    BuildRequest,
    Descriptor,
    DeviceRequest,
    Fact,
    Index,
    choose,
    fit,
    read_index,
    unmet,
)
from atoll_plugins.cuda.rules import CudaRules
from atoll_plugins.formats.vulkan_rules import VulkanRules

RULES: dict[str, BackendRules] = {"cuda": CudaRules(), "vulkan": VulkanRules()}
WORDS = {"cuda": "ptx"}

ACCELS = (None, "", "cuda13.0+{sm_90}", "cuda13.0+{sm_80}", "vulkan1.1", "cuda13.0 ptx>=80, vulkan1.2")
REQUESTS = (None, "", "cuda13.0+{sm_90}", "cuda13.0+{sm_86}", "vulkan1.2", "cuda13.0+{sm_90}, vulkan1.3")


def parse(text: str | None) -> AccelSet | None:
    return None if text is None else AccelSet.parse(text, floor_words=WORDS)


def artifact(accel: str | None, path: str = "", **more: object) -> Descriptor:
    return Descriptor(path=path or str(accel), accel=parse(accel), **more)  # type: ignore[arg-type]


def chosen(request: str | None, *accels: str | None) -> list[str]:
    candidates = [artifact(accel) for accel in accels]
    return [each.path for each in choose(candidates, BuildRequest(accel=parse(request)), RULES).accepted]


def test_choice_is_a_filter_and_a_sort_whatever_the_publishers_order() -> None:
    """Judge every order of all six artifacts against a model that filters and sorts."""

    def class_of(accel: str | None, request: str | None) -> int | None:
        if request is None:
            return {"": 0, None: 2}.get(accel, 1)
        if request == "":
            return 0 if accel == "" else None
        if accel is None:
            return None
        have, asked = parse(accel), parse(request)
        assert have is not None
        assert asked is not None
        if accel == "":
            return 1
        return 0 if links(have, asked, RULES) else None

    for order in itertools.permutations(ACCELS):
        for request in REQUESTS:
            classes = [(class_of(accel, request), accel) for accel in order]
            accepted = sorted(
                (item for item in classes if item[0] is not None), key=lambda item: item[0] or 0
            )
            assert chosen(request, *order) == [str(accel) for _, accel in accepted], (order, request)


def test_a_set_takes_the_variant_with_device_code_before_the_one_without() -> None:
    assert chosen("cuda13.0+{sm_86}", "", "cuda13.0+{sm_80}") == ["cuda13.0+{sm_80}", ""]


def test_nothing_said_takes_the_one_without_device_code_first() -> None:
    assert chosen(None, "vulkan1.1", "", None) == ["", "vulkan1.1", "None"]


def test_an_explicit_none_refuses_device_code_and_what_nobody_could_read() -> None:
    assert chosen("", "vulkan1.1", "", None) == [""]
    assert chosen("", "vulkan1.1", None) == []


def test_unknown_is_never_no_constraint() -> None:
    relation = fit(artifact(None), BuildRequest(accel=parse("vulkan1.2")), RULES)
    assert [(each.asked, each.carried) for each in relation.differences] == [("vulkan1.2", "unknown")]


def test_declared_source_counts_as_device_code() -> None:
    source = artifact("", declared=("opencl1.2",))
    assert fit(source, BuildRequest(accel=AccelSet.parse("opencl1.2")), RULES)
    assert not fit(source, BuildRequest(accel=AccelSet()), RULES)


def test_each_device_variant_passed_over_has_a_note_with_the_reason() -> None:
    candidates = [artifact("", "cpu.a"), artifact("cuda13.0+{sm_90}", "gpu.a"), artifact("vulkan1.1", "vk.a")]
    choice = choose(candidates, BuildRequest(accel=parse("cuda13.0+{sm_86}")), RULES)
    assert [each.path for each in choice.accepted] == ["cpu.a"]
    assert [(note.code, note.severity, note.message, note.notes) for note in choice.notes] == [
        ("ATL0413", "note", "the variant `gpu.a` was passed over", ("accel: asked sm_86, carried sm_90",)),
        ("ATL0413", "note", "the variant `vk.a` was passed over", ("accel: asked cuda13.0, carried vulkan",)),
    ]


def test_no_note_where_a_device_variant_is_taken_or_none_was_asked_for() -> None:
    candidates = [artifact(""), artifact("cuda13.0+{sm_90}"), artifact("vulkan1.1")]
    for request in (parse("cuda13.0+{sm_90}"), parse(""), None):
        assert choose(candidates, BuildRequest(accel=request), RULES).notes == ()


def test_notes_are_bounded() -> None:
    candidates = [artifact(""), *[artifact("vulkan1.1", f"{n}.a") for n in range(50)]]
    notes = choose(candidates, BuildRequest(accel=parse("cuda")), RULES).notes
    assert len(notes) == 9
    assert notes[-1].message == "42 more variants were passed over"


def test_the_abi_is_compared_beside_the_set() -> None:
    gcc = artifact("cuda13.0+{sm_90}", abi=Abi.parse("x86_64-linux-gnu-gcc13"))
    asked = BuildRequest(accel=parse("cuda13.0+{sm_86}"), abi=Abi.parse("x86_64-linux-gnu-gcc12"))
    assert [each.dimension for each in fit(gcc, asked, RULES).differences] == ["compiler", "accel"]


def device(arch: str, **facts: str) -> DeviceFacts:
    return DeviceFacts(backend="cuda", name="Some GPU", arch=arch, version=Version((13, 0)), facts=facts)


def test_a_device_takes_what_runs_on_it_and_else_what_has_no_device_code() -> None:
    candidates = [artifact(""), artifact("cuda13.0+{sm_80}"), artifact("cuda13.0+{sm_90}"), artifact(None)]
    accepted = choose(candidates, DeviceRequest(device=device("sm_90")), RULES).accepted
    assert [each.path for each in accepted] == ["cuda13.0+{sm_90}", ""]


ISA = (Fact(name="ptx.isa", relation=">=", value="9.1"),)


@pytest.mark.parametrize(
    ("accel", "arch", "stated", "fits"),
    [
        ("cuda13.1 ptx>=80", "sm_90", "9.0", False),
        ("cuda13.1 ptx>=80", "sm_90", "9.1", True),
        ("cuda13.1+{sm_90} ptx>=80", "sm_90", "9.0", True),
        ("cuda13.1+{sm_90} ptx>=80", "sm_100", "9.0", False),
    ],
)
def test_the_isa_of_ptx_must_hold_only_where_ptx_is_what_runs(
    accel: str, arch: str, stated: str, fits: bool
) -> None:
    request = DeviceRequest(device=device(arch, **{"ptx.isa": stated}))
    relation = fit(artifact(accel, requires=ISA), request, RULES)
    assert bool(relation) == fits
    if not fits:
        assert str(relation.differences[0]) == f"ptx.isa: asked {stated}, carried >= 9.1"


@pytest.mark.parametrize(
    ("relation", "value", "stated", "holds"),
    [
        (">=", "1.5", "1.6", True),
        (">=", "1.5", "1.5.0", True),
        (">=", "1.10", "1.9", False),
        (">=", "580", "580.159.03", True),
        ("=", "Int64", "Shader Int64", True),
        ("=", "Int64", "Shader", False),
        ("=", "Int64", None, True),
        ("=", "Int64", "Int64Atomics", False),
        (">=", "1.5.0", "1.5", True),
    ],
)
def test_required_facts(relation: str, value: str, stated: str | None, holds: bool) -> None:
    fact = Fact(name="x", relation=relation, value=value)
    facts = {} if stated is None else {"x": stated}
    assert (unmet((fact,), DeviceFacts(backend="b", facts=facts)) == ()) == holds


def test_artifacts_that_differ_in_one_part_alone_are_each_compared() -> None:
    """Parts are shared objects, so that one answer may serve many; each part has to count."""
    accel, abi, none = parse("cuda13.0+{sm_90}"), Abi(), ()
    base = {"accel": accel, "abi": abi, "requires": none, "declared": none}
    request = BuildRequest(accel=parse("cuda13.0+{sm_90}, vulkan1.2"), abi=Abi.parse("x86_64-linux-gnu"))
    device_request = DeviceRequest(device=device("sm_90", x="1"))
    other = {"declared": ("vulkan1.2",), "accel": AccelSet(), "abi": Abi.parse("aarch64-linux-gnu")}
    for name, value in other.items():
        pair = [Descriptor(path="a", **base), Descriptor(path="b", **{**base, name: value})]  # type: ignore[arg-type]
        alone = [fit(each, request, RULES) for each in pair]
        assert list(choose(pair, request, RULES).relations) == alone
        assert alone[0] != alone[1], name
    needs = (Fact(name="x", relation=">=", value="2"),)
    pair = [Descriptor(path="a", **base), Descriptor(path="b", **{**base, "requires": needs})]  # type: ignore[arg-type]
    assert [bool(each) for each in choose(pair, device_request, RULES).relations] == [True, False]


def index_of(distinct: int) -> Index:
    """Return an index of 10^5 artifacts of `distinct` kinds, as it is read from JSON."""
    rows = [
        {
            "path": f"p{n}.whl",
            "abi": "x86_64-linux-gnu",
            "accel": f"cuda13.{n % distinct // 50}+{{sm_{70 + n % distinct % 50}}}",
        }
        for n in range(100_000)
    ]
    return read_index(json.dumps({"package": "p", "artifacts": rows}).encode(), "index.json")


def test_a_hundred_thousand_candidates_of_a_thousand_kinds_are_matched_in_50_ms(
    tell: Callable[[str], None],
) -> None:
    calls = 0

    class Counting(CudaRules):
        def links(self, have, asked):  # type: ignore[no-untyped-def]
            nonlocal calls
            calls += 1
            return super().links(have, asked)

    request = BuildRequest(accel=parse("cuda13.0+{sm_90}"))
    candidates = index_of(1000).artifacts
    choice = choose(candidates, request, {"cuda": Counting()})
    assert calls == 1000
    assert (
        len(choice.accepted) == 2000
    )  # sm_90 of twenty toolkits; machine code of 7.x and 8.x serves not 9.0
    best = min(_spent(candidates, request) for _ in range(5))
    few = candidates[:2000]
    apart = [replace(each, kind=None, accel=AccelSet.parse(str(each.accel))) for each in few]
    tell(
        f"10^5 candidates of 1000 kinds: {best * 1000:.0f} ms; "
        f"2000 all distinct: {_spent(apart, request) * 1000:.0f} ms"
    )
    assert best < 0.05


def _spent(candidates: Sequence[Descriptor], request: BuildRequest) -> float:
    start = time.process_time()
    choose(candidates, request, RULES)
    return time.process_time() - start


def test_the_kinds_of_an_index_change_no_answer() -> None:
    request = BuildRequest(accel=parse("cuda13.0+{sm_90}"))
    candidates = index_of(1000).artifacts[:1200]
    without = [replace(each, kind=None) for each in candidates]
    kept, plain = choose(candidates, request, RULES), choose(without, request, RULES)
    assert kept.relations == plain.relations
    assert [each.path for each in kept.accepted] == [each.path for each in plain.accepted]
