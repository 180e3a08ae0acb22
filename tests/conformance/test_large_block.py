"""A parameter block over 128 bytes reaches Vulkan in a storage buffer behind the last one."""

from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from atoll.ir import LaunchLayout, ParamField
from atoll.runtime import Device
from conformance import programs, shim
from conformance.driver_kernels import code, driver, needs_device, spirv

COUNT = 40
GLSL = """\
#version 450
layout(local_size_x = 64) in;
layout(binding = 0) buffer O { float o[]; };
layout(binding = 1) readonly buffer P { float v[40]; };
void main() {
  uint i = gl_GlobalInvocationID.x;
  if (i < 40) o[i] = v[i] + 1.0;
}
"""
LAYOUT = LaunchLayout(
    buffers=("o",),
    access=("write",),
    fields=tuple(ParamField(path=f"v{index}", type="f32", offset=4 * index) for index in range(COUNT)),
    block_bytes=4 * COUNT,
)
MAIN = """
#include <stdio.h>
#include "atoll_launch.h"
extern const atoll_driver DRIVER;
static char bytes[1 << 16] __attribute__((aligned(8)));
int main(int count, char **arguments) {
  float out[40] = {0}, values[40];
  atoll_arg args[41] = {atoll_write(out, sizeof out)};
  atoll_code code = {bytes, 0, "", "", ""};
  atoll_launch launch = {ATOLL_LAUNCH_ABI, "saxpy", &code, 1, {1, 1, 1}, {64, 1, 1}, args, 41};
  FILE *file = fopen(arguments[count - 1], "rb");
  if (file == NULL) return 2;
  code.bytes = fread(bytes, 1, sizeof bytes - 1, file);
  fclose(file);
  for (int k = 0; k < 40; k++) values[k] = (float)k, args[k + 1] = atoll_value(&values[k], 4);
  if (atoll_run(&DRIVER, &launch)) return printf("%s\\n", atoll_last_error()), 0;
  for (int k = 0; k < 40; k++) printf("%g ", out[k]);
  return 0;
}
"""


# 32 floats are 128 bytes, the most that every device takes as push constants: the last block that is none.
PUSHED = 32
PUSHED_GLSL = """\
#version 450
layout(local_size_x = 64) in;
layout(binding = 0) buffer O { float o[]; };
layout(push_constant) uniform P { float v[32]; };
void main() {
  uint i = gl_GlobalInvocationID.x;
  if (i < 32) o[i] = v[i] + 1.0;
}
"""


@pytest.fixture
def library(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    needs_device(driver("vulkan"))
    monkeypatch.setenv("SHIM_REAL", "libvulkan.so.1")
    monkeypatch.setenv("SHIM_LOG", str(tmp_path / "log"))
    return shim.build("vulkan", tmp_path)


def test_in_python(tmp_path: Path, library: Path) -> None:
    emitted = replace(code("vulkan", tmp_path), code=spirv(tmp_path, GLSL, "large"), layout=LAYOUT)
    device = Device(driver("vulkan", library).open(0))
    for _ in range(3):
        out = np.zeros(COUNT, np.float32)
        device.run(emitted, (1,), (64,), {"o": out, **{f"v{index}": float(index) for index in range(COUNT)}})
        assert list(out) == [index + 1.0 for index in range(COUNT)]
    device.free()
    log = (tmp_path / "log").read_text().split()
    assert shim.unbalanced(log, {**shim.PAIRS["vulkan"], **shim.KEPT["vulkan"]}) == {}
    assert "vkCmdPushConstants" not in log


def test_in_c(tmp_path: Path, library: Path) -> None:
    found = driver("vulkan")
    main, kernel = tmp_path / "main.c", tmp_path / "large.code"
    main.write_text(MAIN)
    kernel.write_bytes(spirv(tmp_path, GLSL, "large"))
    program = programs.program(
        found, tmp_path, programs.launcher_object(found, tmp_path, library), main=str(main)
    )
    said = programs.run(program, kernel, env=dict(os.environ))
    assert said.split() == [str(index + 1) for index in range(COUNT)]
    log = (tmp_path / "log").read_text().split()
    assert shim.unbalanced(log, shim.PAIRS["vulkan"]) == {}


def test_another_group_than_the_compiled_one_is_refused_in_c(tmp_path: Path, library: Path) -> None:
    found = driver("vulkan")
    main, kernel = tmp_path / "main.c", tmp_path / "large.code"
    main.write_text(MAIN.replace("{64, 1, 1}, args", "{32, 1, 1}, args"))
    kernel.write_bytes(spirv(tmp_path, GLSL, "large"))
    program = programs.program(
        found, tmp_path, programs.launcher_object(found, tmp_path, library), main=str(main)
    )
    said = programs.run(program, kernel, env=dict(os.environ))
    assert said == "the code of saxpy fixes groups of 64 x 1 x 1, the launch says 32 x 1 x 1\n"
    assert "vkQueueSubmit" not in (tmp_path / "log").read_text()


def test_another_group_than_the_compiled_one_is_refused_in_python(tmp_path: Path, library: Path) -> None:
    emitted = code("vulkan", tmp_path)
    device = Device(driver("vulkan", library).open(0))
    x = np.zeros(4, np.float32)
    with pytest.raises(Exception, match="compiled for another group"):
        device.run(emitted, (1,), (32,), {"x": x, "y": x, "out": x, "a": 1.0, "n": 4})
    device.free()


def test_a_block_of_128_bytes_is_pushed_in_python(tmp_path: Path, library: Path) -> None:
    layout = replace(LAYOUT, fields=LAYOUT.fields[:PUSHED], block_bytes=4 * PUSHED)
    emitted = replace(code("vulkan", tmp_path), code=spirv(tmp_path, PUSHED_GLSL, "pushed"), layout=layout)
    device = Device(driver("vulkan", library).open(0))
    out = np.zeros(PUSHED, np.float32)
    device.run(emitted, (1,), (64,), {"o": out, **{f"v{index}": float(index) for index in range(PUSHED)}})
    device.free()
    assert list(out) == [index + 1.0 for index in range(PUSHED)]
    assert "vkCmdPushConstants" in (tmp_path / "log").read_text().split()


def test_a_block_of_128_bytes_is_pushed_in_c(tmp_path: Path, library: Path) -> None:
    found = driver("vulkan")
    main, kernel = tmp_path / "main.c", tmp_path / "pushed.code"
    main.write_text(MAIN.replace("40", "32").replace("41", "33"))
    kernel.write_bytes(spirv(tmp_path, PUSHED_GLSL, "pushed"))
    program = programs.program(
        found, tmp_path, programs.launcher_object(found, tmp_path, library), main=str(main)
    )
    said = programs.run(program, kernel, env=dict(os.environ))
    assert said.split() == [str(index + 1) for index in range(PUSHED)]
    assert "vkCmdPushConstants" in (tmp_path / "log").read_text().split()
