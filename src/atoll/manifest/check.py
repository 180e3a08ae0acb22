"""Does a manifest that fits the model also make sense? What types cannot say."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from atoll._util.near import nearest
from atoll.diagnostics import Diagnostic, Span
from atoll.manifest.model import Manifest, Profile, Target, TargetKind

_PACKAGE = re.compile(r"[A-Za-z0-9](?:[A-Za-z0-9._-]*[A-Za-z0-9])?\Z")
_NAME = re.compile(r"[A-Za-z0-9_](?:[A-Za-z0-9._-]*[A-Za-z0-9_])?\Z")
_MARKER = re.compile(r"[A-Za-z_][A-Za-z0-9_]*\Z")
_PLAIN_VERSION = re.compile(r"(?:0|[1-9][0-9]{0,8})(?:\.(?:0|[1-9][0-9]{0,8})){0,5}\Z")
_FOLDER_PARTS = re.compile(r"(?:^|/)\.\.(?:/|$)|^/|\\|^[A-Za-z]:")


def check(manifest: Manifest) -> list[Diagnostic]:
    """Return what is wrong with a manifest in itself; files and lanes are not looked at."""
    return [
        *_names(manifest),
        *_boundaries(manifest),
        *_paths(manifest),
        *_profiles(manifest.profile.items()),
        *_dependencies(manifest),
        *_variants(manifest),
    ]


def _names(manifest: Manifest) -> Iterator[Diagnostic]:
    if not _PACKAGE.match(manifest.package.name):
        yield _bad("package.name", manifest.package.name, "letters, digits, `.`, `-` and `_`", None)
    if not _is_version(manifest.package.version):
        yield _bad(
            "package.version", manifest.package.version, "a version as in PEP 440, such as `1.2.0`", None
        )
    for name, target in manifest.targets.items():
        if not _NAME.match(name):
            yield _bad("a target's name", name, "letters, digits, `.`, `-` and `_`", target.span)
        if target.timeout is not None and target.kind is not TargetKind.TEST:
            yield _idle(name, target, "timeout")
        if target.exclusive and target.kind is not TargetKind.TEST:
            yield _idle(name, target, "exclusive")
        if target.packages and target.kind is not TargetKind.PYTHON:
            yield _idle(name, target, "packages")


def _is_version(text: str) -> bool:
    """Tell whether a text is a version; the plain form is told without the parser of PEP 440."""
    if _PLAIN_VERSION.match(text):
        return True
    from packaging.version import InvalidVersion, Version

    try:
        Version(text)
    except InvalidVersion:
        return False
    return text == text.strip()


def _bad(where: str, found: str, wanted: str, span: Span | None) -> Diagnostic:
    return Diagnostic(
        code="ATL0211",
        message=f"`{found[:80]}` cannot be {where}",
        span=span,
        notes=(f"allowed: {wanted}",),
    )


def _idle(name: str, target: Target, word: str) -> Diagnostic:
    return Diagnostic(
        code="ATL0212",
        message=f"`{word}` has no effect on `{name}`",
        span=target.span,
        notes=(f"kind of the target: {target.kind}",),
        hint=f"remove `{word}` or change `kind`",
    )


def _boundaries(manifest: Manifest) -> Iterator[Diagnostic]:
    for name, boundary in manifest.boundary.items():
        segments = boundary.module.split(".")
        if not all(segment.isidentifier() for segment in segments):
            yield _bad(
                f"`boundary.{name}.module`", boundary.module, "identifiers joined by dots", boundary.span
            )
        if not _MARKER.match(boundary.marker):
            yield _bad(f"`boundary.{name}.marker`", boundary.marker, "an identifier", boundary.span)
        if not boundary.roots:
            yield _bad(f"`boundary.{name}.roots`", "[]", "at least one folder", boundary.span)
        elif boundary.layout_root is not None and boundary.layout_root not in boundary.roots:
            yield _unknown_name("layout-root", boundary.layout_root, boundary.roots, boundary.span)
    for target in manifest.targets.values():
        if target.boundary is not None and target.boundary not in manifest.boundary:
            yield _unknown_name("boundary", target.boundary, manifest.boundary, target.span)


def _unknown_name(word: str, found: str, known: Iterable[str], span: Span | None) -> Diagnostic:
    words = list(known)
    near = nearest(found, words)
    return Diagnostic(
        code="ATL0213",
        message=f"`{word}` names `{found[:80]}`, which does not exist",
        span=span,
        notes=("known: " + (", ".join(words) or "none"),),
        hint=f"write `{near}`" if near else None,
    )


def _paths(manifest: Manifest) -> Iterator[Diagnostic]:
    for where, path, span in _folders(manifest):
        if _FOLDER_PARTS.search(path) or not path:
            yield Diagnostic(
                code="ATL0214",
                message=f"`{where}` leaves the project: {path[:80] or '(empty)'}",
                span=span,
                notes=("allowed: a path below the project root, with forward slashes, without `..`",),
            )


def _folders(manifest: Manifest) -> Iterator[tuple[str, str, Span | None]]:
    yield from (("build.include", path, None) for path in manifest.build.include)
    if manifest.build.program is not None:
        yield "build.program", manifest.build.program, None
    for name, target in manifest.targets.items():
        yield from ((f"targets.{name}.include", path, target.span) for path in target.include)
        yield from ((f"targets.{name}.packages", path, target.span) for path in target.packages)
    for name, boundary in manifest.boundary.items():
        yield from ((f"boundary.{name}.roots", path, boundary.span) for path in boundary.roots)
        yield from ((f"boundary.{name}.declared", path, boundary.span) for path in boundary.declared)
    for name, data in manifest.data.items():
        yield from ((f"data.{name}.base", path, data.span) for path in (data.base,) if path)


def _profiles(profiles: Iterable[tuple[str, Profile]]) -> Iterator[Diagnostic]:
    for name, profile in profiles:
        if profile.opt not in {"0", "1", "2", "3"}:
            yield _bad(f"`profile.{name}.opt`", profile.opt, "`0`, `1`, `2` or `3`", profile.span)


def _dependencies(manifest: Manifest) -> Iterator[Diagnostic]:
    for name, dependency in manifest.dependencies.items():
        if (dependency.path is None) == (dependency.index is None):
            found = "neither" if dependency.path is None else "both"
            yield Diagnostic(
                code="ATL0215",
                message=f"the dependency `{name}` needs one source",
                span=dependency.span,
                notes=("wanted: `path` or `index`", f"found: {found}"),
            )
    for target in manifest.targets.values():
        for link in target.links:
            ways = {"name": link.name, "pkg-config": link.pkg_config, "cmake": link.cmake}
            written = [word for word, value in ways.items() if value is not None]
            if len(written) != 1:
                yield Diagnostic(
                    code="ATL0215",
                    message="a link names exactly one library",
                    span=link.span,
                    notes=("wanted: one of " + ", ".join(ways), "found: " + (", ".join(written) or "none")),
                )
    for feature in manifest.features.values():
        for name in feature.dependencies:
            if name not in manifest.dependencies:
                yield _unknown_name("dependencies", name, manifest.dependencies, feature.span)


def _variants(manifest: Manifest) -> Iterator[Diagnostic]:
    seen: set[str] = set()
    for variant in manifest.pack.variant:
        if not re.fullmatch(r"[0-9a-z_.]+", variant.label):
            yield _bad(
                "a variant's label", variant.label, "digits, lower-case letters, `_` and `.`", variant.span
            )
        if variant.label in seen:
            yield _bad("a second variant's label", variant.label, "one variant a label", variant.span)
        seen.add(variant.label)
        for name in variant.features:
            if name not in manifest.features:
                yield _unknown_name("features", name, manifest.features, variant.span)
