"""The answer of a `.cu` unit comes from its machine code: changed in place, it is wrong on a device."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from e2e.harness import ATOLL, copied, right, run
from e2e.sabotage_cuda import sabotage_cuda

ANSWER = "12 24 36 48"


def built(folder: Path, flags: str) -> Path:
    project = copied("saxpy/cuda", folder)
    manifest = project / "atoll.toml"
    manifest.write_text(manifest.read_text() + f"\n[lane.cuda]\nflags = [{flags}]\n")
    return project / right(ATOLL, "build", where=project).out.strip()


def test_every_entry_of_the_fat_binary_can_be_changed_and_then_answers_wrong(
    tmp_path: Path, tell: Callable[[str], None]
) -> None:
    program = built(tmp_path, '"--no-compress"')
    before = program.stat().st_size
    first = run(program, where=tmp_path)
    said = sabotage_cuda(program)
    for change in said:
        tell(change)
    kinds = sorted((line.split(": ")[1], line.rsplit(" in ", 1)[1]) for line in said)
    assert kinds == [("sm_80", "machine code"), ("sm_90", "PTX"), ("sm_90", "machine code")]
    assert program.stat().st_size == before
    second = run(program, where=tmp_path)
    if first.code == 0:
        assert first.out.startswith(ANSWER)
        assert not second.out.startswith(ANSWER), "the answer does not come from the machine code"
        return
    assert second.err == first.err
    tell("no device of CUDA: what the changed code answers is not seen here")


def test_compressed_code_is_not_changed_by_guessing(tmp_path: Path) -> None:
    program = built(tmp_path, "")
    with pytest.raises(AssertionError, match="--no-compress"):
        sabotage_cuda(program)
