"""Embedded files: one accessor in C++ and Python whatever the storage, which size chooses."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from atoll.build import datatables
from atoll.build.datatables import HEADER_LIMIT, OBJECT_LIMIT
from atoll.diagnostics import Diagnostic
from atoll.errors import AtollError
from atoll.session import Built
from unit.build.build_project import PACKAGE, SHADER, reopened, session
from unit.plugins.lane_project import write

MAIN = """\
#include "demo_data.h"
#include <cstdio>
int main() {
    atoll_data found = demo::a::text_bin();
    std::fwrite(found.data, 1, found.size, stdout);
}
"""


def project(storage: str) -> dict[str, str]:
    table = f'[data.files]\nfiles = ["data/**/*.bin"]\nbase = "data"\nstorage = "{storage}"\n'
    manifest = PACKAGE + '[targets.demo]\nkind = "executable"\nsources = ["src/*.cpp"]\n'
    return {
        "atoll.toml": manifest + table,
        "src/main.cpp": MAIN,
        "data/a/text.bin": "",
        "data/b/text.bin": "b",
    }


def stored(root: Path, storage: str, data: bytes) -> Built:
    made = session(root, project(storage))
    (root / "data/a/text.bin").write_bytes(data)
    return made.build()


def output(built: Built) -> bytes:
    found = built.output("demo")
    assert found is not None
    return subprocess.run([built.root / found.path], capture_output=True, check=True, cwd="/").stdout


@pytest.mark.parametrize("storage", ["header", "object", "file"])
@pytest.mark.parametrize("data", [b"", b"hello\0\xff\n", bytes(range(256)) * 40])
def test_the_accessor_is_the_same_whatever_the_storage(tmp_path: Path, storage: str, data: bytes) -> None:
    assert output(stored(tmp_path, storage, data)) == data


def test_size_chooses_the_storage(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert (HEADER_LIMIT, OBJECT_LIMIT) == (4096, 16 << 20)
    monkeypatch.setattr(datatables, "OBJECT_LIMIT", 10_000)
    found = {}
    for size in (4096, 4097, 10_000, 10_001):
        built = stored(tmp_path / str(size), "auto", b"x" * size)
        assert output(built) == b"x" * size
        found[size] = [
            "action" if "data @data data/a/text.bin" in built.result.ran else "header",
            (tmp_path / str(size) / built.folder / "bin/demo_data/demo_a_text_bin").exists(),
        ]
    assert found == {
        4096: ["header", False],
        4097: ["action", False],
        10_000: ["action", False],
        10_001: ["action", True],
    }


@pytest.mark.parametrize("storage", ["header", "object", "file"])
def test_an_edit_changes_the_bytes_and_a_second_build_does_nothing(tmp_path: Path, storage: str) -> None:
    stored(tmp_path, storage, b"one")
    (tmp_path / "data/a/text.bin").write_bytes(b"two and more")
    again = reopened(tmp_path).build()
    assert output(again) == b"two and more"
    assert reopened(tmp_path).build().result.ran == ()


def test_a_static_library_and_a_shared_one_carry_their_files(tmp_path: Path) -> None:
    for kind in ("static", "shared"):
        files = project("object")
        files["atoll.toml"] = files["atoll.toml"].replace(
            'sources = ["src/*.cpp"]\n',
            'sources = ["src/*.cpp"]\nlinks = ["part"]\n'
            f'[targets.part]\nkind = "{kind}"\nsources = ["part/*.cpp"]\n',
        )
        files["src/main.cpp"] = (
            '#include <cstdio>\nunsigned long size();\nint main() { std::printf("%lu", size()); }\n'
        )
        files["part/part.cpp"] = (
            '#include "demo_data.h"\nunsigned long size() { return demo::b::text_bin().size; }\n'
        )
        assert output(session(tmp_path / kind, files).build()) == b"1"


def test_a_file_that_nothing_asks_for_is_not_linked(tmp_path: Path) -> None:
    built = stored(tmp_path, "object", b"asked for")
    found = built.output("demo")
    assert found is not None
    assert b"demo_b_text_bin" not in (built.root / found.path).read_bytes()


HARD = [
    "sp ace.bin",
    "d$ollar.bin",
    "quo'te\".bin",
    "h#ash.bin",
    "p%cent.bin",
    "文字.bin",
    "-dash.bin",
    "b\\ack.bin",
]


@pytest.mark.parametrize("storage", ["header", "object", "file"])
def test_hard_names(tmp_path: Path, storage: str, tell: Callable[[str], None]) -> None:
    files = project(storage)
    files["atoll.toml"] = files["atoll.toml"].replace("data/**/*.bin", "data/hard/*")
    write(tmp_path, files)
    for name in HARD:
        write(tmp_path, {f"data/hard/{name}": name})
    calls = [f"demo::hard::{_folded(name)}()" for name in HARD]
    lines = "".join(f"show({call});" for call in calls)
    show = 'static void show(atoll_data d) { std::fwrite(d.data, 1, d.size, stdout); std::puts(""); }\n'
    text = f'#include "demo_data.h"\n#include <cstdio>\n{show}'
    (tmp_path / "src/main.cpp").write_text(f"{text}int main() {{ {lines} }}\n")
    assert output(reopened(tmp_path).build()).decode().splitlines() == HARD
    tell(f"{storage}: {len(HARD)} names")


def _folded(name: str) -> str:
    from atoll.boundary.names import folded

    return folded(name)


PYTHON = """\
[package]
name = "myapp"
[build]
accel = "vulkan1.2"
lanes = ["spirv"]
[targets.myapp]
kind = "python"
boundary = "kernels"
sources = ["cpu/*.cpp", { glob = "shaders/**/*.comp", accel = "vulkan" }]
[boundary.kernels]
module = "myapp.kernels"
roots = ["cpu"]
[data.files]
files = ["words/**/*.txt", "class.txt"]
"""
ISLAND = """\
#include "myapp_kernels.h"
ATOLL_EXPORT_AS(x[n])
int myapp_twice(float* x, unsigned n) { for (unsigned i = 0; i < n; ++i) x[i] *= 2; return 0; }
"""


def test_python_reads_shaders_and_files_through_the_same_names(tmp_path: Path) -> None:
    files = {
        "atoll.toml": PYTHON,
        "cpu/twice.cpp": ISLAND,
        "shaders/a/scale.comp": SHADER,
        "shaders/b/scale.comp": SHADER.replace("2.0", "3.0"),
        "words/hello.txt": "hello",
        "words/empty.txt": "",
        "class.txt": "top",
    }
    built = session(tmp_path, files).build()
    found = built.output("myapp")
    assert found is not None
    code = """\
