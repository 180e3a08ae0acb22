"""What a project becomes: programs, libraries, a package of one library a root; and what the plan records."""

from __future__ import annotations

import hashlib
import json
import subprocess
import sys
import zipfile
from collections.abc import Callable
from pathlib import Path

import pytest

from atoll.build import BuildPlan, plan
from atoll.errors import AtollError
from atoll.plugin.tools import KEPT
from atoll.session import Session
from atoll.testing.lanes import TracingEnvironment
from unit.build.build_project import PACKAGE, PROGRAM, REGISTRY, ROOT, reopened, session
from unit.plugins.lane_project import write


def said(*command: str | Path, **options: object) -> str:
    argv = [str(word) for word in command]
    return subprocess.run(argv, capture_output=True, text=True, check=True, **options).stdout  # type: ignore[call-overload,no-any-return]


def path(project: Session, target: str = "demo") -> Path:
    output = project.build().output(target)
    assert output is not None
    return project.root / output.path


def test_a_program_is_built_and_answers(tmp_path: Path) -> None:
    assert said(path(session(tmp_path, PROGRAM))) == "hello\n"


def test_a_changed_header_changes_the_answer(tmp_path: Path) -> None:
    project = session(tmp_path, PROGRAM)
    path(project)
    write(tmp_path, {"src/word.h": '#define WORD "other"\n'})
    assert said(path(project)) == "other\n"


def test_a_removed_source_leaves_nothing(tmp_path: Path) -> None:
    project = session(tmp_path, {**PROGRAM, "src/more.cpp": "int more;\n"})
    built = project.build()
    made = {file.name for file in (tmp_path / built.folder).rglob("more*")}
    assert "more.cpp.o" in made
    (tmp_path / "src/more.cpp").unlink()
    project.build()
    assert not list((tmp_path / built.folder).rglob("more*"))


def test_a_static_library_holds_every_object(tmp_path: Path) -> None:
    manifest = PACKAGE + '[targets.demo]\nkind = "static"\nsources = ["src/*.cpp"]\n'
    archive = path(session(tmp_path, {**PROGRAM, "atoll.toml": manifest}))
    assert archive.name == "libdemo.a"
    assert said("ar", "t", archive) == "main.cpp.o\n"


LINKED = (
    PACKAGE
    + """\
[targets.demo]
kind = "shared"
boundary = "kernels"
sources = ["cpu/*.cpp"]
[boundary.kernels]
module = "demo.kernels"
roots = ["cpu", "gpu"]
"""
)


def test_a_shared_library_with_a_boundary_shows_its_entries_alone(tmp_path: Path) -> None:
    files = {"atoll.toml": LINKED, "cpu/twice.cpp": ROOT % "cpu", "gpu/twice.cpp": ROOT % "gpu"}
    library = path(session(tmp_path, files))
    shown = {line.split()[-1] for line in said("nm", "-D", "--defined-only", library).splitlines()}
    assert shown == {"demo_twice"}


def test_two_roots_in_one_link_are_refused_with_both_and_the_usual_cause(tmp_path: Path) -> None:
    files = {
        "atoll.toml": LINKED.replace('["cpu/*.cpp"]', '["cpu/*.cpp", "gpu/*.cpp"]'),
        "cpu/twice.cpp": ROOT % "cpu",
        "gpu/twice.cpp": ROOT % "gpu",
    }
    with pytest.raises(AtollError) as caught:
        plan(session(tmp_path, files).request())
    (found,) = caught.value.diagnostics
    assert found.code == "ATL0551"
    assert "the root `cpu` enters with: cpu/twice.cpp" in found.notes
    assert "the root `gpu` enters with: gpu/twice.cpp" in found.notes
    assert 'cfg(accelerator = "none")' in (found.hint or "")


