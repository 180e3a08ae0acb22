"""How is a plan carried out? Write what the planner generated, look at the floors, run the graph."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING

from atoll._util.files import write_if_changed
from atoll._util.near import nearest
from atoll._util.values import replace
from atoll.artifact import Fact
from atoll.build.values import COMMANDS, GENERATED, RESOLUTION, BuildPlan
from atoll.diagnostics import Diagnostic
from atoll.errors import BuildError
from atoll.graph import Role

if TYPE_CHECKING:
    from atoll.graph import Event, Result
    from atoll.plugin import Registry


def write_plan(root: Path, plan: BuildPlan) -> None:
    """Write the generated files, ``resolution.json`` and ``compile_commands.json``.

    Files that an earlier plan wrote and this one does not are removed. A file of its own keeps what is made
    out of git, so that no project has to name it.
    """
    top = root / PurePosixPath(plan.plan_folder).parts[0]
    write_if_changed(top / ".gitignore", "*\n")
    record = root / plan.plan_folder / GENERATED
    for path in _earlier(record) - set(plan.generated):
        if path.startswith(f"{plan.plan_folder}/") and ".." not in path.split("/"):
            (root / path).unlink(missing_ok=True)
    for path, text in plan.generated.items():
        write_if_changed(root / path, text)
    write_if_changed(record, json.dumps(sorted(plan.generated), indent=1) + "\n")
    resolution = json.dumps(plan.resolution, indent=1, sort_keys=True, ensure_ascii=False) + "\n"
    write_if_changed(root / plan.folder / RESOLUTION, resolution)
    write_if_changed(root / plan.folder / COMMANDS, plan.commands)


def _earlier(record: Path) -> set[str]:
    try:
        value = json.loads(record.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return set()
    return {path for path in value if isinstance(path, str)} if isinstance(value, list) else set()


def check_floors(
    plan: BuildPlan, registry: Registry, environment: Mapping[str, str], *, elsewhere: bool
) -> tuple[Diagnostic, ...]:
    """Return a warning for each missed floor where the result runs elsewhere.

    Raises:
        BuildError: Where it will run here and a floor is missed.
    """
    from atoll.build import floors

    missed = floors.missed(plan.floors, _facts(plan, registry, environment))
    found = floors.diagnostics(missed, elsewhere=elsewhere)
    if found and not elsewhere:
        raise BuildError(*found)
    return found


def _facts(plan: BuildPlan, registry: Registry, environment: Mapping[str, str]) -> tuple[Fact, ...]:
    from atoll.build import floors

    return floors.gather(plan.floors, registry, environment)


def carry_out(
    root: Path,
    plan: BuildPlan,
    *,
    targets: tuple[str, ...] = (),
    jobs: int | None = None,
    on_event: Callable[[Event], None] | None = None,
) -> Result:
    """Run the plan's graph: what these targets need, or all of it.

    Raises:
        BuildError: Where there is no such target, or with every action that failed.
    """
    from atoll.graph import execute

    graph = replace(plan.graph, defaults=_wanted(root, plan, targets)) if targets else plan.graph
    return execute(graph, root=root, folder=plan.folder, jobs=jobs, on_event=on_event)


def _wanted(root: Path, plan: BuildPlan, targets: tuple[str, ...]) -> tuple[str, ...]:
    known = {output.target: output for output in plan.outputs}
    unknown = [name for name in targets if name not in known]
    if unknown:
        raise BuildError(*(no_target(name, known, file=(root / name).is_file()) for name in unknown))
    files = [path for name in targets for path in known[name].files]
    checks = [path for action in plan.graph.actions if action.role is Role.CHECK for path in action.outputs]
    return (*files, *checks)


def no_target(name: str, known: Iterable[str], *, file: bool = False) -> Diagnostic:
    """Return the refusal of a name that is no target; `file` where a file is called so."""
    near = nearest(name, known)
    hint = f"write `{near}`" if near else "name one of them"
    if file:
        hint = f"write `-- {name}`: what stands after `--` is given to the target"
    return Diagnostic(
        code="ATL0554",
        message=f"there is no target `{name}`",
        notes=(f"targets: {', '.join(sorted(known)) or 'none'}",),
        hint=hint,
    )
