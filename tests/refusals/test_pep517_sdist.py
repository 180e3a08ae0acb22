"""What lies outside the project, or is no file, cannot become part of a source distribution."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from atoll.diagnostics import Diagnostic
from atoll.errors import UsageError
from atoll.pep517.sdist import project_files, write_sdist
from atoll.session import open_session
from unit.boundary.kit import write


def refused(folder: Path) -> Diagnostic:
    with pytest.raises(UsageError) as caught:
        list(project_files(folder))
    (found,) = caught.value.diagnostics
    assert (found.code, len(found.notes)) == ("ATL0483", 2)
    return found


def test_a_link_that_leads_outside(tmp_path: Path) -> None:
    project = write(tmp_path / "project", {"a.txt": ""})
    (tmp_path / "secret").write_text("")
    (project / "link").symlink_to(tmp_path / "secret")
    found = refused(project)
    assert found.message == f"`{project / 'link'}` cannot become part of a source distribution"
    assert found.notes[1] == "reason: it is a link that leads outside the project"


@pytest.mark.parametrize("kind", ["pipe", "dangling", "folder link"])
def test_what_is_no_file(tmp_path: Path, kind: str) -> None:
    project = write(tmp_path / "project", {"a/b.txt": ""})
    if kind == "pipe":
        os.mkfifo(project / "odd")
    else:
        (project / "odd").symlink_to(project / ("a" if kind == "folder link" else "nowhere"))
    assert refused(project).notes[1] == "reason: it is a special file, or a link to a folder or to nothing"


def test_a_name_that_no_archive_carries(tmp_path: Path) -> None:
    project = write(tmp_path / "project", {"a\nb": ""})
    assert refused(project).notes[1] == "reason: an archive cannot carry this name"


def test_a_dependency_beside_the_project(tmp_path: Path) -> None:
    manifest = '[package]\nname = "demo"\n[dependencies]\nother = { path = "../other" }\n'
    project = write(tmp_path / "project", {"atoll.toml": manifest})
    with pytest.raises(UsageError) as caught:
        write_sdist(open_session(project), tmp_path / "dist")
    (found,) = caught.value.diagnostics
    assert found.notes == ("path: ../other", "reason: the dependency `other` lies outside the project")
    assert not (tmp_path / "dist").exists()
