"""`atoll cache explain` says of what an entry is, why it was made, and whether it would be taken."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner

from atoll._util import why
from atoll.cli import cache
from atoll.runtime import Device
from atoll_plugins.cpu.driver import CpuDriver
from kernel_text import kernel_from

TEXT = (
    "@kernel\ndef twice(x: view[f32], out: view[f32]):\n    i = atoll.global_id(0)\n    out[i] = x[i] * 2.0\n"
)


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("ATOLL_CACHE", str(tmp_path))
    return tmp_path


def launched(text: str) -> None:
    """Launch through the host's compiler, which keeps what it makes."""
    device = Device(CpuDriver(with_llvm=False).open(0))
    if "interpreter" in device.name:
        pytest.skip("no C compiler")
    x, out = np.ones(4, np.float32), np.zeros(4, np.float32)
    kernel_from(text, "twice").over(4, device=device)(x, out)
    device.free()


def explained(*asked: str) -> str:
    done = CliRunner().invoke(cache.command, ["explain", *asked])
    assert done.exit_code == 0, done.output
    return done.output


def test_a_changed_kernel_says_that_its_code_differs(folder: Path) -> None:
    launched(TEXT)
    assert "nothing was kept of atoll_v1_kernel_4c624493_twice" in explained("twice")
    launched(TEXT)
    assert len(list((folder / "cpu").glob("*.so"))) == 1
    launched(TEXT.replace("2.0", "3.0"))
    said = explained("twice")
    assert said.count("made because") == 2
    assert "    the code: " in said
    assert "the compiler" not in said
    assert said.count("whole") == 2


def test_a_damaged_entry_is_made_again_and_says_so(folder: Path) -> None:
    launched(TEXT)
    (library,) = (folder / "cpu").glob("*.so")
    library.unlink()  # the code is mapped: its file is not changed under it
    library.write_bytes(b"")
    assert "damaged" in explained()
    launched(TEXT)
    assert "what was kept under this key was damaged or is gone" in explained()


def test_json_holds_the_parts(folder: Path) -> None:
    launched(TEXT)
    (entry,) = json.loads(explained("--json", "twice"))["entries"]
    assert entry["name"].endswith("twice")
    assert set(entry["parts"]) == {"the code", "the compiler", "the options"}
    assert entry["whole"] is True


def test_the_nearest_entry_is_compared_with(tmp_path: Path) -> None:
    why.note(tmp_path, "a" * 20, "k", {"code": "1", "options": "x", "tool": "p"})
    why.note(tmp_path, "b" * 20, "k", {"code": "2", "options": "x", "tool": "q"})
    why.note(tmp_path, "c" * 20, "other", {"code": "2", "options": "y", "tool": "q"})
    found = why.reasons(tmp_path, "d" * 20, "k", {"code": "2", "options": "y", "tool": "q"})
    assert found == [f"options: y; in {'b' * 12}: x"]


@pytest.mark.parametrize("text", ["", "{", "[]", '{"name": 1, "parts": {}, "because": []}', '{"name": "k"}'])
def test_what_cannot_be_believed_is_passed_over(tmp_path: Path, text: str) -> None:
    (tmp_path / "a.why").write_text(text)
    assert why.read(tmp_path / "a.why") is None
    assert why.reasons(tmp_path, "b", "k", {}) == ["nothing was kept of k"]


def test_prune_takes_the_note_with_its_entry(folder: Path) -> None:
    launched(TEXT)
    assert CliRunner().invoke(cache.command, ["prune", "--older-days", "0"]).exit_code == 0
    assert not list((folder / "cpu").iterdir())
