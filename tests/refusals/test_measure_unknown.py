"""Device code that no reader understands is unknown, never no constraint."""

from __future__ import annotations

import struct
from pathlib import Path

import pytest

from atoll.runtime.record import Record, record
from refusals.packaging_refused import said
from unit.packaging.binaries import elf, entry, fatbin, put, spirv


@pytest.mark.parametrize(
    ("sections", "reason"),
    [
        (
            {".llvm.offloading": b"\x10\xff\x10\xad" + struct.pack("<IQQQQ", 3, 40, 40, 1, 99)},
            "a compressed offload binary",
        ),
        ({".nv_fatbin": fatbin(entry(8, 75))}, "nothing that runs by itself"),
        (
            {".atoll.kernels": record(Record(backend="npu", kind="code", entry="f", payload=b"x"))},
            "no reader for device:npu:code",
        ),
        (
            {".atoll.kernels": record(Record(backend="opencl", kind="spirv", entry="f", payload=spirv()))},
            "its record says opencl, its bytes vulkan",
        ),
    ],
)
def test_it_is_unknown_and_named(tmp_path: Path, sections: dict[str, bytes], reason: str) -> None:
    found = said(put(tmp_path / "a.so", elf(sections)))
    assert reason in "\n".join(found.notes) or reason in found.message
    assert "a.so!" in found.message
