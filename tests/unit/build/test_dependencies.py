"""A consumer gets headers, libraries and boundaries of a package: of a folder, a distribution, an index."""

from __future__ import annotations

import io
import json
import subprocess
import tarfile
import tomllib
from collections.abc import Mapping
from pathlib import Path

import pytest

from atoll.errors import AtollError
from atoll.session import Built
from unit.build.build_project import reopened, session
from unit.plugins.lane_project import write
from unit.store import wheels

APP = """\
[package]
name = "app"
version = "1.0"
[targets.app]
kind = "executable"
[dependencies]
"""
MAIN = '#include "other.h"\n#include <cstdio>\nint main() { std::printf("%d\\n", other()); }\n'
OTHER = {
    "atoll.toml": """\
[package]
name = "other"
version = "1.4"
[targets.core]
kind = "static"
include = ["api"]
defines = ["OTHER=40"]
[targets.tool]
kind = "executable"
sources = ["tool/missing.cpp"]
[features.more]
sources = ["more/*.cpp"]
""",
    "api/other.h": "int other();\nint more() __attribute__((weak));\n",
    "src/other.cpp": '#include "other.h"\nint other() { return OTHER + 2 + (more ? more() : 0); }\n',
    "more/more.cpp": "int more() { return 100; }\n",
}


def below(folder: str, files: Mapping[str, str]) -> dict[str, str]:
    return {f"{folder}/{name}": text for name, text in files.items()}


def app(line: str, main: str = MAIN) -> dict[str, str]:
    return {"app/atoll.toml": f"{APP}{line}\n", "app/src/main.cpp": main}


def built_in(root: Path, files: Mapping[str, str]) -> Built:
    write(root, files)
    return reopened(root / "app").build()


def said(built: Built, target: str = "app") -> str:
    found = built.output(target)
    assert found is not None
    return subprocess.run([built.root / found.path], capture_output=True, text=True, check=True).stdout


def resolution(built: Built) -> dict[str, dict[str, str]]:
    text = (built.root / built.folder / "resolution.json").read_text()
    found: dict[str, dict[str, str]] = json.loads(text)["dependencies"]
    return found


def sdist(path: Path, files: Mapping[str, str], top: str) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    with tarfile.open(path, "w:gz") as tar:
        for name, text in files.items():
            entry = tarfile.TarInfo(f"{top}/{name}")
            entry.size = len(text.encode())
            tar.addfile(entry, io.BytesIO(text.encode()))
    return path


def test_a_folder_gives_its_headers_and_its_library_alone(tmp_path: Path) -> None:
    built = built_in(tmp_path, {**app('other = { path = "../other" }'), **below("other", OTHER)})
    assert said(built) == "42\n"
    assert not (tmp_path / "other/.atoll").exists()
    assert "archive lib/libother.core.a" in built.result.ran
    row = resolution(built)["other"]
    assert (row["version"], row["source"]) == ("1.4", "../other")


def test_an_edit_in_the_folder_rebuilds_its_users_and_nothing_else(tmp_path: Path) -> None:
    built_in(tmp_path, {**app('other = { path = "../other" }'), **below("other", OTHER)})
    assert reopened(tmp_path / "app").build().result.ran == ()
    (tmp_path / "other/src/other.cpp").write_text("int other() { return 7; }\n")
    again = reopened(tmp_path / "app").build()
    assert said(again) == "7\n"
    assert set(again.result.ran) == {
        "host other.core ../other/src/other.cpp",
        "archive lib/libother.core.a",
        "install lib/libother.core.a",
        "link bin/app",
    }


def test_a_new_file_in_the_folder_is_seen(tmp_path: Path) -> None:
    built_in(tmp_path, {**app('other = { path = "../other" }'), **below("other", OTHER)})
    (tmp_path / "other/src/more.cpp").write_text("int more() { return 1; }\n")
    assert "host other.core ../other/src/more.cpp" in reopened(tmp_path / "app").build().result.ran
    manifest = (tmp_path / "other/atoll.toml").read_text().replace("OTHER=40", "OTHER=50")
    (tmp_path / "other/atoll.toml").write_text(manifest)
    assert said(reopened(tmp_path / "app").build()) == "52\n"


def test_a_feature_is_one_line_of_the_consumer(tmp_path: Path) -> None:
    one = {**OTHER, "atoll.toml": OTHER["atoll.toml"].replace('"executable"', '"test"')}
    files = {**app('other = { path = "../other", features = ["more"] }'), **below("other", one)}
    built = built_in(tmp_path, files)
    assert "host other.core ../other/more/more.cpp" in built.result.ran


