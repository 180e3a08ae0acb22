"""A project's variants, packed by `atoll pack --variants` and chosen by the real `uv` for faked machines."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from e2e.wheels import UV, unpacked

MANIFEST = """
[package]
name = "halves"
version = "0.1.0"

[build]
lanes = ["python", "cuda"]

[targets.halves]
kind = "python"
boundary = "kernels"
sources = ["kernels/*.py"]

[boundary.kernels]
module = "halves.kernels"
roots = ["cpu", "cuda"]
shape = "registry"

[[pack.variant]]
label = "cuda_sm90"
accel = "cuda13.0+{sm_90}"

[[pack.variant]]
label = "null"
accel = ""
"""
KERNEL = """
import atoll
from atoll import f32, kernel, view


@kernel(block=64)
def halve(x: view[f32], out: view[f32]):
    i = atoll.global_id(0)
    if i < out.size:
        out[i] = x[i] / 2
"""
CPU = """
from array import array
from halves import kernels
x, out = array("f", [2, 4, 6]), array("f", [0, 0, 0])
kernels.use("cpu")
kernels.halve(x, out, over=len(out))
print(out.tolist())
"""


@pytest.fixture(scope="module")
def dist(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("halves")
    for root in ("kernels", "cpu", "cuda"):
        (folder / root).mkdir()
    (folder / "kernels" / "halve.py").write_text(KERNEL)
    (folder / "atoll.toml").write_text(MANIFEST)
    environment = {"PATH": "/usr/bin:/bin", "HOME": str(folder), "ATOLL_STORE": str(folder / "store")}
    command = [sys.executable, "-m", "atoll", "pack", "--variants", "--offline"]
    done = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    names = [Path(line).name for line in done.stdout.splitlines()]
    assert [name.rpartition("-")[2] for name in names] == ["cuda_sm90.whl", "null.whl", "variants.json"]
    assert sorted(names) == sorted(path.name for path in (folder / "dist").iterdir())
    return folder / "dist"


@pytest.fixture(scope="module")
def uv(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return unpacked(UV, "scripts/uv", tmp_path_factory.mktemp("uv"))


@pytest.mark.parametrize(
    ("sm", "driver", "label"),
    [
        ("9.0", "13.0", "cuda_sm90"),
        ("8.9", "13.0", "null"),
        ("9.0", "11.4", "null"),
        (None, None, "null"),
    ],
)
def test_uv_takes_the_variant_that_runs(
    sm: str | None, driver: str | None, label: str, dist: Path, uv: Path, tmp_path: Path
) -> None:
    faked = {"NV_VARIANT_PROVIDER_FORCE_SM_ARCH": sm, "NV_VARIANT_PROVIDER_FORCE_CUDA_DRIVER_VERSION": driver}
    environment = {
        "PATH": "/usr/bin:/bin",
        "HOME": str(tmp_path),
        "UV_CACHE_DIR": str(tmp_path / "cache"),
        **{name: value for name, value in faked.items() if value is not None},
    }
    command: list[str | Path] = [uv, "pip", "install", "--preview-features", "wheel-variants", "--no-index"]
    target: list[str | Path] = [
        "--find-links",
        dist,
        "--target",
        tmp_path / "site",
        "--python",
        sys.executable,
        "halves",
    ]
    done = subprocess.run([*command, *target], env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    (info,) = (tmp_path / "site").glob("halves-*.dist-info")
    has_cuda = (tmp_path / "site" / "halves" / "_kernels_cuda.so").exists()
    assert has_cuda == (label != "null")
    assert f'"{label}"' in (info / "variant.json").read_text()
    ran = subprocess.run(
        [sys.executable, "-c", CPU],
        env={**os.environ, "PYTHONPATH": str(tmp_path / "site")},
        capture_output=True,
        text=True,
        check=False,
    )
    assert ran.stdout == "[1.0, 2.0, 3.0]\n", ran.stderr
