"""Intrinsics: each rule of look-up, what every kind of body becomes, one kernel on every device."""

from __future__ import annotations

import re
import subprocess
from contextlib import ExitStack
from pathlib import Path

import numpy as np
import pytest

import atoll
import mma_reference
from atoll.accel import Entry
from atoll.ir import ops
from atoll.ir.nodes import Inline
from atoll.ir.passes import optimise
from atoll.ir.text import fingerprint
from atoll.ir.verify import verify
from atoll.ir.walk import accesses, statements
from atoll.ir.widen import widen
from atoll.kernels.definition import KernelFunction
from atoll.kernels.intrinsics import lookup
from atoll.kernels.intrinsics.interface import Intrinsic, intrinsics_of
from atoll.kernels.intrinsics.lookup import look_up
from atoll.plugin import Target
from atoll.store import PayloadRoot
from emitter_kit import device, tool
from kernel_text import kernel_from, namespace

INTERFACE = """
@atoll.intrinsics
class Memory:
    @staticmethod
    def once(ptr: ptr[f32]) -> f32: ...

    @staticmethod
    @atoll.portable
    def twice(x: f32) -> f32:
        return x + x
"""


def body(platform: str, arch: str = "", word: str = "cs") -> str:
    return f"""
@atoll.implements(Memory, platform="{platform}", arch="{arch}")
class C{abs(hash((platform, arch)))}:
    @staticmethod
    def once(ptr: ptr[f32]) -> f32:
        return atoll.asm("ld.global.{word}.f32 $0, [$1];", "=f,l", ptr)
"""


KERNEL = """
@kernel
def k(x: ptr[f32], out: view[f32]):
    i = atoll.global_id(0)
    if i < out.size:
        out[i] = Memory.twice(Memory.once(x + i))
"""


def found(text: str, target: Target) -> str | None:
    names = namespace(INTERFACE + text)
    chosen = look_up(names["Memory"].once, target)
    return None if chosen is None else chosen.how


CUDA = Target(backend="cuda", arch="sm_90")


@pytest.mark.parametrize(
    ("given", "wanted"),
    [
        ([("cuda", "sm_90"), ("cuda", "sm_80"), ("cuda", "")], "cuda:sm_90"),
        ([("cuda", "sm_35"), ("cuda", "sm_80"), ("cuda", "")], "cuda:sm_80"),
        ([("cuda", "sm_80"), ("cuda", "sm_35"), ("cuda", "sm_100")], "cuda:sm_80"),
        ([("cuda", "sm_100"), ("cuda", "")], "cuda"),
        ([("cuda", "sm_90a"), ("cuda", "sm_70")], "cuda:sm_70"),
        ([("cuda", "sm_90a"), ("cuda", "")], "cuda"),
    ],
    ids=["exact", "highest floor", "not above", "general", "an arch of its own", "general over it"],
)
def test_the_exact_one_then_the_highest_floor_then_the_general_one(
    given: list[tuple[str, str]], wanted: str
) -> None:
    assert found("".join(body(*item) for item in given), CUDA) == f"implemented for {wanted}"


@pytest.mark.parametrize("given", [[], [("hip", "")], [("cuda", "sm_100")], [("cuda", "sm_90a")]])
def test_what_does_not_apply_is_never_picked(given: list[tuple[str, str]]) -> None:
    assert found("".join(body(*item) for item in given), CUDA) is None


def test_an_architecture_of_its_own_and_a_family_serve_their_targets() -> None:
    assert found(body("cuda", "sm_90a"), Target(backend="cuda", arch="sm_90a")) is not None
    family = body("cuda", "sm_100f")
    assert found(family, Target(backend="cuda", arch="sm_103f")) == "implemented for cuda:sm_100f"
    assert found(family, Target(backend="cuda", arch="sm_120")) is None


class EverythingProvided:
    """Rules by which every target meets every floor."""

    def provides(self, target: Entry, arch: str) -> bool:
        return True