def test_a_package_of_a_package_is_linked_too(tmp_path: Path) -> None:
    deep = {
        "atoll.toml": '[package]\nname = "deep"\n[build]\ninclude = ["include"]\n'
        '[targets.deep]\nkind = "static"\n',
        "include/deep.h": "int deep();\n",
        "src/deep.cpp": "int deep() { return 5; }\n",
    }
    other = {
        **OTHER,
        "atoll.toml": OTHER["atoll.toml"] + '[dependencies]\ndeep = { path = "../deep" }\n',
        "src/other.cpp": '#include "other.h"\n#include "deep.h"\nint other() { return deep(); }\n',
    }
    files = {**app('other = { path = "../other" }'), **below("other", other), **below("deep", deep)}
    assert said(built_in(tmp_path, files)) == "5\n"


def test_a_shared_library_is_found_where_it_was_built(tmp_path: Path) -> None:
    shared = {**OTHER, "atoll.toml": OTHER["atoll.toml"].replace('"static"', '"shared"')}
    built = built_in(tmp_path, {**app('other = { path = "../other" }'), **below("other", shared)})
    assert said(built) == "42\n"


def test_a_boundary_of_a_package_is_called_through_its_header(tmp_path: Path) -> None:
    island = {
        "atoll.toml": '[package]\nname = "island"\n[targets.island]\nkind = "static"\nboundary = "kernels"\n'
        'sources = ["cpu/*.cpp"]\n[boundary.kernels]\nmodule = "island.kernels"\nroots = ["cpu"]\n',
        "cpu/twice.cpp": '#include "island_kernels.h"\nATOLL_EXPORT_AS(x[n])\n'
        "int island_twice(float* x, unsigned n) { for (unsigned i = 0; i < n; ++i) x[i] *= 2; return 0; }\n",
    }
    main = (
        '#include "island_kernels.h"\n#include <cstdio>\n'
        'int main() { float x[1] = {21}; island_twice(x, 1); std::printf("%g\\n", x[0]); }\n'
    )
    files = {**app('island = { path = "../island" }', main), **below("island", island)}
    assert said(built_in(tmp_path, files)) == "42\n"


def test_a_build_program_of_a_package_runs_in_its_folder(tmp_path: Path) -> None:
    other = {
        **OTHER,
        "atoll.toml": OTHER["atoll.toml"] + '[build]\nprogram = "build_atoll.py"\n',
        "value.txt": "9\n",
        "build_atoll.py": "from atoll.build.program import project\nbuild = project()\n"
        "text = f\"int made() {{ return {build.read('value.txt').strip()}; }}\\n\"\n"
        'build.source(build.generate("made.cpp", text), target="core")\n'
        'build.action("copy", ["/bin/cp", build.place("value.txt"), f"{build.out}/copied.h"],\n'
        '    inputs=[build.place("value.txt")], outputs=[f"{build.out}/copied.h"])\n'
        'build.header(f"{build.out}/copied.h")\n',
        "src/other.cpp": 'int made();\nint other() { return made() * 1000 +\n#include "copied.h"\n; }\n',
    }
    files = {**app('other = { path = "../other" }'), **below("other", other)}
    assert said(built_in(tmp_path, files)) == "9009\n"
    (tmp_path / "other/value.txt").write_text("3\n")
    assert said(reopened(tmp_path / "app").build()) == "3003\n"


def test_a_source_distribution_is_built_from_the_store_and_locked(tmp_path: Path) -> None:
    sdist(tmp_path / "dist/other-1.4.tar.gz", OTHER, "other-1.4")
    built = built_in(tmp_path, app('other = { path = "../dist/other-1.4.tar.gz", version = ">=1" }'))
    assert said(built) == "42\n"
    lock = tomllib.loads((tmp_path / "app/atoll.lock").read_text())
    assert list(lock["package"][0]["sha256"]) == ["other-1.4.tar.gz"]
    before = (tmp_path / "app/atoll.lock").read_bytes()
    assert reopened(tmp_path / "app").build().result.ran == ()
    assert (tmp_path / "app/atoll.lock").read_bytes() == before


def prebuilt(folder: Path, accel: str | None = "", abi: str = "") -> dict[str, tuple[str, int]]:
    """Return the files of a wheel that brings a header and an archive."""
    write(folder, {"p.cpp": "int other() { return 77; }\n"})
    subprocess.run(["g++", "-c", "-fPIC", "p.cpp", "-o", "p.o"], cwd=folder, check=True)
    subprocess.run(["ar", "rcs", "libp.a", "p.o"], cwd=folder, check=True)
    artifacts = [
        {"role": "include", "path": "other/include"},
        {"role": "library", "path": "other/lib/libp.a", "accel": accel, "abi": abi},
    ]
    text = json.dumps({"package": "other", "version": "1.4", "artifacts": artifacts})
    return {
        "other/include/other.h": (OTHER["api/other.h"], 0o644),
        "other-1.4.dist-info/atoll.json": (text, 0o644),
    }


