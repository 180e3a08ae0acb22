"""A path's last extension, told without making a path."""

from __future__ import annotations

import itertools
from pathlib import PurePosixPath

from atoll._util.spelling import suffix


def test_a_suffix_is_what_pathlib_says() -> None:
    names = ("".join(chars) for size in range(1, 7) for chars in itertools.product("a./b", repeat=size))
    plain = [name for name in names if str(PurePosixPath(name)) == name and not name.endswith("..")]
    assert len(plain) > 1000
    assert [suffix(name) for name in plain] == [PurePosixPath(name).suffix for name in plain]
