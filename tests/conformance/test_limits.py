"""What Vulkan leaves undefined is refused before: in C in the words of the driver in Python."""

from __future__ import annotations

import os
import subprocess
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from atoll import barrier, const, f32, global_id, kernel, local_id, shared, view
from atoll.errors import AtollError, DeviceError, OutOfMemoryError
from atoll.plugin import Emitted
from atoll.runtime import Device, core_source, include_folder
from atoll.runtime.array import empty
from conformance import programs
from conformance.driver_kernels import GLSL_TEXT, code, driver, fake_cuda, needs_device, spirv
from refusals.exact import same

GROUPS = (1, 70000, 1)


@kernel
def shares(x: view[f32], N: const[int]) -> None:
    tile = shared(f32, N)
    tile[local_id(0)] = x[local_id(0)]
    barrier()
    x[global_id(0)] = tile[63 - local_id(0)]


# A capability that every device here has, and a launcher that thinks otherwise.
LACKS_INT64 = ("(uint32_t)!has << k", "(uint32_t)!(has && vk_capabilities[k].number != 11) << k")


LARGE = GLSL_TEXT.replace("void main() {", "shared mat4 tile[64];\nvoid main() {\n tile[0] = mat4(1);")


def opened(backend: str = "vulkan", library: Path | None = None) -> Device:
    found = driver(backend, library)
    needs_device(found)
    return Device(found.open(0))


def in_c(
    code: Emitted,
    folder: Path,
    groups: tuple[int, ...] = (1, 1, 1),
    edit: tuple[str, str] = ("", ""),
    library: Path | None = None,
) -> str:
    """Launch in C; `groups` may be followed by the size of one."""
    found = driver(code.target.backend, library)
    program = programs.program(
        found, folder, programs.launcher_object(found, folder, library, edit), main="limits_main.c"
    )
    path = folder / "code"
    path.write_bytes(code.code)
    return programs.run(program, path, *map(str, groups), env={**os.environ}).rstrip("\n")


def in_python(
    device: Device, code: Emitted, groups: tuple[int, ...] = (1, 1, 1), group: tuple[int, ...] = (64,)
) -> tuple[str, tuple[str, ...]]:
    """Return what a launch refuses with: the message and the notes."""
    x, out = np.ones(4, np.float32), np.zeros(4, np.float32)
    with pytest.raises(AtollError) as caught:
        device.run(code, groups, group, {"x": x, "y": x, "out": out, "a": 2.0, "n": 4})
    (said,) = caught.value.diagnostics
    return said.message, said.notes


def with_capability(made: Emitted, number: int) -> Emitted:
    """Return SPIR-V that requires one more capability."""
    words = np.frombuffer(made.code, np.uint32)
    more = np.array([2 << 16 | 17, number], np.uint32)
    return replace(made, code=np.concatenate([words[:5], more, words[5:]]).tobytes())


def test_a_missing_capability_is_named(tmp_path: Path) -> None:
    device = opened()
    made = with_capability(code("vulkan", tmp_path), 11)
    assert in_c(made, tmp_path).startswith(("3 ", "12 "))
    said = in_c(made, tmp_path, edit=LACKS_INT64)
    assert said == f"{device.name} refuses the code of `saxpy`: it requires spirv.capability = Int64"


def test_the_launcher_and_the_driver_know_the_same_capabilities() -> None:
    """The device's facts of Python against the launcher's table."""
    from atoll_plugins.spirv.opcodes import Capability
    from atoll_plugins.vulkan import capabilities

    text = (Path(capabilities.__file__).parent / "launcher.c").read_text()
    structs = {"CORE": capabilities._CORE, "FIRST": capabilities._FIRST, "SECOND": capabilities._SECOND}
    rows = {name: f"VK_{struct}({at})" for struct, of in structs.items() for name, at in of.items()}
    rows |= {"SignedZeroInfNanPreserve": "VK_CONTROLS(shaderSignedZeroInfNanPreserveFloat32)"}
    rows |= {name: f"4, {bit}" for name, bit in capabilities._SUBGROUPS.items()}
    for name, place in rows.items():
        assert f'{{"{name}", {Capability[name].value}, {place}}}' in text, name
    assert {item.name for item in Capability} == rows.keys() | {"Shader"}


