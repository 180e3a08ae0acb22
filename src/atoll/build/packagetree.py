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

    A file that the author ships wins over the ``__init__.py`` that would be generated in its place. A folder
    of the author's that holds folders alone stays a namespace package, shared with other distributions.

    Args:
        request: The build.
        target: The target that ships.
        interface: Its boundary.
        modules: The modules of embedded files, by path in the tree.
        beside: The embedded files themselves, with where they come from.
        imports: What the ``__init__.py`` of each namespace of embedded files imports.
    """
    from atoll.boundary import python_files

    module = interface.module
    authored = {
        inside: path for folder in target.packages for inside, path in _authored(request, folder, module)
    }
    files: dict[str, str] = {}
    sources = dict(authored)
    generated = _with_data(python_files(interface), modules, imports)
    for inside, text in _beside_spaces(generated, authored, interface.segments[:-1]).items():
        if inside not in authored:
            path = f"{request.plan_folder}/python/{inside}"
            files[path] = text
            sources[inside] = path
    sources |= dict(beside)
    tree = python_folder(request)
    return files, [copy_action(path, f"{tree}/{inside}", inside) for inside, path in sorted(sources.items())]


def place(folder: str, module: str) -> str:
    """Return where a folder of the author's lies in the tree: ``src/mypkg`` at ``mypkg``.

    A path that names the module's own top package starts there: ``src/acme/blur`` lies at ``acme/blur`` where
    the module is ``acme.blur.kernels``.
    """
    parts, top = PurePosixPath(folder).parts, module.partition(".")[0]
    start = len(parts) - 1 - parts[::-1].index(top) if top in parts else len(parts) - 1
    return "/".join(parts[start:])


def _beside_spaces(
    generated: Mapping[str, str], authored: Iterable[str], packages: tuple[str, ...]
) -> dict[str, str]:
    """Return the generated files without what would make a package of a namespace of the author's.

    Args:
        generated: The text of each file.
        authored: What the author ships.
        packages: The packages above the module, from the top. The last holds the module and is no namespace.
    """
    folders = {PurePosixPath(path).parent for path in authored}
    paths = ["/".join(packages[: depth + 1]) for depth in range(len(packages))]
    spaces = {str(above) for folder in folders for above in folder.parents} - {
        *map(str, folders),
        *paths[-1:],
    }
    typed = next((f"{path}/py.typed" for path in paths if path not in spaces), "")
    moved = {f"{space}/py.typed": typed for space in spaces}
    left = {f"{space}/__init__.py" for space in spaces}
    return {moved.get(path, path): text for path, text in generated.items() if path not in left}


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


def _authored(request: BuildRequest, folder: str, module: str) -> Iterator[tuple[str, str]]:
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
                f"{place(folder, module)}/{inside.as_posix()}",
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
