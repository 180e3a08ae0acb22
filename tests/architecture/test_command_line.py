"""The page of the command line is true, and no page names a command or an option that is none."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator
from pathlib import Path

import click
import pytest

from atoll.cli import command
from atoll.plugin import registry

ROOT = Path(__file__).resolve().parents[2]
PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").rglob("*.md"))]
PAGES += [path for path in sorted((ROOT / "examples").rglob("README.md")) if ".atoll" not in path.parts]
PAGES += sorted((ROOT / "src/atoll_plugins/templates").rglob("README.md"))
SECTION = re.compile(r"^## `(atoll[a-z ]*)`\n\n```text\n(.*?)\n```$", re.DOTALL | re.MULTILINE)
WRITTEN = re.compile(r"`(atoll [^`\n]+)`|^(?:\$|   ) .*?\b(atoll [^\n#|>]+)", re.MULTILINE)


def words(text: str) -> str:
    """Return a text without its line breaks, which the window decides."""
    return " ".join(text.split())


def helped(path: str, capsys: pytest.CaptureFixture[str]) -> str:
    """Return what a command prints for ``--help``."""
    capsys.readouterr()
    command.main([*path.split()[1:], "--help"], prog_name="atoll", standalone_mode=False)
    return capsys.readouterr().out


def tree(item: click.Command, path: str) -> Iterator[str]:
    """Give the commands below one, itself first."""
    yield path
    if isinstance(item, click.Group):
        for name in item.list_commands(click.Context(item)):
            found = item.get_command(click.Context(item), name)
            assert found is not None
            yield from tree(found, f"{path} {name}")


def fault(text: str) -> str | None:
    """Return what is no command or no option of one in a line that a page tells to type."""
    item: click.Command = command
    try:
        said = shlex.split(text)[1:]
    except ValueError:
        said = text.split()[1:]
    while isinstance(item, click.Group) and said and re.fullmatch("[a-z]+", said[0]):
        found = item.get_command(click.Context(item), said[0])
        if found is None:
            return said[0]
        item, said = found, said[1:]
    known = {"--help", "-h", "--version"}.union(
        *(option.opts + option.secondary_opts for option in item.params)
    )
    given = said[: said.index("--")] if "--" in said else said
    takes_words = any(isinstance(parameter, click.Argument) for parameter in item.params)
    if given and not takes_words and not given[0].startswith("-"):
        return given[0]
    options = (re.match(r"-{1,2}[a-z][a-z-]*", word) for word in given)
    return next((option[0] for option in options if option and option[0] not in known), None)


def test_the_page_says_what_each_command_says(capsys: pytest.CaptureFixture[str]) -> None:
    page = dict(SECTION.findall((ROOT / "docs/reference/cli.md").read_text(encoding="utf-8")))
    assert list(page) == list(tree(command, "atoll"))
    assert {path: words(text) for path, text in page.items()} == {
        path: words(helped(path, capsys)) for path in page
    }


def test_every_command_on_a_page_is_one() -> None:
    found = [
        (str(page.relative_to(ROOT)), match[1] or match[2])
        for page in PAGES
        for match in WRITTEN.finditer(page.read_text(encoding="utf-8"))
    ]
    assert len(found) > 100
    wrong = [(page, text, what) for page, text in found if (what := fault(text))]
    assert not wrong


def test_every_command_that_doctor_tells_to_type_is_one() -> None:
    rows = [lane.status({"PATH": ""}, frozenset()) for lane in registry().lanes.values()]
    told = [text for row in rows for text in re.findall(r"atoll (?:[a-z]+ ?)+[^`,;]*", row.fix)]
    assert len(told) >= 3
    assert not [text for text in told if fault(text)]


def test_a_command_and_an_option_that_are_none_are_seen() -> None:
    assert fault("atoll bild") == "bild"
    assert fault("atoll device lst") == "lst"
    assert fault("atoll pack --accel vulkan1.2") == "--accel"
    assert fault("atoll toolchain add cuda-13.0") == "cuda-13.0"
    assert fault("atoll run -- --accel x") is None
    assert fault("atoll measure dist/*.whl --require 'cuda13.0+{sm_90}'") is None
