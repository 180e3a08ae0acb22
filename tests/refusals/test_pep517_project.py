"""`[project]` that breaks the standards, or says otherwise than the manifest, is refused with both sides."""

from __future__ import annotations

from pathlib import Path

import pytest

from atoll.diagnostics import Diagnostic
from atoll.errors import UsageError
from atoll.packaging.project import Stated, project_metadata
from atoll.pep517.settings import Settings, opened

STATED = Stated(name="demo", version="1.0")


def refused(folder: Path, project: str) -> Diagnostic:
    (folder / "pyproject.toml").write_text(f"[project]\n{project}")
    with pytest.raises(UsageError) as caught:
        project_metadata(folder, STATED)
    (found,) = caught.value.diagnostics
    return found


@pytest.mark.parametrize(
    ("project", "word"),
    [
        ('name = "demo"\n', "version"),
        ('name = "demo"\nversion = "one"\n', "version"),
        ('name = "demo"\nversion = "1.0"\nlicense = "Apache 2, probably"\n', "license"),
        ('name = "demo"\nversion = "1.0"\nlicense-files = ["../LICENSE"]\n', "license-files"),
        ('name = "demo"\nversion = "1.0"\nreadme = "none.md"\n', "readme"),
        ('name = "demo"\nversion = "1.0"\ndependencies = ["what is this"]\n', "dependencies"),
        ('name = "demo"\nversion = "1.0"\ndescription = "a\\nRequires-Dist: b"\n', "summary"),
        ('name = "demo"\nversion = "1.0"\nscripts = { "../../evil" = "m:f" }\n', "'../../evil'"),
        ('name = "demo"\nversion = "1.0"\nscripts = { ".." = "m:f" }\n', "'..'"),
        ('name = "demo"\nversion = "1.0"\ngui-scripts = { "a b" = "m:f" }\n', "'a b'"),
        ('name = "demo"\nversion = "1.0"\nscripts = { a = "m:f\\n[evil]" }\n', "\\n[evil]'"),
        ('name = "demo"\nversion = "1.0"\nentry-points."a]b" = { a = "m:f" }\n', "'a]b'"),
        ('name = "demo"\nversion = "1.0"\nentry-points.group = { "a=b" = "m:f" }\n', "'a=b'"),
        ('name = "demo"\nversion = "1.0"\nreadme = "latin.md"\n', "utf-8"),
    ],
)
def test_what_the_standards_refuse_is_named(tmp_path: Path, project: str, word: str) -> None:
    (tmp_path / "latin.md").write_bytes(b"\xdcbersicht")
    found = refused(tmp_path, project)
    assert (found.code, found.message) == ("ATL0481", "`[project]` of `pyproject.toml` breaks the standards")
    assert word in "\n".join(found.notes).lower()


def test_a_name_and_a_version_that_differ_are_both_shown(tmp_path: Path) -> None:
    found = refused(tmp_path, 'name = "other"\nversion = "2.0"\n')
    assert (found.code, found.message) == (
        "ATL0482",
        "`[project]` and the manifest say different things of `other`",
    )
    assert found.notes == (
        "name: other in `[project]`, demo in the manifest",
        "version: 2.0 in `[project]`, 1.0 in the manifest",
    )


def test_toml_that_cannot_be_read_is_refused(tmp_path: Path) -> None:
    found = refused(tmp_path, 'name = "demo\n')
    assert (found.code, found.message) == ("ATL0002", "the file `pyproject.toml` could not be read")


@pytest.mark.parametrize(
    ("dynamic", "has_version", "missing"),
    [
        ('["version"]', False, "version"),
        ('["version", "readme"]', True, "readme"),
        ('["version", "dependencies"]', False, "version, dependencies"),
    ],
)
def test_a_dynamic_field_that_nothing_states_is_refused(
    tmp_path: Path, dynamic: str, has_version: bool, missing: str
) -> None:
    stated = Stated(name="demo", version="0.0.0", has_version=has_version)
    (tmp_path / "pyproject.toml").write_text(f'[project]\nname = "demo"\ndynamic = {dynamic}\n')
    with pytest.raises(UsageError) as caught:
        project_metadata(tmp_path, stated)
    (found,) = caught.value.diagnostics
    assert (found.code, found.message) == (
        "ATL0485",
        "`dynamic` of `pyproject.toml` names what nothing states",
    )
    assert found.notes[0] == f"dynamic: {missing}"
    assert ("[tool.atoll.package]" in (found.hint or "")) == ("version" in missing)


@pytest.mark.parametrize(("version", "code"), [("", "ATL0485"), ('version = "3.1"\n', "")])
def test_a_dynamic_version_is_what_the_manifest_states(tmp_path: Path, version: str, code: str) -> None:
    project = '[project]\nname = "demo"\ndynamic = ["version"]\n[tool.atoll.package]\n'
    (tmp_path / "pyproject.toml").write_text(f"{project}{version}")
    session = opened(tmp_path, Settings())
    if code:
        with pytest.raises(UsageError, match="names what nothing states"):
            session.metadata()
    else:
        assert session.metadata().version == "3.1"
