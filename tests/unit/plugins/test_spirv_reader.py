"""SPIR-V modules: the least version, what they require, and that broken ones are refused."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from atoll.errors import UnreadableError
from atoll.testing.readers import READER_CHECKS, ReaderCheck
from atoll_plugins.spirv.reader import SpirvReader
from unit.packaging.binaries import blob, findings, spirv, words

SAMPLES = [
    blob(spirv(), "a.spv"),
    blob(spirv(model=6, capabilities=(6, 4)), "b.spv"),
    blob(spirv(extensions=("SPV_KHR_16bit_storage",)) + b"rest of the section", "c", kind="embedded:spirv"),
    blob(spirv(minor=3), "d", kind="device:vulkan:spirv"),
]


@pytest.mark.parametrize("check", READER_CHECKS, ids=lambda check: str(check.__name__))
def test_it_keeps_the_promises_of_the_door(check: ReaderCheck) -> None:
    check(SpirvReader(), SAMPLES)


@pytest.mark.parametrize(
    ("minor", "vulkan"), [(0, "1.0"), (1, "1.1"), (2, "1.1"), (3, "1.1"), (4, "1.2"), (5, "1.2"), (6, "1.3")]
)
def test_the_spirv_version_gives_the_least_vulkan(minor: int, vulkan: str) -> None:
    (found,) = findings(SpirvReader(), spirv(minor=minor))
    assert (found.backend, found.version) == ("vulkan", vulkan)


def test_a_kernel_is_opencl() -> None:
    (found,) = findings(SpirvReader(), spirv(model=6, capabilities=(6, 4)))
    assert (found.backend, found.version) == ("opencl", "")


def test_capabilities_and_extensions_are_required() -> None:
    (found,) = findings(SpirvReader(), spirv(capabilities=(1, 9, 31337), extensions=("SPV_KHR_x",)))
    assert [str(fact) for fact in found.requires] == [
        "spirv >= 1.5",
        "spirv.capability = 31337",
        "spirv.capability = Float16",
        "spirv.capability = Shader",
        "spirv.extension = SPV_KHR_x",
    ]


def test_a_shader_of_the_graphics_pipeline_is_named() -> None:
    (found,) = findings(SpirvReader(), spirv(model=4))
    assert (found.backend, found.note) == ("vulkan", "Fragment")


@pytest.mark.parametrize(
    ("data", "reason"),
    [
        (spirv()[:20] + words(0) + spirv()[24:], "states 0 words"),
        (spirv()[:20] + words(0xFFFF << 16 | 17), "states 65535 words"),
        (spirv()[:20], "without a memory model"),
        (spirv()[:-4] + words(0), "states 0 words"),
        (spirv()[:-4] + words(9 << 16 | 56), "states 9 words"),
        (spirv()[:12], "no SPIR-V header"),
        (spirv(bound=1 << 30), "bound 1073741824"),
        (spirv(minor=9), "version word 0x10900"),
        (b"\x07\x23\x02\x03" + spirv()[4:], "other byte order"),
    ],
)
def test_broken_modules_are_refused_with_the_reason(data: bytes, reason: str) -> None:
    with pytest.raises(UnreadableError, match=reason):
        findings(SpirvReader(), data)


@pytest.mark.parametrize(
    ("environment", "vulkan"), [("vulkan1.0", "1.0"), ("vulkan1.1", "1.1"), ("vulkan1.3", "1.3")]
)
def test_a_real_shader_measures_as_it_was_compiled(tmp_path: Path, environment: str, vulkan: str) -> None:
    compiler = Path("/usr/bin/glslangValidator")
    if not compiler.exists():
        pytest.skip("glslangValidator is not installed")
    source = tmp_path / "a.comp"
    source.write_text("#version 450\nlayout(local_size_x=64) in; void main() {}\n")
    subprocess.run(
        [compiler, "-V", "--quiet", "--target-env", environment, source, "-o", tmp_path / "a.spv"], check=True
    )
    (found,) = findings(SpirvReader(), (tmp_path / "a.spv").read_bytes())
    assert (found.backend, found.version) == ("vulkan", vulkan)
