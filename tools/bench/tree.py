"""Which project is built? A generated tree of shaders and C++ units, with a manifest and a CMake project.

Both compile the same files with the same compilers and flags, embed every shader, and link one program that
calls every unit. Shaders and headers are shared in groups: an edit of one has a known number of users.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

FLAGS = ("-O2", "-DNDEBUG", "-ffp-contract=off", "-fPIC")
ENVIRONMENT = "vulkan1.2"

_SHADER = """\
#version 450
#extension GL_GOOGLE_include_directive : enable
#include "parts/part{part}.glsl"
layout(local_size_x = 64) in;
layout(set = 0, binding = 0) readonly buffer X {{ float x[]; }};
layout(set = 0, binding = 1) buffer Y {{ float y[]; }};
layout(push_constant) uniform P {{ float a; uint n; }};
shared float tile[64];

void main() {{
    const uint i = gl_GlobalInvocationID.x;
    tile[gl_LocalInvocationID.x] = i < n ? x[i] : 0.0;
    barrier();
    float sum = {number}.0;
    for (uint k = 0; k < 64; ++k) sum = part{part}(sum, tile[(k + {number}) % 64], a);
    if (i < n) y[i] = sum;
}}
"""
_PART = """\
float part{part}(float sum, float x, float a) {{ return fma(a + {part}.0, x, sum) * {edit}.0; }}
"""
_HEADER = """\
#pragma once
#include <algorithm>
#include <map>
#include <numeric>
#include <string>
#include <vector>

// edit {edit}
namespace bench {{
struct Item{part} {{
    std::string name;
    std::vector<double> values;
}};
}}
"""
_UNIT = """\
#include "parts/part{part}.h"

namespace {{
double spread(const bench::Item{part}& item) {{
    const auto [low, high] = std::minmax_element(item.values.begin(), item.values.end());
    return *high - *low;
}}
}}

double unit{number}(double scale) {{
    std::map<std::string, bench::Item{part}> items;
    for (int k = 0; k < {number} % 7 + 3; ++k) {{
        auto& item = items[std::to_string(k * {number})];
        item.values.resize(16);
        std::iota(item.values.begin(), item.values.end(), scale * k);
        std::sort(item.values.rbegin(), item.values.rend());
    }}
    double sum = 0;
    for (const auto& [name, item] : items) sum += spread(item) + static_cast<double>(name.size());
    return sum;
}}
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Tree:
    """A generated project.

    Attributes:
        root: Its folder; manifest and ``CMakeLists.txt`` stand in it.
        shaders / units: How many of each.
        shader_users / header_users: How many an edit of one include, or one header, reaches.
    """

    root: Path
    shaders: int
    units: int
    shader_users: int
    header_users: int

    def edit_header(self, edit: int) -> None:
        """Change one header."""
        _write(self.root / "parts/part0.h", _HEADER.format(part=0, edit=edit))

    def edit_shader_include(self, edit: int) -> None:
        """Change one shader include, so that the compiled shader differs."""
        _write(self.root / "shaders/parts/part0.glsl", _PART.format(part=0, edit=edit))


