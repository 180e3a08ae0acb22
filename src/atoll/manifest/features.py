"""Which optional parts are on? Features, joined into the manifest before anything is resolved.

What an off feature names is gone from the manifest, so that nothing later can look at it: a build that does
not name a feature resolves nothing of it. A dependency that some feature lists is there only while one such
feature is on.
"""

from __future__ import annotations

from collections.abc import Iterable

from atoll._util.near import nearest
from atoll._util.values import replace
from atoll.diagnostics import Diagnostic, Span
from atoll.errors import ManifestError
from atoll.manifest.model import Dependency, Feature, Manifest, Target, TargetKind


def enable(
    manifest: Manifest, asked: Iterable[str] = (), *, by: str = "the build", span: Span | None = None
) -> Manifest:
    """Return the manifest with the features on that are default or asked for, and without the others.

    Args:
        manifest: With its overlays applied.
        asked: Features by name, beside those that are on by default.
        by: Who asks, for the refusal.
        span: Where it is asked.

    Raises:
        ManifestError: Where there is no such feature, or its sources have no target to join.
    """
    wanted = list(dict.fromkeys(asked))
    faults = [_unknown(manifest, name, by, span) for name in wanted if name not in manifest.features]
    if faults:
        raise ManifestError(*faults)
    if not manifest.features:
        return manifest
    on = {name: table for name, table in manifest.features.items() if table.default or name in wanted}
    lanes = dict.fromkeys((*manifest.build.lanes, *(lane for table in on.values() for lane in table.lanes)))
    return replace(
        manifest,
        build=replace(manifest.build, lanes=tuple(lanes)),
        targets=_targets(manifest, on.items()),
        dependencies=_dependencies(manifest, on.values()),
        features=on,
    )


def _dependencies(manifest: Manifest, on: Iterable[Feature]) -> dict[str, Dependency]:
    optional = {name for table in manifest.features.values() for name in table.dependencies}
    turned_on = {name for table in on for name in table.dependencies}
    return {
        name: table
        for name, table in manifest.dependencies.items()
        if name not in optional or name in turned_on
    }


def _targets(manifest: Manifest, on: Iterable[tuple[str, Feature]]) -> dict[str, Target]:
    targets = dict(manifest.targets)
    for name, table in on:
        if table.sources:
            owner = _owner(manifest, name, table)
            added = (*targets[owner].added, *table.sources)
            targets[owner] = replace(targets[owner], added=added)
    return targets


def _owner(manifest: Manifest, name: str, table: Feature) -> str:
    """Return the target that a feature's sources join: the one named like the package, or the only one."""
    able = [
        target
        for target, row in manifest.targets.items()
        if row.kind is not TargetKind.TEST and row.sources != ()
    ]
    if manifest.package.name in able:
        return manifest.package.name
    if len(able) == 1:
        return able[0]
    raise ManifestError(
        Diagnostic(
            code="ATL0232",
            message=f"the sources of the feature `{name}` have no target that they clearly join",
            span=table.span,
            notes=(
                f"targets that compile and are no tests: {', '.join(able) or 'none'}",
                f"one named like the package would own them: {manifest.package.name}",
            ),
            hint="name the target like the package, or add the sources with an overlay",
        )
    )


def _unknown(manifest: Manifest, name: str, by: str, span: Span | None) -> Diagnostic:
    near = nearest(name, manifest.features)
    return Diagnostic(
        code="ATL0233",
        message=f"`{manifest.package.name}` has no feature `{name[:80]}`",
        span=span,
        notes=(f"asked for by: {by}", f"its features: {', '.join(sorted(manifest.features)) or 'none'}"),
        hint=f"write `{near}`" if near else None,
    )
