"""`atoll new`: start a project from a template. All of its files, or none.

The templates come from plugin packages (:mod:`atoll.plugin.templates`).
"""

from __future__ import annotations

import os
import re
import shutil
import sys
import tempfile
from collections.abc import Mapping
from pathlib import Path

import click

from atoll.cli._answer import answering

DEFAULT = "saxpy"
IGNORED = ".atoll/\n__pycache__/\n/dist/\n"
#: Keywords of C++ and C that are none of Python; a project's name is a namespace and a prefix there.
_CXX_WORDS = (
    "alignas alignof and_eq asm auto bitand bitor bool case catch char compl concept const constexpr default "
    "delete do double dynamic_cast enum explicit export extern false float friend goto inline int long "
    "mutable namespace new noexcept not_eq nullptr operator or_eq private protected public register "
    "reinterpret_cast requires restrict short signed sizeof static static_assert static_cast struct switch "
    "template this throw true typedef typeid typename union unsigned using virtual void volatile xor xor_eq "
    "std main"
)


class _New(click.Command):
    """Lists the installed templates in its help."""

    def format_epilog(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Print what `--template` may name."""
        from atoll.plugin.templates import template_names

        with formatter.section("Templates"):
            formatter.write_text(", ".join(template_names()))


@click.command(name="new", cls=_New)
@click.argument("name")
@click.option(
    "--template", default=DEFAULT, show_default=True, metavar="TEMPLATE", help="What to start from."
)
@click.option("--json", "as_data", is_flag=True, help="Print one JSON object.")
def command(name: str, template: str, as_data: bool) -> None:
    """Start a project in the new folder NAME and print the files it has."""
    from atoll.plugin.templates import template as filled

    with answering(as_data) as answer:
        _check_name(name)
        folder = Path.cwd() / name
        _check_place(folder)
        texts = {".gitignore": IGNORED, **filled(template, name)}
        _write(folder, texts)
        paths = [f"{name}/{path}" for path in sorted(texts)]
        answer.update({"folder": str(folder), "template": template, "files": paths})
        if not as_data:
            click.echo("\n".join(paths))
            click.echo(f"what to type next: {name}/README.md", err=True)


def _check_name(name: str) -> None:
    import keyword

    from atoll.diagnostics import Diagnostic
    from atoll.errors import UsageError

    if not re.fullmatch(r"[a-z][a-z0-9_]{0,63}", name):
        reason = "a small letter, then small letters, digits and `_`, at most 64 of them"
    elif keyword.iskeyword(name) or name in _CXX_WORDS.split():
        reason = "a name that is no word of Python or C++"
    elif name in sys.stdlib_module_names or name.startswith("atoll"):
        reason = "a name that no module of Python or of Atoll has"
    else:
        return
    spelled = re.sub(r"[^a-z0-9_]+", "_", name.lower()).strip("_")
    better = (
        spelled if re.fullmatch(r"[a-z][a-z0-9_]{0,63}", spelled) and spelled != name else f"my_{spelled}"
    )
    raise UsageError(
        Diagnostic(
            code="ATL0003",
            message=f"`{name[:80]}` cannot be the name of a project",
            notes=(
                "the name is also that of a Python package, a C++ namespace and a prefix in C",
                f"wanted: {reason}",
            ),
            hint=f"write `{better[:64]}`",
        )
    )


def _check_place(folder: Path) -> None:
    from atoll.diagnostics import Diagnostic
    from atoll.errors import UsageError

    if not os.path.lexists(folder):
        return
    if folder.is_dir() and not folder.is_symlink():
        held = sorted(path.name for path in folder.iterdir())
        if not held:
            return
        found = f"it holds: {', '.join(held[:5])}{' …' if len(held) > 5 else ''}"
    else:
        found = "it is no folder" if not folder.is_symlink() else f"it is a link to {folder.readlink()}"
    raise UsageError(
        Diagnostic(
            code="ATL0004",
            message=f"`{folder.name}` is there already",
            notes=(f"wanted: a new or empty folder at {folder}", found),
            hint="choose another name, or remove it yourself",
        )
    )


def _write(folder: Path, texts: Mapping[str, str]) -> None:
    """Write everything beside its place and move it there in one step.

    Raises:
        UnreadableError: Where the file system refuses; nothing is left behind.
    """
    from atoll.diagnostics import Diagnostic
    from atoll.errors import UnreadableError

    try:
        made = Path(tempfile.mkdtemp(prefix=f".{folder.name}-", dir=folder.parent))
        try:
            _fill(made, texts)
            made.rename(folder)
        except BaseException:
            shutil.rmtree(made, ignore_errors=True)
            raise
    except OSError as error:
        raise UnreadableError(
            Diagnostic(
                code="ATL0006",
                message=f"`{folder.name}` could not be written",
                notes=(f"folder: {folder}", f"the system says: {error.strerror or error}"),
            )
        ) from error


def _fill(folder: Path, texts: Mapping[str, str]) -> None:
    mask = os.umask(0)
    os.umask(mask)
    folder.chmod(0o777 & ~mask)  # a temporary folder is its owner's alone
    for path, text in texts.items():
        place = folder / path
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_text(text, encoding="utf-8", newline="\n")
