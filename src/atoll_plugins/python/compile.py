"""Compile the kernels of a file for one entry of the set: an action of the build.

``python -I -m atoll_plugins.python.compile FILE --root ROOT --backend NAME [--entry JSON] --out DIR
--depfile FILE [--lines]`` writes ``DIR/KERNEL.c`` for each kernel.
"""

from __future__ import annotations

import argparse
import json
import sys
from dataclasses import replace
from pathlib import Path

from atoll.accel import Entry, Floor, Version
from atoll.errors import AtollError
from atoll.kernels.definition import KernelFunction
from atoll.kernels.files import kernels_of, load
from atoll.kernels.shapes import block_for
from atoll.plugin import Emitted, Emitter, Target, registry
from atoll_plugins.python.csource import source
from atoll_plugins.python.importing import project_files, quiet_stdout
from atoll_plugins.python.values import Described


def entry_text(entry: Entry | None, archs: tuple[str, ...] | None) -> str:
    """Return an entry of the set as JSON, for :func:`read_entry`."""
    if entry is None:
        return "null"
    version = None if entry.version is None else str(entry.version)
    floor = None if entry.floor is None else str(entry.floor.value)
    chosen = list(entry.archs if archs is None else archs)
    return json.dumps({"backend": entry.backend, "version": version, "archs": chosen, "floor": floor})


def read_entry(text: str) -> Entry | None:
    """Return the entry that :func:`entry_text` wrote."""
    value = json.loads(text)
    if value is None:
        return None
    version, floor = value["version"], value["floor"]
    return Entry(
        backend=value["backend"],
        version=None if version is None else Version.parse(version),
        archs=tuple(value["archs"]),
        floor=None if floor is None else Floor(Version.parse(floor)),
    )


def targets(emitter: Emitter, entry: Entry | None) -> list[Target]:
    """Return what to emit for an entry: each architecture it names, and its portable floor."""
    if entry is None:
        return [emitter.target(None)]
    found = [emitter.target(entry, arch) for arch in entry.archs]
    if entry.floor is not None or not found:
        found.append(emitter.target(entry))
    return list(dict.fromkeys(found))


def codes(
    kernel: KernelFunction, emitter: Emitter, entry: Entry | None, *, lines: bool = False
) -> list[Emitted]:
    """Return the codes of a kernel for an entry, with the lines of the source where they are asked for.

    Raises:
        CompileError: Where a target lacks what the kernel needs.
    """
    compiled = kernel.compiled()
    group = block_for(compiled.kernel)
    return [
        emitter.emit(
            kernel.compiled_for(target).optimised, compiled.kernel.name, replace(target, lines=lines), group
        )
        for target in targets(emitter, entry)
    ]


def main(argv: list[str]) -> int:
    """Write the files."""
    parser = argparse.ArgumentParser(prog="compile")
    parser.add_argument("file")
    for name in ("--root", "--backend", "--out", "--depfile"):
        parser.add_argument(name, required=True)
    parser.add_argument("--entry", default="null")
    parser.add_argument("--lines", action="store_true")
    asked = parser.parse_args(argv)
    quiet_stdout()
    try:
        outputs = _compile(asked)
    except AtollError as error:
        sys.stderr.write(f"{error}\n")
        return 1
    inputs = " ".join(_escaped(path) for path in project_files(asked.root))
    Path(asked.depfile).write_text(f"{' '.join(map(_escaped, outputs))}: {inputs}\n", encoding="utf-8")
    return 0


def _compile(asked: argparse.Namespace) -> list[str]:
    emitter, entry = registry().emitters[asked.backend], read_entry(asked.entry)
    outputs = []
    for kernel in kernels_of(load(asked.file, asked.root), asked.file):
        described = Described.of(kernel, asked.file)
        text = source(described, codes(kernel, emitter, entry, lines=asked.lines), asked.backend)
        path = Path(asked.out) / f"{kernel.__name__}.c"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
        outputs.append(path.as_posix())
    return outputs


def _escaped(path: str) -> str:
    return path.replace("\\", "\\\\").replace(" ", "\\ ").replace("#", "\\#").replace("$", "$$")


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
