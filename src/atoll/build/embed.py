"""Write the C file that holds one file of a ``[data.NAME]`` table, and its accessor.

Run as an action: ``python -I embed.py IN OUT HEADER ITEM``, the last as JSON.
"""

from __future__ import annotations

import hashlib
import json
import sys
from pathlib import Path
from typing import Any


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
    infile, outfile, header, item = argv
    Path(outfile).write_text(stored(infile, header, json.loads(item)), encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
