"""How does an editable install see a change? Its wheel holds a finder: the first import of a process builds.

The wheel holds two files: a ``.pth`` that installs the finder when Python starts, and the finder. Importing
one of the project's packages runs this module in a process of its own, which builds what changed and says
where the packages lie; a failed build is the import's error, with its diagnostics. A process that never
imports the package pays for neither. The finder needs Atoll at run time, so the editable wheel requires it.
"""

from __future__ import annotations

import json
import sys
import tempfile
from collections.abc import Iterable
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING

from atoll.diagnostics import Diagnostic
from atoll.errors import UnreadableError, UsageError
from atoll.manifest import find
from atoll.pep517.settings import Settings, built, from_data, opened

if TYPE_CHECKING:
    from atoll.packaging import Metadata
    from atoll.session import Built, Session

TAG = "py3-none-any"
_TEMPLATE = Path(__file__).with_name("finder.txt")


def requires() -> tuple[str, ...]:
    """Return what an editable install needs beside the project's own requirements."""
    return (f"atoll>={version('atoll')}",)


def write_editable(session: Session, made: Built, settings: Settings, metadata: Metadata, out: Path) -> Path:
    """Write the editable wheel of a built project and return its path."""
    from atoll.packaging.wheel import write_wheel

    name = f"_editable_{metadata.stem.partition('-')[0]}"
    with tempfile.TemporaryDirectory() as folder:
        finder, start = Path(folder, "finder"), Path(folder, "start")
        finder.write_text(finder_text(session.root, importable(made.tree), settings), encoding="utf-8")
        start.write_text(f"import {name}\n", encoding="utf-8")
        files = {f"{name}.py": finder, f"{name}.pth": start}
        path, _ = write_wheel(files, metadata, out, tag=TAG)
    return path


def finder_text(root: Path, names: tuple[str, ...], settings: Settings) -> str:
    """Return the finder's module: which packages it finds, and what it asks this module for."""
    asked = json.dumps({"root": str(root), **settings.as_data()}, sort_keys=True)
    text = _TEMPLATE.read_text(encoding="utf-8")
    return text.replace("@NAMES@", repr(names)).replace("@ASKED@", repr(asked))


def importable(tree: Path, above: str = "") -> tuple[str, ...]:
    """Return the names that the finder answers for: what lies at the top, and what lies in its namespaces.

    A folder without ``__init__.py`` that holds folders alone is a namespace package, of which other
    distributions may hold further parts.
    """
    found = []
    for path in sorted(tree.iterdir()):
        if path.name == "__pycache__":
            continue
        found.append(above + path.name.partition(".")[0])
        if path.is_dir() and all(each.is_dir() for each in path.iterdir()):
            found += importable(path, f"{found[-1]}.")
    return tuple(sorted(set(found)))


def rebuild(asked: str) -> str:
    """Build what changed and return the folder of the packages.

    A line each follows: the shared libraries that they need and that another distribution would bring.

    Raises:
        AtollError: Where something refuses or fails.
    """
    data = json.loads(asked)
    settings = from_data({name: value for name, value in data.items() if name != "root"})
    made = built(_found(Path(data["root"]), settings), settings)
    folders = dict.fromkeys(folder for output in made.modules for folder in output.search)
    return "\n".join([str(made.tree), *needed(made.tree, folders)])


def needed(tree: Path, folders: Iterable[str]) -> list[str]:
    """Return the shared libraries of some folders that extension modules of a tree name."""
    modules = [path.read_bytes() for path in sorted(tree.rglob("*.so"))] if folders else []
    found = [path for folder in folders for path in sorted(Path(folder).glob("lib*.so*"))]
    return [str(path) for path in found if any(b"\0%b\0" % path.name.encode() in data for data in modules)]


def _found(root: Path, settings: Settings) -> Session:
    """Return the project where it was installed from; a manifest in a folder above is another project's."""
    if not _lies_at(root):
        raise UsageError(
            Diagnostic(
                code="ATL0484",
                message="the project of an editable install has moved or is gone",
                notes=(f"it was installed from: {root}", "there is no manifest there now"),
                hint="install it again from where it lies now, or uninstall it",
            )
        )
    return opened(root, settings)


def _lies_at(root: Path) -> bool:
    try:
        return find(root).parent == root
    except UnreadableError:
        return False


def main() -> int:
    """Answer the finder: the folder on stdout, or the diagnostics on stderr."""
    from atoll.diagnostics import render
    from atoll.errors import AtollError

    try:
        sys.stdout.write(rebuild(sys.argv[1]))
    except AtollError as error:
        sys.stderr.write("\n".join(render(item) for item in error.diagnostics) + "\n")
        return error.exit_code
    return 0


if __name__ == "__main__":
    sys.exit(main())
