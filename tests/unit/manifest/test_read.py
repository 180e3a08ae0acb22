from __future__ import annotations

import os
from pathlib import Path

import pytest

from atoll.accel import AccelSet
from atoll.errors import ManifestError, UnreadableError
from atoll.manifest import Shape, Storage, TargetKind, find, read
from unit.manifest.manifests import HEAD, refused, write

WHOLE = """
[package]
name = "demo"
version = "1.2"
description = "d"
license = "Apache-2.0"
python = ">=3.12"
requires-atoll = ">=0.1"
accelerators = ["toy"]

[build]
accel = "toy1.0"
lanes = ["toy"]
include = ["inc"]
defines = ["A=1"]
cflags = ["-a"]
cxxflags = ["-b"]
ldflags = ["-c"]
cxx-std = "c++23"
program = "build_atoll.py"

[targets.app]
kind = "executable"
sources = [
  "src/*.cpp",
  { glob = "k/*.toy", accel = "toy", archs = ["t1"], defines = ["F"], flags.toy = ["-O"] },
]
links = ["m", { pkg-config = "zlib" }, { cmake = "fmt" }]
include = ["src"]
defines = ["B"]
args = ["x"]

[targets.check]
kind = "test"
sources = []
timeout = 3
exclusive = true

[targets.mod]
kind = "python"
boundary = "kernels"
packages = ["demo"]

[boundary.kernels]
module = "demo.kernels"
roots = ["a", "b"]
layout-root = "b"
strip-prefix = "demo_"
marker = "M"
shape = "registry"
declared = ["x.h"]

[data.files]
files = ["assets/*"]
base = "assets"
storage = "object"

[features.fast]
default = true
lanes = ["toy"]
sources = ["f/*.toy"]
dependencies = ["other"]

[dependencies]
other = { path = "../other", version = ">=1", features = ["x"] }
more = { index = "main" }

[lane.toy]
compiler = "toycc"
version = "1.0"
flags = ["-q"]
anything = { goes = [1, 2] }

[profile.small]
opt = "1"
debug = true

[[pack.variant]]
label = "toy1"
accel = "toy1.0"
features = ["fast"]

[[pack.variant]]
label = "null"

[[runtime.artifacts]]
role = "library"
path = "libx.so"
provenance = "here"
abi = "x86_64"
accel = "toy1.0"
requires = ["toy.driver >= 1"]

[target.'cfg(accelerator = "none")'.targets.app]
sources = ["cpu/*.cpp"]
"""


def test_every_key_of_the_surface_is_read(tmp_path: Path) -> None:
    found = read(write(tmp_path, WHOLE))
    assert (found.package.version, found.package.requires_atoll) == ("1.2", ">=0.1")
    assert (found.build.cxx_std, found.build.program) == ("c++23", "build_atoll.py")
    app = found.targets["app"]
    assert app.kind is TargetKind.EXECUTABLE
    assert app.sources is not None
    second = app.sources[1]
    assert (second.glob, second.accel, second.archs) == ("k/*.toy", "toy", ("t1",))
    assert (second.defines, dict(second.flags)) == (("F",), {"toy": ("-O",)})
    assert [(link.name, link.pkg_config, link.cmake) for link in app.links] == [
        ("m", None, None),
        (None, "zlib", None),
        (None, None, "fmt"),
    ]
    assert found.targets["check"].timeout == 3.0
    assert found.targets["check"].exclusive
    assert found.targets["mod"].packages == ("demo",)
    boundary = found.boundary["kernels"]
    assert (boundary.layout_root, boundary.shape, boundary.marker) == ("b", Shape.REGISTRY, "M")
    assert found.data["files"].storage is Storage.OBJECT
    assert found.features["fast"].sources[0].glob == "f/*.toy"
    assert found.dependencies["other"].features == ("x",)
    assert found.lane_options("toy") == {
        "compiler": "toycc",
        "version": "1.0",
        "flags": ("-q",),
        "anything": {"goes": [1, 2]},
    }
    assert found.profile["small"].debug
    assert [variant.label for variant in found.pack.variant] == ["toy1", "null"]
    assert found.runtime.artifacts[0].requires == ("toy.driver >= 1",)
    assert [overlay.text for overlay in found.overlays] == ['cfg(accelerator = "none")']


