"""The page of the lanes names every option that a lane takes, and no other."""

from __future__ import annotations

import importlib
import re
from pathlib import Path

import pytest

PAGE = Path(__file__).parents[3] / "docs/reference/lanes.md"


def listed(text: str, lane: str) -> set[str]:
    """Return the keys of a lane's table."""
    section = re.search(rf"## `\[lane\.{lane}\]`.*?(?=\n## |\Z)", text, re.DOTALL)
    assert section is not None, lane
    return set(re.findall(r"^\| `([a-z-]+)` \| ", section[0], re.MULTILINE))


@pytest.mark.parametrize(
    "lane", ["ascendc", "cuda", "hip", "host", "metal", "opencl", "slang", "spirv", "sycl"]
)
def test_every_option_is_on_the_page(lane: str) -> None:
    options = importlib.import_module(f"atoll_plugins.{lane}.lane").OPTIONS
    assert listed(PAGE.read_text(encoding="utf-8"), lane) == set(options)


def test_an_option_that_is_missing_is_seen() -> None:
    text = PAGE.read_text(encoding="utf-8").replace("| `runtime` |", "| `x` |")
    assert listed(text, "cuda") ^ {
        "compiler",
        "device-link",
        "flags",
        "host-compiler",
        "runtime",
        "version",
    } == {
        "x",
        "runtime",
    }