def wheel(folder: Path, accel: str | None = "", abi: str = "") -> Path:
    files = prebuilt(folder / "made", accel, abi)
    binary = (folder / "made/libp.a").read_bytes()
    return wheels.wheel(folder, "other", "1.4", files, more={"other/lib/libp.a": binary})


def test_a_wheel_gives_its_prebuilt_library(tmp_path: Path) -> None:
    wheel(tmp_path / "dist")
    built = built_in(tmp_path, app('other = { path = "../dist/other-1.4-py3-none-any.whl" }'))
    assert said(built) == "77\n"


def test_a_wheel_that_does_not_fit_is_refused_in_the_one_text(tmp_path: Path) -> None:
    wheel(tmp_path / "dist", abi="aarch64-linux-gnu")
    with pytest.raises(AtollError) as raised:
        built_in(tmp_path, app('other = { path = "../dist/other-1.4-py3-none-any.whl" }'))
    (found,) = raised.value.diagnostics
    assert found.code == "ATL0412"
    assert found.message == "no prebuilt artifact of `other` 1.4 fits this link"
    assert found.notes[0].startswith("this link asks for    x86_64-linux-gnu-gcc")
    assert found.notes[1] == "published             aarch64-linux-gnu  accel none"
    assert found.notes[3].endswith("asked x86_64, carried aarch64")


def test_an_index_of_artifacts_is_matched_by_the_set(tmp_path: Path) -> None:
    folder = tmp_path / "vendor"
    prebuilt(folder)
    rows = [
        {"role": "library", "path": "none.a", "accel": "cuda13.0+{sm_90}"},
        {"role": "library", "path": "libp.a", "accel": ""},
        {"role": "include", "path": "include"},
    ]
    text = json.dumps({"package": "other", "version": "1.4", "artifacts": rows})
    write(folder, {"index.json": text, "include/other.h": OTHER["api/other.h"]})
    assert (
        said(built_in(tmp_path, app('other = { index = "../vendor/index.json", version = "~=1.0" }')))
        == "77\n"
    )


def test_a_package_of_the_users_index_is_locked_and_then_offline(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    wheel(tmp_path / "dist")
    wheels.only(tmp_path / "dist", monkeypatch)
    write(tmp_path, app('other = { index = "other", version = ">=1,<2" }'))
    environment = {"PATH": "/usr/bin:/bin", "ATOLL_STORE": str(tmp_path / "store")}
    from atoll.session import open_session

    assert said(open_session(tmp_path / "app", environment=environment).build()) == "77\n"
    row = tomllib.loads((tmp_path / "app/atoll.lock").read_text())["package"][0]
    assert (row["name"], row["version"], row["requirement"]) == ("other", "1.4", "other>=1,<2")
    assert list(row["sha256"]) == ["other-1.4-py3-none-any.whl"]
    assert "://" not in (tmp_path / "app/atoll.lock").read_text()
    for gone in (tmp_path / "app/.atoll", tmp_path / "dist"):
        subprocess.run(["rm", "-r", gone], check=True)
    offline = open_session(tmp_path / "app", offline=True, environment=environment)
    assert said(offline.build()) == "77\n"


def test_the_nearest_declaration_wins_and_the_other_is_reported(tmp_path: Path) -> None:
    mid = {
        "atoll.toml": '[package]\nname = "mid"\n[targets.mid]\nkind = "static"\n'
        '[dependencies]\nother = { path = "../old", version = "<1" }\n',
        "src/mid.cpp": "int mid() { return 1; }\n",
    }
    old = {**OTHER, "atoll.toml": OTHER["atoll.toml"].replace("1.4", "0.9").replace("=40", "=1")}
    lines = 'other = { path = "../other" }\nmid = { path = "../mid" }'
    files = {**app(lines), **below("other", OTHER), **below("old", old), **below("mid", mid)}
    built = built_in(tmp_path, files)
    assert said(built) == "42\n"
    (warning,) = built.diagnostics
    assert warning.code == "ATL0544"
    assert warning.notes[0] == "asked for by mid: ../old <1"
    assert warning.notes[1].startswith("taken: 1.4 from ../other, a folder, as app declares it")


def test_a_project_without_dependencies_writes_no_lock(tmp_path: Path) -> None:
    files = {"atoll.toml": APP.partition("[dep")[0], "src/main.cpp": "int main() {}\n"}
    session(tmp_path, files).build()
    assert not (tmp_path / "atoll.lock").exists()