def test_an_empty_list_of_sources_is_not_the_absence_of_the_key(tmp_path: Path) -> None:
    found = read(
        write(tmp_path, HEAD + '[targets.a]\nkind = "static"\nsources = []\n[targets.b]\nkind = "static"\n')
    )
    assert found.targets["a"].sources == ()
    assert found.targets["b"].sources is None


def test_a_manifest_inside_pyproject_reads_the_same(tmp_path: Path) -> None:
    own = read(write(tmp_path, HEAD + '[targets.a]\nkind = "static"\n'))
    inside = tmp_path / "shared"
    inside.mkdir()
    text = '[project]\nname = "demo"\n[tool.atoll.targets.a]\nkind = "static"\n'
    shared = read(write(inside, text, name="pyproject.toml"))
    assert (shared.package, shared.targets) == (own.package, own.targets)


def test_facts_of_the_project_table_are_taken_unless_stated(tmp_path: Path) -> None:
    text = """
[project]
name = "theirs"
version = "3.1"
requires-python = ">=3.13"
license = { file = "LICENSE" }
[tool.atoll.package]
name = "ours"
"""
    found = read(write(tmp_path, text, name="pyproject.toml")).package
    assert (found.name, found.version, found.python, found.license) == ("ours", "3.1", ">=3.13", "")


def test_the_manifest_is_found_from_a_folder_below(tmp_path: Path) -> None:
    path = write(tmp_path, HEAD)
    below = tmp_path / "a" / "b"
    below.mkdir(parents=True)
    assert find(below) == path


def test_a_pyproject_without_the_table_is_passed_over(tmp_path: Path) -> None:
    path = write(tmp_path, HEAD)
    below = tmp_path / "a"
    below.mkdir()
    write(below, '[project]\nname = "atoll-user"\n', name="pyproject.toml")
    assert find(below) == path


def test_no_manifest_says_where_it_looked(tmp_path: Path) -> None:
    with pytest.raises(UnreadableError) as caught:
        find(tmp_path)
    assert str(tmp_path) in str(caught.value)


def test_overlays_append_lists_merge_tables_and_replace_the_rest(tmp_path: Path) -> None:
    text = (
        HEAD
        + """
[build]
cxx-std = "c++20"
defines = ["A"]
[targets.app]
kind = "executable"
sources = ["a.cpp"]
[lane.toy]
flags = ["-a"]
[target.'cfg(accelerator = "toy")'.build]
cxx-std = "c++23"
defines = ["B"]
[target.'cfg(accelerator = "toy")'.targets.app]
sources = ["b.cpp"]
[target.'cfg(accelerator = "toy")'.targets.extra]
kind = "static"
[target.'cfg(accelerator = "none")'.targets.app]
sources = ["c.cpp"]
[target.'cfg(os = "linux")'.lane.toy]
flags = ["-b"]
[target.'cfg(os = "linux")'.dependencies]
x = { path = "x" }
"""
    )
    whole = read(write(tmp_path, text))
    found = whole.resolve(AccelSet.parse("toy1.0"), "linux", "x86_64", "gcc")
    assert (found.build.cxx_std, found.build.defines) == ("c++23", ("A", "B"))
    sources = found.targets["app"].sources
    assert sources is not None
    assert [source.glob for source in sources] == ["a.cpp", "b.cpp"]
    assert set(found.targets) == {"app", "extra"}
    assert found.lane["toy"].flags == ("-a", "-b")
    assert set(found.dependencies) == {"x"}
    none = whole.resolve(AccelSet(), "macos", "x86_64", "gcc")
    sources = none.targets["app"].sources
    assert sources is not None
    assert [source.glob for source in sources] == ["a.cpp", "c.cpp"]
    assert set(none.targets) == {"app"}
    assert none.resolve(AccelSet(), "linux", "x86_64", "gcc") == none