def test_too_much_shared_memory_is_refused_in_the_words_of_the_driver(tmp_path: Path) -> None:
    device = opened()
    most = device.info.limits["shared_bytes"]
    head = f"shared mat4 tile[{most // 64 + 1}];\nvoid main() {{\n tile[0] = mat4(1);"
    large = GLSL_TEXT.replace("void main() {", head)
    assert large != GLSL_TEXT
    made = code("vulkan", tmp_path)
    size = (most // 64 + 1) * 64
    made = replace(made, code=spirv(tmp_path, large), layout=replace(made.layout, shared_bytes=size))
    message, notes = in_python(device, made)
    assert message == f"{device.name} refuses the code of `saxpy`"
    assert notes == (f"it takes {size} bytes of shared memory, the device has {most}",)
    assert in_c(made, tmp_path) == f"{message}: {notes[0]}"


def test_too_many_groups_are_refused_in_the_words_of_the_driver(tmp_path: Path) -> None:
    device = opened()
    made = code("vulkan", tmp_path)
    message, notes = in_python(device, made, GROUPS)
    assert message == f"too many groups for {device.name}"
    assert in_c(made, tmp_path, GROUPS) == "; ".join([message, ", ".join(notes)])
    assert in_c(made, tmp_path, (1, 2, 1)) == "12 24 36 48"


def test_cuda_and_opencl_refuse_in_the_words_of_the_driver_too(tmp_path: Path) -> None:
    library = fake_cuda(tmp_path)
    device, made = opened("cuda", library), code("cuda", tmp_path)
    message, notes = in_python(device, made, GROUPS)
    assert notes == ("asked for: (1, 70000, 1)", "possible: at most (2147483647, 65535, 65535)")
    assert in_c(made, tmp_path, GROUPS, library=library) == "; ".join([message, ", ".join(notes)])
    large = (64, 1, 32)
    message, notes = in_python(device, made, (1,), large)
    assert notes == (
        "asked for: (64, 1, 32), 2048 together",
        "possible: at most (1024, 1024, 64), 1024 together",
    )
    assert in_c(made, tmp_path, (1, 1, 1, *large), library=library) == "; ".join([message, ", ".join(notes)])


def test_opencl_says_how_large_a_group_may_be(tmp_path: Path) -> None:
    device, made = opened("opencl"), code("opencl", tmp_path)
    most = device.info.limits["group_size"]
    message, notes = in_python(device, made, (1,), (2 * most,))
    assert message == f"too many work-items in a group for {device.name}"
    assert notes[1].endswith(f"{most} together")
    assert in_c(made, tmp_path, (1, 1, 1, 2 * most, 1, 1)) == "; ".join([message, ", ".join(notes)])


def test_opencl_measures_the_shared_memory_of_code_that_states_none(tmp_path: Path) -> None:
    """The suite's kernel is written by hand, and its layout says nothing of shared memory."""
    device, made = opened("opencl"), code("opencl", tmp_path)
    most = device.info.limits["shared_bytes"]
    own = f"__local float tile[{most // 4 + 64}]; tile[get_local_id(0)] = 1; barrier(1);\n  uint i = get"
    text = made.code.replace(b"uint i = get", own.encode())
    text = text.replace(b"block.a *", b"tile[i] * block.a *")
    large = replace(made, code=text)
    message, notes = in_python(device, large)
    assert message == f"{device.name} refuses the code of `saxpy`"
    assert notes == (f"it takes {most + 256} bytes of shared memory, the device has {most}",)
    assert in_c(large, tmp_path) == f"{message}: {notes[0]}"


@pytest.mark.parametrize("backend", ["cpu", "opencl", "vulkan"])
def test_a_kernel_that_shares_too_much_is_refused_with_both_sizes(backend: str) -> None:
    """Before it was: the processor ran over its stack, PoCL ended the process."""
    device = opened(backend)
    most = device.info.limits["shared_bytes"]
    with pytest.raises(AtollError) as caught:
        shares.instance(N=most).over(64, device=device)(np.zeros(64, np.float32))
    (said,) = caught.value.diagnostics
    assert said.message.startswith(f"{device.name} refuses the code of ")
    assert said.notes[0].endswith(f"bytes of shared memory, the device has {most}")
    assert shares.instance(N=512).over(64, device=device)(np.zeros(64, np.float32)).device == device.name


@pytest.mark.parametrize("backend", ["vulkan", "opencl"])
def test_a_buffer_that_no_kernel_sees_is_refused_with_both_sizes(backend: str, tmp_path: Path) -> None:
    """It was said that the device has no room, or that a call failed."""
    device = opened(backend)
    most = device.info.limits["buffer_bytes"]
    with pytest.raises(DeviceError) as caught:
        device.allocate(most + 4)
    assert not isinstance(caught.value, OutOfMemoryError)
    masks = {device.name: "DEVICE", str(most + 4): "MORE", str(most): "MOST"}
    same("ATL0814_buffer", str(caught.value), tmp_path, masks)
    with pytest.raises(DeviceError, match="ATL0814"):
        empty((most // 4 + 1,), device=device)


SHARING = """
import atoll
from atoll import f32, kernel, view

@kernel(block=64)
def shares(x: view[f32]):
    tile = atoll.shared(f32, {count})
    tile[atoll.local_id(0)] = x[atoll.global_id(0)]
    atoll.barrier()
    x[atoll.global_id(0)] = tile[63 - atoll.local_id(0)]
"""
SHARING_MAIN = r"""
#include <stdio.h>
#include "atoll_launch.h"
int shares(uint32_t, float *, uint64_t);
int main(void) {
  float x[64] = {1};
  if (shares(64, x, 64)) puts(atoll_last_error());
  else printf("%g %g on %s\n", x[0], x[63], atoll_device_name());
  return 0;
}
"""


def shared_in_c(folder: Path, count: int, edit: tuple[str, str] = ("", "")) -> str:
    """Return what a C program says whose kernel for the processor shares so many floats."""
    from atoll.kernels.files import kernels_of, load
    from atoll.plugin import registry
    from atoll_plugins.python.compile import codes
    from atoll_plugins.python.csource import source
    from atoll_plugins.python.values import Described

    (folder / "sharing.py").write_text(SHARING.format(count=count))
    (kernel,) = kernels_of(load("sharing.py", str(folder)), "sharing.py")
    made = codes(kernel, registry().emitters["cpu"], None)
    (folder / "shares.c").write_text(source(Described.of(kernel, "sharing.py"), made, "cpu"))
    (folder / "main.c").write_text(SHARING_MAIN)
    launcher = programs.launcher_object(driver("cpu"), folder, edit=edit)
    inputs = [folder / "main.c", folder / "shares.c", core_source(), launcher]
    command = ["gcc", "-w", f"-I{include_folder()}", *map(str, inputs), "-o", str(folder / "shares")]
    subprocess.run([*command, "-ldl", "-lpthread", "-lm"], check=True)
    return programs.run(folder / "shares", env={**os.environ}).rstrip("\n")


def test_a_c_program_for_the_processor_is_told_what_its_stack_has_no_room_for(tmp_path: Path) -> None:
    device = opened("cpu")
    most = device.info.limits["shared_bytes"]
    said = shared_in_c(tmp_path, most // 4 + 1)
    entry = "atoll_v1_kernel_4c624493_shares"
    head, tail = f"{device.name} refuses the code of `{entry}`: it takes ", " bytes of shared memory, "
    assert said.startswith(head)
    assert said.endswith(f"{tail}the device has {most}")
    assert int(said.removeprefix(head).split()[0]) in range(most + 4, most + 1024)  # what the group keeps too
    assert shared_in_c(tmp_path, most // 4 - 256) == f"0 1 on {device.name}"


def test_a_launcher_that_forgets_the_stack_is_seen(tmp_path: Path) -> None:
    most = opened("cpu").info.limits["shared_bytes"]
    with pytest.raises(AssertionError):  # it ran over its stack
        shared_in_c(tmp_path, 4 * most, ("taken > room", "0 && taken > room"))


def test_a_launcher_that_counts_no_groups_is_seen(tmp_path: Path) -> None:
    """Plant a fault: the limit is not compared. Vulkan says nothing; what runs is undefined."""
    opened()
    edit = ("if (atoll_too_large(launch, &sizes, 0, name, reason)) return 1;", "(void)sizes;")
    assert not in_c(code("vulkan", tmp_path), tmp_path, GROUPS, edit).startswith("too many groups")


MUTATE = r"""
#include <assert.h>
int main(int count, char **arguments) {
  static uint32_t words[1 << 14], broken[1 << 14];
  FILE *file = fopen(arguments[1], "rb");
  size_t bytes = fread(words, 1, sizeof words, file), state = 88172645463325252ull;
  uint64_t sum = 0;
  (void)count;
  (void)fclose(file);
  vk_state.lacking = ~0u;
  for (int turn = 0; turn < 200000; turn++) {
    /* Exactly as large as the code, so that a read behind it is seen. */
    size_t kept = turn % 4 ? bytes : 20 + (state % (bytes / 4 - 5)) * 4;
    char lacked[64];
    uint32_t *held = malloc(kept);
    memcpy(broken, words, bytes);
    for (int k = 0; k < 1 + turn % 5; k++) {
      state ^= state << 13, state ^= state >> 7, state ^= state << 17;
      broken[state % (bytes / 4)] ^= (state >> 32) & (turn % 3 ? 0xff : 0xffffffff);
    }
    broken[3] &= turn % 2 ? 0xff : 0x3fffff;
    memcpy(held, broken, kept);
    atoll_code code = {held, kept, "", "", ""};
    uint32_t size[3];
    sum += vk_shared_bytes(&code) + vk_lacked(&code, lacked, sizeof lacked);
    sum += (uint64_t)vk_local_size(&code, "saxpy", size);
    free(held);
  }
  printf("%d\n", sum != 0);
  return 0;
}
"""


def test_no_broken_code_is_read_outside_its_bytes(tmp_path: Path) -> None:
    launcher = driver("vulkan").launcher()
    assert launcher is not None
    source, program, kernel = tmp_path / "mutate.c", tmp_path / "mutate", tmp_path / "code.spv"
    source.write_text(launcher.text + MUTATE)
    kernel.write_bytes(spirv(tmp_path, LARGE))
    flags = ["-std=gnu11", "-O1", "-g", "-w", "-fsanitize=address,undefined", "-fno-sanitize-recover=all"]
    command = ["gcc", *flags, f"-I{include_folder()}", str(source), str(core_source()), "-o", str(program)]
    subprocess.run([*command, "-ldl", "-lpthread", "-lm"], check=True)
    assert programs.run(program, kernel, env={**os.environ}).strip() == "1"