def test_a_link_that_no_root_enters_is_refused(tmp_path: Path) -> None:
    files = {
        "atoll.toml": LINKED.replace('["cpu/*.cpp"]', '["other/*.cpp"]'),
        "cpu/twice.cpp": ROOT % "cpu",
        "gpu/twice.cpp": ROOT % "gpu",
        "other/a.cpp": "int a;\n",
    }
    with pytest.raises(AtollError, match="ATL0552"):
        plan(session(tmp_path, files).request())


def test_a_package_has_one_library_a_root_and_each_shows_its_table_alone(tmp_path: Path) -> None:
    tree = path(session(tmp_path, REGISTRY))
    assert sorted(file.name for file in tree.iterdir()) == [
        "__init__.py",
        "_data",
        "_kernels_cpu.so",
        "_kernels_vulkan.so",
        "kernels.abi3.so",
        "kernels.pyi",
        "py.typed",
        "vulkan",
    ]
    # The shader is read in the library that holds it: beside the mapping code lies no copy (decision 0161).
    assert [file.name for file in (tree / "_data").iterdir()] == ["__init__.py"]
    for name, shown in (
        ("_kernels_cpu.so", "atoll_root_v1"),
        ("_kernels_vulkan.so", "atoll_root_v1"),
        ("kernels.abi3.so", "PyInit_kernels"),
    ):
        listed = said("nm", "-D", "--defined-only", tree / name).splitlines()
        assert [line.split()[-1] for line in listed] == [shown]
        assert "libpython" not in said("readelf", "-d", tree / name)


CALL = """\
from array import array
from demo import kernels
x = array("f", [1, 2, 3])
kernels.use("cpu")
kernels.twice(x)
kernels.thrice(x, over=3)
print(list(x), kernels.device_name() != "")
"""


def test_the_package_answers_in_another_interpreter_process(tmp_path: Path) -> None:
    tree = path(session(tmp_path, REGISTRY)).parent
    env = {"PATH": "/usr/bin:/bin", "PYTHONPATH": str(tree)}
    assert said(sys.executable, "-c", CALL, env=env) == "[6.0, 12.0, 18.0] True\n"


DOMAIN = {
    **REGISTRY,
    "kernels/thrice.py": """\
import atoll
from atoll import f32, kernel, view

@kernel(block=64)
def thrice(domain: view[f32], out: view[f32]):
    i = atoll.global_id(0)
    if i < domain.size:
        out[i] = 3.0 * domain[i]
""",
}
DOMAIN_CALL = """\
from array import array
from demo import kernels
x, out = array("f", [1, 2, 3]), array("f", [0, 0, 0])
kernels.use("cpu")
kernels.thrice(x, out, over=2)
print(list(out))
"""


def test_a_view_may_be_named_like_the_launchs_domain(tmp_path: Path) -> None:
    tree = path(session(tmp_path, DOMAIN, no_accel=True)).parent
    env = {"PATH": "/usr/bin:/bin", "PYTHONPATH": str(tree)}
    assert said(sys.executable, "-c", DOMAIN_CALL, env=env) == "[3.0, 6.0, 0.0]\n"
    code = (
        "import numpy as np\nfrom thrice import thrice\nx = np.ones(3, np.float32); out = np.zeros_like(x)\n"
    )
    code += "thrice.over(2, device='cpu')(x, out); print(out.tolist())"
    env = {"PATH": "/usr/bin:/bin", "PYTHONPATH": str(tmp_path / "kernels")}
    assert said(sys.executable, "-c", code, env=env) == "[3.0, 3.0, 0.0]\n"


def test_without_a_set_the_processors_root_is_built_alone(tmp_path: Path) -> None:
    tree = path(session(tmp_path, REGISTRY, no_accel=True))
    assert sorted(file.name for file in tree.glob("_*.so")) == ["_kernels_cpu.so"]