def test_the_exact_one_serves_though_others_are_met_too(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lookup, "_rules", lambda: {"cuda": EverythingProvided()})
    assert found(body("cuda", "sm_99"), CUDA) == "implemented for cuda:sm_99"
    assert found(body("cuda", "sm_90") + body("cuda", "sm_99"), CUDA) == "implemented for cuda:sm_90"


def test_a_portable_body_serves_only_where_its_author_says_so() -> None:
    memory = namespace(INTERFACE)["Memory"]
    for platform in ("cpu", "vulkan", "cuda"):
        chosen = look_up(memory.twice, Target(backend=platform))
        assert chosen is not None
        assert chosen.how == "portable"
        assert look_up(memory.once, Target(backend=platform)) is None


def test_an_unmarked_function_is_a_device_function_and_is_not_looked_up() -> None:
    text = """
@atoll.interface
class Own:
    @staticmethod
    @atoll.intrinsic
    def marked(x: f32) -> f32: ...

    @staticmethod
    def plain(x: f32) -> f32:
        return x * 3.0

@kernel
def k(x: view[f32]):
    x[0] = Own.plain(x[0])
"""
    names = namespace(text)
    assert isinstance(names["Own"].marked, Intrinsic)
    assert names["k"].compiled().looked == {}
    x = np.ones(1, np.float32)
    names["k"].python(1)(x)
    assert x[0] == 3


def test_ptx_shows_the_hint_from_a_body_for_an_older_architecture_and_ptxas_takes_it(tmp_path: Path) -> None:
    text = hinted().show("cuda:sm_90")
    assert isinstance(text, str)
    assert "ld.global.cs.f32" in text
    assert "st.global.cs.f32" in text
    (tmp_path / "k.ptx").write_text(text)
    command = [tool("ptxas"), "-arch=sm_90", str(tmp_path / "k.ptx"), "-o", str(tmp_path / "k.cubin")]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


HINTED = """
from atoll import Target
@kernel
def k(x: ptr[f32], out: ptr[f32], bits: view[u32], n: i32):
    i = atoll.global_id(0)
    if i < n:
        Target.prefetch(x + i)
        Target.stcs(out + i, Target.ldcs(x + i) + Target.ldcg(x + i))
        Target.stcg(out + i, Target.ldcg(out + i) * Target.fast_rsqrt(f32(4.0)))
        b = bits[i]
        Target.assume(b > 0)
        found = Target.popcount(b) + 100 * Target.clz(b) + 10000 * Target.brev(u32(i))
        bits[i] = found + u32(Target.dot4(b, b + 7, 3))
"""


def hinted() -> KernelFunction:
    return kernel_from(HINTED)


def expected(x: np.ndarray, bits: np.ndarray) -> tuple[np.ndarray, list[int]]:
    def one(i: int, b: int) -> int:
        pairs = zip((b).to_bytes(4, "little"), ((b + 7) % 2**32).to_bytes(4, "little"), strict=True)
        dot = 3 + sum((p ^ 128) * (q ^ 128) - 128 * ((p ^ 128) + (q ^ 128)) + 128 * 128 for p, q in pairs)
        turned = int(f"{i:032b}"[::-1], 2)
        return (b.bit_count() + 100 * (32 - b.bit_length()) + 10000 * turned + dot) % 2**32

    return x, [one(i, int(b)) for i, b in enumerate(bits)]


@pytest.mark.parametrize("backend", ["oracle", "cpu", "vulkan", "opencl"])
def test_the_standard_set_means_the_same_on_every_device(backend: str) -> None:
    n = 128
    x, out = np.arange(n, dtype=np.float32), np.zeros(n, np.float32)
    bits = (np.arange(n, dtype=np.uint64) * 2654435761 % 2**32).astype(np.uint32)
    wanted_x, wanted_bits = expected(x.copy(), bits.copy())
    if backend == "oracle":
        hinted().python(n)(x, out, bits, n)
    else:
        with device(backend) as opened:
            hinted().over(n, device=opened)(x, out, bits, n)
    np.testing.assert_allclose(out, wanted_x, rtol=1e-5)
    assert bits.tolist() == wanted_bits


