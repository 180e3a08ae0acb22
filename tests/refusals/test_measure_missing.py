"""A file that is not there, or is no file, is refused."""

from __future__ import annotations

import os
from pathlib import Path

from refusals.packaging_refused import refused


def test_a_file_that_is_not_there_is_refused(tmp_path: Path) -> None:
    found = refused(tmp_path / "gone.whl")
    assert (found.code, found.notes) == ("ATL0002", ("No such file or directory",))


def test_a_pipe_is_refused_and_not_waited_for(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    assert refused(tmp_path / "pipe").code == "ATL0002"


def test_a_device_file_is_refused() -> None:
    assert refused(Path("/dev/zero")).code == "ATL0002"


def test_a_name_with_a_zero_byte_is_refused() -> None:
    assert refused(Path("a\0b")).code == "ATL0002"
