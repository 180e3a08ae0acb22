"""ATL0806: a launch with an impossible shape."""

from __future__ import annotations

from dataclasses import replace

import pytest

from atoll.errors import LaunchError
from atoll.runtime import Device
from refusals.test_launch_arguments import given
from unit.runtime.fakes import CODE, MemoryDevice


@pytest.mark.parametrize(
    ("groups", "group"),
    [((0,), (64,)), ((1,), (0,)), ((-1,), (64,)), ((1 << 26,), (64,)), ((1, 1, 1, 1), (1,)), ((), (1,))],
)
def test_nothing_and_too_much_are_refused(groups: tuple[int, ...], group: tuple[int, ...]) -> None:
    with pytest.raises(LaunchError, match="ATL0806"):
        Device(MemoryDevice()).run(CODE, groups, group, given())


def test_another_group_than_the_compiled_one_names_both() -> None:
    fixed = replace(CODE, layout=replace(CODE.layout, group=(64, 1, 1)))
    with pytest.raises(LaunchError) as caught:
        Device(MemoryDevice()).run(fixed, (1,), (32,), given())
    assert str(caught.value) == (
        "error[ATL0806]: `saxpy` was compiled for another group\n"
        "  asked for: 32 x 1 x 1\n"
        "  possible: 64 x 1 x 1"
    )


def test_a_domain_for_code_without_one_is_refused() -> None:
    with pytest.raises(LaunchError, match="has no domain"):
        Device(MemoryDevice()).run(CODE, (1,), (64,), given(), domain=(4,))