def test_an_overlay_that_leaves_a_target_without_its_kind_is_refused_when_it_applies(tmp_path: Path) -> None:
    text = HEAD + "[target.'cfg(accelerator = \"toy\")'.targets.app]\nsources = []\n"
    whole = read(write(tmp_path, text))
    assert whole.resolve(AccelSet(), "linux", "x86_64", "gcc").targets == {}
    with pytest.raises(ManifestError, match=r"`targets\.app\.kind` is missing"):
        whole.resolve(AccelSet.parse("toy"), "linux", "x86_64", "gcc")


def test_independent_faults_are_reported_together_in_file_order(tmp_path: Path) -> None:
    text = '[package]\nnam = "x"\nversion = 3\n[targets.a]\nkind = "exe"\n[zz]\n'
    with pytest.raises(ManifestError) as caught:
        read(write(tmp_path, text))
    codes = [(item.code, item.span.line if item.span else 0) for item in caught.value.diagnostics]
    assert codes == [("ATL0206", 1), ("ATL0201", 2), ("ATL0202", 3), ("ATL0203", 5), ("ATL0201", 6)]


def test_an_accel_set_is_refused_at_its_place_in_the_manifest(tmp_path: Path) -> None:
    found = read(write(tmp_path, HEAD + '[build]\naccel = "toy1.0 gfx"\n'))
    with pytest.raises(ManifestError) as caught:
        found.accel_set()
    span = caught.value.diagnostics[0].span
    assert span is not None
    assert (span.line, span.column) == (4, 10 + len("toy1.0"))
    assert span.text == 'accel = "toy1.0 gfx"'


def test_the_two_profiles_always_exist_and_can_be_changed(tmp_path: Path) -> None:
    found = read(write(tmp_path, HEAD + '[profile.debug]\nopt = "1"\n'))
    debug, release = found.profile_named("debug"), found.profile_named("release")
    assert debug is not None
    assert release is not None
    assert (debug.opt, debug.debug, release.opt) == ("1", False, "2")
    assert found.profile_named("other") is None


def test_a_file_that_is_no_text_is_said_so(tmp_path: Path) -> None:
    (tmp_path / "atoll.toml").write_bytes(b"\xff\xfe")
    refused(tmp_path / "atoll.toml", "ATL0002", "could not be read")
    refused(tmp_path / "missing.toml", "ATL0002", "No such file")


def test_a_mark_of_the_order_of_bytes_is_passed_over(tmp_path: Path) -> None:
    (tmp_path / "atoll.toml").write_bytes(b"\xef\xbb\xbf" + HEAD.encode())
    assert read(tmp_path).package.name == "demo"
    (tmp_path / "atoll.toml").write_bytes(b"\xef\xbb\xbf" + HEAD.encode() + b"# \xff")
    found = refused(tmp_path / "atoll.toml", "ATL0002", "it is not UTF-8: byte 0xff")
    assert found.span is not None
    assert (found.span.line, found.span.column) == (3, 3)


@pytest.mark.parametrize("kind", ["folder", "pipe", "circle", "nowhere", "device"])
def test_what_stands_in_a_manifests_place_hides_the_project_above(tmp_path: Path, kind: str) -> None:
    """Before, the project above was built instead, or a pipe was waited for."""
    write(tmp_path, HEAD)
    inner = tmp_path / "inner" / "atoll.toml"
    inner.parent.mkdir()
    if kind == "folder":
        inner.mkdir()
    elif kind == "pipe":
        os.mkfifo(inner)
    else:
        inner.symlink_to({"circle": "atoll.toml", "nowhere": "gone", "device": "/dev/zero"}[kind])
    assert find(inner.parent) == inner
    refused(inner, "ATL0002", "could not be read", "reason: ")


def test_a_shared_manifest_above_that_may_not_be_read_is_no_manifest(tmp_path: Path) -> None:
    write(tmp_path, HEAD)
    (tmp_path / "inner").mkdir()
    (tmp_path / "inner/pyproject.toml").symlink_to("/proc/self/mem")
    assert find(tmp_path / "inner") == tmp_path / "atoll.toml"
