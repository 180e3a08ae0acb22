"""What was resolved, and where did it come from? The text of ``resolution.json``."""

from __future__ import annotations

from typing import Any

from atoll._util.installed import version as installed_version
from atoll._util.machine import machine
from atoll.artifact import Fact
from atoll.build.contributions import Declared
from atoll.build.libraries import resolved
from atoll.build.work import Work


def resolution(work: Work, floors: tuple[Fact, ...]) -> dict[str, Any]:
    """Return all that a build resolved."""
    request = work.request
    return {
        "atoll": installed_version("atoll"),
        "package": request.manifest.package.name,
        "accel": request.accel.canonical(),
        "accel_text": str(request.accel),
        "accel_source": request.accel_source,
        "profile": {
            "name": request.profile_name,
            "opt": request.profile.opt,
            "debug": request.profile.debug,
        },
        "host": {"system": request.host, "machine": machine()},
        "lanes": work.lanes.resolution(),
        "links": resolved(work.lanes.packages),
        "floors": [str(floor) for floor in floors],
        "roots": work.roots,
        **_said(work.declared),
        **(
            {"dependencies": dict(request.packages.rows)}
            if request.packages and request.packages.rows
            else {}
        ),
        "targets": {output.target: output.path for output in work.outputs},
        "left_out": [
            {"target": left.target, "glob": left.glob, "reason": left.reason}
            for left in work.selection.left_out
        ],
    }


def _said(found: Declared) -> dict[str, Any]:
    """Return what a build program stated, where it stated something."""
    rows = {"facts": [str(fact) for fact in found.facts], "probes": list(found.probes)}
    return {"program": rows} if any(rows.values()) else {}
