"""`atoll kernel`: show, check, run."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from atoll.cli.kernel import command
from atoll.errors import AtollError

FILE = """
import atoll
from atoll import f32, kernel, view

@kernel
def double(x: view[f32], out: view[f32]):
    i = atoll.global_id(0)
    out[i] = x[i] * 2.0

@kernel(block=32)
def racing(x: view[f32]):
    t = atoll.shared(f32, 32)
    l = atoll.local_id(0)
    t[l] = x[l]
    x[0] = t[l]
"""


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "k.py"
    path.write_text(FILE)
    return path


def call(*arguments: object) -> Result:
    return CliRunner().invoke(command, [str(item) for item in arguments])


def test_show_prints_kir_by_default_and_the_native_text_of_a_target(file: Path) -> None:
    assert call("show", f"{file}:double").stdout.startswith("kir 1\n\nkernel double(")
    assert ".target sm_90" in call("show", f"{file}:double", "--target", "cuda:sm_90").stdout
    done = call("show", f"{file}:double", "--target", "vulkan", "--stage", "spirv")
    assert done.stdout_bytes[:4] == (0x07230203).to_bytes(4, "little")


def test_show_without_a_stage_prints_a_binary_target_as_text(file: Path) -> None:
    text = call("show", f"{file}:double", "--target", "vulkan").stdout
    assert text.startswith("; SPIR-V 1.5, ")
    assert "OpEntryPoint GLCompute" in text
    answer = json.loads(call("show", f"{file}:double", "--target", "vulkan", "--json").stdout)
    assert answer["kernels"] == [{"name": "double", "text": text, "hex": None}]


def test_show_writes_no_bytes_to_a_terminal(file: Path) -> None:
    reader, writer = os.openpty()
    argv = [sys.executable, "-m", "atoll", "kernel", "show", f"{file}:double", "--target", "vulkan"]
    done = subprocess.run([*argv, "--stage", "spirv"], stdout=writer, stderr=subprocess.PIPE, check=False)
    os.close(writer)
    os.set_blocking(reader, False)
    with pytest.raises((BlockingIOError, OSError)):
        os.read(reader, 1)
    os.close(reader)
    said = done.stderr.decode()
    assert done.returncode == 2
    assert "error[ATL0763]: the stage `spirv` of `vulkan` is binary, and stdout is a terminal" in said
    assert "help: redirect it (`> kernel.bin`), or leave `--stage` out to read it" in said


def test_show_gives_one_object_to_a_machine(file: Path) -> None:
    answer = json.loads(call("show", file, "--target", "vulkan", "--stage", "spirv", "--json").stdout)
    assert [item["name"] for item in answer["kernels"]] == ["double", "racing"]
    assert answer["kernels"][0]["hex"].startswith("03022307")
    assert answer["diagnostics"] == []


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("--target", "nowhere"), "no emitter for the platform `nowhere`"),
        (("--target", "vulcan"), "help: write `vulkan`, or `vulkan:ARCH`"),
        (("--target", "cuda+{sm_90}"), "help: write `cuda`, or `cuda:ARCH`"),
        (("--target", "cpu", "--stage", "spirv"), "the target `cpu` has no stage `spirv`"),
        (("--stage", "ptx"), "the stage `ptx` belongs to a target"),
    ],
)
def test_what_does_not_exist_is_refused(file: Path, arguments: tuple[str, ...], said: str) -> None:
    done = call("show", file, *arguments)
    assert isinstance(done.exception, AtollError)
    assert said in str(done.exception)


def test_a_kernel_that_does_not_exist_is_refused_with_those_that_do(file: Path) -> None:
    done = call("show", f"{file}:nope")
    assert "its kernels: double, racing" in str(done.exception)
    assert json.loads(call("show", f"{file}:nope", "--json").stdout)["diagnostics"][0]["code"] == "ATL0763"
    assert call("show", f"{file}:nope", "--json").exit_code == 2


def test_check_compiles_and_emits_without_a_device(file: Path) -> None:
    done = call("check", file, "--target", "cuda:sm_90", "--target", "vulkan")
    assert done.exit_code == 0
    assert done.stdout.split("\n")[0] == "double: compiles, emits for cuda:sm_90, emits for vulkan"


def test_check_races_finds_one_with_both_lines(file: Path) -> None:
    done = call("check", file, "--races", "--json")
    assert done.exit_code == 1
    answer = json.loads(done.stdout)
    assert answer["kernels"]["double"] == ["compiles", "no race found"]
    first = answer["diagnostics"][0]
    assert first["code"] == "ATL0751"
    assert f"{file}:15" in " ".join(first["notes"])


LANGUAGE = """
from typing import TypeVar
import atoll
from atoll import f32, i32, kernel, ptr, vec, view
T = TypeVar("T")

