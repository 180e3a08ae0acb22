"""Which extensions a shader compiler has is asked once for each compiler and kept under its bytes."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Callable
from pathlib import Path

import pytest

from atoll.accel import Entry, Version
from atoll.errors import LaneError
from atoll.plugin import LaneRequest, Unit
from atoll.plugin.tools import find_program
from atoll_plugins.spirv.compilers import GlslCompiler, read_compiler
from atoll_plugins.spirv.extensions import answers, required
from atoll_plugins.spirv.lane import SpirvLane
from unit.plugins.lane_project import ENVIRONMENT, program, request, write

VULKAN = Entry(backend="vulkan", version=Version((1, 2)))
# In glslang since 2016; in no compiler at all.
OLD, NONE = "GL_EXT_shader_16bit_storage", "GL_NOT_an_extension"
SHADER = "#version 450\n{lines}\nlayout(local_size_x = 1) in;\nvoid main() {{}}\n"
# Counts how often it is asked; has what stands beside it in `has`.
FAKE = """\
here=$(dirname "$0")
case "$*" in
  --version) echo "shaderc v9.9"; exit 0 ;;
  --help) echo "vulkan1.2"; exit 0 ;;
esac
echo asked >> "$here/asked"
name=$(sed -n 's/#extension \\(GL_[A-Za-z0-9_]*\\) : require/\\1/p' probe.comp)
if grep -q "$name" "$here/has"; then exit 0; fi
echo "probe.comp:2: error: '#extension' : extension not supported: $name" >&2
exit 1
"""


@pytest.mark.parametrize(
    ("lines", "found"),
    [
        (f"#extension {OLD} : require", {OLD: 2}),
        (f"  #  extension  {OLD}:require // why", {OLD: 2}),
        (f"#extension {OLD} : enable", {}),
        (f"// #extension {OLD} : require", {}),
        (f"/*\n#extension {OLD} : require\n*/", {}),
        (f"/*\n*/\n#extension {OLD} : require", {OLD: 4}),
        (f"#ifdef WIDE\n#extension {OLD} : require\n#endif", {}),
        (f"#extension {OLD} : require\n#extension {NONE} : require", {OLD: 2, NONE: 3}),
        ("/*" * 50_000, {}),
    ],
)
def test_what_a_shader_requires_is_read(lines: str, found: dict[str, int]) -> None:
    assert required(f"#version 450\n{lines}\n") == found


def fake(folder: Path, *has: str) -> GlslCompiler:
    path = program(folder, "glslc", FAKE)
    (folder / "has").write_text("\n".join(has) + "\n")
    found = read_compiler(path, ENVIRONMENT)
    assert found is not None
    return found


def test_each_compiler_is_asked_once(tmp_path: Path) -> None:
    environment = {**ENVIRONMENT, "ATOLL_CACHE": str(tmp_path / "cache")}
    compiler = fake(tmp_path / "one", OLD)
    for _ in range(3):
        assert answers(compiler, (OLD, NONE), environment) == {OLD: True, NONE: False}
    assert (tmp_path / "one/asked").read_text().count("asked") == 2
    (kept,) = (tmp_path / "cache/glsl-extensions").iterdir()
    assert json.loads(kept.read_text()) == {OLD: True, NONE: False}
    # Other bytes are another compiler.
    (tmp_path / "one/glslc").write_text((tmp_path / "one/glslc").read_text() + "# rebuilt\n")
    assert answers(compiler, (OLD,), environment) == {OLD: True}
    assert (tmp_path / "one/asked").read_text().count("asked") == 3


@pytest.mark.parametrize("text", ["[]", "nonsense", '{"GL_x": 1}'])
def test_damaged_answers_are_asked_again(tmp_path: Path, text: str) -> None:
    environment = {**ENVIRONMENT, "ATOLL_CACHE": str(tmp_path / "cache")}
    compiler = fake(tmp_path / "one", OLD)
    answers(compiler, (OLD,), environment)
    (kept,) = (tmp_path / "cache/glsl-extensions").iterdir()
    kept.write_text(text)
    assert answers(compiler, (OLD,), environment) == {OLD: True}


@pytest.mark.parametrize("name", ["glslc", "glslangValidator"])
def test_real_compilers_answer(tmp_path: Path, name: str, tell: Callable[[str], None]) -> None:
    path = find_program(name, ENVIRONMENT)
    if path is None:
        pytest.skip(f"no {name} on this machine")
    compiler = read_compiler(path, ENVIRONMENT)
    assert compiler is not None
    found = answers(compiler, (OLD, NONE, "GL_KHR_cooperative_matrix"), {"ATOLL_CACHE": str(tmp_path)})
    tell(f"{name} {compiler.version}: {found}")
    assert found[OLD]
    assert not found[NONE]


def asked(root: Path, lines: str, path: str) -> LaneRequest:
    write(root, {"a.comp": SHADER.format(lines=lines)})
    made = request(root, (Unit(path="a.comp", target="demo", entry=VULKAN),), VULKAN)
    return dataclasses.replace(made, environment={"PATH": path, "ATOLL_CACHE": str(root / "cache")})


def test_a_shader_that_requires_what_the_compiler_has_is_an_input_of_the_plan(tmp_path: Path) -> None:
    fake(tmp_path / "one", OLD)
    plan = SpirvLane().plan(asked(tmp_path, f"#extension {OLD} : require", f"{tmp_path}/one:/usr/bin:/bin"))
    assert "a.comp" in plan.planner_inputs
    plan = SpirvLane().plan(asked(tmp_path, "", f"{tmp_path}/one:/usr/bin:/bin"))
    assert "a.comp" not in plan.planner_inputs


def test_a_compiler_that_has_it_is_named(tmp_path: Path) -> None:
    fake(tmp_path / "one")
    program(tmp_path / "two", "glslangValidator", FAKE)
    (tmp_path / "two/has").write_text(f"{OLD}\n")
    made = asked(tmp_path, f"#extension {OLD} : require", f"{tmp_path}/one:{tmp_path}/two:/usr/bin:/bin")
    with pytest.raises(LaneError) as raised:
        SpirvLane().plan(made)
    (found,) = raised.value.diagnostics
    assert found.code == "ATL0531"
    assert found.message == f"the shader compiler does not have `{OLD}`, which `a.comp` requires"
    assert found.notes == (
        f"compiler: glslc 9.9 at {tmp_path}/one/glslc",
        f"it has it: glslangValidator 9.9 at {tmp_path}/two/glslangValidator",
    )
    assert found.hint == 'write `[lane.spirv] compiler = "glslangValidator"`'