def generate(root: Path, *, shaders: int = 136, units: int = 200) -> Tree:
    """Write the tree below a folder."""
    shader_parts, unit_parts = max(1, shaders // 17), max(1, units // 10)
    for part in range(shader_parts):
        _write(root / f"shaders/parts/part{part}.glsl", _PART.format(part=part, edit=1))
    for number in range(shaders):
        _write(root / _shader(number), _SHADER.format(number=number, part=number % shader_parts))
    for part in range(unit_parts):
        _write(root / f"parts/part{part}.h", _HEADER.format(part=part, edit=1))
    for number in range(units):
        _write(root / _unit(number), _UNIT.format(number=number, part=number % unit_parts))
    _write(root / "src/main.cpp", _main(shaders, units))
    _write(root / "atoll.toml", _manifest())
    _write(root / "CMakeLists.txt", _cmake(shaders, units))
    for number in range(shaders):
        _write(root / f"cmake/shader{number}.c", _embedded(number))
    return Tree(
        root=root,
        shaders=shaders,
        units=units,
        shader_users=len(range(0, shaders, shader_parts)),
        header_users=len(range(0, units, unit_parts)),
    )


def _write(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")


def _shader(number: int) -> str:
    return f"shaders/s{number:03}.comp"


def _unit(number: int) -> str:
    return f"src/u{number:03}.cpp"


def _manifest() -> str:
    return f"""\
[package]
name = "bench"

[build]
accel = "{ENVIRONMENT}"
lanes = ["spirv"]

[targets.bench]
kind = "executable"
include = ["."]
sources = ["src/*.cpp", {{ glob = "shaders/*.comp", accel = "vulkan" }}]
"""


def _main(shaders: int, units: int) -> str:
    """Return a program that reaches every unit and every embedded shader by the names both sides define."""
    accessors = [f"bench_shaders_s{number:03}_comp" for number in range(shaders)]
    lines = ["#include <cstddef>", "#include <cstdio>", 'extern "C" {']
    lines += ["struct atoll_data { const void* data; size_t size; };"]
    lines += [f"atoll_data {name}(void);" for name in accessors]
    lines += ["}", *(f"double unit{number}(double);" for number in range(units))]
    lines += ["int main() {", "  double sum = 0;", "  size_t bytes = 0;"]
    lines += [f"  sum += unit{number}(1.5);" for number in range(units)]
    lines += [f"  bytes += {name}().size;" for name in accessors]
    lines += ['  std::printf("%g %zu\\n", sum, bytes);', "}"]
    return "\n".join(lines) + "\n"


def _embedded(number: int) -> str:
    """Return the C file with which the CMake project embeds a shader: glslc's own list of words."""
    return f"""\
#include <stddef.h>
#include <stdint.h>
static const uint32_t words[] =
#include "s{number:03}.inc"
;
struct atoll_data {{ const void* data; size_t size; }};
struct atoll_data bench_shaders_s{number:03}_comp(void) {{
  struct atoll_data found = {{words, sizeof words}};
  return found;
}}
"""


def _cmake(shaders: int, units: int) -> str:
    flags = " ".join(FLAGS)
    return f"""\
cmake_minimum_required(VERSION 3.20)
project(bench C CXX)
find_program(GLSLC glslc REQUIRED)
set(CMAKE_C_FLAGS "{flags}")
set(CMAKE_CXX_FLAGS "{flags} -std=c++20")
set(CMAKE_BUILD_TYPE "")
set(sources src/main.cpp)
foreach(number RANGE 0 {units - 1})
  string(REGEX REPLACE ".*(...)$" "\\\\1" name "00${{number}}")
  list(APPEND sources src/u${{name}}.cpp)
endforeach()
file(MAKE_DIRECTORY ${{CMAKE_BINARY_DIR}}/spv)
foreach(number RANGE 0 {shaders - 1})
  string(REGEX REPLACE ".*(...)$" "\\\\1" name "00${{number}}")
  set(out ${{CMAKE_BINARY_DIR}}/spv/s${{name}}.inc)
  add_custom_command(OUTPUT ${{out}} DEPFILE ${{out}}.d
    COMMAND ${{GLSLC}} --target-env={ENVIRONMENT} -mfmt=c -MD -MF ${{out}}.d -o ${{out}}
            ${{CMAKE_SOURCE_DIR}}/shaders/s${{name}}.comp
    DEPENDS ${{CMAKE_SOURCE_DIR}}/shaders/s${{name}}.comp)
  list(APPEND sources cmake/shader${{number}}.c)
  set_source_files_properties(cmake/shader${{number}}.c PROPERTIES OBJECT_DEPENDS ${{out}})
endforeach()
add_executable(bench ${{sources}})
target_include_directories(bench PRIVATE ${{CMAKE_SOURCE_DIR}} ${{CMAKE_BINARY_DIR}}/spv)
target_link_options(bench PRIVATE -Wl,--as-needed -Wl,--build-id=sha1)
"""
