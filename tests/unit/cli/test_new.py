"""`atoll new`: a whole project from a template, or a refusal and nothing."""

from __future__ import annotations

import json
from importlib.metadata import EntryPoint, EntryPoints
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from atoll.cli import command
from atoll.cli import new as module
from atoll.errors import AtollError, PluginError, UsageError
from atoll.plugin import templates


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def new(*args: str) -> Result:
    return CliRunner().invoke(command, ["new", *args], catch_exceptions=True)


def refused(*args: str) -> AtollError:
    result = new(*args)
    assert isinstance(result.exception, AtollError), result.output
    return result.exception


def brought(monkeypatch: pytest.MonkeyPatch, *values: str) -> None:
    """Let the installed packages bring one template `mine` a value, and no other."""
    points = EntryPoints(EntryPoint("mine", value, templates.GROUP) for value in values)
    monkeypatch.setattr(templates, "entry_points", lambda group: points.select(group=group))


def test_it_prints_each_file_and_puts_the_name_everywhere(here: Path) -> None:
    result = new("hello")
    assert result.exit_code == 0
    found = sorted(path.relative_to(here).as_posix() for path in here.rglob("*") if path.is_file())
    assert result.stdout.split() == found
    assert "hello/atoll.toml" in found
    texts = "".join((here / path).read_text() for path in found)
    assert "PACKAGE" not in texts
    assert "hello_saxpy" in texts


def test_the_name_is_put_into_paths_too(here: Path) -> None:
    new("mine", "--template", "lane")
    assert (here / "mine" / "mine" / "lane.py").is_file()


def test_an_empty_folder_is_filled(here: Path) -> None:
    (here / "hello").mkdir()
    assert new("hello").exit_code == 0
    assert (here / "hello" / "atoll.toml").is_file()


def test_json_is_one_object(here: Path) -> None:
    answer = json.loads(new("hello", "--json").stdout)
    assert answer["diagnostics"] == []
    assert "hello/atoll.toml" in answer["files"]


def test_help_lists_the_installed_templates() -> None:
    text = new("--help").stdout
    assert all(name in text for name in ("kernels", "lane", "python-package", "saxpy"))


@pytest.mark.parametrize(
    ("name", "better"),
    [
        ("My-App", "my_app"),
        ("3d", "my_3d"),
        ("../x", "x"),
        ("", "my_"),
        ("class", "my_class"),
        ("namespace", "my_namespace"),
        ("json", "my_json"),
        ("atoll", "my_atoll"),
        ("a" * 65, "my_" + "a" * 61),
    ],
)
def test_a_bad_name_is_refused_with_a_better_one(here: Path, name: str, better: str) -> None:
    (found,) = refused(name).diagnostics
    assert found.code == "ATL0003"
    assert found.hint == f"write `{better}`"
    assert not list(here.iterdir())


def test_a_folder_with_something_in_it_is_left_alone(here: Path) -> None:
    (here / "hello").mkdir()
    (here / "hello" / "own").write_text("mine")
    (found,) = refused("hello").diagnostics
    assert found.code == "ATL0004"
    assert "it holds: own" in found.notes
    assert [path.name for path in (here / "hello").iterdir()] == ["own"]


@pytest.mark.parametrize("kind", ["file", "link", "dangling"])
def test_what_is_no_folder_is_left_alone(here: Path, kind: str) -> None:
    place, other = here / "hello", here / "other"
    other.mkdir()
    place.write_text("") if kind == "file" else place.symlink_to(other if kind == "link" else here / "gone")
    assert refused("hello").diagnostics[0].code == "ATL0004"
    assert not list(other.iterdir())


def test_an_unknown_template_is_refused_with_the_nearest(here: Path) -> None:
    error = refused("hello", "--template", "saxpi")
    assert isinstance(error, UsageError)
    assert error.diagnostics[0].code == "ATL0005"
    assert error.diagnostics[0].hint == "did you mean `saxpy`?"
    assert not list(here.iterdir())


def test_a_write_that_fails_leaves_nothing(here: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    real, written = Path.write_text, []

    def full(path: Path, text: str, **more: str) -> int:
        written.append(path)
        if len(written) == 3:
            raise OSError(28, "No space left on device")
        return real(path, text, **more)

    monkeypatch.setattr(Path, "write_text", full)
    (found,) = refused("hello").diagnostics
    assert found.code == "ATL0006"
    assert "the system says: No space left on device" in found.notes
    assert len(written) == 3
    assert not list(here.iterdir())


def test_the_folder_is_as_open_as_any_other(here: Path) -> None:
    new("hello")
    (here / "plain").mkdir()
    assert (here / "hello").stat().st_mode == (here / "plain").stat().st_mode


@pytest.mark.parametrize(
    "value", ["no_such_package.templates", "atoll_plugins.templates.absent", "atoll.cli.new"]
)
def test_a_broken_template_blames_the_package(
    here: Path, monkeypatch: pytest.MonkeyPatch, value: str
) -> None:
    brought(monkeypatch, value)
    error = refused("hello", "--template", "mine")
    assert isinstance(error, PluginError)
    assert error.diagnostics[0].code == "ATL0904"
    assert f"entry point: atoll.templates {value}" in error.diagnostics[0].notes
    assert not list(here.iterdir())


def test_two_templates_of_one_name_are_refused_and_one_listed_twice_is_one(
    here: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    saxpy, kernels = "atoll_plugins.templates.saxpy", "atoll_plugins.templates.kernels"
    brought(monkeypatch, saxpy, kernels)
    assert refused("hello", "--template", "mine").diagnostics[0].code == "ATL0902"
    brought(monkeypatch, saxpy, saxpy)
    assert new("hello", "--template", "mine").exit_code == 0


def test_what_python_left_in_a_template_is_not_copied(
    here: Path, monkeypatch: pytest.MonkeyPatch, tmp_path_factory: pytest.TempPathFactory
) -> None:
    folder = tmp_path_factory.mktemp("site") / "foreign_templates"
    (folder / "mine" / "__pycache__").mkdir(parents=True)
    (folder / "mine" / "__pycache__" / "a.pyc").write_bytes(b"\xff")
    (folder / "mine" / "a.txt").write_text("PACKAGE")
    monkeypatch.syspath_prepend(folder.parent)
    brought(monkeypatch, "foreign_templates.mine")
    assert new("hello", "--template", "mine").stdout.split() == ["hello/.gitignore", "hello/a.txt"]
    assert (here / "hello" / "a.txt").read_text() == "hello"
    (folder / "mine" / "b.txt").write_bytes(b"\xff")
    assert refused("again", "--template", "mine").diagnostics[0].code == "ATL0904"


def test_no_word_of_a_language_stands_twice_in_the_list() -> None:
    words = module._CXX_WORDS.split()
    assert len(words) == len(set(words))
