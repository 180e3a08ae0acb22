"""Hostile TOML is refused within bounds: size, nesting, dotted keys, number of values, digits."""

from __future__ import annotations

import time
from pathlib import Path

import pytest

from atoll.errors import AtollError
from atoll.manifest import read
from unit.manifest.manifests import HEAD, refused, write

HOSTILE = {
    "nesting": "x = " + "[" * 5000 + "]" * 5000,
    "inline nesting": "x = " + "{ a = " * 3000 + "1" + " }" * 3000,
    "open brackets": "x = " + "[" * 100_000,
    "a dotted key": "a." * 50_000 + "a = 1",
    "a dotted header": "[" + "a." * 50_000 + "a]",
    "an integer": "x = 0x" + "f" * 20_000,
    "an integer that no key takes": "[lane.host]\nx = [1, -9223372036854775809]",
    "many values": "x = [" + "1," * 200_000 + "]",
}


@pytest.mark.parametrize("name", sorted(HOSTILE))
def test_what_would_take_long_is_refused_soon(tmp_path: Path, name: str) -> None:
    begin = time.monotonic()
    refused(write(tmp_path, HEAD + HOSTILE[name]), "ATL0204", "beyond a bound", "bound: ")
    assert time.monotonic() - begin < 5


def test_a_file_that_is_too_large_is_not_read_whole(tmp_path: Path) -> None:
    path = write(tmp_path, HEAD)
    with path.open("ab") as stream:
        stream.truncate(8 << 30)
    refused(path, "ATL0204", "the file is too large")


@pytest.mark.parametrize(
    "text",
    [
        "x = " + "9" * 20_000,
        'x = "' + "\\" * 99_999,
        "x = " + "'" * 50_000,
        'x = "\\ud800"',
    ],
)
def test_what_is_not_toml_or_no_key_is_an_error_and_no_traceback(tmp_path: Path, text: str) -> None:
    with pytest.raises(AtollError):
        read(write(tmp_path, HEAD + text))
