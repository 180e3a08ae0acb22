"""PTX for views that the launcher promised to be plain and apart: wide accesses, and ptxas takes it."""

from __future__ import annotations

import importlib
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from atoll.kernels.shapes import block_for
from atoll.kernels.variants import Promises, is_plain, module_for
from atoll.plugin import Target
from atoll_plugins.cuda.emitter import PtxEmitter
from emitter_kit import accepted, tool
from kernel_text import kernel_from

FOLDER = Path(__file__).parents[3] / "examples/kernels"
ALL = Promises(plain=True, apart=True, fours=True)


def code(kernel: Any, known: Promises = ALL, arch: str = "sm_90") -> str:
    """Return a kernel's PTX for what is known of its arrays."""
    compiled = kernel.compiled()
    module, _ = module_for(compiled, known)
    target = Target(backend="cuda", arch=arch, version="13.0", plain=known.plain, apart=known.apart)
    return PtxEmitter().emit(module, compiled.kernel.name, target, block_for(compiled.kernel)).code.decode()


def kernel(body: str, params: str = "x: view[f32], out: view[f32]") -> Any:
    return kernel_from(f"@kernel\ndef k({params}):\n    i = atoll.global_id(0)\n    {body}\n")


def test_neighbours_are_taken_sixteen_bytes_at_a_time() -> None:
    text = code(kernel("if i < out.size:\n        out[i] = x[i] + 1.0"))
    assert text.count("ld.global.nc.v4.f32") == 1
    assert text.count("st.global.v4.f32") == 1
    plain = code(kernel("if i < out.size:\n        out[i] = x[i] + 1.0"), Promises(plain=True))
    assert "v4" not in plain
    assert ".nc" not in plain


STENCIL = """if i == 0 or i == out.size - 1:
        out[i] = x[i]
    else:
        out[i] = x[i - 1] + x[i + 1]"""


def test_neighbours_on_both_sides_are_one_access_and_the_two_beyond() -> None:
    text = code(kernel(STENCIL)).replace("\t", "")
    inner = text[: text.index("st.global.f32")]  # what is before the four alone, at the borders
    assert inner.count("ld.global.nc.v4.f32") == 2
    assert inner.count("st.global.v4.f32") == 2
    taken = text[text.rindex("ld.global.nc.v4.f32", 0, len(inner)) :].splitlines()
    assert [line.split()[0] for line in taken if line.startswith("ld.global")][:3] == [
        "ld.global.nc.v4.f32",
        "ld.global.nc.f32",
        "ld.global.nc.f32",
    ]


def test_an_index_of_a_plain_view_is_one_product() -> None:
    loop = "total = f32(0)\n    for k in range(x.shape[0]):\n        total += x[k, i]\n    out[i] = total"
    text = code(kernel(loop, "x: view[f32, 2], out: view[f32]"))
    assert "mad.wide.s32" in text
    assert "mul.lo.s64" not in text
    assert "mad.lo.s64" in code(kernel(loop, "x: view[f32, 2], out: view[f32]"), Promises())


def test_what_is_too_large_for_thirty_two_bits_is_not_plain() -> None:
    assert is_plain(0, (5, 1 << 20), (1 << 20, 1))
    assert is_plain(0, ((1 << 31) - 1,), (1,))
    assert not is_plain(0, (1 << 31,), (1,))
    assert not is_plain(0, (5, 8), (1 << 28, 1))
    assert not is_plain(0, (5, 8), (-8, 1))


def test_what_is_written_goes_by_the_ordinary_path() -> None:
    text = code(kernel("if i < out.size:\n        out[i] += x[i]"))
    assert "ld.global.v4.f32" in text
    assert "ld.global.nc.v4.f32" in text


def test_wide_elements_are_not_taken_four_at_a_time() -> None:
    text = code(kernel("out[i] = x[i] + 1.0", "x: view[f64], out: view[f64]"))
    assert "v4" not in text


