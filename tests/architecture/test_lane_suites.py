"""Every lane that is registered is held to the public suite, and is on the page of platforms."""

from __future__ import annotations

import re
import sys
from pathlib import Path

from atoll.plugin import registry

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT))
from tools import platforms  # noqa: E402


def held(text: str) -> set[str]:
    """Return the classes of lanes that a module of tests gives to the suite."""
    return set(re.findall(r"check\((\w+Lane)\(", text)) if "LANE_CHECKS" in text else set()


def test_every_lane_is_held_to_the_suite() -> None:
    texts = (path.read_text("utf-8") for path in (ROOT / "tests/unit/plugins").glob("test_*.py"))
    found = {name for text in texts for name in held(text)}
    registered = {type(registry().lanes[name]).__name__ for name in registry().lanes}
    assert registered <= found, f"no module gives these to the suite: {registered - found}"


def test_a_lane_without_the_suite_is_seen() -> None:
    assert held("LANE_CHECKS\n    check(OneLane(), x)") == {"OneLane"}
    assert held("check(OneLane(), x)") == set()


def test_the_page_of_platforms_is_of_these_lanes() -> None:
    # A kernel in Python is compiled by Atoll itself, on whatever host it runs.
    assert set(platforms.SAMPLES) == set(platforms.RUN) == set(registry().lanes) - {"python", "toy"}
    text = (ROOT / "docs/reference/platforms.md").read_text("utf-8")
    assert platforms.page() == text
