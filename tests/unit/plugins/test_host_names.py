"""What the host lane compiles is named as people know it: Atoll's own sources by what they are."""

from __future__ import annotations

from pathlib import Path

import pytest

from atoll.runtime import core_source
from atoll_plugins.host.names import shown
from unit.build.build_project import REGISTRY, session


@pytest.mark.parametrize(
    ("path", "name"),
    [
        (str(core_source()), "runtime core"),
        (".atoll/plan/release-none/launchers/vulkan.c", "launcher vulkan"),
        (".atoll/plan/release-none/roots/demo/cpu.c", "root cpu"),
        (".atoll/plan/release-none/modules/demo.kernels.c", "module demo.kernels"),
        (".atoll/plan/release-none/registries/saxpy.c", "registry saxpy"),
        (".atoll/build/release-none/python/cpu/k.c", "python/cpu/k.c"),
        ("src/launchers/mine.c", "src/launchers/mine.c"),
        ("launchers/mine.c", "launchers/mine.c"),
    ],
)
def test_a_source_is_named_by_what_it_is(path: str, name: str) -> None:
    assert shown(path) == name


def test_no_action_of_a_build_is_named_by_an_absolute_path_and_counts_only_grow(tmp_path: Path) -> None:
    project = session(tmp_path, REGISTRY)
    counts: list[tuple[int, int]] = []
    names: list[str] = []
    project.build(
        on_event=lambda event: _note(event.kind, event.name, event.done, event.total, counts, names)
    )
    assert {"host demo runtime core", "host demo launcher vulkan"} <= set(names)
    assert not [name for name in names if "/work" in name or str(core_source().parent) in name]
    assert counts == sorted(counts)
    assert [total for _, total in counts] == [counts[-1][1]] * len(counts)


def _note(
    kind: str, name: str, done: int, total: int, counts: list[tuple[int, int]], names: list[str]
) -> None:
    if kind == "finish":
        counts.append((done, total))
        names.append(name)
