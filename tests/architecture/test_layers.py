"""Lower rooms never import higher ones, and the check sees each room break the rule."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
import tomllib
from collections.abc import Callable
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
CONTRACTS = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["importlinter"]["contracts"]
LAYERS = [re.split(r"\s*\|\s*", layer) for layer in CONTRACTS[0]["layers"]]


def lint(folder: Path) -> subprocess.CompletedProcess[str]:
    program = Path(sys.executable).with_name("lint-imports")
    return subprocess.run(
        [program, "--no-cache", "--config", folder / "pyproject.toml"],
        cwd=folder / "src",
        env={"PATH": "/usr/bin:/bin", "PYTHONPATH": str(folder / "src")},
        capture_output=True,
        text=True,
        check=False,
    )


def planted(folder: Path, lines: dict[str, str]) -> str:
    """Copy the sources, append each import to its package and return what the linter says."""
    shutil.copytree(ROOT / "src", folder / "src", ignore=shutil.ignore_patterns("__pycache__"))
    shutil.copy(ROOT / "pyproject.toml", folder)
    for package, line in lines.items():
        path = folder / "src" / package
        path = path / "__init__.py" if path.is_dir() else path.with_suffix(".py")
        path.write_text(path.read_text() + f"\n{line}\n")
    result = lint(folder)
    assert result.returncode == 1, result.stdout
    return result.stdout


def test_the_tree_keeps_every_contract() -> None:
    result = lint(ROOT)
    assert result.returncode == 0, result.stdout + result.stderr
    assert f"{len(CONTRACTS)} kept, 0 broken" in result.stdout


def test_an_upward_import_is_seen_in_every_room(tmp_path: Path, tell: Callable[[str], None]) -> None:
    upward = {
        f"atoll/{room}": f"import atoll.{LAYERS[level - 1][0]}"
        for level, rooms in enumerate(LAYERS)
        if level
        for room in rooms
    }
    said = planted(tmp_path, upward)
    tell(f"planted {len(upward)} upward imports")
    unseen = [
        room
        for room in upward
        if not re.search(
            rf"{room.replace('/', '.')} is not allowed to import|- {room.replace('/', '.')}[. ]", said
        )
    ]
    assert not unseen, said


def test_the_engine_importing_a_plugin_is_seen(tmp_path: Path) -> None:
    said = planted(tmp_path, {"atoll/graph": "import atoll_plugins.host"})
    assert "the engine imports no plugin BROKEN" in said


def test_a_plugin_importing_the_session_is_seen(tmp_path: Path) -> None:
    said = planted(tmp_path, {"atoll_plugins/host": "import atoll.session"})
    assert "plugins use no command line, session or kit BROKEN" in said


def test_a_plugin_importing_a_private_room_is_seen(tmp_path: Path) -> None:
    said = planted(tmp_path, {"atoll_plugins/host": "import atoll._util.files"})
    assert "plugins use no private room BROKEN" in said


def test_a_plugin_importing_the_kit_is_seen(tmp_path: Path) -> None:
    said = planted(tmp_path, {"atoll_plugins/host": "import atoll.testing.lanes"})
    assert "plugins use no command line, session or kit BROKEN" in said


def test_a_plugin_importing_one_of_another_model_is_seen(tmp_path: Path) -> None:
    said = planted(tmp_path, {"atoll_plugins/cuda": "import atoll_plugins.host.lane"})
    assert "a plugin of one model imports none of another BROKEN" in said


def test_a_room_outside_the_layers_is_seen(tmp_path: Path) -> None:
    shutil.copytree(ROOT / "src", tmp_path / "src", ignore=shutil.ignore_patterns("__pycache__"))
    shutil.copy(ROOT / "pyproject.toml", tmp_path)
    (tmp_path / "src/atoll/stray").mkdir()
    (tmp_path / "src/atoll/stray/__init__.py").write_text("")
    result = lint(tmp_path)
    assert result.returncode != 0
    assert "stray" in result.stdout + result.stderr
