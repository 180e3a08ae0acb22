"""Sections of SYCL images: SPIR-V goes to its reader, Intel's archives say what they are for."""

from __future__ import annotations

import pytest
import zstandard

from atoll.artifact import Finding
from atoll.errors import UnreadableError
from atoll.packaging import Limits
from atoll.packaging.walk import Walk
from atoll.plugin import Member, registry
from atoll.testing.readers import READER_CHECKS, ReaderCheck
from atoll_plugins.sycl.reader import GENERATED, SyclReader
from unit.packaging.binaries import archive, blob, elf, findings, read, spirv

SECTION = "__CLANG_OFFLOAD_BUNDLE__sycl-"
MODULE = spirv(model=6, capabilities=(4, 6))
GENERIC = archive({"64.12.60.7": b"code", "64.12.55.8": b"code", "generic_ir": b"text"})
ALONE = archive({"64.12.60.7": b"code"})


def packed(*images: bytes) -> bytes:
    """Return images as DPC++ compresses them: one frame each, at multiples of 8."""
    frames = (zstandard.compress(image) for image in images)
    return b"".join(frame + bytes(-len(frame) % 8) for frame in frames)


def accel(section: str, data: bytes) -> str:
    walk = Walk(tuple(registry().readers.values()), Limits())
    walk.visit(blob(elf({section: data}, needed=["libsycl.so.8"])))
    found = walk.report("file").measured
    return "unknown" if found.accel is None else str(found.accel) or "none"


@pytest.mark.parametrize("check", READER_CHECKS, ids=lambda check: str(check.__name__))
def test_it_keeps_the_promises_of_the_door(check: ReaderCheck) -> None:
    check(
        SyclReader(),
        [
            blob(packed(MODULE, MODULE), "a", kind=f"section:{SECTION}spir64"),
            blob(MODULE, "b", kind=f"section:{SECTION}spir64"),
            blob(packed(GENERIC), "c", kind=f"section:{SECTION}spir64_gen"),
            blob(GENERIC, "d", kind=GENERATED),
            blob(ALONE, "e", kind=GENERATED),
        ],
    )


def test_every_frame_is_an_image_and_padding_between_them_is_none() -> None:
    given = read(SyclReader(), packed(MODULE, spirv()) + bytes(64), "a", f"section:{SECTION}spir64")
    images = [event.blob for event in given if isinstance(event, Member)]
    assert [bytes(image.data) for image in images] == [MODULE, spirv()]
    assert {image.kind for image in images} == {"offload:sycl|spir64|"}


@pytest.mark.parametrize(
    ("target", "data", "measured"),
    [
        ("spir64", packed(MODULE, MODULE), "opencl"),
        ("spir64", MODULE, "opencl"),
        ("spir64_gen", packed(GENERIC), "opencl"),
        ("spir64_gen", GENERIC, "opencl"),
        ("spir64_gen", packed(ALONE), "unknown"),
        ("spir64_gen", packed(b"noise of another compiler"), "unknown"),
        ("spir64_x86_64", packed(elf()), "unknown"),
        ("target_of_tomorrow", packed(b"code"), "unknown"),
    ],
)
def test_what_a_library_of_images_runs_on(target: str, data: bytes, measured: str) -> None:
    assert accel(SECTION + target, data) == measured


def test_the_versions_of_machine_code_are_named() -> None:
    (found,) = findings(SyclReader(), GENERIC, kind=GENERATED)
    assert found.note == "machine code for Intel GPUs 12.60.7, 12.55.8, and intermediate code for others"
    (found,) = findings(SyclReader(), ALONE, kind=GENERATED)
    assert found == Finding(member="file", backend="", note="machine code for Intel GPUs 12.60.7 alone")


def test_such_a_section_without_its_reader_is_unknown() -> None:
    readers = tuple(each for name, each in registry().readers.items() if name != "sycl")
    walk = Walk(readers, Limits())
    walk.visit(blob(elf({f"{SECTION}spir64": packed(MODULE)})))
    assert walk.report("file").measured.accel is None


def test_a_frame_that_ends_early_is_refused() -> None:
    with pytest.raises(UnreadableError, match="ends early"):
        read(SyclReader(), packed(MODULE)[:40], kind=f"section:{SECTION}spir64")