def test_the_boundary_is_byte_equal_with_and_without_a_set(tmp_path: Path) -> None:
    with_set = plan(session(tmp_path, REGISTRY).request())
    without = plan(session(tmp_path, REGISTRY, no_accel=True).request())

    def texts(found: BuildPlan, folder: str) -> dict[str, str]:
        files = found.generated
        # Not the package's `__init__.py`: it also shows the shaders, and a build without a set has none.
        wanted = ("include/demo_kernels.h", "modules/", "python/demo/kernels.pyi", "python/demo/py.typed")
        return {
            name.removeprefix(f"{folder}/"): text
            for name, text in files.items()
            if name.removeprefix(f"{folder}/").startswith(wanted)
        }

    one, other = texts(with_set, with_set.plan_folder), texts(without, without.plan_folder)
    assert one == other
    assert len(one) == 4


def test_no_accel_reads_probes_and_fetches_nothing_of_a_device(tmp_path: Path) -> None:
    project = session(tmp_path, REGISTRY, no_accel=True)
    traced = TracingEnvironment(dict(project.environment))
    project.environment = traced
    asked: list[object] = []
    project.ensure = asked.append  # type: ignore[method-assign,assignment]
    made = set(project.registry.probes.made), set(project.registry.drivers.made)
    planned = plan(project.request())
    assert not asked
    assert set(traced.read) <= {"PATH", "ATOLL_CACHE", *KEPT}
    assert set(project.registry.probes.made) == made[0]
    assert set(project.registry.drivers.made) - made[1] <= {"cpu"}
    assert planned.floors == ()
    assert sorted(planned.resolution["lanes"]) == ["host", "python"]


def test_a_kernel_for_a_root_that_is_not_there_is_refused(tmp_path: Path) -> None:
    manifest = REGISTRY["atoll.toml"].replace('accel = "vulkan1.2"', 'accel = "vulkan1.2, opencl1.2"')
    with pytest.raises(AtollError) as caught:
        plan(session(tmp_path, {**REGISTRY, "atoll.toml": manifest}).request())
    (found,) = caught.value.diagnostics
    assert found.code == "ATL0555"
    assert found.notes == ("roots of the boundary `kernels`: cpu, vulkan", "compiled for: opencl")


def test_kernels_without_a_boundary_are_refused(tmp_path: Path) -> None:
    manifest = (
        PACKAGE
        + '[build]\nlanes = ["python"]\n[targets.demo]\nkind = "executable"\nsources = ["kernels/*.py"]\n'
    )
    with pytest.raises(AtollError, match="ATL0565"):
        plan(session(tmp_path, {**REGISTRY, "atoll.toml": manifest}).request())


def test_a_target_with_nothing_to_link_says_what_was_left_out(tmp_path: Path) -> None:
    manifest = (
        PACKAGE
        + '[build]\nlanes = ["spirv"]\n[targets.demo]\nkind = "executable"\n'
        + 'sources = [{ glob = "vulkan/*.comp", accel = "vulkan" }]\n'
    )
    with pytest.raises(AtollError) as caught:
        plan(session(tmp_path, {**REGISTRY, "atoll.toml": manifest}).request())
    (found,) = caught.value.diagnostics
    assert found.code == "ATL0559"
    assert any("vulkan/*.comp" in note for note in found.notes)


def test_a_python_target_needs_a_boundary(tmp_path: Path) -> None:
    manifest = PACKAGE + '[targets.demo]\nkind = "python"\nsources = ["src/*.cpp"]\n'
    with pytest.raises(AtollError, match="ATL0556"):
        plan(session(tmp_path, {**PROGRAM, "atoll.toml": manifest}).request())


def test_a_link_without_a_root_says_which_globs_the_set_left_out(tmp_path: Path) -> None:
    manifest = LINKED.replace(
        'sources = ["cpu/*.cpp"]', 'sources = [{ glob = "gpu/*.comp", accel = "vulkan" }]'
    ).replace("[targets", '[build]\nlanes = ["spirv"]\n[targets')
    files = {"atoll.toml": manifest, "cpu/twice.cpp": ROOT % "cpu", "gpu/twice.comp": "void main() {}\n"}
    with pytest.raises(AtollError) as caught:
        plan(session(tmp_path, files, accel="opencl1.2").request())
    fault = caught.value.diagnostics[0]
    assert fault.code == "ATL0552"
    assert any(note.startswith("left out: gpu/*.comp (") for note in fault.notes), fault.notes


