"""Which files are OpenCL? Source says no device, so it is declared; a program binary is of one device.

Program binaries of NVIDIA are PTX and those of AMD code objects, which their own readers take. PoCL's
`poclbin` (lib/CL/pocl_binary.c: magic, device hash, version) states a hash of device and driver.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from atoll.artifact import Fact, Finding
from atoll.plugin import Blob, Member
from atoll_plugins.formats.parse import unpack

POCL = b"poclbin\0"
_KERNEL = re.compile(rb"\b(?:__kernel|kernel)\b")


class OpenClReader:
    """Reads OpenCL C source, as files or as what an emitter embedded without declaring it."""

    name = "opencl"
    libraries = ("libOpenCL.",)

    def recognises(self, blob: Blob) -> bool:
        """Tell by the kind of an embedded kernel, or by the suffix and a kernel among the first bytes."""
        if blob.kind.startswith("device:opencl:"):
            return not blob.kind.endswith(":spirv")
        if not blob.kind and blob.data[:8] == POCL:
            return True
        is_source = not blob.kind and blob.name.endswith(".cl")
        return is_source and _KERNEL.search(bytes(blob.data[:4096])) is not None

    def read(self, blob: Blob) -> Iterator[Member | Finding | Fact]:
        """State that OpenCL C, or a program binary, lies here."""
        if blob.data[:8] == POCL:
            device, version = unpack("<QI", blob.data, 8, blob.name, "the header of a program binary")
            fact = Fact(name="opencl.binary", relation="=", value=f"pocl-{device:016x}")
            note = f"a PoCL program binary of version {version}, for one device and driver"
            yield Finding(member=blob.name, backend="opencl", requires=(fact,), note=note)
            return
        yield Finding(member=blob.name, backend="opencl", declared=True, note="OpenCL C source")
