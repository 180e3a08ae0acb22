"""A program that holds several roots: each behind its suffix, one chosen a call, no silent fallback."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from unit.build.build_project import session

MANIFEST = """\
[package]
name = "app"
[targets.demo]
kind = "{kind}"
boundary = "kernels"
sources = ["cpu/*.cpp", "near/*.cpp", {more}]
[boundary.kernels]
module = "app.kernels"
roots = ["near", "far", "cpu"]
shape = "registry"
"""
ISLAND = """\
#include "app_kernels.h"
ATOLL_EXPORT_AS(x[n], status)
int app_fill(float* x, unsigned n) {
    for (unsigned i = 0; i < n; ++i) x[i] = %s;
    atoll_ran_on("%s");
    return 0;
}
"""
COUNT = """\
ATOLL_EXPORT_C
unsigned app_count() { atoll_ran_on("counted"); return 7; }
"""
MAIN = """\
#include <cstdio>
#include "app_kernels_roots.h"
#include "atoll_launch.h"
int main(int count, char** words) {
    if (count > 1 && app_kernels_use(words[1]) != 0) return std::puts(atoll_last_error()), 3;
    size_t roots = 0;
    const app_kernels_root* table = app_kernels_roots(&roots);
    for (size_t k = 0; k < roots; ++k)
        std::printf("%s %d [%s] %d %d\\n", table[k].name, table[k].available(), table[k].reason(),
                    table[k].entries.app_fill != nullptr, table[k].entries.app_count != nullptr);
    float x[2] = {};
    if (app_fill(x, 2) != 0) return std::printf("[%s] %s\\n", atoll_device_name(), atoll_last_error()), 1;
    std::printf("%g %g on %s\\n", x[0], x[1], atoll_device_name());
    if (count > 2) std::printf("%u on %s\\n", app_count(), atoll_device_name());
    return 0;
}
"""
FILES = {
    "cpu/fill.cpp": ISLAND % ("1", "the processor"),
    "near/fill.cpp": ISLAND % ("2", "near by") + COUNT,
    "far/fill.cpp": ISLAND % ("3", "far away"),
    "src/main.cpp": MAIN,
}


@pytest.fixture(scope="module")
def program(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("registry")
    manifest = MANIFEST.format(kind="executable", more='"src/*.cpp"')
    built = session(root, {**FILES, "atoll.toml": manifest}).build()
    return root / built.outputs[0].path


def ran(program: Path, *words: str, **environment: str) -> tuple[int, list[str], str]:
    done = subprocess.run(
        [program, *words], env=environment, capture_output=True, text=True, check=False, timeout=60
    )
    return done.returncode, done.stdout.splitlines(), done.stderr


def test_the_table_names_every_root_and_what_it_defines(program: Path) -> None:
    code, lines, _ = ran(program)
    assert code == 0
    assert lines[:3] == ["near 1 [] 1 1", "far 0 [it is not part of this build] 0 0", "cpu 1 [] 1 0"]


def test_a_call_goes_to_the_first_available_root(program: Path) -> None:
    assert ran(program)[1][3] == "2 2 on near by"


def test_a_call_goes_to_the_root_that_is_named(program: Path) -> None:
    assert ran(program, "cpu")[1][3] == "1 1 on the processor"
    assert ran(program, ATOLL_DEVICE="cpu")[1][3] == "1 1 on the processor"
    assert ran(program, "near", ATOLL_DEVICE="cpu")[1][3] == "2 2 on near by"


def test_a_name_that_cannot_be_had_fails_and_nothing_else_runs(program: Path) -> None:
    code, lines, _ = ran(program, ATOLL_DEVICE="far")
    assert (code, lines[3]) == (
        1,
        "[] app.kernels: the root `far` is not available: it is not part of this build",
    )
    code, lines, _ = ran(program, "near", ATOLL_DEVICE="nowhere")
    assert "ATOLL_DEVICE names no root and no device: nowhere" in lines[3]
    code, lines, _ = ran(program, ATOLL_DEVICE="nowhere")
    assert (code, lines[3]) == (1, "[] app.kernels: ATOLL_DEVICE names no root and no device: nowhere")
    assert "  cpu: available " in lines
    assert ran(program, "nowhere")[:2] == (3, ["app.kernels: there is no root nowhere"])
    assert ran(program, "far")[0] == 3


def test_a_root_that_lacks_an_entry_refuses_it_by_name(program: Path) -> None:
    assert ran(program, "near", "count")[1][-1] == "7 on counted"
    code, _, err = ran(program, "cpu", "count")
    assert code < 0
    assert err == "app.kernels: the root `cpu` lacks `app_count`\n"


def test_each_root_stands_behind_its_suffix(program: Path) -> None:
    names = subprocess.run(["nm", program], capture_output=True, text=True, check=True).stdout
    defined = {line.split()[-1] for line in names.splitlines() if " T " in line}
    assert {"app_fill", "app_fill__near", "app_fill__cpu", "app_count__near"} <= defined
    assert not {"app_fill__far", "app_count__cpu"} & defined


def test_a_library_shows_the_entries_and_the_table_alone(tmp_path: Path) -> None:
    manifest = MANIFEST.format(kind="shared", more="")
    built = session(tmp_path, {**FILES, "atoll.toml": manifest}).build()
    library = tmp_path / built.outputs[0].path
    names = subprocess.run(
        ["nm", "--dynamic", "--defined-only", library], capture_output=True, text=True, check=True
    )
    shown = {line.split()[-1] for line in names.stdout.splitlines()}
    assert shown == {"app_fill", "app_count", "app_kernels_roots", "app_kernels_use"}


def test_headers_depend_on_declarations_alone(tmp_path: Path) -> None:
    texts = []
    for name, more in (("one", ""), ("two", '"far/*.cpp"')):
        root = tmp_path / name
        built = session(root, {**FILES, "atoll.toml": MANIFEST.format(kind="static", more=more)}).build()
        include = root / ".atoll/plan" / Path(built.folder).name / "include"
        texts.append({path.name: path.read_bytes() for path in include.iterdir()})
    assert texts[0] == texts[1]
    assert {"app_kernels__near.h", "app_kernels__far.h", "app_kernels_roots.h"} <= texts[0].keys()
