"""Which files are OpenCL C? Source says no device, so it is declared and never measured."""

from __future__ import annotations

import re
from collections.abc import Iterator

from atoll.artifact import Fact, Finding
from atoll.plugin import Blob, Member

_KERNEL = re.compile(rb"\b(?:__kernel|kernel)\b")


class OpenClReader:
    """Reads OpenCL C source, as files or as what an emitter embedded without declaring it."""

    name = "opencl"

    def recognises(self, blob: Blob) -> bool:
        """Tell by the kind of an embedded kernel, or by the suffix and a kernel among the first bytes."""
        if blob.kind.startswith("device:opencl:"):
            return not blob.kind.endswith(":spirv")
        is_source = not blob.kind and blob.name.endswith(".cl")
        return is_source and _KERNEL.search(bytes(blob.data[:4096])) is not None

    def read(self, blob: Blob) -> Iterator[Member | Finding | Fact]:
        """State that OpenCL C lies here."""
        yield Finding(member=blob.name, backend="opencl", declared=True, note="OpenCL C source")