@kernel
def scale(a: T, x: view[T], times: atoll.const[int]):
    i = atoll.global_id(0)
    if i < x.size:
        for _ in range(times):
            x[i] = x[i] * a

scale.instance(T=f32, times=2)
scale.instance(T=i32, times=1)

@kernel(debug=True, block=64)
def sums(v: view[vec[f32, 2]], p: ptr[f32], by: vec[f32, 2]):
    i = atoll.global_id(0)
    assert i >= 0
    v[i] += by * atoll.subgroup_add(p[i])
"""


@pytest.mark.parametrize("device", ["cpu", "vulkan"])
def test_run_compares_kernels_of_the_whole_language(device: str, tmp_path: Path) -> None:
    from emitter_kit import device as opened

    with opened(device):
        path = tmp_path / "language.py"
        path.write_text(LANGUAGE)
        done = call("run", path, "--target", device, "--json")
    assert done.exit_code == 0, done.output
    rows = json.loads(done.stdout)["kernels"]
    assert [row["name"] for row in rows] == ["scale__f32_2", "scale__i32_1", "sums"]
    assert all(row["differences"] == [] for row in rows)


FAULTS = {
    "an index": ("    x[i + 1] = 1.0\n", "ATL0750", ()),
    "shared memory that nobody wrote": (
        "    tile = atoll.shared(f32, 64)\n    x[i] = tile[atoll.local_id(0)]\n",
        "ATL0753",
        ("`tile` is made at ", ":8"),
    ),
    "a barrier that some miss": (
        "    if i % 2 == 0:\n        atoll.barrier()\n    else:\n        atoll.barrier()\n",
        "ATL0703",
        (":8:",),
    ),
}


@pytest.mark.parametrize("fault", FAULTS)
def test_check_races_finds_the_other_faults_with_their_lines(fault: str, tmp_path: Path) -> None:
    lines, code, places = FAULTS[fault]
    path = tmp_path / "faulty.py"
    head = "import atoll\nfrom atoll import f32, kernel, view\n\n\n@kernel(block=64)\n"
    path.write_text(head + "def k(x: view[f32]):\n    i = atoll.global_id(0)\n" + lines)
    done = call("check", path, "--races", "--json")
    assert done.exit_code == 1
    first = json.loads(done.stdout)["diagnostics"][0]
    assert first["code"] == code
    assert first["span"]["line"] >= 8
    for place in places:
        assert place in " ".join(first["notes"])


def test_check_lists_what_a_target_lacks_and_goes_on(tmp_path: Path) -> None:
    path = tmp_path / "lacks.py"
    path.write_text(
        FILE.replace("x[i] * 2.0", "atoll.tanh(x[i])").replace("f32", "f64").replace("2.0", "2.0")
    )
    done = call("check", f"{path}:double", "--target", "cuda:sm_90", "--target", "cpu")
    assert done.exit_code == 1
    assert "emits for cpu" in done.stdout
    assert "tanh" in done.stderr


def test_run_compares_a_device_with_the_oracle(file: Path) -> None:
    done = call("run", f"{file}:double", "--target", "cpu", "--json")
    assert done.exit_code == 0, done.output
    (row,) = json.loads(done.stdout)["kernels"]
    assert (row["name"], row["differences"]) == ("double", [])
    assert row["device"]


def test_bench_measures_every_block(file: Path) -> None:
    asked = ("bench", f"{file}:double", "--target", "cpu", "--size", 256, "--block", 32, "--block", 64)
    done = call(*map(str, asked), "--json")
    assert done.exit_code == 0, done.output
    rows = json.loads(done.stdout)["kernels"]
    assert [row["block"] for row in rows] == [[32, 1, 1], [64, 1, 1]]
    assert all(row["compile_seconds"] > 0 and row["launch_seconds"] > 0 for row in rows)
    assert "launched in" in call(*map(str, asked)).stdout


def test_run_says_where_a_device_differs(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from atoll.kernels.oracle import OracleLaunch

    def wrong(self: OracleLaunch, *arguments: object) -> None:
        arguments[1][3] = 1e9  # type: ignore[index]

    monkeypatch.setattr(OracleLaunch, "__call__", wrong)
    done = call("run", f"{file}:double", "--target", "cpu")
    assert done.exit_code == 1
    assert "double: differs from the oracle on " in done.stdout
    assert "in the oracle (128 of 128 differ)" in done.stderr


def test_a_file_that_is_not_there_is_unreadable(tmp_path: Path) -> None:
    assert call("check", tmp_path / "none.py", "--json").exit_code == 2


WIDE = """
import atoll
from atoll import f16, f64, i64, kernel, view

