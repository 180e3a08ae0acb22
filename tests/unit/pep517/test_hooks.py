"""The hooks without a build: metadata, requirements, settings and what a source distribution holds."""

from __future__ import annotations

import tarfile
from collections.abc import Callable
from pathlib import Path

import pytest

from atoll import pep517
from atoll.packaging.project import Stated, project_metadata
from atoll.pep517.editable import finder_text
from atoll.pep517.sdist import project_files, write_sdist
from atoll.pep517.settings import Settings, from_data, opened, read_settings
from atoll.plugin.templates import template
from unit.boundary.kit import write

MANIFEST = '[package]\nname = "Demo.Pkg"\nversion = "1.0"\nlicense = "MIT"\ndescription = "A demo."\n'
PROJECT = """\
[project]
name = "Demo.Pkg"
dynamic = ["version"]
readme = "README.md"
license = "MIT"
dependencies = ["numpy>=1.26"]
optional-dependencies = { more = ["rich"] }
scripts = { demo = "demo:main" }
entry-points."atoll.lanes" = { toy = "demo.lane:Toy" }
authors = [{ name = "A. Author" }]
"""
STATED = Stated(name="demo-pkg", version="1.0")
Hook = Callable[[str], str]


def test_no_hook_asks_for_more_than_the_project_names() -> None:
    for hook in (
        pep517.get_requires_for_build_wheel,
        pep517.get_requires_for_build_editable,
        pep517.get_requires_for_build_sdist,
    ):
        assert hook({"accel": "cuda13.0+{sm_90}"}) == []


