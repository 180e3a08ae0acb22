"""Clang's bundles and offload binaries, and the AMD code objects in them."""

from __future__ import annotations

import shutil
import struct
import subprocess
import zlib
from pathlib import Path

import pytest
import zstandard

from atoll.artifact import Finding
from atoll.errors import UnreadableError
from atoll.plugin import Member
from atoll.testing.readers import READER_CHECKS, ReaderCheck
from atoll_plugins.formats.offload import OffloadReader
from atoll_plugins.hip.reader import PROCESSORS, CodeObjectReader
from unit.packaging.binaries import CODE_OBJECT, blob, elf, findings, read

CLANG = Path("/usr/bin/clang-19")


def bundle(images: dict[str, bytes]) -> bytes:
    """Return a bundle as ClangOffloadBundler describes it."""
    at = 32 + sum(24 + len(name) for name in images)
    head, body = b"__CLANG_OFFLOAD_BUNDLE__" + struct.pack("<Q", len(images)), b""
    for name, image in images.items():
        head += struct.pack("<QQQ", at + len(body), len(image), len(name)) + name.encode()
        body += image
    return head + body


def offload(producer: int, triple: str, arch: str, image: bytes) -> bytes:
    """Return an offload binary as llvm/Object/OffloadBinary.h describes it."""
    texts = [b"triple", triple.encode(), b"arch", arch.encode()]
    start, places, raw = 40 + 40 + 32, [], b""
    for text in texts:
        places.append(start + len(raw))
        raw += text + b"\0"
    image_at = (start + len(raw) + 7) // 8 * 8
    total = (image_at + len(image) + 7) // 8 * 8
    head = b"\x10\xff\x10\xad" + struct.pack("<IQQQ", 1, total, 32 + 8 - 0, 40)
    entry = struct.pack("<HHIQQQQ", 1, producer, 0, 80, 2, image_at, len(image))
    table = struct.pack("<QQQQ", *places)
    return (head.ljust(40, b"\0") + entry + table + raw).ljust(image_at, b"\0") + image.ljust(
        total - image_at, b"\0"
    )


def compressed(data: bytes, *, version: int = 3, method: int = 1, size: int | None = None) -> bytes:
    """Return a compressed bundle as ClangOffloadBundler writes it; methods: 0 zlib, 1 zstd."""
    packed = zstandard.ZstdCompressor().compress(data) if method else zlib.compress(data)
    size = len(data) if size is None else size
    rows = {
        1: struct.pack("<HHI", 1, method, size),
        2: struct.pack("<HHII", 2, method, 24 + len(packed), size),
        3: struct.pack("<HHQQ", 3, method, 32 + len(packed), size),
    }
    return b"CCOB" + rows[version] + bytes(8) + packed


def offload2(producer: int, images: list[tuple[str, str, bytes]]) -> bytes:
    """Return an offload binary of version 2, which holds several entries."""
    strings_at = 40 + 40 * len(images)
    texts_at = strings_at + 48 * len(images)
    entries, table, texts = b"", b"", b""
    body, image_at = b"", texts_at + sum(len(f"triple\0{t}\0arch\0{a}\0") for t, a, _ in images)
    for index, (triple, arch, image) in enumerate(images):
        for key, value in (("triple", triple), ("arch", arch)):
            start = texts_at + len(texts)
            table += struct.pack("<QQQ", start, start + len(key) + 1, len(value))
            texts += f"{key}\0{value}\0".encode()
        place = image_at + len(body)
        entries += struct.pack("<HHIQQQQ", 1, producer, 0, strings_at + 48 * index, 2, place, len(image))
        body += image
    total = image_at + len(body)
    head = b"\x10\xff\x10\xad" + struct.pack("<IQQQ", 2, total, 40, len(images))
    return head.ljust(40, b"\0") + entries + table + texts + body


def code_object(flags: int, abi_version: int = 3) -> bytes:
    return elf(machine=CODE_OBJECT, flags=flags, abi_version=abi_version)


GFX942 = code_object(0x54C)
BUNDLE = bundle({"host-x86_64-unknown-linux-gnu-": b"", "hipv4-amdgcn-amd-amdhsa--gfx942": GFX942})


def kinds(data: bytes, kind: str = "section:.hip_fatbin") -> list[str]:
    return [event.blob.kind for event in read(OffloadReader(), data, kind=kind) if isinstance(event, Member)]


