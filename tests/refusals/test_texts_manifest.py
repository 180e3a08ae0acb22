"""What a manifest and its globs are refused with, word for word (`texts/`)."""

from __future__ import annotations

from pathlib import Path

import pytest

from atoll.manifest import glob
from atoll.plugin import registry
from refusals.exact import building, check
from unit.build.build_project import PACKAGE, SHADER
from unit.manifest.manifests import HEAD, HOST, TOY, choose, write

TARGET = '[targets.demo]\nkind = "executable"\n'
SHADERS = {"a.comp": SHADER, "b.comp": SHADER, "main.cpp": "int main() {}\n"}
LANES = '[build]\naccel = "vulkan1.1"\nlanes = ["spirv"]\n'
BOUNDARY = "[boundary.b]\nmodule = 'm'\nroots = ['r']\n"

ALONE = {
    "ATL0201_unknown_key": f'{PACKAGE}{TARGET}source = ["a.cpp"]\n',
    "ATL0202_wrong_type": f"{PACKAGE}{TARGET}sources = 1\n",
    "ATL0203_unknown_value": f'{PACKAGE}[targets.demo]\nkind = "executible"\n',
    "ATL0204_too_deep": f"{PACKAGE}a = {'[' * 200}{']' * 200}\n",
    "ATL0202_no_table": f'{PACKAGE}[dependencies]\nother = "1.0"\n',
    "ATL0205_twice": f"{PACKAGE}[targets.a]\n[targets.a]\n",
    "ATL0205_not_toml": f"{PACKAGE}[targets\n",
    "ATL0206_missing_key": f"{PACKAGE}[targets.demo]\nsources = []\n",
    "ATL0209_no_specifier": '[package]\nname = "demo"\nrequires-atoll = "soon"\n',
    "ATL0210_too_old": '[package]\nname = "demo"\nrequires-atoll = ">=99"\n',
    "ATL0211_name": '[package]\nname = "a b"\n',
    "ATL0212_no_effect": f"{PACKAGE}[targets.demo]\nkind = 'static'\ntimeout = 1\n",
    "ATL0213_nowhere": f"{PACKAGE}{BOUNDARY}{TARGET}boundary = 'c'\n",
    "ATL0214_leaves": f"{PACKAGE}{TARGET}include = ['../x']\n",
    "ATL0215_dependency": f"{PACKAGE}{TARGET}[dependencies]\nx = {{}}\n",
    "ATL0215_link": f"{PACKAGE}{TARGET}links = [{{ name = 'm', cmake = 'x' }}]\n",
}
WITH_FILES = {
    "ATL0220_lane": ('[build]\nlanes = ["sprv"]\n', '"main.cpp"'),
    "ATL0222_two_entries": (
        LANES,
        '{ glob = "*.comp", accel = "vulkan" }, { glob = "a.comp", accel = "vulkan", defines = ["A"] }',
    ),
    "ATL0223_empty_constraint": (LANES, '{ glob = "*.comp", accel = "" }'),
    "ATL0224_host_source": (LANES, '{ glob = "*.cpp", accel = "vulkan" }'),
    "ATL0225_not_declared": ('accelerators = ["opencl"]\n' + LANES, '{ glob = "*.comp", accel = "vulkan" }'),
    "ATL0226_not_covered": (
        '[build]\naccel = "cuda13.0+{sm_90}"\nlanes = ["cuda"]\n',
        '{ glob = "x.cu", accel = "cuda+{sm_100}" }',
    ),
    "ATL0228_stageless": (LANES, '"x.glsl"'),
    "ATL0229_not_listed": (LANES, '"x.cu"'),
    "ATL0230_nobody": (LANES, '"x.zig"'),
    "ATL0231_no_file": (LANES, '{ glob = "gone/*.comp", accel = "vulkan" }'),
}


def test_many_files_that_nobody_takes_are_one_refusal(tmp_path: Path) -> None:
    """A glob that is too wide once gave nine lines for each file of a project."""
    files = {f"x/{number:02}.txt": "" for number in range(30)} | {"x/a.zig": "", "x/b.zig": ""}
    manifest = f"{PACKAGE}{TARGET}sources = ['x/*']\n"
    check("ATL0230_many", tmp_path, building({"atoll.toml": manifest, **files}))


@pytest.mark.parametrize("name", ALONE)
def test_a_manifest(tmp_path: Path, name: str) -> None:
    check(name, tmp_path, building({"atoll.toml": ALONE[name]}))


@pytest.mark.parametrize("name", WITH_FILES)
def test_what_it_says_of_files(tmp_path: Path, name: str) -> None:
    tables, sources = WITH_FILES[name]
    text = f"{PACKAGE}{tables}{TARGET}sources = [{sources}]\n"
    extra = dict.fromkeys(("x.glsl", "x.cu", "x.zig"), "")
    masks = {", ".join(sorted(registry().lanes)): "LANES"}
    check(name, tmp_path, building({**SHADERS, **extra, "atoll.toml": text}), masks)


def test_two_manifests(tmp_path: Path) -> None:
    text = f"{PACKAGE}{TARGET}"
    files = {"atoll.toml": text, "pyproject.toml": '[tool.atoll.package]\nname = "demo"\n'}
    check("ATL0207_two_manifests", tmp_path, building(files))


def test_no_manifest(tmp_path: Path) -> None:
    check("ATL0208_no_manifest", tmp_path, building({}))


def test_two_lanes_and_one_extension(tmp_path: Path) -> None:
    write(tmp_path, HEAD + '[build]\nlanes = ["one", "two"]\n[targets.a]\nkind = "static"\n', "src/a.cpp")
    lanes = {"host": HOST, "one": TOY, "two": TOY}
    check("ATL0221_two_meanings", tmp_path, lambda root: choose(root, lanes=lanes))


def test_more_files_than_are_looked_at(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(glob, "MAX_ENTRIES", 2)
    files = {**SHADERS, "atoll.toml": f'{PACKAGE}{TARGET}sources = ["**/*.cpp"]\n'}
    check("ATL0227_too_many", tmp_path, building(files))


def test_sources_of_a_feature_without_a_target(tmp_path: Path) -> None:
    two = "".join(f'[targets.{name}]\nkind = "static"\nsources = ["main.cpp"]\n' for name in "ab")
    text = f'{PACKAGE}{two}[features.fast]\ndefault = true\nsources = ["a.comp"]\n'
    check("ATL0232_no_target", tmp_path, building({**SHADERS, "atoll.toml": text}))


def test_a_feature_that_there_is_not(tmp_path: Path) -> None:
    text = f'{PACKAGE}{TARGET}sources = ["main.cpp"]\n[features.fast]\n'
    check("ATL0233_no_feature", tmp_path, building({**SHADERS, "atoll.toml": text}, features=("fsat",)))


def test_a_link_to_nothing(tmp_path: Path) -> None:
    (tmp_path / "b.cpp").symlink_to("gone.cpp")
    files = {"atoll.toml": f'{PACKAGE}{TARGET}sources = ["*.cpp"]\n', "a.cpp": "int main() {}\n"}
    check("ATL0234_link_to_nothing", tmp_path, building(files))
