"""Seeded mutations of files that real compilers wrote, through the readers as installed.

By default a sample; ``--all`` runs more. Nothing but an answer or a refusal may come out, in bounded time.
"""

from __future__ import annotations

import shutil
import subprocess
import tarfile
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from atoll.packaging import Limits
from atoll.packaging.walk import Walk
from atoll.plugin import registry
from atoll.testing.readers import mutations
from unit.packaging.binaries import blob, zipped

NVCC = Path("/usr/local/cuda/bin/nvcc")
SAMPLE, WHOLE = 60, 2000
CODE = 'extern "C" __global__ void f(float *x) { x[threadIdx.x] += 1; }\n'


def cuda(folder: Path, *args: str, name: str = "k.o") -> bytes:
    if not NVCC.exists():
        pytest.skip(f"nvcc is not at {NVCC}")
    (folder / "k.cu").write_text(CODE)
    environment = {"PATH": f"{NVCC.parent}:/usr/bin:/bin"}
    subprocess.run([NVCC, *args, "k.cu", "-o", name], cwd=folder, check=True, env=environment)
    return (folder / name).read_bytes()


ARCHS = (
    *("-gencode", "arch=compute_80,code=sm_80"),
    *("-gencode", "arch=compute_90a,code=sm_90a"),
    *("-gencode", "arch=compute_100f,code=sm_100f"),
    *("-gencode", "arch=compute_90,code=compute_90"),
)


def fat_object(folder: Path) -> bytes:
    return cuda(folder, *ARCHS, "-c")


def rdc_object(folder: Path) -> bytes:
    archs = ("-gencode=arch=compute_75,code=lto_75", "-gencode=arch=compute_90,code=sm_90")
    return cuda(folder, "-rdc=true", *archs, "-c")


def cubin(folder: Path) -> bytes:
    return cuda(folder, "-cubin", "-arch=sm_90a", name="k.cubin")


def ptx(folder: Path) -> bytes:
    return cuda(folder, "-ptx", "-arch=compute_90", name="k.ptx")


def shader(folder: Path) -> bytes:
    compiler = shutil.which("glslangValidator", path="/usr/bin")
    if compiler is None:
        pytest.skip("glslangValidator is not installed")
    (folder / "a.comp").write_text("#version 450\nlayout(local_size_x=64) in; void main() {}\n")
    subprocess.run([compiler, "-V", "--quiet", "a.comp", "-o", "a.spv"], cwd=folder, check=True)
    return (folder / "a.spv").read_bytes()


def host_library(folder: Path) -> bytes:
    (folder / "a.c").write_text("#include <math.h>\ndouble f(double x) { return pow(x, x); }\n")
    subprocess.run(["/usr/bin/gcc", "-shared", "-fPIC", "a.c", "-o", "a.so", "-lm"], cwd=folder, check=True)
    return (folder / "a.so").read_bytes()


def static_library(folder: Path) -> bytes:
    host_library(folder)
    subprocess.run(["/usr/bin/gcc", "-c", "-fPIC", "a.c"], cwd=folder, check=True)
    subprocess.run(["/usr/bin/ar", "rcs", "a.a", "a.o"], cwd=folder, check=True)
    return (folder / "a.a").read_bytes()


def wheel(folder: Path) -> bytes:
    return zipped({"p/a.so": host_library(folder), "p/a.spv": shader(folder), "p/x.py": b"x = 1\n" * 100})


def bundle(folder: Path) -> bytes:
    """A compressed bundle of two processors, as clang's own tool writes it."""
    clang = shutil.which("clang-19", path="/usr/bin")
    bundler = shutil.which("clang-offload-bundler-19", path="/usr/bin")
    if clang is None or bundler is None:
        pytest.skip("clang-19 and its offload bundler are not installed")
    (folder / "k.cl").write_text("kernel void k(global float *x) { x[0] = 1; }\n")
    inputs, targets = ["-input=/dev/null"], ["host-x86_64-unknown-linux-gnu-"]
    for processor in ("gfx90a", "gfx1030"):
        target = ["--target=amdgcn-amd-amdhsa", f"-mcpu={processor}", "-nogpulib"]
        subprocess.run([clang, *target, "-c", "k.cl", "-o", processor], cwd=folder, check=True)
        inputs.append(f"-input={processor}")
        targets.append(f"hipv4-amdgcn-amd-amdhsa--{processor}")
    command = [bundler, "-type=o", "-compress", f"-targets={','.join(targets)}", *inputs, "-output=k.hipfb"]
    subprocess.run(command, cwd=folder, check=True)
    return (folder / "k.hipfb").read_bytes()


