"""What the emitters write for two kernels changes only when somebody means it to."""

from __future__ import annotations

import importlib.util
from pathlib import Path

HERE = Path(__file__).parents[2] / "golden" / "emitters"


def test_the_golden_files_are_what_the_emitters_write() -> None:
    spec = importlib.util.spec_from_file_location("regenerate", HERE / "regenerate.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    wanted = module.golden()
    assert len(wanted) == 10
    assert {path for path in HERE.iterdir() if path.suffix != ".py" and path.is_file()} == wanted.keys()
    changed = [path.name for path, code in wanted.items() if path.read_bytes() != code]
    assert not changed, f"run {HERE / 'regenerate.py'}: {', '.join(changed)}"
