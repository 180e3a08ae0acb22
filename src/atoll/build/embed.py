"""Write the C file that holds one embedded file: its bytes as a record, and its accessor.

Run as an action: ``python -I embed.py IN OUT HEADER ITEM RECORD``, the last two as JSON; ``RECORD`` is
``null`` for a file that is no device code.
"""

from __future__ import annotations

import hashlib
import json
import struct
import sys
from pathlib import Path
from typing import Any

# Offset of the field `payload` of atoll_record (docs/reference/record-format.md).
_PAYLOAD_FIELD = 24


def source(payload: bytes, header: str, item: str, record: str) -> str:
    """Return the C text for `payload`."""
    from atoll.boundary import DataItem, data_source
    from atoll.runtime.record import Record
    from atoll.runtime.record import record as packed

    said = json.loads(item)
    place = DataItem(path=said["path"], namespace=tuple(said["namespace"]), identifier=said["identifier"])
    facts = json.loads(record)
    if facts is None:
        return data_source(place, payload, header=header, record=False)
    stored = packed(Record(payload=payload, **facts))
    (offset,) = struct.unpack_from("<Q", stored, _PAYLOAD_FIELD)
    return data_source(place, stored, header=header, offset=offset, size=len(payload))


def stored(infile: str, header: str, said: dict[str, Any]) -> str:
    """Return the C text for a file of a ``[data.NAME]`` table."""
    from atoll.boundary import DataItem
    from atoll.boundary.stored import file_source, object_source

    place = DataItem(path=said["path"], namespace=tuple(said["namespace"]), identifier=said["identifier"])
    if said["storage"] == "file":
        return file_source(place, header=header, package=said["package"])
    with Path(infile).open("rb") as stream:
        digest = hashlib.file_digest(stream, "sha256").hexdigest()
        size = stream.tell()
    return object_source(place, infile, header=header, size=size, digest=digest)


def main(argv: list[str]) -> int:
    """Read the payload and write the text."""
    infile, outfile, header, item, record = argv
    said = json.loads(item)
    if "storage" in said:
        Path(outfile).write_text(stored(infile, header, said), encoding="utf-8")
        return 0
    Path(outfile).write_text(source(Path(infile).read_bytes(), header, item, record), encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
