"""Which device code did Atoll embed? The records of the section ``.atoll.kernels``.

The record says what the payload is *for*; its bytes are measured by the reader of their format, so a
record that lies is found out. Only what bytes cannot say is taken from the record, as declared.
"""

from __future__ import annotations

from collections.abc import Iterator

from atoll.artifact import Fact, Finding
from atoll.plugin import Blob, Member
from atoll.runtime.record import MAGIC, read_records
from atoll_plugins.formats.parse import broken


class KernelSectionReader:
    """Reads embedded Atoll kernels."""

    name = "atoll"

    def recognises(self, blob: Blob) -> bool:
        """Tell by the section's name, or by the magic of a file of records."""
        return blob.kind == "section:.atoll.kernels" or (not blob.kind and blob.data[:8] == MAGIC)

    def read(self, blob: Blob) -> Iterator[Member | Finding | Fact]:
        """Give each payload to the reader of its kind; state those that only the record knows."""
        try:
            for index, record in enumerate(read_records(blob.data)):
                name = f"{blob.name}!{record.entry or index}"
                if record.declared:
                    note = f"{record.kind} source, as its author states"
                    yield Finding(
                        member=name,
                        backend=record.backend,
                        version=record.version,
                        arch=record.arch,
                        floor=record.floor,
                        declared=True,
                        note=note,
                    )
                elif record.backend != "cpu":
                    kind = f"device:{record.backend}:{record.kind}"
                    yield Member(Blob(name=name, data=memoryview(record.payload), kind=kind))
        except ValueError as error:
            raise broken(blob.name, str(error)) from error