def test_four_elements_of_a_row_by_constants_are_one_store() -> None:
    body = "out[i, 0], out[i, 1], out[i, 2], out[i, 3] = x[i], x[i], x[i], x[i]"
    assert "st.global.v4.f32" in code(kernel(body, "x: view[f32], out: view[f32, 2]"))
    swapped = body.replace("out[i, 0], out[i, 1]", "out[i, 1], out[i, 0]")
    assert "v4" not in code(kernel(swapped, "x: view[f32], out: view[f32, 2]"))


def test_an_address_is_taken_again_where_only_a_constant_differs() -> None:
    text = code(
        kernel("out[i, 0] = x[i, 5] + x[i, 6]", "x: view[f32, 2], out: view[f32, 2]"), Promises(True, True)
    )
    assert "+20]" in text
    assert "+24]" in text


def test_an_address_is_forgotten_with_the_local_it_was_made_from() -> None:
    body = "at = n\n    out[at] = 1.0\n    if n > 3:\n        at = n + 7\n    out[at] = 2.0"
    text = code(kernel(body, "n: i32, out: view[f32]"), Promises(True, True))
    stores = [line for line in text.splitlines() if "st.global" in line]
    assert len({line.split("[")[1].split("]")[0] for line in stores}) == 2


@pytest.mark.parametrize(("kind", "signed"), [("i32", True), ("u32", False), ("i64", True)])
def test_a_remainder_of_what_lies_inside_goes_around_the_division(kind: str, signed: bool) -> None:
    text = code(kernel("out[i] = p % q", f"p: {kind}, q: {kind}, out: view[{kind}]")).replace("\t", "")
    before, after = text[: text.index(f"div.{kind[0].replace('i', 's')}{kind[1:]}")].splitlines(), text
    jump = next(line for line in reversed(before) if " bra " in line)
    assert jump.split()[-1].rstrip(";") + ":" in after.splitlines()
    assert any(line.startswith(f"setp.lt.u{kind[1:]}") for line in before)
    assert any(line.startswith("setp.gt.s") for line in before) is signed
    assert "inside" not in code(kernel("out[i] = p % 7", f"p: {kind}, out: view[{kind}]"))
    assert "inside" not in code(kernel("out[i] = p // q", f"p: {kind}, q: {kind}, out: view[{kind}]"))


def test_the_lower_half_of_a_wide_product_is_not_multiplied_again() -> None:
    high, known = "high = u32((u64(p) * u64(q)) >> 32)\n    ", Promises(True, True)
    params = "p: u32, q: u32, out: view[u32]"
    text = code(kernel(high + "out[i] = high ^ (p * q)", params), known)
    assert (text.count("mul.wide.u32"), text.count("mul.lo.u32")) == (1, 0)
    other = code(kernel(high + "out[i] = high ^ (p * (q + 1))", params), known)
    assert (other.count("mul.wide.u32"), other.count("mul.lo.u32")) == (1, 1)


def test_a_wide_product_is_forgotten_with_its_factors_and_behind_its_branch() -> None:
    params, known = "n: i32, p: u32, q: u32, out: view[u32]", Promises(True, True)
    loop = "for k in range(n):\n        out[k] = u32((u64(at) * 0xD2511F53) >> 32)\n        "
    changed = f"at = p\n    {loop}at = at + p\n        out[k + n] = at * 0xD2511F53"
    text = code(kernel(changed, params), known)
    assert text.count("mul.lo.u32") == text.count("mul.wide.u32") > 0
    beside = "if n > 3:\n        out[i] = u32((u64(p) * u64(q)) >> 32)\n    else:\n        out[i] = p * q"
    text = code(kernel(beside, params), known)
    assert (text.count("mul.wide.u32"), text.count("mul.lo.u32")) == (1, 1)


@pytest.mark.parametrize(("a", "b", "word"), [("u32", "u64", "u32"), ("i32", "i64", "s32")])
def test_a_wide_product_of_narrow_factors_is_one_instruction(a: str, b: str, word: str) -> None:
    wide = code(kernel(f"out[i] = {b}(p) * {b}(q)", f"p: {a}, q: {a}, out: view[{b}]"), Promises(True, True))
    assert f"mul.wide.{word}" in wide
    constant = code(kernel(f"out[i] = {b}(p) * 12345", f"p: {a}, out: view[{b}]"), Promises(True, True))
    assert f"mul.wide.{word}" in constant
    full = code(kernel(f"out[i] = p * {1 << 40}", f"p: {b}, out: view[{b}]"), Promises(True, True))
    assert "mul.wide" not in full


