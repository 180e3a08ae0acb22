"""A descriptor goes through JSON unchanged, and no bytes of an index can do harm."""

from __future__ import annotations

import contextlib
import json
import time
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from atoll.accel import AccelSet
from atoll.artifact import Abi, Descriptor, Fact, read_index
from atoll.errors import AtollError, UnreadableError

WHOLE = Descriptor(
    role="library",
    path="lib/a.a",
    provenance="git 1234",
    abi=Abi.parse("x86_64-linux-gnu"),
    accel=AccelSet.parse("cuda13.0+{sm_90} ptx>=90", floor_words={"cuda": "ptx"}),
    requires=(Fact(name="ptx.isa", relation=">=", value="9.0"),),
    declared=("opencl1.2",),
)


def index(*artifacts: object, **more: object) -> bytes:
    return json.dumps({"package": "p", "version": "1", "artifacts": artifacts, **more}).encode()


@pytest.mark.parametrize(
    "descriptor", [WHOLE, Descriptor(), Descriptor(accel=None), Descriptor(path="cpu.a", role="wheel")]
)
def test_a_descriptor_goes_through_json_unchanged(descriptor: Descriptor) -> None:
    found = read_index(index(descriptor.as_json()), "i.json")
    assert found.artifacts == (descriptor,)
    assert found.diagnostics == ()
    assert json.loads(json.dumps(found.as_json()))["artifacts"] == [descriptor.as_json()]


def test_absent_empty_and_null_are_none_none_and_unknown() -> None:
    found = read_index(index({}, {"accel": ""}, {"accel": None}), "i.json")
    assert [each.accel for each in found.artifacts] == [AccelSet(), AccelSet(), None]


def test_an_index_degrades_descriptor_by_descriptor() -> None:
    found = read_index(
        index(
            {"path": "new.a", "accel": "cuda13.0 @new", "of_the_future": {"x": [1]}},
            {"path": "odd.a", "abi": "not a tag"},
            {"path": 3},
            "text",
            {"path": "good.a", "accel": "npu1 tile>=3"},
            {"path": "facts.a", "requires": ["x"]},
            of_the_future=True,
        ),
        "i.json",
    )
    assert [each.path for each in found.artifacts] == ["new.a", "good.a"]
    assert found.artifacts[0].accel is None
    assert [each.code for each in found.diagnostics] == ["ATL0403"] * 5
    assert all(each.severity == "warning" for each in found.diagnostics)
    assert found.diagnostics[0].notes[0].startswith("its accel counts as unknown: ")
    assert found.diagnostics[1].notes == ("it is passed over: `not a tag` is not an ABI tag",)


def test_what_measure_printed_is_an_index_of_files() -> None:
    data = {
        "files": [
            {
                "path": "a.so",
                "accel": "cuda13.0+{sm_90}",
                "requires": [{"name": "ptx.isa", "relation": ">=", "value": "9.0"}],
                "declared": [],
                "members": [],
            }
        ],
        "diagnostics": [],
    }
    (found,) = read_index(json.dumps(data).encode(), "m.json").artifacts
    assert found.requires == (Fact(name="ptx.isa", relation=">=", value="9.0"),)
    assert str(found.accel) == "cuda13.0+{sm_90}"


def test_equal_parts_are_one_object() -> None:
    found = read_index(index(*[WHOLE.as_json()] * 3), "i.json").artifacts
    assert len({id(each.accel) for each in found}) == 1
    assert len({id(each.abi) for each in found}) == 1
    assert len({id(each.requires) for each in found}) == 1


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"\x00",
        b"[]",
        b"{}",
        b'{"artifacts": {}}',
        b'{"artifacts": []',
        b'{"package": 3, "artifacts": []}',
        b"\xff\xfe",
        b'"\xed\xa0\x80"',
        b"[" * 10**6,
        b'{"artifacts":' * 10**5,
        b'{"artifacts": [' + b"[" * 10**5,
    ],
)
def test_what_is_no_index_is_unreadable(data: bytes) -> None:
    with pytest.raises(UnreadableError) as caught:
        read_index(data, "i.json")
    assert caught.value.diagnostics[0].code == "ATL0402"
    assert len(str(caught.value)) < 1000


@pytest.mark.parametrize(
    "item",
    [
        {"accel": 10**400},
        {"accel": ["cuda"]},
        {"accel": "a" * 10**6},
        {"declared": ["cuda", 3]},
        {"declared": ["cuda"] * 10**4},
        {"declared": ["cuda ("]},
        {"requires": {"a": 1}},
        {"requires": [[]]},
        {"requires": ["a = " + "b" * 10**4] * 2000},
        {"role": None},
        None,
        10**400,
        [],
    ],
)
def test_a_hostile_descriptor_costs_only_itself(item: object) -> None:
    start = time.process_time()
    found = read_index(index(item, {"path": "good.a"}), "i.json")
    assert [each.path for each in found.artifacts][-1] == "good.a"
    assert len(found.diagnostics) == 1
    assert time.process_time() - start < 2.0


_json: st.SearchStrategy[Any] = st.recursive(
    st.one_of(st.none(), st.booleans(), st.integers(), st.text(max_size=8), st.floats(allow_nan=False)),
    lambda children: st.one_of(
        st.lists(children, max_size=4),
        st.dictionaries(
            st.sampled_from(["artifacts", "package", "accel", "abi", "path", "requires", "declared", "x"]),
            children,
            max_size=5,
        ),
    ),
    max_leaves=12,
)


@given(st.one_of(st.binary(max_size=60), _json.map(lambda value: json.dumps(value).encode())))
def test_any_bytes_are_an_index_or_unreadable(data: bytes) -> None:
    with contextlib.suppress(UnreadableError):
        for each in read_index(data, "i.json").artifacts:
            json.dumps(each.as_json())


@pytest.mark.parametrize(
    ("accel", "declared", "carried"),
    [
        ("cuda13.0+{sm_90}", ("opencl1.2",), "cuda13.0+{sm_90}, opencl1.2"),
        ("cuda+{sm_90}", ("cuda13.0",), "cuda13.0+{sm_90}"),
        ("cuda12.9+{sm_90}", ("cuda13.0+{sm_100}",), "cuda12.9+{sm_90}"),
        ("", ("opencl1.2",), "opencl1.2"),
        (None, ("opencl1.2",), None),
        ("vulkan1.1", (), "vulkan1.1"),
    ],
)
def test_what_is_declared_completes_and_never_replaces(
    accel: str | None, declared: tuple[str, ...], carried: str | None
) -> None:
    descriptor = Descriptor(accel=None if accel is None else AccelSet.parse(accel), declared=declared)
    assert (None if descriptor.carried is None else str(descriptor.carried)) == carried


@pytest.mark.parametrize("text", ["", "a", "a =", "a = ", "a ~ b", " = b", "a  = b"])
def test_what_is_no_fact_is_refused(text: str) -> None:
    with pytest.raises(AtollError) as caught:
        Fact.parse(text)
    assert caught.value.diagnostics[0].code == "ATL0404"


def test_a_fact_goes_through_text_unchanged() -> None:
    fact = Fact(name="needed", relation="=", value="a name with spaces")
    assert Fact.parse(str(fact)) == fact
