"""Every command block of the docs is run, and every generated page is current.

The ``console`` blocks of a page run in order, in one folder that starts with a copy of ``examples/``. A block
whose fence names a file after the language (``toml atoll.toml``) writes that file where the commands stand. A
``python`` block without a file's name is a script of its own.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from e2e.harness import EXAMPLES, ROOT, machine

# Blocks that this test does not run, each with who does.
ELSEWHERE = {
    "./dev demo": "the thread's own end-to-end test runs each of its steps",
    "./dev test": "this is it",
}
PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").rglob("*.md"))]
PAGES += sorted(EXAMPLES.rglob("README.md"))


@dataclass(frozen=True)
class Block:
    """A fenced block of a page; `file` is what its fence names after the language."""

    page: str
    line: int
    language: str
    file: str
    text: str


def blocks(page: Path) -> Iterator[Block]:
    """Give the fenced blocks of a page."""
    text = page.read_text(encoding="utf-8")
    for match in re.finditer(r"^```(\w+)[ ]*([^\n]*)\n(.*?)^```", text, re.DOTALL | re.MULTILINE):
        line = text.count("\n", 0, match.start()) + 1
        yield Block(str(page.relative_to(ROOT)), line, match[1], match[2].strip(), match[3])


def runnable(language: str) -> list[Block]:
    """Return the blocks of a language that run, in the order of the pages."""
    return [
        block for page in PAGES for block in blocks(page) if block.language == language and not block.file
    ]


def scripts() -> list[object]:
    return [pytest.param(block, id=f"{block.page}:{block.line}") for block in runnable("python")]


def pages() -> list[object]:
    """Return the pages that have commands."""
    found = dict.fromkeys(block.page for block in runnable("console"))
    return [pytest.param(ROOT / page, id=page) for page in found]


def commands(text: str) -> list[str]:
    """Return the commands of a console block: lines that start with ``$``, without the expected output."""
    return [line[2:] for line in text.splitlines() if line.startswith("$ ")]


def expected(text: str) -> list[list[str]]:
    """Return for each command the output lines that follow it."""
    outputs: list[list[str]] = []
    for line in text.splitlines():
        if line.startswith("$ "):
            outputs.append([])
        elif outputs and line.strip():
            outputs[-1].append(line)
    return outputs


def matches(line: str, output: str) -> bool:
    """Tell whether an expected line stands in the output; ``…`` stands for anything."""
    pattern = ".*".join(re.escape(part.strip()) for part in line.split("…"))
    return re.search(pattern, output) is not None


@pytest.mark.parametrize("page", pages())
def test_the_commands_of_a_page_run_in_order_and_print_what_it_says(page: Path, tmp_path: Path) -> None:
    shutil.copytree(EXAMPLES, tmp_path / "examples", ignore=shutil.ignore_patterns(".atoll", "dist"))
    where = tmp_path
    for block in blocks(page):
        if block.language == "console":
            where = follow(block, where)
        elif block.file:
            (where / block.file).parent.mkdir(parents=True, exist_ok=True)
            (where / block.file).write_text(block.text)


def follow(block: Block, where: Path) -> Path:
    """Run a block's commands and return the folder they end in."""
    env = machine(PATH=f"{Path(sys.executable).parent}:/usr/bin:/bin", COLUMNS="120")
    for command, wanted in zip(commands(block.text), expected(block.text), strict=True):
        if command in ELSEWHERE:
            continue
        if command.startswith("cd "):
            where = where / command[3:].strip()
            continue
        done = subprocess.run(
            ["sh", "-c", command],
            cwd=where,
            env=env,
            capture_output=True,
            text=True,
            timeout=600,
            check=False,
        )
        output = done.stdout + done.stderr
        missing = [line for line in wanted if not matches(line, output)]
        assert not missing, f"{block.page}:{block.line}: $ {command}\nmissing {missing}\n{output}"
        assert done.returncode == 0 or any("error[" in line for line in wanted), output
    return where


@pytest.mark.parametrize("block", scripts())
def test_a_python_block_runs(block: Block, tmp_path: Path) -> None:
    script = tmp_path / "block.py"
    script.write_text(block.text)
    env = machine(PATH=os.environ["PATH"])
    done = subprocess.run(
        [sys.executable, script],
        cwd=tmp_path,
        env=env,
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert done.returncode == 0, f"{block.page}:{block.line}\n{done.stderr}"


def test_there_are_blocks_to_run() -> None:
    assert len(runnable("console")) >= 3
    assert len(runnable("python")) >= 2


def test_no_block_of_commands_hides_under_another_language() -> None:
    known = {"console", "python", "toml", "text", "c", "cpp", "glsl", "json", "html"}
    unknown = {(block.page, block.language) for page in PAGES for block in blocks(page)} - {
        (str(page.relative_to(ROOT)), language) for page in PAGES for language in known
    }
    assert not unknown


def test_generated_pages_are_current() -> None:
    program = [sys.executable, str(ROOT / "tools" / "reference.py"), "--check"]
    done = subprocess.run(program, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