def test_metadata_are_prepared_without_a_build(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    project = write(tmp_path / "project", {"atoll.toml": MANIFEST, "LICENSE": "text", "NOTICE.txt": "more"})
    monkeypatch.chdir(project)
    assert pep517.prepare_metadata_for_build_wheel(str(tmp_path / "out")) == "demo_pkg-1.0.dist-info"
    info = tmp_path / "out/demo_pkg-1.0.dist-info"
    assert (info / "METADATA").read_text().splitlines()[:3] == [
        "Metadata-Version: 2.4",
        "Name: Demo.Pkg",
        "Version: 1.0",
    ]
    assert (info / "licenses/LICENSE").read_text() == "text"
    assert (info / "licenses/NOTICE.txt").read_text() == "more"
    assert not (project / ".atoll").exists()


def test_an_editable_wheel_asks_for_atoll_and_a_wheel_does_not(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(write(tmp_path / "project", {"atoll.toml": MANIFEST}))
    pep517.prepare_metadata_for_build_wheel(str(tmp_path / "wheel"))
    pep517.prepare_metadata_for_build_editable(str(tmp_path / "editable"))
    name = "demo_pkg-1.0.dist-info/METADATA"
    assert "Requires-Dist" not in (tmp_path / "wheel" / name).read_text()
    assert "Requires-Dist: atoll>=" in (tmp_path / "editable" / name).read_text()


def test_a_manifest_above_the_project_is_not_taken(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    write(tmp_path, {"atoll.toml": MANIFEST, "inner/pyproject.toml": ""})
    monkeypatch.chdir(tmp_path / "inner")
    with pytest.raises(SystemExit) as caught:
        pep517.build_wheel(str(tmp_path / "out"))
    assert caught.value.code == 2
    said = capsys.readouterr().err
    assert said.startswith("error[ATL0208]: no manifest was found")
    assert str(tmp_path / "inner") in said


def test_project_says_everything_where_it_stands(tmp_path: Path) -> None:
    write(tmp_path, {"pyproject.toml": PROJECT, "README.md": "# Demo\n", "COPYING": "text"})
    found = project_metadata(tmp_path, STATED, more=("atoll>=0.1",))
    text = found.text().decode()
    assert found.stem == "demo_pkg-1.0"
    for line in (
        "Version: 1.0",
        "License-Expression: MIT",
        "License-File: COPYING",
        "Author: A. Author",
        "Requires-Dist: numpy>=1.26",
        "Requires-Dist: atoll>=0.1",
        "Provides-Extra: more",
        "Description-Content-Type: text/markdown",
        "# Demo",
    ):
        assert line in text.splitlines()
    assert found.license_files == (("COPYING", tmp_path / "COPYING"),)
    assert found.entry_points == "[atoll.lanes]\ntoy = demo.lane:Toy\n\n[console_scripts]\ndemo = demo:main\n"


@pytest.mark.parametrize(
    ("given", "settings"),
    [
        ({}, Settings()),
        ({"accel": "cuda13.0+{sm_80,sm_90}"}, Settings(accel="cuda13.0+{sm_80,sm_90}")),
        ({"accel": ["a", "vulkan1.2"], "jobs": "3"}, Settings(accel="vulkan1.2", jobs=3)),
        ({"features": "two,one", "profile": "debug"}, Settings(features=("one", "two"), profile="debug")),
        ({"offline": True}, Settings(offline=True)),
    ],
)
def test_settings_are_read_and_travel_through_the_finder(
    given: dict[str, object], settings: Settings
) -> None:
    assert read_settings(given) == settings
    assert from_data(settings.as_data()) == settings


@pytest.mark.parametrize(
    ("accel", "said"), [("", "--no-accel"), ("vulkan1.2", "--accel"), (None, "atoll.toml")]
)
def test_an_empty_set_is_no_accelerator_and_none_is_the_manifests(
    tmp_path: Path, accel: str | None, said: str
) -> None:
    write(tmp_path, {"atoll.toml": MANIFEST})
    assert opened(tmp_path, Settings(accel=accel)).accel_source.startswith(said)


def test_a_source_distribution_holds_what_an_author_wrote_and_is_equal_each_time(tmp_path: Path) -> None:
    project = write(
        tmp_path / "project",
        {
            "atoll.toml": MANIFEST,
            "cpu/a b.cpp": "",
            "kernels/dist/k.py": "",
            "run.sh": "",
            ".git/HEAD": "",
            ".atoll/x": "",
            "dist/old.whl": "",
            "build/x": "",
            "env/pyvenv.cfg": "",
            "kernels/__pycache__/k.pyc": "",
            "demo.egg-info/PKG-INFO": "",
            "made/here.whl": "",
        },
    )
    (project / "run.sh").chmod(0o755)
    (project / "inner").symlink_to("atoll.toml")
    names = ["atoll.toml", "cpu/a b.cpp", "inner", "kernels/dist/k.py", "run.sh"]
    assert [name for name, _ in project_files(project, project / "made")] == names
    first, second = (write_sdist(opened(project, Settings()), tmp_path / name) for name in ("a", "b"))
    assert first.name == "demo_pkg-1.0.tar.gz"
    assert first.read_bytes() != b""
    with tarfile.open(first) as archive:
        modes = {item.name.partition("/")[2]: item.mode for item in archive.getmembers()}
    assert modes["run.sh"] == 0o755
    assert modes["inner"] == 0o644
    assert "made/here.whl" in modes
    assert first.read_bytes() == second.read_bytes()


def test_the_finder_is_right_python_whatever_the_folder_is_called(tmp_path: Path) -> None:
    text = finder_text(tmp_path / "a \"b\" 'c' \\n", ("demo",), Settings(accel="vulkan1.2"))
    compile(text, "finder", "exec")
    assert "@" not in text


def test_a_new_python_package_names_the_backend(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    project = write(tmp_path / "first", dict(template("python-package", "first")))
    assert 'build-backend = "atoll.pep517"' in (project / "pyproject.toml").read_text()
    monkeypatch.chdir(project)
    assert pep517.prepare_metadata_for_build_wheel(str(tmp_path / "out")) == "first-0.1.0.dist-info"


@pytest.mark.parametrize("hook", [pep517.build_wheel, pep517.build_editable])
def test_metadata_are_refused_before_anything_is_compiled(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], hook: Hook
) -> None:
    project = (
        '[project]\nname = "demo"\nversion = "1"\nscripts = { "../x" = "m:f" }\n[tool.atoll.targets.t]\n'
    )
    files = {
        "pyproject.toml": f'{project}kind = "executable"\nsources = ["a.cpp"]\n',
        "a.cpp": "no C++ at all",
    }
    monkeypatch.chdir(write(tmp_path / "project", files))
    with pytest.raises(SystemExit):
        hook(str(tmp_path / "out"))
    assert capsys.readouterr().err.startswith("error[ATL0481]")
