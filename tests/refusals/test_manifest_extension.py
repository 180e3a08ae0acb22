"""Files that no action would take are refused by name; so are lanes that clash."""

from __future__ import annotations

from pathlib import Path

import pytest

from atoll.errors import ManifestError
from atoll.manifest import LaneFacts
from unit.manifest.manifests import HEAD, LANES, choose, head, select_refused, write


def test_an_extension_nobody_knows_is_refused_by_name(tmp_path: Path) -> None:
    for name in ("a.metl", "b"):
        write(tmp_path, head("", f'"{name}"'), name)
        select_refused(tmp_path, "ATL0230", f"`{name}`", "known: .c .cpp", accel="toy1.0")


def test_a_lane_that_is_not_listed_is_named(tmp_path: Path) -> None:
    text = HEAD + '[targets.app]\nkind = "static"\nsources = ["a.toy"]\n'
    write(tmp_path, text, "a.toy")
    found = select_refused(tmp_path, "ATL0229", "`a.toy`", "toy", "`[build] lanes`: none")
    assert found[0].hint == "add `toy` to `[build] lanes`"


def test_an_extension_without_a_stage_is_refused_with_those_that_have_one(tmp_path: Path) -> None:
    write(tmp_path, head("", '"a.stageless"'), "a.stageless")
    select_refused(tmp_path, "ATL0228", "the lane `shade` does not compile `a.stageless`", ".shade")


def test_a_lane_that_is_not_installed_is_refused(tmp_path: Path) -> None:
    write(tmp_path, HEAD + '[build]\nlanes = ["tyo"]\n')
    found = select_refused(tmp_path, "ATL0220", "no lane `tyo` is installed", "host, shade, snake, toy")
    assert found[0].hint == "write `toy`"


def test_a_lane_that_claims_a_host_extension_is_refused(tmp_path: Path) -> None:
    write(tmp_path, head("", '"a.cpp"'), "a.cpp")
    with pytest.raises(ManifestError, match=r"a lane claims `\.cpp`, which is a host extension"):
        choose(tmp_path, "", {**LANES, "toy": LaneFacts(extensions={".cpp": "unit"})})


def test_two_lanes_that_claim_one_extension_are_refused_with_both(tmp_path: Path) -> None:
    write(tmp_path, head("", '"a.toy"'), "a.toy")
    with pytest.raises(ManifestError) as caught:
        choose(tmp_path, "", {**LANES, "shade": LaneFacts(extensions={".toy": "refused"})})
    (found,) = caught.value.diagnostics
    assert (found.code, found.notes) == ("ATL0221", ("shade: refused", "toy: unit"))
