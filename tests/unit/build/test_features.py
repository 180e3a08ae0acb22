"""A build that does not name a feature resolves nothing of it, byte for byte; one that does gets all."""

from __future__ import annotations

import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from atoll.errors import ManifestError
from atoll.manifest import enable, read
from atoll.session import Built
from unit.build.build_project import PACKAGE, SHADER, reopened, session
from unit.plugins.lane_project import write

PLAIN = {
    "atoll.toml": PACKAGE
    + '[build]\naccel = "vulkan1.2"\n[targets.demo]\nkind = "executable"\nsources = ["src/*.cpp"]\n'
    + '[targets.check]\nkind = "test"\nsources = ["check/*.cpp"]\n',
    "src/main.cpp": "#include <cstdio>\nint more() __attribute__((weak));\n"
    'int main() { std::printf("%d\\n", more ? more() : 0); }\n',
    "check/main.cpp": "int main() {}\n",
    "extra/more.cpp": "int more() { return 7; }\n",
    "extra/twice.comp": SHADER,
}
FEATURE = """\
[features.extra]
lanes = ["spirv"]
sources = ["extra/*.cpp", { glob = "extra/*.comp", accel = "vulkan" }]
dependencies = ["other"]
[dependencies]
other = { path = "nowhere" }
"""


def resolved(built: Built) -> dict[str, str]:
    """Return what a build resolved to and what runs, as text by file."""
    folder = built.root / built.folder
    names = ("resolution.json", "compile_commands.json", ".graph/build.ninja")
    return {name: (folder / name).read_text().replace(str(built.root), "ROOT") for name in names}


def test_a_feature_that_nobody_names_changes_no_byte(tmp_path: Path, tell: Callable[[str], None]) -> None:
    without = session(tmp_path / "a", PLAIN).build()
    files = {**PLAIN, "atoll.toml": PLAIN["atoll.toml"] + FEATURE}
    beside = session(tmp_path / "b", files).build()
    one, other = resolved(without), resolved(beside)
    tell(f"compared {', '.join(f'{name} ({len(text)} bytes)' for name, text in one.items())}")
    assert one == other


def test_a_planted_default_is_seen_to_change_them(tmp_path: Path) -> None:
    without = session(tmp_path / "a", PLAIN).build()
    more = FEATURE.replace('dependencies = ["other"]', "default = true").split("[dependencies]")[0]
    beside = session(tmp_path / "b", {**PLAIN, "atoll.toml": PLAIN["atoll.toml"] + more}).build()
    one, other = resolved(without), resolved(beside)
    assert all(one[name] != other[name] for name in one)


def test_a_feature_brings_its_sources_and_its_lane(tmp_path: Path) -> None:
    more = FEATURE.replace('dependencies = ["other"]\n', "").split("[dependencies]")[0]
    made = session(tmp_path, {**PLAIN, "atoll.toml": PLAIN["atoll.toml"] + more}, features=("extra",))
    built = made.build()
    found = built.output("demo")
    assert found is not None
    assert (
        subprocess.run([built.root / found.path], capture_output=True, text=True, check=True).stdout == "7\n"
    )
    assert "spirv demo extra/twice.comp" in built.result.ran


def test_two_choices_of_features_share_no_folder(tmp_path: Path) -> None:
    more = FEATURE.replace('dependencies = ["other"]\n', "").split("[dependencies]")[0]
    off = session(tmp_path, {**PLAIN, "atoll.toml": PLAIN["atoll.toml"] + more}).build()
    on = reopened(tmp_path, features=("extra",)).build()
    again = reopened(tmp_path).build()
    assert off.folder == again.folder != on.folder
    assert again.result.ran == ()


def test_sources_of_a_feature_join_default_sources(tmp_path: Path) -> None:
    manifest = (
        PACKAGE + '[targets.demo]\nkind = "executable"\n[features.extra]\nsources = ["src/more/*.cpp"]\n'
    )
    files = {
        "atoll.toml": manifest + "default = true\n",
        "src/main.cpp": PLAIN["src/main.cpp"],
        "src/more/more.cpp": PLAIN["extra/more.cpp"],
    }
    built = session(tmp_path, files).build()
    assert sorted(name for name in built.result.ran if name.startswith("host")) == [
        "host demo src/main.cpp",
        "host demo src/more/more.cpp",
    ]


def test_an_optional_dependency_is_there_only_with_its_feature(tmp_path: Path) -> None:
    manifest = read(write(tmp_path, {"atoll.toml": PLAIN["atoll.toml"] + FEATURE}) / "atoll.toml")
    assert not enable(manifest).dependencies
    assert list(enable(manifest, ["extra"]).dependencies) == ["other"]


def test_an_unknown_feature_is_refused_with_those_there_are(tmp_path: Path) -> None:
    manifest = read(write(tmp_path, {"atoll.toml": PLAIN["atoll.toml"] + FEATURE}) / "atoll.toml")
    with pytest.raises(ManifestError) as raised:
        enable(manifest, ["extre"], by="`[dependencies]` of app")
    (found,) = raised.value.diagnostics
    assert (found.code, found.message) == ("ATL0233", "`demo` has no feature `extre`")
    assert found.notes == ("asked for by: `[dependencies]` of app", "its features: extra")
    assert found.hint == "write `extra`"


def test_sources_without_a_clear_target_are_refused(tmp_path: Path) -> None:
    targets = '[targets.a]\nkind = "static"\n[targets.b]\nkind = "static"\n'
    text = PACKAGE + targets + '[features.extra]\nsources = ["x.cpp"]\n'
    manifest = read(write(tmp_path, {"atoll.toml": text}) / "atoll.toml")
    with pytest.raises(ManifestError) as raised:
        enable(manifest, ["extra"])
    (found,) = raised.value.diagnostics
    assert found.code == "ATL0232"
    assert found.notes[0] == "targets that compile and are no tests: a, b"
