"""A build program reads typed facts, declares, is kept on what it read, and is replayed whole."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from atoll.errors import AtollError
from atoll.session import Built
from unit.build.build_project import PACKAGE, SHADER, reopened, session

PROGRAM = """\
from atoll.build.program import project

build = project(api=1)
with open("runs.txt", "a") as stream:
    stream.write("ran\\n")
"""
FILES = {
    "atoll.toml": PACKAGE
    + '[build]\nprogram = "build_atoll.py"\n[targets.demo]\nkind = "executable"\nsources = ["src/*.cpp"]\n',
    "src/main.cpp": '#include "table.h"\n#include <cstdio>\nextern int rows;\n'
    'int main() { std::printf("%d %s %s\\n", rows, TABLE, WORD); }\n',
    "tools/gen.c": "#include <stdio.h>\nint main(int c, char **v) {\n"
    'FILE *f = fopen(v[1], "w"); fprintf(f, "int rows = 7;\\n"); fclose(f);\n'
    'f = fopen(v[2], "w"); fprintf(f, "#define TABLE \\"made\\"\\n"); fclose(f); return 0; }\n',
    "word.txt": "hello\n",
    "build_atoll.py": PROGRAM
    + """\
cc = build.compilers["cc"].path
tool, source, header = (f"{build.out}/{name}" for name in ("gen", "table.cpp", "table.h"))
build.action("build gen", [cc, "-o", tool, "tools/gen.c"], inputs=["tools/gen.c"], outputs=[tool])
build.action("make table", [tool, source, header], inputs=[tool], outputs=[source, header])
build.source(source, target="demo")
build.header(header)
build.define(f'WORD="{build.read("word.txt").strip()}"', target="demo")
build.fact("demo.cc", build.probe([cc, "-dumpversion"]).out.strip())
build.warn("the table is small", "rows: 7")
""",
}


def output(built: Built) -> str:
    found = built.output("demo")
    assert found is not None
    return subprocess.run([built.root / found.path], capture_output=True, text=True, check=True).stdout


def runs(root: Path) -> int:
    return len((root / "runs.txt").read_text().splitlines())


def test_its_tool_its_source_its_header_and_its_define_enter_the_program(tmp_path: Path) -> None:
    built = session(tmp_path, FILES).build()
    assert output(built) == "7 made hello\n"
    assert {"build gen", "make table", "host demo program/table.cpp"} <= set(built.result.ran)
    said = json.loads((tmp_path / built.folder / "resolution.json").read_text())["program"]
    assert said["facts"][0].startswith("demo.cc = ")


def test_a_second_build_runs_nothing_and_repeats_the_warning(tmp_path: Path) -> None:
    session(tmp_path, FILES).build()
    again = reopened(tmp_path).build()
    assert (again.planned, again.result.ran, runs(tmp_path)) == (False, (), 1)
    assert [item.message for item in again.diagnostics] == ["the table is small"]


def test_a_new_plan_replays_the_kept_answer_with_its_warning(tmp_path: Path) -> None:
    session(tmp_path, FILES).build()
    (tmp_path / "src/more.cpp").write_text("int more;\n")
    again = reopened(tmp_path).build()
    assert again.planned
    assert runs(tmp_path) == 1
    assert [item.code for item in again.diagnostics] == ["ATL0597"]


def test_it_runs_again_when_something_it_read_has_changed(tmp_path: Path) -> None:
    session(tmp_path, FILES).build()
    (tmp_path / "word.txt").write_text("bye\n")
    assert output(reopened(tmp_path).build()) == "7 made bye\n"
    assert runs(tmp_path) == 2


def test_it_runs_again_when_a_listed_folder_or_an_imported_file_changes(tmp_path: Path) -> None:
    program = PROGRAM + "import helper\nbuild.define(f\"N={len(build.glob('data/*.txt'))}{helper.X}\")\n"
    main = {"src/main.cpp": '#include <cstdio>\nint main() { std::printf("%d\\n", N); }\n'}
    files = {**FILES, **main, "build_atoll.py": program, "helper.py": "X = 0\n", "data/a.txt": ""}
    assert output(session(tmp_path, files).build()) == "10\n"
    (tmp_path / "data/b.txt").touch()
    assert output(reopened(tmp_path).build()) == "20\n"
    (tmp_path / "helper.py").write_text("X = 5\n")
    assert output(reopened(tmp_path).build()) == "25\n"


def test_a_probe_is_asked_once_for_several_readers(tmp_path: Path) -> None:
    ask = tmp_path / "ask.sh"
    text = f'{PROGRAM}for _ in range(3):\n    assert build.probe(["{ask}"]).out == "yes\\n"\n'
    main = {"src/main.cpp": "int main() {}\n"}
    made = session(tmp_path, {**FILES, **main, "build_atoll.py": text})
    ask.write_text(f"#!/bin/sh\necho asked >> {tmp_path}/asked.txt\necho yes\n")
    ask.chmod(0o755)
    made.build()
    (tmp_path / "build_atoll.py").write_text(text + "# again\n")
    reopened(tmp_path).build()
    assert (tmp_path / "asked.txt").read_text() == "asked\n"
    assert runs(tmp_path) == 2


def test_what_it_reads_is_what_the_build_is(tmp_path: Path) -> None:
    seen = """\