def sdist(folder: Path) -> bytes:
    shader(folder)
    with tarfile.open(folder / "p-1.tar.gz", "w:gz") as archive:
        archive.add(folder / "a.spv", "p-1/a.spv")
        archive.add(folder / "a.comp", "p-1/a.comp")
    return (folder / "p-1.tar.gz").read_bytes()


SOURCES = (
    *(fat_object, rdc_object, cubin, ptx, shader, host_library, static_library, wheel),
    *(bundle, sdist),
)
Source = Callable[[Path], bytes]


def walked(data: bytes) -> Walk:
    walk = Walk(tuple(registry().readers.values()), Limits())
    walk.visit(blob(data))
    return walk


@pytest.mark.parametrize("source", SOURCES, ids=lambda source: str(source.__name__))
def test_broken_real_files_give_an_answer_or_a_refusal(
    source: Source, tmp_path: Path, whole: bool, tell: Callable[[str], None]
) -> None:
    data = source(tmp_path)
    assert not walked(data).unread, "the whole file is understood"
    count, refused = WHOLE if whole else SAMPLE, 0
    start = time.monotonic()
    for number, changed in enumerate(mutations(data, count, seed=len(source.__name__))):
        walk = walked(changed)
        refused += bool(walk.unread)
        failed = [item for item in walk.diagnostics if item.code == "ATL0454"]
        assert not failed, f"mutation {number}: {failed[0].notes}"
    tell(f"{source.__name__}: {count} of {WHOLE} mutations, {refused} refused")
    assert time.monotonic() - start < 0.5 * count


@pytest.mark.parametrize(
    ("source", "carried"),
    [
        (fat_object, "cuda13.0+{sm_80,sm_90a,sm_100f} ptx>=90"),
        (rdc_object, "cuda13.0+{sm_90}"),
        (cubin, "cuda13.0+{sm_90a}"),
        (ptx, "cuda13.0 ptx>=90"),
        (shader, "vulkan1.0"),
        (bundle, "hip+{gfx90a,gfx1030}"),
        (sdist, "vulkan1.0"),
        (host_library, ""),
    ],
    ids=lambda value: getattr(value, "__name__", "carried"),
)
def test_what_a_compiler_was_asked_for_is_what_is_measured(
    source: Source, carried: str, tmp_path: Path
) -> None:
    data = source(tmp_path)
    walk = walked(data)
    measured = str(walk.report("file").measured.accel)
    if "cuda" in carried and "release 13.0" not in _nvcc_version():
        pytest.skip("nvcc 13.0")
    assert measured == carried


def _nvcc_version() -> str:
    return subprocess.run([NVCC, "--version"], capture_output=True, text=True, check=True).stdout


def test_the_suite_goes_red_on_a_reader_that_breaks_its_promise() -> None:
    """Seen red once: a reader that trusts a length fails the check that it must pass."""
    import struct

    from atoll.artifact import Finding
    from atoll.plugin import Blob
    from atoll.testing.readers import broken_bytes_are_refused_in_time, it_claims_no_noise

    class Trusting:
        name = "trusting"

        def recognises(self, what: Blob) -> bool:
            return True

        def read(self, what: Blob):  # type: ignore[no-untyped-def]
            (length,) = struct.unpack_from("<I", what.data)
            yield Finding(member=what.name, backend="toy", arch=chr(what.data[length]))

    sample = blob(struct.pack("<I", 4) + b"abcdefgh")
    with pytest.raises(AssertionError, match="rror: "):
        broken_bytes_are_refused_in_time(Trusting(), [sample])
    with pytest.raises(AssertionError, match="claims noise"):
        it_claims_no_noise(Trusting(), [sample])
