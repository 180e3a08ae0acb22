"""What the runner set aside is removed, whatever lies there, and usually without `shutil`."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from atoll.graph import runner


def test_a_folder_of_files_goes_without_shutil(tmp_path: Path) -> None:
    (tmp_path / "aside").mkdir()
    for name in ("0", "1", " odd $name"):
        (tmp_path / "aside" / name).write_text("old", encoding="utf-8")
    folder = str(Path(runner.__file__).parent)
    code = (
        f"import sys; sys.path.insert(0, {folder!r}); import runner; runner.remove('aside')\n"
        "print('shutil' in sys.modules, flush=True); runner.leave(7); print('not reached')"
    )
    command = [sys.executable, "-I", "-S", "-c", code]
    found = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert (found.stdout, found.returncode) == ("False\n", 7)
    assert not (tmp_path / "aside").exists()


def test_a_folder_that_a_command_left_goes_with_all_below(tmp_path: Path) -> None:
    (tmp_path / "out/inner").mkdir(parents=True)
    (tmp_path / "out/inner/file").write_text("new", encoding="utf-8")
    (tmp_path / "kept").mkdir()
    (tmp_path / "kept/file").write_text("kept", encoding="utf-8")
    (tmp_path / "out/link").symlink_to(tmp_path / "kept")
    runner.remove(str(tmp_path / "out"))
    assert not (tmp_path / "out").exists()
    assert (tmp_path / "kept/file").read_text(encoding="utf-8") == "kept"


def test_a_link_to_a_folder_goes_alone(tmp_path: Path) -> None:
    (tmp_path / "kept").mkdir()
    (tmp_path / "kept/file").write_text("kept", encoding="utf-8")
    (tmp_path / "link").symlink_to(tmp_path / "kept")
    runner.remove(str(tmp_path / "link"))
    assert (tmp_path / "kept/file").exists()
    assert not (tmp_path / "link").is_symlink()
