"""No path of a manifest leaves the project: folders, globs, links."""

from __future__ import annotations

from pathlib import Path

import pytest

from unit.manifest.manifests import HEAD, refused, select_refused, write


@pytest.mark.parametrize("path", ["../x", "/etc", "a/../../x", "C:/x", "a\\b", ""])
def test_a_folder_outside_is_refused(tmp_path: Path, path: str) -> None:
    for text in (
        f"[build]\ninclude = ['{path}']\n",
        f"[targets.a]\nkind = 'static'\ninclude = ['{path}']\n",
        f"[targets.a]\nkind = 'python'\npackages = ['{path}']\n",
        f"[boundary.b]\nmodule = 'm'\nroots = ['{path}']\n",
    ):
        refused(write(tmp_path, HEAD + text), "ATL0214", "leaves the project")


@pytest.mark.parametrize(
    ("glob", "reason"),
    [
        ("../*.cpp", "`..`"),
        ("/etc/*.c", "it is absolute"),
        ("a/./b.cpp", "an empty component"),
        ("a//b.cpp", "an empty component"),
        ("a**/b.cpp", "not a whole component"),
        ("", "it is empty"),
        ("x" * 600, "longer than"),
        ("a\\b.cpp", "a backslash"),
    ],
)
def test_a_glob_that_could_leave_or_is_none_is_refused(tmp_path: Path, glob: str, reason: str) -> None:
    write(tmp_path, HEAD + f"[targets.a]\nkind = 'static'\nsources = ['{glob}']\n")
    select_refused(tmp_path, "ATL0214", reason)


def test_a_link_that_leaves_the_project_is_refused_by_name(tmp_path: Path) -> None:
    outside = tmp_path / "outside.cpp"
    outside.write_text("")
    project = tmp_path / "project"
    project.mkdir()
    write(project, HEAD + '[targets.a]\nkind = "static"\nsources = ["*.cpp"]\n', "a.cpp")
    (project / "b.cpp").symlink_to(outside)
    select_refused(project, "ATL0214", "`b.cpp` is a link that leaves the project", str(outside))
