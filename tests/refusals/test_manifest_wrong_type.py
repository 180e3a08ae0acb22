"""A value of the wrong type is refused naming both types."""

from __future__ import annotations

from pathlib import Path

import pytest

from unit.manifest.manifests import HEAD, refused, write

TEST = "[targets.a]\nkind = 'test'\n"


@pytest.mark.parametrize(
    ("text", "where", "expected", "found"),
    [
        ("[build]\naccel = 1\n", "build.accel", "a string", "an integer, 1"),
        ("[build]\nlanes = 'toy'\n", "build.lanes", "a list", "a string, toy"),
        ("[build]\nlanes = [1]\n", "build.lanes[0]", "a string", "an integer, 1"),
        ("[targets]\na = 3\n", "targets.a", "a table", "an integer, 3"),
        ("[targets.a]\nkind = true\n", "targets.a.kind", "one of executable", "a boolean, true"),
        (TEST + "timeout = '1'\n", "targets.a.timeout", "a number", "a string, 1"),
        (TEST + "timeout = nan\n", "targets.a.timeout", "a number from 0", "a float, nan"),
        (TEST + "timeout = true\n", "targets.a.timeout", "a number", "a boolean"),
        (TEST + "exclusive = 1\n", "targets.a.exclusive", "true or false", "an integer"),
        ("[build]\naccel = 1979-05-27\n", "build.accel", "a string", "a date or time"),
        ("[lane]\ntoy = 'x'\n", "lane.toy", "a table", "a string"),
        ("[[build]]\n", "build", "a table", "a list"),
        (
            '[targets.a]\nkind = "test"\nargs = ["a\\u0000b"]\n',
            "targets.a.args[0]",
            "a string without a NUL",
            "a",
        ),
    ],
)
def test_a_wrong_type_is_refused_naming_both(
    tmp_path: Path, text: str, where: str, expected: str, found: str
) -> None:
    path = write(tmp_path, HEAD + text)
    refused(path, "ATL0202", f"`{where}` has the wrong type", f"expected: {expected}", f"found: {found}")


@pytest.mark.parametrize("name", ["build", "target", "lane", "targets"])
def test_a_value_in_place_of_a_table_is_refused(tmp_path: Path, name: str) -> None:
    refused(write(tmp_path, f"{name} = 1\n{HEAD}"), "ATL0202", f"`{name}` has the wrong type", "a table")
