"""`atoll boundary`: header, C++20 module and Python module from the marked declarations of some roots."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import click

if TYPE_CHECKING:
    from atoll.boundary import Interface
    from atoll.diagnostics import Diagnostic


@click.command(name="boundary")
@click.option("--root", "roots", metavar="DIR", multiple=True, required=True, help="A root; may be repeated.")
@click.option("--module", metavar="NAME", required=True, help="The dotted module, app.kernels.")
@click.option("--out", metavar="DIR", required=True, help="Where the files are written.")
@click.option("--layout-root", metavar="DIR", default="", help="The root whose folders are namespaces.")
@click.option("--strip-prefix", metavar="P", default="", help="Give each entry a second name without P.")
@click.option("--marker", metavar="M", default="ATOLL_EXPORT", show_default=True, help="The marker's stem.")
@click.option("--shape", type=click.Choice(["link", "registry"]), default="registry", show_default=True)
@click.option("--package", metavar="NAME", help="The package; by default the module's first segment.")
@click.option("--json", "as_data", is_flag=True, help="Print one JSON object.")
def command(
    roots: tuple[str, ...],
    module: str,
    out: str,
    layout_root: str,
    strip_prefix: str,
    marker: str,
    shape: str,
    package: str | None,
    as_data: bool,
) -> None:
    """Generate header, C++20 module and Python module from marked declarations; write only what differs."""
    from atoll.boundary import compare, scan
    from atoll.boundary.roots import marker_stem, missing_root
    from atoll.errors import AtollError, UnreadableError

    said: list[Diagnostic] = []
    files: list[str] = []
    written: list[str] = []
    interface = None
    code = 0
    try:
        missing = [missing_root(Path(root).as_posix()) for root in roots if not Path(root).exists()]
        if missing:
            raise UnreadableError(*missing)
        found = [scan(Path(root), marker=marker) for root in roots]
        interface = compare(
            found,
            module=module,
            package=package or module.partition(".")[0],
            layout_root=_root_name(layout_root),
            strip_prefix=strip_prefix,
            marker=marker_stem(marker),
        )
        texts, faults = _texts(interface, shape)
        said += faults
        code = 1 if faults else 0
        files = sorted(texts)
        written = _write(Path(out), texts)
    except AtollError as error:
        said += error.diagnostics
        code = error.exit_code
    _report(interface, files, written, said, as_data)
    sys.exit(code)


def _root_name(folder: str) -> str:
    place = Path(folder)
    return "" if not folder else place.stem if place.is_file() else place.resolve().name


def _texts(interface: Interface, shape: str) -> tuple[dict[str, str], tuple[Diagnostic, ...]]:
    """Return what can be generated: C always, Python where every entry has a Python form."""
    from atoll.boundary import (
        cxx_module,
        cxx_module_file,
        header,
        header_name,
        python_files,
        python_source,
    )
    from atoll.boundary.names import module_stem
    from atoll.boundary.python import python_faults

    texts = {
        header_name(interface.module): header(interface),
        cxx_module_file(interface.module): cxx_module(interface, shape),
    }
    faults = python_faults(interface)
    if not faults:
        texts[f"{module_stem(interface.module)}_module.c"] = python_source(
            interface, shape, _memories(interface)
        )
        texts |= python_files(interface)
    return texts, faults


def _memories(interface: Interface) -> dict[str, tuple[int, ...]]:
    """Return whose memory each root takes; nothing is loaded where no entry takes device memory."""
    if not any(item.entry.device_space for item in interface.entries):
        return {}
    from atoll.plugin import registry
    from atoll.plugin.memories import memories

    return memories(registry().drivers, interface.roots)


def _write(out: Path, texts: dict[str, str]) -> list[str]:
    from atoll._util.files import write_if_changed
    from atoll.diagnostics import Diagnostic
    from atoll.errors import UnreadableError

    try:
        return [name for name, text in sorted(texts.items()) if write_if_changed(out / name, text)]
    except OSError as error:
        raise UnreadableError(
            Diagnostic(
                code="ATL0002",
                message=f"the folder `{out}` could not be written",
                notes=(f"reason: {error.strerror or error}",),
            )
        ) from error


def _report(
    interface: Interface | None,
    files: list[str],
    written: list[str],
    said: list[Diagnostic],
    as_data: bool,
) -> None:
    from atoll.diagnostics import as_json, render

    lacking = interface.lacking if interface else ()
    if as_data:
        data = {
            "module": interface.module if interface else None,
            "roots": list(interface.roots) if interface else [],
            "entries": [item.name for item in interface.entries] if interface else [],
            "lacking": {name: list(roots) for name, roots in lacking},
            "files": files,
            "written": written,
            "diagnostics": [as_json(item) for item in said],
        }
        click.echo(json.dumps(data, indent=2))
        return
    for name in files:
        click.echo(name)
    for name, roots in lacking:
        click.echo(f"{name} is missing in: {', '.join(roots)}", err=True)
    for item in said:
        click.echo(render(item), err=True)