@pytest.mark.parametrize("arch", ["sm_80", "sm_90", "sm_100"])
def test_ptxas_takes_the_test_kernels(
    arch: str, whole: bool, tmp_path: Path, tell: Callable[[str], None]
) -> None:
    ptxas = tool("ptxas")
    if str(FOLDER) not in sys.path:
        sys.path.insert(0, str(FOLDER))
    files = [importlib.import_module(path.stem) for path in sorted(FOLDER.glob("*.py"))]
    kernels = {case.name: case.kernel for item in files for case in getattr(item, "CASES", ())}
    chosen = sorted(kernels) if whole else ["exclusive_scan", "layernorm_forward", "matmul_blocked", "saxpy"]
    for name in chosen:
        file = tmp_path / f"{name}.ptx"
        file.write_text(code(kernels[name], arch=arch))
        accepted([ptxas, f"-arch={arch}", "-o", str(tmp_path / "out.cubin"), str(file)])
    tell(f"{len(chosen)} of {len(kernels)} kernels for {arch}")


def test_stores_stay_apart_where_a_later_value_may_be_read_from_an_earlier_one() -> None:
    body = "out[i, 0] = x[i]\n    out[i, 1] = out[i, 0] + 1.0\n    out[i, 2] = x[i]\n    out[i, 3] = 2.0"
    text = code(kernel(body, "x: view[f32], out: view[f32, 2]"), Promises(True, True))
    assert "v4" not in text
    places = [line.split()[0] for line in text.splitlines() if "global" in line and "param" not in line]
    assert places.index("st.global.f32") < places.index("ld.global.f32")
    body = "out[i, 0] = 1.0\n    out[i, 1] = x[i]\n    out[i, 2] = 2.0\n    out[i, 3] = 3.0"
    assert "v4" in code(kernel(body, "x: view[f32], out: view[f32, 2]"), Promises(True, True))
    assert "v4" not in code(kernel(body, "x: view[f32], out: view[f32, 2]"), Promises(True))


@pytest.mark.parametrize("line", ["out[i] = x[i]", "out[i] = x[i] * x[i].w + 1.0", "out[i] += x[i]"])
@pytest.mark.parametrize("element", ["f32", "i32", "u32"])
def test_a_vector_of_four_is_one_load_and_one_store(line: str, element: str) -> None:
    if element != "f32":
        line = line.replace("1.0", "1")
    params = f"x: view[vec[{element}, 4]], out: view[vec[{element}, 4]]"
    text = code(kernel(line, params), Promises(True, True))
    loads = [line for line in text.splitlines() if "ld.global" in line]
    assert all(".v4." in line for line in loads)
    assert len(loads) == (2 if "+=" in line else 1)
    assert text.count("st.global.v4.") == 1


WARPS = """
@kernel(block=64)
def k(x: view[vec[f32, 4]], out: view[f32], n: i32):
    total = f32(0)
    for i in range(atoll.lane_id(), n, atoll.subgroup_size()):
        total += (x[i].x + x[i].y) + (x[i].z + x[i].w)
    out[atoll.global_id(0)] = atoll.subgroup_add(total)
"""


def test_what_follows_from_the_width_of_a_warp_is_computed_before_and_rows_stay_together() -> None:
    found = kernel_from(WARPS)
    shown = str(found.show("cuda:sm_90"))
    assert "div." not in shown
    assert "shr.u32" in shown
    compiled = found.compiled()
    module, _ = module_for(compiled, ALL, 32)
    target = Target(backend="cuda", arch="sm_90", version="13.0", plain=True, apart=True)
    text = PtxEmitter().emit(module, compiled.kernel.name, target, (64, 1, 1)).code.decode()
    assert "ld.global.nc.v4.f32" in text
    assert "div." not in text