@pytest.mark.parametrize("check", READER_CHECKS, ids=lambda check: str(check.__name__))
def test_the_bundle_reader_keeps_the_promises_of_the_door(check: ReaderCheck) -> None:
    binary = offload(2, "nvptx64-nvidia-cuda", "sm_90", b"image")
    check(
        OffloadReader(),
        [
            blob(BUNDLE, "a", kind="section:.hip_fatbin"),
            blob(BUNDLE.ljust(4096, b"\0") + BUNDLE, "b.hipfb"),
            blob(binary + binary, "c", kind="section:.llvm.offloading"),
            blob(compressed(BUNDLE), "d"),
            blob(compressed(BUNDLE, version=2).ljust(4096, b"\0") + compressed(BUNDLE, method=0), "e"),
            blob(offload2(2, [("nvptx64-nvidia-cuda", "sm_90", b"one"), ("spirv64", "", b"two")]), "f"),
        ],
    )


@pytest.mark.parametrize("check", READER_CHECKS, ids=lambda check: str(check.__name__))
def test_the_code_object_reader_keeps_the_promises_of_the_door(check: ReaderCheck) -> None:
    check(
        CodeObjectReader(),
        [blob(GFX942, "a.hsaco"), blob(GFX942, "b", kind="offload:hipv4|amdgcn-amd-amdhsa|gfx942")],
    )


def test_each_device_image_of_a_bundle_is_a_member_and_the_host_part_is_none() -> None:
    assert kinds(BUNDLE) == ["offload:hipv4|amdgcn-amd-amdhsa|gfx942"]


def test_bundles_that_follow_one_another_are_all_read() -> None:
    assert len(kinds(BUNDLE.ljust(4096, b"\0") + BUNDLE)) == 2


def test_an_offload_binary_names_producer_triple_and_arch() -> None:
    data = offload(2, "nvptx64-nvidia-cuda", "sm_90", b"image") + offload(
        3, "amdgcn-amd-amdhsa", "gfx942", GFX942
    )
    assert kinds(data, "section:.llvm.offloading") == [
        "offload:cuda|nvptx64-nvidia-cuda|sm_90",
        "offload:hip|amdgcn-amd-amdhsa|gfx942",
    ]


@pytest.mark.parametrize("version", [1, 2, 3])
@pytest.mark.parametrize("method", [0, 1])
def test_a_compressed_bundle_is_inflated(version: int, method: int) -> None:
    assert kinds(compressed(BUNDLE, version=version, method=method)) == kinds(BUNDLE) != []


@pytest.mark.parametrize("version", [2, 3])
def test_compressed_bundles_that_follow_one_another_are_all_read(version: int) -> None:
    one = compressed(BUNDLE, version=version)
    assert len(kinds(one.ljust(4096, b"\0") + one)) == 2


def test_an_offload_binary_of_several_entries_gives_each() -> None:
    data = offload2(2, [("nvptx64-nvidia-cuda", "sm_90", b"one"), ("nvptx64-nvidia-cuda", "sm_80", b"two")])
    assert kinds(data, "section:.llvm.offloading") == [
        "offload:cuda|nvptx64-nvidia-cuda|sm_90",
        "offload:cuda|nvptx64-nvidia-cuda|sm_80",
    ]


def test_a_compressed_offload_binary_is_unknown_and_says_so() -> None:
    data = b"\x10\xff\x10\xad" + struct.pack("<IQQQQ", 3, 40, 40, 1, 99)
    (found,) = findings(OffloadReader(), data, kind="section:.llvm.offloading")
    assert found == Finding(member="file", backend="", note="a compressed offload binary")


@pytest.mark.parametrize("bundler", ["clang-offload-bundler-19", "clang-offload-bundler-22"])
def test_what_clangs_own_bundler_compresses_is_read(bundler: str, tmp_path: Path) -> None:
    program = shutil.which(bundler, path="/usr/bin")
    if program is None:
        pytest.skip(f"{bundler} is not installed")
    archs = {"gfx942": 0x54C, "gfx90a": 0x53F}
    inputs = ["-input=/dev/null"]
    for arch, flags in archs.items():
        (tmp_path / arch).write_bytes(code_object(flags))
        inputs.append(f"-input={tmp_path / arch}")
    targets = ",".join(["host-x86_64-unknown-linux-gnu-", *(f"hipv4-amdgcn-amd-amdhsa--{a}" for a in archs)])
    for name, options in {"plain": [], "packed": ["-compress"]}.items():
        command = [program, "-type=o", "-bundle-align=4096", *options, f"-targets={targets}", *inputs]
        subprocess.run([*command, f"-output={tmp_path / name}"], check=True)
    packed = (tmp_path / "packed").read_bytes()
    assert packed[:4] == b"CCOB"
    assert kinds(packed) == kinds((tmp_path / "plain").read_bytes()) != []