def test_each_platform_uses_what_it_has() -> None:
    def has(target: str, *words: str, stage: str | None = None) -> None:
        text = hinted().show(target, stage)
        assert isinstance(text, str)
        for word in words:
            assert word in text, (target, word)

    has("cuda:sm_70", "dp4a.s32.s32", "popc.b32", "brev.b32", "rsqrt.approx.f32", "prefetch.global.L2")
    has("cuda:sm_90", 'asm volatile("ld.global.cs.f32 %0, [%1];"', stage="cuda-cpp")
    has("vulkan", "OpBitCount", "OpBitReverse")
    has("opencl", "popcount(", "native_rsqrt(")
    has("hip", "v_bcnt_u32_b32 %0, %1, 0", "v_bfrev_b32")
    has("sycl", "sycl::popcount(", "sycl::native::rsqrt(")
    assert "asm" not in str(hinted().show("cpu")).replace("l_fast_rsqrt_asm", "")


COPIES = """
@device
def start(to: ptr[f32], source: ptr[f32], t: i32):
    atoll.Target.copy_async(to + t, source)

@kernel(block=64)
def k(x: ptr[f32], out: view[f32]):
    i, t = atoll.global_id(0), atoll.local_id(0)
    tile = atoll.shared(f32, 64)
    start(tile, x + i, t)
    atoll.Target.copy_wait()
    atoll.barrier()
    out[i] = tile[63 - t]
"""


def test_an_asynchronous_copy_is_there_after_the_wait() -> None:
    text = COPIES
    for where in ("cpu", "opencl", "vulkan"):
        with device(where) as opened:
            x, out = np.arange(128, dtype=np.float32), np.zeros(128, np.float32)
            kernel_from(text).over(128, device=opened)(x, out)
            assert out.tolist() == x.reshape(2, 64)[:, ::-1].reshape(-1).tolist()
    shown = str(kernel_from(text).show("cuda:sm_90"))
    assert re.search(r"cp\.async\.ca\.shared\.global \[%r\d+\], \[%rd\d+\], 4;", shown)
    assert "__cvta_generic_to_shared" in str(kernel_from(text).show("cuda:sm_90", "cuda-cpp"))


@pytest.mark.parametrize("backend", ["oracle", "cpu", "vulkan", "opencl"])
def test_a_product_of_tiles_is_right_where_its_body_is_portable(backend: str) -> None:
    with ExitStack() as stack:
        opened = None if backend == "oracle" else stack.enter_context(device(backend))
        for steps in (0, 1, 3):
            assert mma_reference.apart(opened, steps) < 5e-6


def test_a_product_of_tiles_is_one_instruction_of_the_tensor_cores(tmp_path: Path) -> None:
    found = mma_reference.product
    text = str(found.show("cuda:sm_80"))
    assert text.count("mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32") == 1
    (tmp_path / "k.ptx").write_text(text)
    command = [tool("ptxas"), "-arch=sm_90", str(tmp_path / "k.ptx"), "-o", str(tmp_path / "k.cubin")]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert "mma.sync" not in str(found.show("cuda:sm_75"))


def test_the_body_is_part_of_what_a_cache_is_asked_by() -> None:
    def made(word: str) -> str:
        kernel = kernel_from(INTERFACE + body("cuda", "sm_35", word) + KERNEL)
        return fingerprint(kernel.compiled_for(CUDA).optimised)

    assert made("cs") == made("cs")
    assert made("cs") != made("cg")


def test_a_kernel_without_intrinsics_is_compiled_once_for_all() -> None:
    kernel = kernel_from("@kernel\ndef k(x: view[f32]):\n    x[0] = x[0] + 1.0\n")
    assert kernel.compiled_for(CUDA) is kernel.compiled_for(Target(backend="vulkan")) is kernel.compiled()