def test_a_project_without_targets_is_refused(tmp_path: Path) -> None:
    with pytest.raises(AtollError, match="ATL0554"):
        plan(session(tmp_path, {"atoll.toml": PACKAGE}).request())


def test_a_package_folder_ships_and_its_init_wins(tmp_path: Path) -> None:
    manifest = REGISTRY["atoll.toml"].replace('kind = "python"', 'kind = "python"\npackages = ["py/demo"]')
    files = {
        **REGISTRY,
        "atoll.toml": manifest,
        "py/demo/__init__.py": "from demo.kernels import twice\nMINE = 1\n",
        "py/demo/data/table.txt": "1 2 3\n",
        "py/demo/__pycache__/x.pyc": "",
    }
    tree = path(session(tmp_path, files, no_accel=True))
    assert "MINE" in (tree / "__init__.py").read_text()
    assert (tree / "data/table.txt").read_text() == "1 2 3\n"
    assert not (tree / "__pycache__/x.pyc").exists()


@pytest.mark.parametrize("folder", ["py/acme", "py/acme/demo"])
def test_a_namespace_package_of_the_authors_stays_one(tmp_path: Path, folder: str) -> None:
    """Its folder belongs to every distribution that has a part of it, so that nothing is written into it."""
    manifest = REGISTRY["atoll.toml"].replace('"demo.kernels"', '"acme.demo.kernels"')
    files = {
        **REGISTRY,
        "atoll.toml": manifest.replace('kind = "python"', f'kind = "python"\npackages = ["{folder}"]'),
        "cpu/twice.cpp": REGISTRY["cpu/twice.cpp"].replace("demo_kernels.h", "acme_demo_kernels.h"),
        "py/acme/demo/__init__.py": "MINE = 1\n",
        "py/acme/demo/data/table.txt": "1 2 3\n",
    }
    project = session(tmp_path, files, no_accel=True)
    built = project.build()
    found = {path.relative_to(built.tree).as_posix() for path in built.tree.rglob("*") if path.is_file()}
    assert {name for name in found if name.startswith("acme/")} == {
        "acme/demo/__init__.py",
        "acme/demo/_kernels_cpu.so",
        "acme/demo/data/table.txt",
        "acme/demo/kernels.abi3.so",
        "acme/demo/kernels.pyi",
        "acme/demo/py.typed",
    }
    with zipfile.ZipFile(project.pack(built, tmp_path / "dist").path) as archive:
        assert {name for name in archive.namelist() if name.startswith("acme/")} == {
            name for name in found if name.startswith("acme/")
        }


def test_a_package_without_files_of_its_own_is_no_namespace(tmp_path: Path) -> None:
    manifest = REGISTRY["atoll.toml"].replace('kind = "python"', 'kind = "python"\npackages = ["py/demo"]')
    files = {**REGISTRY, "atoll.toml": manifest, "py/demo/data/table.txt": "1 2 3\n"}
    assert (path(session(tmp_path, files, no_accel=True)) / "__init__.py").is_file()


def test_a_package_folder_that_is_missing_is_refused(tmp_path: Path) -> None:
    manifest = REGISTRY["atoll.toml"].replace('kind = "python"', 'kind = "python"\npackages = ["py/gone"]')
    with pytest.raises(AtollError, match="ATL0560"):
        plan(session(tmp_path, {**REGISTRY, "atoll.toml": manifest}, no_accel=True).request())


def test_git_sees_nothing_of_what_is_made(tmp_path: Path) -> None:
    project = session(tmp_path, REGISTRY, no_accel=True)
    project.build()
    for words in ("init -q .", "add ."):
        subprocess.run(["git", *words.split()], cwd=tmp_path, check=True)
    said = subprocess.run(
        ["git", "ls-files"], cwd=tmp_path, capture_output=True, text=True, check=True
    ).stdout
    assert "atoll.toml" in said.split()
    assert not [name for name in said.split() if name.startswith(".atoll")]


