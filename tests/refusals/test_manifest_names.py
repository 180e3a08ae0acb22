"""Names and values that cannot be used are refused, and so are references to nothing."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from atoll.manifest import read
from unit.manifest.manifests import HEAD, refused, write

BOUNDARY = "[boundary.b]\nmodule = 'm'\nroots = ['r', 's']\n"
TARGET = "[targets.a]\nkind = 'static'\n"
VARIANT = "[[pack.variant]]\nlabel = 'a'\n"

WORDS = [
    ("[targets.'a/b']\nkind = 'static'\n", "`a/b` cannot be a target's name"),
    ("[targets.'..']\nkind = 'static'\n", "`..`"),
    ("[boundary.b]\nmodule = 'a-b'\nroots = ['r']\n", "`a-b`"),
    ("[boundary.b]\nmodule = 'm'\nroots = []\n", "at least one folder"),
    (BOUNDARY + "marker = 'A B'\n", "`A B`"),
    ("[profile.x]\nopt = 'fast'\n", "`fast`"),
    ("[[pack.variant]]\nlabel = 'A'\n", "`A` cannot be a variant's label"),
    (VARIANT + VARIANT, "one variant a label"),
]
IDLE = [
    (TARGET + "timeout = 1\n", "kind of the target: static"),
    (TARGET + "packages = ['x']\n", "`packages`"),
    ("[targets.a]\nkind = 'shared'\nexclusive = true\n", "`exclusive`"),
]
NOWHERE = [
    (BOUNDARY + "layout-root = 't'\n", "known: r, s"),
    (BOUNDARY + TARGET + "boundary = 'c'\n", "known: b"),
    ("[features.f]\ndependencies = ['x']\n", "known: none"),
    (VARIANT + "features = ['x']\n", "known: none"),
]
ONE_OF = [
    ("[dependencies]\nx = {}\n", "found: neither"),
    ("[dependencies]\nx = { path = 'a', index = 'b' }\n", "found: both"),
    (TARGET + "links = [{}]\n", "found: none"),
    (TARGET + "links = [{ name = 'm', cmake = 'x' }]\n", "found: name, cmake"),
]
ROWS = {"ATL0211": WORDS, "ATL0212": IDLE, "ATL0213": NOWHERE, "ATL0215": ONE_OF}


@pytest.mark.parametrize(
    ("code", "text", "part"), [(code, *row) for code, rows in ROWS.items() for row in rows]
)
def test_what_cannot_be_used_is_refused(tmp_path: Path, code: str, text: str, part: str) -> None:
    refused(write(tmp_path, HEAD + text), code, part)


@pytest.mark.parametrize("name", ["a b", "../x", "", "-x"])
def test_a_package_name_that_cannot_be_used_is_refused(tmp_path: Path, name: str) -> None:
    refused(write(tmp_path, f"[package]\nname = '{name}'\n"), "ATL0211", f"`{name}` cannot be package.name")


@pytest.mark.parametrize("version", ["1 ; rm", "", "one", "1.0\n", "1.0-", "$(touch x)", "1" * 600 + "x"])
def test_a_version_that_is_none_of_pep_440_is_refused(tmp_path: Path, version: str) -> None:
    text = '[package]\nname = "demo"\nversion = ' + json.dumps(version) + "\n"
    found = refused(write(tmp_path, text), "ATL0211")
    assert found.message == f"`{version[:80]}` cannot be package.version"
    assert found.notes == ("allowed: a version as in PEP 440, such as `1.2.0`",)


@pytest.mark.parametrize("version", ["0", "1.2.3", "2026.11", "1!2.0rc1.post3.dev4+cu130", "v1.0"])
def test_a_version_of_pep_440_is_read(tmp_path: Path, version: str) -> None:
    found = read(write(tmp_path, f'[package]\nname = "demo"\nversion = "{version}"\n'))
    assert found.package.version == version