import myapp
one, other = myapp.shaders.a.scale_comp(), myapp.shaders.b.scale_comp()
assert bytes(one[:4]) == bytes(other[:4]) == (0x07230203).to_bytes(4, "little")
assert one != other and one.readonly and one is myapp.shaders.a.scale_comp()
assert bytes(myapp.words.hello_txt()) == b"hello" and bytes(myapp.words.empty_txt()) == b""
assert bytes(myapp.class_txt()) == b"top"
assert myapp.kernels.myapp_twice
"""
    tree = (built.root / found.path).parent
    shaders = [built.root / built.folder / f"spirv/myapp/shaders/{name}/scale.comp.spv" for name in "ab"]
    whole = b"".join(path.read_bytes() for path in sorted(tree.rglob("*")) if path.is_file())
    assert [whole.count(shader.read_bytes()) for shader in shaders] == [1, 1], "a shader is shipped once"
    subprocess.run(
        [sys.executable, "-I", "-c", f"import sys; sys.path.insert(0, {str(tree)!r})\n{code}"], check=True
    )


def refused(root: Path, manifest: str, *files: str) -> Diagnostic:
    texts = {"src/main.cpp": "int main() {}\n", **dict.fromkeys(files, "x")}
    head = PACKAGE + '[targets.demo]\nkind = "executable"\n'
    with pytest.raises(AtollError) as raised:
        session(root, {"atoll.toml": head + manifest, **texts}).build()
    (found,) = raised.value.diagnostics
    return found


def test_two_files_that_become_one_identifier(tmp_path: Path) -> None:
    found = refused(tmp_path, '[data.x]\nfiles = ["d/*"]\n', "d/a-b.txt", "d/a.b.txt")
    assert (found.code, found.message) == ("ATL0315", "two embedded files become `demo_d_a_b_txt`")
    assert found.notes == ("one is: d/a-b.txt", "the other is: d/a.b.txt")


def test_a_glob_that_matches_nothing(tmp_path: Path) -> None:
    found = refused(tmp_path, '[data.x]\nfiles = ["d/*"]\n')
    assert (found.code, found.message) == ("ATL0317", "`d/*` of `data.x` matches no file")


def test_a_file_outside_the_base(tmp_path: Path) -> None:
    found = refused(tmp_path, '[data.x]\nfiles = ["d/*"]\nbase = "e"\n', "d/a.txt")
    assert (found.code, found.notes[0]) == ("ATL0318", "base: e")


def test_a_file_too_large_for_the_header(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(datatables, "HEADER_MOST", 0)
    found = refused(tmp_path, '[data.x]\nfiles = ["d/*"]\nstorage = "header"\n', "d/a.txt")
    assert (found.code, found.message) == ("ATL0316", "`d/a.txt` is too large to be kept in the header")
    assert found.notes == ("it has: 1 bytes", '`storage = "header"` takes: 0 bytes')


def test_a_namespace_that_hides_the_module(tmp_path: Path) -> None:
    manifest = PYTHON.replace('files = ["words/**/*.txt", "class.txt"]', 'files = ["kernels/*.txt"]')
    files = {"atoll.toml": manifest, "cpu/twice.cpp": ISLAND, "shaders/a.comp": SHADER, "kernels/x.txt": ""}
    with pytest.raises(AtollError) as raised:
        session(tmp_path, files).build()
    assert raised.value.diagnostics[0].code == "ATL0319"