import json
rows = [build.package, build.host, build.profile, [e.backend for e in build.accel],
        [[u.path, u.target, u.lane, list(u.backends)] for u in build.units],
        sorted(build.compilers), build.cxx_library.split()[0], dict(build.targets)]
with open("seen.json", "w") as stream:
    json.dump(rows, stream)
"""
    manifest = (
        FILES["atoll.toml"]
        .replace("[build]\n", '[build]\naccel = "vulkan1.2"\nlanes = ["spirv"]\n')
        .replace('["src/*.cpp"]', '["src/*.cpp", { glob = "*.comp", accel = "vulkan" }]')
    )
    main = {"src/main.cpp": "int main() {}\n", "twice.comp": SHADER}
    session(tmp_path, {**FILES, **main, "atoll.toml": manifest, "build_atoll.py": PROGRAM + seen}).build()
    assert json.loads((tmp_path / "seen.json").read_text()) == [
        "demo",
        "linux",
        "release",
        ["vulkan"],
        [["twice.comp", "demo", "spirv", ["vulkan"]]],
        ["c++", "cc"],
        "libstdc++",
        {"demo": "executable"},
    ]


def test_a_generated_shader_is_compiled_by_its_lane(tmp_path: Path) -> None:
    text = PROGRAM + 'build.source(build.generate("a/twice.comp", build.read("x.txt")), target="demo")\n'
    manifest = FILES["atoll.toml"].replace("[build]\n", '[build]\naccel = "vulkan1.2"\nlanes = ["spirv"]\n')
    main = {"src/main.cpp": "int main() {}\n", "x.txt": SHADER}
    built = session(tmp_path, {**FILES, **main, "atoll.toml": manifest, "build_atoll.py": text}).build()
    assert any(name.startswith("spirv demo ") for name in built.result.ran)


@pytest.mark.parametrize(
    "bad", ["raise ValueError('no')", "1/0", "import sys; sys.exit(3)", "(", "x = build.nothing"]
)
def test_its_failure_hides_no_device_unit(tmp_path: Path, bad: str) -> None:
    # The lane refuses a shader without a stage; the program fails: both are said.
    manifest = (
        FILES["atoll.toml"]
        .replace("[build]\n", '[build]\naccel = "vulkan9.9"\nlanes = ["spirv"]\n')
        .replace('["src/*.cpp"]', '["src/*.cpp", { glob = "*.comp", accel = "vulkan" }]')
    )
    files = {**FILES, "atoll.toml": manifest, "twice.comp": SHADER, "build_atoll.py": PROGRAM + bad + "\n"}
    with pytest.raises(AtollError) as raised:
        session(tmp_path, files).build()
    codes = [item.code for item in raised.value.diagnostics]
    assert codes[0] in {"ATL0594", "ATL0592"}
    assert "ATL0511" in codes
    assert any("twice.comp" in note for note in raised.value.diagnostics[0].notes)


def test_a_failed_program_is_asked_again(tmp_path: Path, tell: Callable[[str], None]) -> None:
    files = {**FILES, "build_atoll.py": PROGRAM + 'assert build.read("word.txt") == "go\\n"\n'}
    made = session(tmp_path, {**files, "src/main.cpp": "int main() {}\n"})
    with pytest.raises(AtollError):
        made.build()
    (tmp_path / "word.txt").write_text("go\n")
    reopened(tmp_path).build()
    tell(f"the program ran {runs(tmp_path)} times")
    assert runs(tmp_path) == 2