def test_the_resolution_names_tools_reasons_and_roots(tmp_path: Path, tell: Callable[[str], None]) -> None:
    project = session(tmp_path, REGISTRY)
    built = project.build()
    found = json.loads((tmp_path / built.folder / "resolution.json").read_text())
    assert found["accel"] == "vulkan1.2"
    assert found["roots"] == {"demo": {"cpu": "cpu", "vulkan": "vulkan"}}
    for lane, row in found["lanes"].items():
        for tool in row["tools"]:
            tell(f"PATH=/usr/bin:/bin {lane}: {tool['name']} {tool['path']}: {tool['why']}")
            assert tool["why"]
    assert found["lanes"]["spirv"]["tools"][0]["path"].startswith("/usr/bin/")


def test_compile_commands_names_every_object(tmp_path: Path) -> None:
    project = session(tmp_path, PROGRAM)
    built = project.build()
    (row,) = json.loads((tmp_path / built.folder / "compile_commands.json").read_text())
    assert row["file"] == "src/main.cpp"
    assert row["directory"] == str(tmp_path)
    said(*row["arguments"], cwd=tmp_path)


def test_two_clean_builds_in_one_folder_give_equal_bytes(tmp_path: Path) -> None:
    def made() -> dict[str, str]:
        import shutil

        shutil.rmtree(tmp_path / ".atoll", ignore_errors=True)
        built = session(tmp_path, REGISTRY).build()
        files = [file for out in built.outputs for file in out.files]
        return {file: hashlib.sha256((tmp_path / file).read_bytes()).hexdigest() for file in files}

    assert made() == made()


def test_sets_do_not_share_a_folder_and_switching_replays_nothing(tmp_path: Path) -> None:
    first = session(tmp_path, REGISTRY).build()
    second = reopened(tmp_path, no_accel=True).build()
    again = reopened(tmp_path).build()
    assert first.folder != second.folder
    assert again.result.ran == ()


def test_a_target_alone_makes_what_it_needs_and_removes_nothing(tmp_path: Path) -> None:
    files = {
        **PROGRAM,
        "atoll.toml": PROGRAM["atoll.toml"] + '[targets.other]\nkind = "executable"\nsources = ["o/*.cpp"]\n',
        "o/main.cpp": "int main() {}\n",
    }
    project = session(tmp_path, files)
    assert not [name for name in project.build(targets=("demo",)).result.ran if "other" in name]
    assert [name for name in project.build().result.ran if "other" in name]
    assert project.build(targets=("demo",)).result.removed == ()
    assert path(project, "other").exists()


def test_a_target_that_is_none_is_refused_with_the_nearest(tmp_path: Path) -> None:
    with pytest.raises(AtollError) as caught:
        session(tmp_path, PROGRAM).build(targets=("dmeo",))
    assert caught.value.diagnostics[0].hint == "write `demo`"


def test_a_profile_that_is_none_is_refused(tmp_path: Path) -> None:
    with pytest.raises(AtollError, match="profiles: debug, release"):
        session(tmp_path, PROGRAM, profile="fast").request()


def test_paths_with_spaces_and_letters_of_other_scripts_build(tmp_path: Path) -> None:
    files = {
        "atoll.toml": PACKAGE + '[targets.demo]\nkind = "executable"\nsources = ["源 码/**/*.cpp"]\n',
        "源 码/a$b #c/main.cpp": '#include "w \'d.h"\n#include <cstdio>\nint main() { std::puts(WORD); }\n',
        "源 码/a$b #c/w 'd.h": '#define WORD "one"\n',
    }
    project = session(tmp_path / "dir with space", files)
    assert said(path(project)) == "one\n"
    write(project.root, {"源 码/a$b #c/w 'd.h": '#define WORD "two"\n'})
    assert said(path(project)) == "two\n"
    assert project.build().result.ran == ()