def test_inline_code_is_opaque_to_the_passes() -> None:
    text = HINTED.replace(
        "Target.stcg",
        "x0 = x[0]\n        Target.stcs(x, 5.0)\n        out[0] = x0 + x[0]\n        Target.stcg",
    )
    module = kernel_from(text).compiled_for(CUDA).module
    passed = optimise(module).kernels[0]
    before = [item for item in statements(module.kernels[0].body) if isinstance(item, Inline)]
    after = [item for item in statements(passed.body) if isinstance(item, Inline)]
    assert [item.text for item in before] == [item.text for item in after]
    # The load before the store by assembly and the one after it are two loads.
    assert str(kernel_from(text).show("cuda:sm_90")).count("ld.global.f32") >= 2
    assert accesses(passed) == {"x": "both", "out": "both", "bits": "both"}
    assert {item.language for item in after} == {ops.Inline.ASM}


def test_every_intrinsic_of_the_standard_set_stands_once_in_the_ledger() -> None:
    path = Path(atoll.kernels.intrinsics.__file__).parent / "ledger.txt"
    rows = [line.split() for line in path.read_text().splitlines() if not line.startswith("#")]
    assert [int(row[0]) for row in rows] == list(range(1, len(rows) + 1))
    names = [row[1] for row in rows]
    assert len(set(names)) == len(names)
    live = [row[1] for row in rows if row[2] == "live"]
    assert {row[2] for row in rows} <= {"live", "retired"}
    assert sorted(live) == sorted(item.device.__name__ for item in intrinsics_of(atoll.Target))


#: What the ledger held once; rows are added below it, and a row only ever turns from live to retired.
FIRST = (
    "ldcs ldcg stcs stcg prefetch popcount clz brev dot4 fast_rsqrt fast_exp2 fast_sin fast_cos copy_async "
    "copy_wait assume clock muladd mma"
)


def test_the_ledger_is_append_only() -> None:
    path = Path(atoll.kernels.intrinsics.__file__).parent / "ledger.txt"
    rows = [line.split() for line in path.read_text().splitlines() if not line.startswith("#")]
    assert [row[1] for row in rows][: len(FIRST.split())] == FIRST.split()


def test_one_work_item_does_four_neighbours_work_where_inline_code_only_computes() -> None:
    text = """
@kernel
def k(x: ptr[f32], out: ptr[f32], n: i32):
    i = atoll.global_id(0)
    if i < n:
        out[i] = atoll.Target.fast_exp2(x[i] if x[i] > 0.0 else 1.0)
"""
    found = kernel_from(text).compiled_for(CUDA)
    wide = widen(found.optimised, "k")
    assert wide is not None
    made = [item for item in statements(verify(wide).kernels[0].body) if isinstance(item, Inline)]
    assert len({item.result for item in made}) >= 4
    hinted_too = text.replace("x[i] if x[i] > 0.0 else 1.0", "atoll.Target.ldcs(x + i)")
    assert widen(kernel_from(hinted_too).compiled_for(CUDA).optimised, "k") is None


def test_the_vendors_compilers_take_the_text_with_assembly_in_it(
    tmp_path: Path, cuda_payload: PayloadRoot
) -> None:
    def compiled(*command: str) -> None:
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr

    hip, cuda = tmp_path / "k.hip", tmp_path / "k.cu"
    hip.write_text(str(hinted().show("hip")))
    cuda.write_text(str(hinted().show("cuda:sm_90", "cuda-cpp")))
    flags = ("-x", "hip", "--cuda-device-only", "-nogpulib", "-nogpuinc", "--offload-arch=gfx942", "-S")
    compiled(tool("clang-19"), *flags, str(hip), "-o", str(tmp_path / "k.s"))
    assert "v_bcnt_u32_b32" in (tmp_path / "k.s").read_text()
    nvcc = str(cuda_payload.root / "nvidia" / "cu13" / "bin" / "nvcc")
    compiled(nvcc, "-ccbin", tool("g++"), "-arch=sm_90", "-ptx", str(cuda), "-o", str(tmp_path / "k.ptx"))
    assert "ld.global.cs.f32" in (tmp_path / "k.ptx").read_text()
    cuda.write_text(str(kernel_from(COPIES).show("cuda:sm_90", "cuda-cpp")))
    compiled(nvcc, "-ccbin", tool("g++"), "-arch=sm_90", "-ptx", str(cuda), "-o", str(tmp_path / "k.ptx"))
    assert "cp.async.ca.shared.global" in (tmp_path / "k.ptx").read_text()
