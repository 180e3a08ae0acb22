"""Which units a device link takes: those of an image and of the static libraries that enter it."""

from __future__ import annotations

import dataclasses
from pathlib import Path

from atoll.accel import Entry
from atoll.plugin import LaneRequest, Unit
from atoll_plugins.formats.device_link import groups
from unit.plugins.lane_project import request

KINDS = {"app": "executable", "tool": "executable", "lib": "static", "deep": "static", "dso": "shared"}


def asked(links: dict[str, tuple[str, ...]], *targets: str) -> LaneRequest:
    entry = Entry(backend="cuda", archs=("sm_90",))
    units = tuple(Unit(path=f"{name}.cu", target=name, entry=entry) for name in targets)
    return dataclasses.replace(request(Path(), units, entry), links=links, kinds=KINDS)


def shown(made: LaneRequest, *, every_archive: bool = False) -> dict[str, list[str]]:
    found = groups(made, every_archive=every_archive)
    assert all(group.owner.target == group.target for group in found)
    return {group.target: [unit.path for unit in group.units] for group in found}


def test_a_program_takes_its_units_and_those_of_its_static_libraries() -> None:
    made = asked({"app": ("lib",), "lib": ("deep",)}, "app", "lib", "deep")
    assert shown(made) == {"app": ["app.cu", "lib.cu", "deep.cu"]}


def test_a_program_without_device_code_gets_the_link_of_its_library() -> None:
    assert shown(asked({"app": ("lib",)}, "lib")) == {"app": ["lib.cu"]}


def test_a_library_that_nothing_links_gets_one_of_its_own() -> None:
    assert shown(asked({}, "lib")) == {"lib": ["lib.cu"]}


def test_what_a_shared_library_holds_stays_in_it() -> None:
    made = asked({"app": ("dso",), "dso": ("lib",)}, "app", "dso", "lib")
    assert shown(made) == {"app": ["app.cu"], "dso": ["dso.cu", "lib.cu"]}


def test_two_programs_link_the_same_library_each() -> None:
    made = asked({"app": ("lib",), "tool": ("lib",)}, "app", "lib", "tool")
    assert shown(made) == {"app": ["app.cu", "lib.cu"], "tool": ["tool.cu", "lib.cu"]}


def test_every_archive_is_linked_where_it_would_be_empty() -> None:
    made = asked({"app": ("lib",)}, "app", "lib")
    assert shown(made, every_archive=True) == {"app": ["app.cu", "lib.cu"], "lib": ["lib.cu"]}


def test_the_units_of_two_roots_are_linked_apart() -> None:
    made = asked({}, "app", "app")
    first, second = (
        dataclasses.replace(unit, root=root) for unit, root in zip(made.units, "ab", strict=True)
    )
    found = groups(dataclasses.replace(made, units=(first, second)))
    assert [[unit.root for unit in group.units] for group in found] == [["a"], ["b"]]
