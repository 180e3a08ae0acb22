from __future__ import annotations

from pathlib import Path

import pytest

from atoll.errors import ManifestError
from atoll.manifest import LaneFacts
from unit.manifest.manifests import HEAD, LANES, SHADE, Rules, choose, select_refused, write

ALL = HEAD + '[build]\nlanes = ["toy", "shade", "snake"]\n'


def project(folder: Path, sources: str, *files: str, head: str = ALL) -> Path:
    write(folder, head + f'[targets.app]\nkind = "executable"\nsources = {sources}\n', *files)
    return folder


def shown(folder: Path, accel: str = "") -> list[tuple[str, str, list[str]]]:
    return [
        (unit.path, unit.lane, [str(entry) for entry in unit.entries]) for unit in choose(folder, accel).units
    ]


def test_units_are_sorted_and_carry_lane_and_entries(tmp_path: Path) -> None:
    project(tmp_path, '["**/*.cpp", "k/*.toy", "k/*.py"]', "b.cpp", "a/x.cpp", "k/t.toy", "k/p.py")
    assert shown(tmp_path, "toy1.0+{t1}, gfx1.2") == [
        ("a/x.cpp", "host", ["None"]),
        ("b.cpp", "host", ["None"]),
        ("k/p.py", "snake", ["toy1.0+{t1}", "gfx1.2", "None"]),
        ("k/t.toy", "toy", ["toy1.0+{t1}"]),
    ]


def test_a_constrained_glob_narrows_itself_by_the_set(tmp_path: Path) -> None:
    project(tmp_path, '["a.cpp", { glob = "k/*.toy", accel = "toy" }]', "a.cpp", "k/t.toy")
    assert [row[0] for row in shown(tmp_path, "toy1.0")] == ["a.cpp", "k/t.toy"]
    assert [row[0] for row in shown(tmp_path, "gfx1.2")] == ["a.cpp"]
    assert [row[0] for row in shown(tmp_path)] == ["a.cpp"]
    assert [left.reason for left in choose(tmp_path, "gfx1.2").left_out] == ["the build names none of toy"]
    assert [left.reason for left in choose(tmp_path).left_out] == ["the build names no accelerator"]


def test_what_is_compiled_for_is_the_builds_entry_not_the_constraint(tmp_path: Path) -> None:
    project(tmp_path, '[{ glob = "*.toy", accel = "toy1.0" }]', "t.toy")
    assert shown(tmp_path, "toy1.2+{t1} tw>=3") == [("t.toy", "toy", ["toy1.2+{t1} tw>=3"])]


def test_a_constraint_of_several_entries_compiles_once_for_each_that_the_build_names(tmp_path: Path) -> None:
    project(tmp_path, '[{ glob = "*.py", accel = "toy, gfx" }]', "p.py")
    assert shown(tmp_path, "gfx1.2, toy1.0") == [("p.py", "snake", ["gfx1.2", "toy1.0"])]
    assert shown(tmp_path, "gfx1.2") == [("p.py", "snake", ["gfx1.2"])]


def test_archs_compile_for_the_intersection_and_leave_out_an_empty_one(tmp_path: Path) -> None:
    project(tmp_path, '[{ glob = "*.toy", archs = ["t2", "t9"] }]', "t.toy")
    (unit,) = choose(tmp_path, "toy1.0+{t1,t2}").units
    assert dict(unit.archs) == {"toy": ("t2",)}
    found = choose(tmp_path, "toy1.0+{t1}")
    assert found.units == ()
    assert found.left_out[0].reason == "none of its archs is in the build's set: t2 t9"


def test_what_a_constraint_leaves_out_no_plain_glob_brings_back(tmp_path: Path) -> None:
    project(tmp_path, '["*.toy", { glob = "fast.toy", accel = "gfx" }]', "fast.toy", "slow.toy")
    assert [row[0] for row in shown(tmp_path, "toy1.0")] == ["slow.toy"]


def test_an_entry_that_says_more_owns_its_files_and_plain_globs_the_rest(tmp_path: Path) -> None:
    project(tmp_path, '["*.toy", { glob = "fast.toy", defines = ["FAST"] }]', "fast.toy", "slow.toy")
    found = {unit.path: unit.source.defines for unit in choose(tmp_path, "toy1.0").units}
    assert found == {"fast.toy": ("FAST",), "slow.toy": ()}