@kernel
def wide(x: view[f64], n: view[i64], h: view[f16]):
    i = atoll.global_id(0)
    while i > 0:
        i = i - 1
        if i == 3:
            break
    atoll.atomic_add(n, 0, 1)
    x[i] = atoll.exp(x[i]) + atoll.sin(x[i])
    h[i] = f16(1.0)
"""


def test_check_lists_what_a_target_lacks_and_what_a_device_must_have_with_their_places(
    tmp_path: Path,
) -> None:
    path = tmp_path / "k.py"
    path.write_text(WIDE)
    done = call("check", path, "--target", "vulkan", "--json")
    assert done.exit_code == 1
    head = "`wide` runs only where a device of `vulkan:1.2` has "
    said = [
        (item["severity"], item["message"].removeprefix(head), item["span"]["line"], item["span"]["column"])
        for item in json.loads(done.stdout)["diagnostics"]
    ]
    assert said == [
        ("error", "`vulkan:1.2` lacks `exp` on f64", 13, 12),
        ("error", "`vulkan:1.2` lacks `sin` on f64", 13, 30),
        ("note", "spirv.capability = Float64", 6, 10),
        ("note", "spirv.capability = Int64Atomics", 12, 5),
        ("note", "spirv.capability = StorageBuffer16BitAccess", 6, 38),
    ]


def test_what_a_device_must_have_is_no_fault(tmp_path: Path) -> None:
    path = tmp_path / "k.py"
    path.write_text(WIDE.replace("atoll.exp(x[i]) + atoll.sin(x[i])", "x[i] + 1.0"))
    done = call("check", path, "--target", "vulkan")
    assert done.exit_code == 0
    assert "wide: compiles, emits for vulkan" in done.stdout
    assert (
        "note[ATL0787]: `wide` runs only where a device of `vulkan:1.2` has spirv.capability = Float64"
        in done.stderr
    )
    assert "^^^^^^^^^^^^" in done.stderr


@pytest.mark.parametrize(
    "name",
    ["elementwise", "matrix", "movement", "normalise", "particles", "reduction", "simulation", "sparse"],
)
@pytest.mark.parametrize("target", ["vulkan", "cuda:sm_90", "sycl"])
def test_what_the_test_kernels_need_is_found_without_a_device(name: str, target: str) -> None:
    folder = Path(__file__).parents[3] / "examples/kernels"
    done = call("check", folder / f"{name}.py", "--target", target)
    assert done.exit_code == 0, done.stderr


def test_kir_is_shown_before_and_after_the_passes_and_without_one(tmp_path: Path) -> None:
    path = tmp_path / "k.py"
    path.write_text(FILE.replace("x[i] * 2.0", "x[i // 4] * 2.0"))
    name = f"{path}:double"
    before, after = call("show", name), call("show", name, "--stage", "kir-optimised")
    assert "div_floor" in before.stdout
    assert "div_floor" not in after.stdout
    assert "shr" in after.stdout
    without = call("show", name, "--stage", "kir-optimised", "--without", "divide")
    assert "div_floor" in without.stdout
    assert "atoll_div_floor" in call("show", name, "--target", "opencl", "--without", "divide").stdout
    assert "atoll_div_floor" not in call("show", name, "--target", "opencl").stdout
