"""What can a new project start from? Folders of text that plugin packages bring.

An entry of the group `atoll.templates` names a folder inside a package as a dotted path. In the folder's
paths and texts the word `PACKAGE` stands for the project's name. A template is read, never imported.
"""

from __future__ import annotations

from collections.abc import Iterator
from importlib.metadata import EntryPoint, entry_points
from importlib.resources import files
from importlib.resources.abc import Traversable

from atoll._util.near import nearest
from atoll.diagnostics import Diagnostic
from atoll.errors import PluginError, UsageError

GROUP = "atoll.templates"
WORD = "PACKAGE"
_SKIPPED = {"__pycache__"}


def template_names() -> tuple[str, ...]:
    """Return the names of the installed templates. Nothing is read."""
    return tuple(sorted(entry_points(group=GROUP).names))


def template(name: str, project: str) -> dict[str, str]:
    """Return a template's files by path, forward slashes, filled in for a project.

    Args:
        name: The template.
        project: What `PACKAGE` becomes.

    Raises:
        UsageError: Where no installed package brings it.
        PluginError: Where it cannot be read.
    """
    point = _point(name)
    package, _, rest = point.value.partition(".")
    try:
        root = files(package).joinpath(*rest.split(".")) if rest else files(package)
        found = dict(_texts(root, ""))
    except (ImportError, OSError, UnicodeDecodeError, TypeError) as error:
        raise PluginError(_broken(point, f"{type(error).__name__}: {error}")) from error
    if not found:
        raise PluginError(_broken(point, "it holds no file"))
    return {path.replace(WORD, project): text.replace(WORD, project) for path, text in found.items()}


def _point(name: str) -> EntryPoint:
    # One package that is installed twice on the path is listed twice; the first one is what is imported.
    points = {(point.name, point.value): point for point in reversed(tuple(entry_points(group=GROUP)))}
    named = [point for point in points.values() if point.name == name]
    if len(named) > 1:
        raise PluginError(
            Diagnostic(
                code="ATL0902",
                message=f"two templates named `{name}`",
                notes=tuple(f"one is {point.value}" for point in named),
                hint="remove one of the two packages",
            )
        )
    if not named:
        near = nearest(name, template_names())
        raise UsageError(
            Diagnostic(
                code="ATL0005",
                message=f"there is no template `{name}`",
                notes=(f"installed: {', '.join(template_names()) or 'none'}",),
                hint=f"did you mean `{near}`?" if near else "name one that is installed",
            )
        )
    return named[0]


def _texts(folder: Traversable, place: str) -> Iterator[tuple[str, str]]:
    for item in sorted(folder.iterdir(), key=lambda item: item.name):
        if item.name in _SKIPPED:
            continue
        if item.is_dir():
            yield from _texts(item, f"{place}{item.name}/")
        else:
            yield f"{place}{item.name}", item.read_text(encoding="utf-8")


def _broken(point: EntryPoint, reason: str) -> Diagnostic:
    package = point.dist.name if point.dist else "an unknown package"
    return Diagnostic(
        code="ATL0904",
        message=f"the template `{point.name}` of `{package}` could not be read",
        notes=(f"entry point: {point.group} {point.value}", f"reason: {reason}"),
        hint=f"reinstall or remove `{package}`",
    )
