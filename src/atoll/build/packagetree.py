"""What lies in a Python package beside its libraries? Stubs, `__init__.py`, and the author's own files."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path, PurePosixPath

from atoll._util.spelling import this_python
from atoll.boundary import Interface, python_files
from atoll.build.parts import python_folder
from atoll.build.request import BuildRequest
from atoll.diagnostics import Diagnostic
from atoll.errors import BuildError
from atoll.graph import Action, Role
from atoll.manifest import Target

_COPY = str(Path(__file__).resolve().with_name("copying.py"))
_LEFT = ("__pycache__",)


def package_actions(
    request: BuildRequest, target: Target, interface: Interface
) -> tuple[dict[str, str], list[Action]]:
    """Return the generated text files of a package tree, and the actions that bring each file into it.

    A file that the author ships wins over the ``__init__.py`` that would be generated in its place.
    """
    authored = {inside: path for folder in target.packages for inside, path in _authored(request, folder)}
    files: dict[str, str] = {}
    sources = dict(authored)
    for inside, text in python_files(interface).items():
        if inside not in authored:
            path = f"{request.plan_folder}/python/{inside}"
            files[path] = text
            sources[inside] = path
    tree = python_folder(request)
    return files, [_copy(path, f"{tree}/{inside}", inside) for inside, path in sorted(sources.items())]


def _authored(request: BuildRequest, folder: str) -> Iterator[tuple[str, str]]:
    base = request.root / folder
    if not base.is_dir():
        raise BuildError(
            Diagnostic(
                code="ATL0560",
                message=f"the package folder `{folder}` is not there",
                notes=(f"looked for: {base}", "named by: `packages`"),
                hint="mend the path, or remove it",
            )
        )
    for path in sorted(base.rglob("*")):
        inside = path.relative_to(base)
        if path.is_file() and not any(part in _LEFT or part.startswith(".") for part in inside.parts):
            yield (
                f"{PurePosixPath(folder).name}/{inside.as_posix()}",
                path.relative_to(request.root).as_posix(),
            )


def _copy(source: str, output: str, inside: str) -> Action:
    return Action(
        name=f"package {inside}",
        argv=(this_python(), "-I", "-S", _COPY, source, output),
        inputs=(source, _COPY),
        outputs=(output,),
        role=Role.ARTIFACT,
        description=f"ship {inside}",
    )
