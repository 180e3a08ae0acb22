"""Sub-group operations that cannot be: each with its sentence and both places."""

from __future__ import annotations

from kernel_text import kernel_from, refusal, refused

HEAD = "@kernel(block=64)\ndef k(x: view[i32], out: view[i32], n: i32):\n    l = atoll.lane_id()\n"


def test_an_operation_that_only_some_lanes_reach_is_refused_with_both_places() -> None:
    found = refusal(kernel_from(HEAD + "    if l == 0:\n        out[0] = atoll.subgroup_add(n)\n"))
    assert (found.code, found.message) == (
        "ATL0704",
        "not every work-item of a sub-group reaches this operation",
    )
    assert found.notes[1].endswith("| if l == 0:")
    assert found.hint == "move it out of the branch, or make the condition the same for the whole sub-group"


def test_one_that_a_whole_sub_group_reaches_is_let_through() -> None:
    lines = (
        "    if atoll.subgroup_id() == 0:\n        out[0] = atoll.subgroup_add(n)\n"
        "    if atoll.subgroup_any(l == n):\n        out[1] = atoll.subgroup_add(n)\n"
    )
    kernel_from(HEAD + lines).compiled()


def test_a_broadcast_names_one_lane_for_all() -> None:
    found = refusal(kernel_from(HEAD + "    out[0] = atoll.subgroup_broadcast(n, l)\n"))
    assert found.message == "the lane of a broadcast is not the same for the whole sub-group"
    assert found.hint == "use a shuffle where each work-item names a lane of its own"


def test_narrow_values_and_floats_under_bits_are_refused() -> None:
    found = refused("a = atoll.subgroup_add(i8(n))", "ATL0713", "i8(n)")
    assert found.message == "sub-groups exchange numbers of 32 and 64 bits, this is i8"
    found = refused("a = atoll.subgroup_xor(f32(n))", "ATL0713", "f32(n)")
    assert found.message == "sub-groups exchange integers of 32 and 64 bits, this is f32"


def test_a_vote_takes_a_bool() -> None:
    found = refused("a = atoll.subgroup_any(n)", "ATL0716", "n")
    assert found.message == "the operand of `subgroup_any` is a bool, this is an i32"


def test_a_fence_has_a_known_scope() -> None:
    found = refused('atoll.fence(scope="world")', "ATL0725", '"world"')
    assert found.notes == ("scopes: sub_group, work_group, device",)