def test_the_bundle_states_modes_that_the_target_name_carries() -> None:
    (found,) = findings(
        CodeObjectReader(), code_object(0x73F), kind="offload:hipv4|amdgcn-amd-amdhsa|gfx90a:xnack+"
    )
    assert (found.backend, found.arch) == ("hip", "gfx90a:xnack+")


def test_a_code_object_alone_states_its_modes_in_its_flags() -> None:
    (found,) = findings(CodeObjectReader(), code_object(0x33F))
    assert found.arch == "gfx90a:xnack+"


def test_a_bundle_that_lies_about_its_image_is_refused() -> None:
    with pytest.raises(UnreadableError, match="its bundle says gfx90a, its ELF flags say gfx942"):
        findings(CodeObjectReader(), GFX942, kind="offload:hipv4|amdgcn-amd-amdhsa|gfx90a")


def test_code_objects_before_version_4_state_modes_in_other_bits() -> None:
    (found,) = findings(CodeObjectReader(), code_object(0x32F, abi_version=1))
    assert found.arch == "gfx906:sramecc+:xnack+"


def test_a_processor_newer_than_the_reader_is_what_its_bundle_says() -> None:
    (found,) = findings(
        CodeObjectReader(), code_object(0x5FE), kind="offload:hipv4|amdgcn-amd-amdhsa|gfx1399"
    )
    assert (found.backend, found.arch) == ("hip", "gfx1399")
    assert found.note == "named by its bundle alone: number 0xfe is newer than the reader"


def test_an_unknown_processor_is_unknown_and_never_no_constraint() -> None:
    (found,) = findings(CodeObjectReader(), code_object(0x5FE))
    assert found.backend == ""


def test_bitcode_for_a_device_is_unknown() -> None:
    (found,) = findings(CodeObjectReader(), b"BC\xc0\xde", kind="offload:hip|amdgcn-amd-amdhsa|gfx942")
    assert (found.backend, found.note) == ("", "no code object, made for gfx942")


@pytest.mark.parametrize(
    ("data", "reason"),
    [
        (BUNDLE[:40], "lies outside"),
        (b"CCOB" + bytes(60), "states version 0"),
        (compressed(BUNDLE)[:40], "lies outside"),
        (compressed(BUNDLE, size=5), "does not inflate to the 5 bytes"),
        (compressed(BUNDLE, size=len(BUNDLE) + 1), "does not inflate to"),
        (compressed(BUNDLE, size=1 << 31), "inflates past its limits"),
        (compressed(b"no bundle"), "holds no bundle"),
        (compressed(BUNDLE)[:32] + b"\1" * (len(compressed(BUNDLE)) - 32), "cannot be inflated"),
        (b"__CLANG_OFFLOAD_BUNDLE__" + b"\xff" * 8, "entries"),
        (BUNDLE + b"trailing", "no offload bundle starts"),
        (offload(2, "t", "a", b"i")[:30], "header"),
        (b"\x10\xff\x10\xad" + struct.pack("<IQQQ", 1, 0, 0, 0) + bytes(8), "0 bytes"),
    ],
)
def test_broken_bundles_are_refused_with_the_reason(data: bytes, reason: str) -> None:
    with pytest.raises(UnreadableError, match=reason):
        kinds(data)


@pytest.mark.parametrize(
    "processor", ["gfx900", "gfx906", "gfx90a", "gfx942", "gfx1030", "gfx1100", "gfx1201", "gfx11-generic"]
)
def test_processor_numbers_are_those_of_clang(tmp_path: Path, processor: str) -> None:
    if not CLANG.exists():
        pytest.skip("clang-19 is not installed")
    (tmp_path / "k.cl").write_text("kernel void k(global float *x) { x[0] = 1; }\n")
    version = ["-mcode-object-version=6"] if processor.endswith("generic") else []
    subprocess.run(
        [
            CLANG,
            "--target=amdgcn-amd-amdhsa",
            f"-mcpu={processor}",
            *version,
            "-nogpulib",
            "-c",
            "k.cl",
            "-o",
            "k.o",
        ],
        cwd=tmp_path,
        check=True,
    )
    assert processor in PROCESSORS.values()
    (found,) = findings(CodeObjectReader(), (tmp_path / "k.o").read_bytes())
    assert found.arch.split(":")[0] == processor
