"""A key that the model does not have is refused with its place and the nearest one that is."""

from __future__ import annotations

from pathlib import Path

import pytest

from atoll.manifest import read
from unit.manifest.manifests import HEAD, refused, write

LINUX = "[target.'cfg(os = \"linux\")'"


@pytest.mark.parametrize(
    ("text", "key", "where", "near"),
    [
        ("[biuld]\naccel = 'x'\n", "biuld", "the manifest", "build"),
        ("[build]\nacel = 'x'\n", "acel", "[build]", "accel"),
        ("[targets.a]\nkind = 'static'\nsource = []\n", "source", "[targets.a]", "sources"),
        (
            "[boundary.b]\nmodule = 'm'\nroots = []\nlayout_root = 'r'\n",
            "layout_root",
            "[boundary.b]",
            "layout-root",
        ),
        (LINUX + ".targets.a]\nsorces = []\n", "sorces", "cfg(os", "sources"),
        (LINUX + ".package]\nname = 'x'\n", "package", "cfg(os", None),
        ("[profile.debug]\nopts = '1'\n", "opts", "[profile.debug]", "opt"),
    ],
)
def test_an_unknown_key_is_refused_with_place_and_nearest(
    tmp_path: Path, text: str, key: str, where: str, near: str | None
) -> None:
    found = refused(write(tmp_path, HEAD + text), "ATL0201", f"unknown key `{key}`", where)
    assert found.span is not None
    assert found.span.text[found.span.column - 1 :].startswith(key)
    assert found.hint == (f"write `{near}`" if near else None)


def test_a_target_under_the_name_of_the_overlays_is_one_refusal(tmp_path: Path) -> None:
    text = HEAD + '[target.app]\nkind = "executable"\nsources = []\n'
    found = refused(write(tmp_path, text), "ATL0121", "expected `cfg(…)`, found `app`", "")
    assert found.hint == "write `[targets.app]`"


def test_keys_of_a_lane_are_its_own(tmp_path: Path) -> None:
    assert read(write(tmp_path, HEAD + "[lane.toy]\nwhatever = 1\n")).lane_options("toy") == {"whatever": 1}
