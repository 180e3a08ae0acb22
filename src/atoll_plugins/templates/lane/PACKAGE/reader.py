"""The reader door: what does a compiled `.poly` file run on? Every byte may be hostile."""

from __future__ import annotations

from collections.abc import Iterator

from atoll.artifact import Fact, Finding
from atoll.diagnostics import Diagnostic
from atoll.errors import UnreadableError
from atoll.plugin import Blob, Member

from PACKAGE.compile import HEADER, MAGIC, MOST


class PolyReader:
    """Reads the files of this package's compiler, alone or embedded by Atoll."""

    name = "poly"

    def recognises(self, blob: Blob) -> bool:
        """Tell from where the bytes were found, or from the first ones."""
        if blob.kind:
            return blob.kind.startswith("device:poly:")
        return blob.data[:4] == MAGIC

    def read(self, blob: Blob) -> Iterator[Member | Finding | Fact]:
        """Give the version that the header states."""
        size = len(blob.data)
        magic, version, count = HEADER.unpack_from(blob.data) if size >= HEADER.size else (b"", 0, 0)
        if magic != MAGIC or not 1 <= version <= 99 or count > MOST or size != HEADER.size + 8 * count:
            raise UnreadableError(
                Diagnostic(
                    code="POLY0001",
                    message=f"`{blob.name}` is no compiled polynomial",
                    notes=(
                        f"the header says: {magic!r}, version {version}, {count} coefficients",
                        f"bytes: {size}",
                    ),
                )
            )
        yield Finding(member=blob.name, backend="poly", version=f"{version}.0")