def test_the_default_glob_takes_host_sources_below_src_only(tmp_path: Path) -> None:
    write(
        tmp_path, ALL + '[targets.app]\nkind = "executable"\n', "src/a.cpp", "src/b/c.c", "src/k.toy", "d.cpp"
    )
    assert [row[0] for row in shown(tmp_path, "toy1.0")] == ["src/a.cpp", "src/b/c.c"]


def test_an_empty_list_compiles_nothing(tmp_path: Path) -> None:
    project(tmp_path, "[]", "src/a.cpp")
    assert shown(tmp_path) == []


def test_headers_are_tracked_and_not_compiled(tmp_path: Path) -> None:
    project(tmp_path, '["k/*"]', "k/t.toy", "k/t.toyh", "k/h.h")
    found = choose(tmp_path, "toy1.0")
    assert [unit.path for unit in found.units] == ["k/t.toy"]
    assert found.headers == ("k/h.h", "k/t.toyh")


def test_a_plain_pattern_without_a_file_is_a_warning(tmp_path: Path) -> None:
    project(tmp_path, '["k/*.toy"]')
    (warning,) = choose(tmp_path, "toy1.0").warnings
    assert (warning.code, str(warning.severity)) == ("ATL0231", "warning")


def test_an_accelerator_that_nobody_names_is_a_warning_at_its_place(tmp_path: Path) -> None:
    text = ALL + "[target.'cfg(accelerator = \"tyo\")'.build]\ndefines = []\n"
    write(tmp_path, text)
    (warning,) = choose(tmp_path).warnings
    assert warning.span is not None
    assert warning.span.text[warning.span.column - 1 :].startswith('accelerator = "tyo"')


def test_a_loop_of_links_ends(tmp_path: Path) -> None:
    project(tmp_path, '["**/*.cpp"]', "a/x.cpp")
    (tmp_path / "a" / "up").symlink_to(tmp_path, target_is_directory=True)
    (tmp_path / "a" / "self").symlink_to(tmp_path / "a", target_is_directory=True)
    assert [row[0] for row in shown(tmp_path)] == ["a/x.cpp"]


def test_folders_that_cannot_be_read_and_dot_folders_are_passed_over(tmp_path: Path) -> None:
    project(tmp_path, '["**/*.cpp"]', "a.cpp", ".hidden/b.cpp")
    assert [row[0] for row in shown(tmp_path)] == ["a.cpp"]


def test_names_with_spaces_quotes_and_other_scripts_are_found(tmp_path: Path) -> None:
    names = ["a b.cpp", "it's.cpp", 'q".cpp', "$x.cpp", "#y.cpp", "核.cpp"]
    project(tmp_path, '["*.cpp"]', *names)
    assert [row[0] for row in shown(tmp_path)] == sorted(names)


def test_lanes_that_are_installed_but_not_listed_take_nothing(tmp_path: Path) -> None:
    head = HEAD + '[build]\nlanes = ["toy"]\n'
    project(tmp_path, '["k.shade"]', "k.shade", head=head)
    select_refused(tmp_path, "ATL0229", "k.shade", "shade", "`[build] lanes`: toy", accel="gfx")


def test_a_lane_that_is_not_listed_may_claim_the_same_extension(tmp_path: Path) -> None:
    head = HEAD + '[build]\nlanes = ["toy"]\n'
    project(tmp_path, '["k.toy"]', "k.toy", head=head)
    lanes = dict(LANES, other=LaneFacts(extensions={".toy": "unit"}, backends={"toy": Rules()}))
    assert [unit.lane for unit in choose(tmp_path, "toy1.0", lanes).units] == ["toy"]


def test_every_refused_entry_is_reported(tmp_path: Path) -> None:
    project(tmp_path, '["a.nope", { glob = "none/*.toy", accel = "toy" }, "gone.cpp"]', "a.nope")
    found = select_refused(tmp_path, "ATL0230", accel="toy1.0")
    assert [item.code for item in found] == ["ATL0231", "ATL0230", "ATL0231"]


def test_two_lanes_of_one_project_with_one_extension_are_refused(tmp_path: Path) -> None:
    project(tmp_path, '["k.toy"]', "k.toy")
    with pytest.raises(ManifestError, match=r"two lanes of this project claim `\.toy`"):
        choose(tmp_path, "toy1.0", {**LANES, "shade": LaneFacts(extensions={".toy": "unit"})})


def test_lanes_may_share_a_header_extension(tmp_path: Path) -> None:
    project(tmp_path, '["k.toy"]', "k.toy")
    shared = LaneFacts(extensions={**SHADE.extensions, ".toyh": "header"}, backends=SHADE.backends)
    assert choose(tmp_path, "toy1.0", {**LANES, "shade": shared}).units
