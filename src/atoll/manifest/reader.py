"""What does this project's manifest say? Reads and checks `atoll.toml` or `[tool.atoll]`."""

from __future__ import annotations

import codecs
import errno
import re
from pathlib import Path
from typing import TYPE_CHECKING

from atoll._util.installed import version as installed_version
from atoll._util.values import replace
from atoll.diagnostics import Diagnostic, Span
from atoll.errors import AtollError, ManifestError, UnreadableError
from atoll.manifest.check import check
from atoll.manifest.convert import Converter
from atoll.manifest.document import MAX_BYTES, Node, anchored, parse
from atoll.manifest.model import Manifest, Overlaid
from atoll.manifest.overlay import Overlay
from atoll.manifest.place import SHARED_FILE, find

if TYPE_CHECKING:
    from collections.abc import Iterable

    from atoll.accel.cfg import Predicate

_PROJECT_KEYS = {
    "name": "name",
    "version": "version",
    "description": "description",
    "license": "license",
    "requires-python": "python",
}


def read(path: Path) -> Manifest:
    """Return the manifest in a file, or in a folder (see :func:`find`).

    Raises:
        UnreadableError: Where it cannot be read or is not TOML.
        ManifestError: With every independent fault.
    """
    path = find(path) if path.is_dir() else path
    document = parse(_text(path), str(path))
    if path.name == SHARED_FILE:
        document = _from_shared(document, path)
    return from_document(document, str(path))


def _text(path: Path) -> str:
    data = b""
    try:
        # A pipe in its place would be waited for.
        if path.exists() and not path.is_file():
            raise OSError(errno.EINVAL, "it is no file")
        with path.open("rb") as stream:
            data = stream.read(MAX_BYTES + 1)
        if len(data) > MAX_BYTES:
            raise ManifestError(
                Diagnostic(
                    code="ATL0204",
                    message="the manifest is beyond a bound: the file is too large",
                    span=Span(file=str(path)),
                    notes=(f"found: more than {MAX_BYTES} bytes", f"bound: {MAX_BYTES} bytes"),
                )
            )
        # Some editors put a mark of the order of bytes in front.
        return data.decode("utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        span, reason = Span(file=str(path)), str(error)
        if isinstance(error, UnicodeDecodeError):
            span, reason = _undecoded(path, data, error)
        elif error.strerror:
            reason = error.strerror
        raise UnreadableError(
            Diagnostic(
                code="ATL0002",
                message="the manifest could not be read",
                span=span,
                notes=(f"reason: {reason}",),
            )
        ) from None


def _undecoded(path: Path, data: bytes, error: UnicodeDecodeError) -> tuple[Span, str]:
    """Return where a text is not UTF-8, and that it is not."""
    before = data.removeprefix(codecs.BOM_UTF8)[: error.start]
    line = before.rpartition(b"\n")[2].decode("utf-8", "replace")
    place = Span(file=str(path), line=before.count(b"\n") + 1, column=len(line) + 1)
    return place, f"it is not UTF-8: byte 0x{error.object[error.start]:02x}, {error.reason}"


def own_table(document: Node) -> Node | None:
    """Return ``[tool.atoll]`` of a document, or None."""
    tool = document.value.get("tool")
    own = tool.value.get("atoll") if tool is not None and isinstance(tool.value, dict) else None
    return own if isinstance(own, Node) else None


def _from_shared(document: Node, path: Path) -> Node:
    own = own_table(document)
    if own is None:
        raise UnreadableError(
            Diagnostic(
                code="ATL0208",
                message="no manifest was found",
                notes=(f"looked for: [tool.atoll] in {path}",),
                hint="`atoll new NAME` starts a project",
            )
        )
    project = document.value.get("project")
    package = own.value.get("package", Node({}, own.span, own.at)) if isinstance(own.value, dict) else None
    if project is None or package is None:
        return own
    if not isinstance(project.value, dict) or not isinstance(package.value, dict):
        return own
    stated = {
        ours: project.value[theirs]
        for theirs, ours in _PROJECT_KEYS.items()
        if theirs in project.value and isinstance(project.value[theirs].value, str)
    }
    return Node(
        own.value | {"package": Node(stated | package.value, package.span, package.at)}, own.span, own.at
    )


def from_document(document: Node, path: str) -> Manifest:
    """Return the manifest that a tree of nodes spells, checked whole.

    Raises:
        ManifestError: With every independent fault.
    """
    converter = Converter()
    overlays, faults = _overlays(document)
    body = document
    if isinstance(document.value, dict):
        body = Node({k: v for k, v in document.value.items() if k != "target"}, document.span, document.at)
    manifest = converter.table(Manifest, body, "", {"path": path, "overlays": overlays, "document": document})
    found = [*converter.faults, *faults]
    if isinstance(manifest, Manifest):
        found += [*check(manifest), *_too_old(manifest, document)]
        if not found:
            return manifest
    raise ManifestError(*sorted(found, key=_order))


def _order(fault: Diagnostic) -> tuple[int, int]:
    return (fault.span.line, fault.span.column) if fault.span else (0, 0)


def _overlays(document: Node) -> tuple[tuple[Overlay, ...], list[Diagnostic]]:
    """Return the overlays, each checked against the model as far as it goes, and the faults."""
    table = document.value.get("target") if isinstance(document.value, dict) else None
    if table is None:
        return (), []
    if not isinstance(table.value, dict):
        converter = Converter(partial=True)
        converter.table(Overlaid, table, "target")
        return (), converter.faults
    overlays: list[Overlay] = []
    faults: list[Diagnostic] = []
    for text, body in table.value.items():
        try:
            overlays.append(Overlay(text, body.span, _predicate(text, body), body))
        except AtollError as error:
            found = [anchored(fault, body.span, len(text)) for fault in error.diagnostics]
            if re.fullmatch(r"[\w-]+", text):  # a target of this name is meant: its keys say nothing more
                faults += [replace(fault, hint=f"write `[targets.{text}]`") for fault in found]
                continue
            faults += found
        converter = Converter(partial=True)
        converter.table(Overlaid, body, f"target.'{text}'")
        faults += converter.faults
    return tuple(overlays), faults


def _predicate(text: str, body: Node) -> Predicate:
    from atoll.accel.cfg import parse_cfg

    return parse_cfg(text, source=body.span.file)


def _too_old(manifest: Manifest, document: Node) -> Iterable[Diagnostic]:
    """Yield the refusal where this client is older than the package asks for."""
    wanted = manifest.package.requires_atoll
    if not wanted:
        return
    from packaging.specifiers import InvalidSpecifier, SpecifierSet

    node = document.value["package"].value["requires-atoll"]
    try:
        specifier = SpecifierSet(wanted)
    except InvalidSpecifier:
        yield Diagnostic(
            code="ATL0209",
            message=f"`package.requires-atoll` is no version specifier: {wanted}",
            span=node.at,
            hint="write it as in `>=0.1`",
        )
        return
    have = installed_version("atoll")
    if not specifier.contains(have, prereleases=True):
        yield Diagnostic(
            code="ATL0210",
            message=f"`{manifest.package.name}` asks for another Atoll than this one",
            span=node.at,
            notes=(f"asked: atoll {wanted}", f"this one: atoll {have}"),
            hint="install an Atoll that it accepts",
        )
