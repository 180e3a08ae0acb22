"""No public name of `atoll` is also a room of it, names have one meaning, and start-up stays lean."""

from __future__ import annotations

import pkgutil
import re
import subprocess
import sys
from pathlib import Path

import atoll
from atoll.diagnostics import codes

SOURCES = Path(atoll.__file__).parent.parent
HEAVY = (
    "numpy tree_sitter msgspec ninja rich cffi greenlet elftools tomlkit zstandard packaging psutil".split()
)


def loaded(code: str) -> set[str]:
    """Return the top-level modules that a fresh interpreter holds after `code`."""
    program = f"{code}\nimport sys\nprint(*sorted({{name.split('.')[0] for name in sys.modules}}))"
    result = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    return set(result.stdout.split("\n")[-2].split())


def test_no_public_name_is_also_a_room() -> None:
    rooms = {module.name for module in pkgutil.iter_modules(atoll.__path__)}
    assert rooms >= {"accel", "plugin", "runtime"}
    assert not rooms & set(atoll.__all__)


def test_every_public_name_is_there_and_documented() -> None:
    assert len(atoll.__all__) == len(set(atoll.__all__))
    missing = [name for name in atoll.__all__ if not hasattr(atoll, name)]
    assert not missing


def test_importing_atoll_loads_nothing_heavy() -> None:
    assert not loaded("import atoll") & set(HEAVY)


def test_help_loads_nothing_heavy() -> None:
    code = "from atoll.cli import command\ntry: command.main(['--help'])\nexcept SystemExit: pass"
    assert not loaded(code) & set(HEAVY)


def test_a_planted_heavy_import_is_seen() -> None:
    assert "numpy" in loaded("import atoll, numpy")


def test_every_code_that_is_raised_is_in_the_table() -> None:
    used = {
        code
        for path in SOURCES.rglob("*.py")
        if "table" not in path.parts
        for code in re.findall(r"\bATL\d{4}\b", path.read_text())
    }
    assert len(used) > 20
    assert used <= codes().keys(), sorted(used - codes().keys())
