"""What lies in a Python package beside its libraries? Stubs, `__init__.py`, and the author's own files."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING

from atoll._util.spelling import this_python
from atoll.build.parts import python_folder
from atoll.build.request import BuildRequest
from atoll.diagnostics import Diagnostic
from atoll.errors import BuildError
from atoll.graph import Action, Role
from atoll.manifest import Target

if TYPE_CHECKING:
    from atoll.boundary import Interface

_COPY = str(Path(__file__).resolve().with_name("copying.py"))
_LEFT = ("__pycache__",)


def package_actions(
    request: BuildRequest,
    target: Target,
    interface: Interface,
    modules: Mapping[str, str],
    beside: Iterable[tuple[str, str]],
    imports: Mapping[tuple[str, ...], list[str]],
) -> tuple[dict[str, str], list[Action]]:
    """Return the generated text files of a package tree, and the actions that bring each file into it.

    A file that the author ships wins over the ``__init__.py`` that would be generated in its place.

    Args:
        request: The build.
        target: The target that ships.
        interface: Its boundary.
        modules: The modules of embedded files, by path in the tree.
        beside: The embedded files themselves, with where they come from.
        imports: What the ``__init__.py`` of each namespace of embedded files imports.
    """
    from atoll.boundary import python_files

    authored = {inside: path for folder in target.packages for inside, path in _authored(request, folder)}
    files: dict[str, str] = {}
    sources = dict(authored)
    for inside, text in _with_data(python_files(interface), modules, imports).items():
        if inside not in authored:
            path = f"{request.plan_folder}/python/{inside}"
            files[path] = text
            sources[inside] = path
    sources |= dict(beside)
    tree = python_folder(request)
    return files, [copy_action(path, f"{tree}/{inside}", inside) for inside, path in sorted(sources.items())]


def _with_data(
    files: Mapping[str, str], modules: Mapping[str, str], imports: Mapping[tuple[str, ...], list[str]]
) -> dict[str, str]:
    """Return the generated modules with those of embedded files, each shown by what lies above it."""
    whole = {**files, **modules}
    for space, lines in imports.items():
        path = f"{'/'.join(space)}/__init__.py"
        head = whole.get(path, f'"""{".".join(space)}, made by atoll."""\n\n')
        whole[path] = head + "".join(f"{line}\n" for line in lines)
    return whole


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


def copy_action(source: str, output: str, inside: str) -> Action:
    """Return the action that copies one file."""
    return Action(
        name=f"package {inside}",
        argv=(this_python(), "-I", "-S", _COPY, source, output),
        inputs=(source, _COPY),
        outputs=(output,),
        role=Role.ARTIFACT,
        description=f"ship {inside}",
    )
