"""Every manifest that is shown can be read and resolved: those of examples, templates and pages.

A pin of Atoll in one of them (`requires-atoll`) holds for the release at hand, or reading refuses it.
"""

from __future__ import annotations

import platform
import re
from collections.abc import Callable
from pathlib import Path

import pytest

from atoll.accel import AccelSet
from atoll.errors import AtollError
from atoll.manifest import read

ROOT = Path(__file__).resolve().parents[2]
BLOCK = re.compile(r"^```toml [^\n]*atoll\.toml\n(.*?)^```", re.DOTALL | re.MULTILINE)
FILES = sorted(
    path
    for folder in ("examples", "src/atoll_plugins/templates")
    for path in (ROOT / folder).rglob("atoll.toml")
    if ".atoll" not in path.parts
)


def shown() -> dict[str, str]:
    """Return the text of every manifest by where it stands."""
    found = {str(path.relative_to(ROOT)): path.read_text(encoding="utf-8") for path in FILES}
    for page in (ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))):
        for number, match in enumerate(BLOCK.finditer(page.read_text(encoding="utf-8"))):
            found[f"{page.relative_to(ROOT)}#{number}"] = match[1]
    return found


def resolves(text: str, folder: Path) -> None:
    """Read a manifest and apply its overlays, as a build of its own set does.

    Raises:
        AtollError: Where it cannot be read, or pins another release of Atoll.
    """
    (folder / "atoll.toml").write_text(text, encoding="utf-8")
    manifest = read(folder / "atoll.toml")
    manifest.resolve(AccelSet.parse(manifest.build.accel), "linux", platform.machine(), "gcc12")


def test_every_manifest_that_is_shown_resolves(tmp_path: Path, tell: Callable[[str], None]) -> None:
    found = shown()
    assert len(found) >= 12
    assert any(name.startswith("docs/") for name in found)
    faults = []
    for name, text in found.items():
        try:
            resolves(text.replace("{name}", "project"), tmp_path)
        except AtollError as error:
            faults.append(f"{name}: {error}")
    tell(f"{len(found)} manifests")
    assert not faults, "\n".join(faults)


def test_a_manifest_that_pins_another_release_does_not_resolve(tmp_path: Path) -> None:
    pinned = '[package]\nname = "demo"\nversion = "0.1.0"\nrequires-atoll = ">=99"\n'
    with pytest.raises(AtollError):
        resolves(pinned, tmp_path)
