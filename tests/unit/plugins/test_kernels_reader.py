"""Embedded Atoll kernels and OpenCL C: measured where bytes say it, declared where they do not."""

from __future__ import annotations

import pytest

from atoll.errors import UnreadableError
from atoll.plugin import Member
from atoll.runtime.record import Record, record
from atoll.testing.readers import READER_CHECKS, ReaderCheck
from atoll_plugins.formats.kernels import KernelSectionReader
from atoll_plugins.opencl.reader import OpenClReader
from unit.packaging.binaries import blob, findings, read, spirv

SECTION = "section:.atoll.kernels"
SHADER = record(Record(backend="vulkan", kind="spirv", entry="axpy", payload=spirv(), version="1.2"))
SOURCE = record(
    Record(backend="opencl", kind="text", entry="saxpy", payload=b"__kernel", version="1.2", declared=True)
)
HOST = record(Record(backend="cpu", kind="c", entry="axpy", payload=b"code"))


@pytest.mark.parametrize("check", READER_CHECKS, ids=lambda check: str(check.__name__))
def test_it_keeps_the_promises_of_the_door(check: ReaderCheck) -> None:
    check(
        KernelSectionReader(), [blob(SHADER + bytes(8) + SOURCE + HOST, "a.so!.atoll.kernels", kind=SECTION)]
    )


@pytest.mark.parametrize("check", READER_CHECKS, ids=lambda check: str(check.__name__))
def test_the_opencl_reader_keeps_the_promises_of_the_door(check: ReaderCheck) -> None:
    check(OpenClReader(), [blob(b"__kernel void f() {}", "a.cl"), blob(b"x", "b", kind="device:opencl:text")])


def test_a_payload_goes_to_the_reader_of_its_kind() -> None:
    (event,) = read(KernelSectionReader(), SHADER, "a.so!.atoll.kernels", SECTION)
    assert isinstance(event, Member)
    assert (event.blob.name, event.blob.kind) == ("a.so!.atoll.kernels!axpy", "device:vulkan:spirv")
    assert bytes(event.blob.data) == spirv()


def test_source_is_declared_and_never_measured() -> None:
    (found,) = findings(KernelSectionReader(), SOURCE, kind=SECTION)
    assert (found.backend, found.version, found.declared) == ("opencl", "1.2", True)


def test_code_of_the_processor_is_no_device_code() -> None:
    assert read(KernelSectionReader(), HOST, kind=SECTION) == []


def test_a_record_that_breaks_its_format_is_refused() -> None:
    with pytest.raises(UnreadableError, match="breaks the rules"):
        read(KernelSectionReader(), SHADER[:-8], kind=SECTION)


def test_a_file_named_like_opencl_without_a_kernel_is_none() -> None:
    assert not OpenClReader().recognises(blob(b"(defun lisp ())", "a.cl"))


def test_a_program_binary_of_pocl_is_of_one_device() -> None:
    data = b"poclbin\0" + (0x02EE5BE95D307B0C).to_bytes(8, "little") + (9).to_bytes(4, "little") + bytes(40)
    (found,) = findings(OpenClReader(), data, "k.bin")
    assert (found.backend, found.declared, found.arch) == ("opencl", False, "")
    assert [str(fact) for fact in found.requires] == ["opencl.binary = pocl-02ee5be95d307b0c"]
