"""An island that needs the C++ library is named by the build that compiles it; a plain one is not."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from atoll.store import Store
from atoll_plugins.cuda.toolkit import PAYLOADS, PINNED
from e2e.harness import ATOLL, copied, right

TIED = """
#include <string>
std::string said(int n) { return "n = " + std::to_string(n); }
"""


def test_it_is_named_once_and_plain_ones_are_not(tmp_path: Path, tell: Callable[[str], None]) -> None:
    if PAYLOADS[PINNED].name not in Store.default().names():
        pytest.skip(f"the payload {PAYLOADS[PINNED].name} is not in the store")
    project = copied("saxpy/cuda", tmp_path)
    plain = right(ATOLL, "build", where=project)
    assert "2/" in plain.err, "the island was compiled"
    assert "ATL0536" not in plain.err
    island = project / "cuda/saxpy.cu"
    island.write_text(island.read_text() + TIED)
    tied = right(ATOLL, "build", where=project).err
    (line,) = (line for line in tied.splitlines() if "ATL0536" in line)
    assert line.startswith("note[ATL0536]: the island `.atoll/build/")
    assert "undefined in it: _Z" in tied
    tell(line)
    again = right(ATOLL, "build", where=project).err
    assert "ATL0536" not in again, "a build that compiles nothing says it again"
