"""The build folder's name: one a profile and set, readable, never shared by two sets."""

from __future__ import annotations

from atoll.accel import AccelSet
from atoll.build import build_identity
from atoll.build.request import BUILD


def test_no_set_has_a_plain_name() -> None:
    assert build_identity("release", AccelSet()) == "release-none"


def test_the_order_of_entries_makes_no_second_folder() -> None:
    one = AccelSet.parse("vulkan1.2, opencl1.2")
    other = AccelSet.parse("opencl1.2, vulkan1.2")
    assert build_identity("release", one) == build_identity("release", other)


def test_sets_that_differ_in_an_arch_have_two_folders() -> None:
    names = {
        build_identity("release", AccelSet.parse(text)) for text in ("toy+{t1}", "toy+{t2}", "toy+{t1,t2}")
    }
    assert len(names) == 3


def test_a_profile_has_its_own_folder_and_no_name_leaves_it() -> None:
    assert build_identity("debug", AccelSet()) != build_identity("release", AccelSet())
    assert "/" not in build_identity("../../etc", AccelSet())
    assert BUILD == ".atoll/build"
