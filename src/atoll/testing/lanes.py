"""Does a lane keep its door's promises? One suite for every lane, ours or not.

Use it from any test runner::

    @pytest.mark.parametrize("check", LANE_CHECKS, ids=lambda check: check.__name__)
    def test_my_lane(check): check(MyLane(), request)

or at once: :func:`lane_suite`. `request` holds at least one unit that the lane can compile, in a project on
disk, and the tools it asks for. Each check raises AssertionError with what was wrong. Words: a *tracing
environment* records what is read.
"""

from __future__ import annotations

import hashlib
import shutil
import subprocess
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from pathlib import Path, PurePosixPath

from atoll.accel import AccelSet
from atoll.diagnostics import Diagnostic
from atoll.errors import LaneError
from atoll.graph import Action
from atoll.plugin import (
    DataProduct,
    Lane,
    LanePlan,
    LaneRequest,
    LaneStatus,
    ObjectProduct,
    SourceProduct,
    UnitKind,
)

LaneCheck = Callable[[Lane, LaneRequest], None]


class TracingEnvironment(Mapping[str, str]):
    """An environment that remembers which variables were read.

    Attributes:
        read: The names, in order, once each.
    """

    def __init__(self, values: Mapping[str, str]) -> None:
        self._values = dict(values)
        self.read: dict[str, None] = {}

    def __getitem__(self, name: str) -> str:
        self.read[name] = None
        return self._values[name]

    def __iter__(self) -> Iterator[str]:
        for name in self._values:
            self.read[name] = None
            yield name

    def __len__(self) -> int:
        return len(self._values)


def extensions_are_spelled_with_a_dot(lane: Lane, request: LaneRequest) -> None:
    """Extensions look like ``.cu`` and each has a kind."""
    assert lane.name.isidentifier(), f"the name {lane.name!r} is no identifier"
    assert lane.extensions, "it claims no extension"
    for extension, kind in lane.extensions.items():
        assert extension.startswith("."), f"{extension!r} has no dot"
        assert extension == extension.lower(), f"{extension!r} is not in lower case"
        assert isinstance(kind, UnitKind), f"{extension!r} has the kind {kind!r}"


def without_units_it_asks_for_nothing(lane: Lane, request: LaneRequest) -> None:
    """No unit: no payload, no action, no tool, and the environment is not even read."""
    environment = TracingEnvironment(request.environment)
    empty = replace(request, units=(), tools={}, environment=environment)
    assert lane.payloads(empty) == (), "it asks for a payload without a unit"
    assert lane.plan(empty) == LanePlan(), "it plans something without a unit"
    assert not environment.read, f"it looked at {', '.join(environment.read)} without a unit"


def without_a_set_it_fetches_nothing(lane: Lane, request: LaneRequest) -> None:
    """A build with no accelerator asks for no payload, whatever the units."""
    assert lane.payloads(replace(request, accel=AccelSet(), units=())) == ()


def planning_twice_gives_equal_plans(lane: Lane, request: LaneRequest) -> None:
    """Deciding is pure: the same request, the same plan."""
    assert lane.plan(request) == lane.plan(request), "two plans of one request differ"


def planning_writes_nothing(lane: Lane, request: LaneRequest) -> None:
    """A lane describes; the project's files are as before."""
    before = _tree(request.root)
    lane.plan(request)
    changed = before.items() ^ _tree(request.root).items()
    assert not changed, f"planning changed {sorted({name for name, _ in changed})}"


def actions_are_whole(lane: Lane, request: LaneRequest) -> None:
    """Names are unique, commands are texts, outputs lie below the lane's folder and are written once."""
    plan = lane.plan(request)
    names = [action.name for action in plan.actions]
    assert len(names) == len(set(names)), f"two actions of one name in {names}"
    written = [output for action in plan.actions for output in action.outputs]
    assert len(written) == len(set(written)), f"two actions write one file of {written}"
    for action in plan.actions:
        _check_action(action, PurePosixPath(request.build, lane.name))


def _check_action(action: Action, folder: PurePosixPath) -> None:
    assert action.argv, f"{action.name} has no command"
    assert all(isinstance(word, str) and "\0" not in word for word in action.argv), action.name
    assert action.outputs, f"{action.name} writes nothing"
    own = [*action.outputs, *((action.depfile,) if action.depfile else ())]
    for path in own:
        assert PurePosixPath(path).is_relative_to(folder), f"{action.name} writes {path}, outside {folder}"
        assert ".." not in PurePosixPath(path).parts, f"{action.name} writes {path}"
    assert action.depfile not in action.outputs, f"{action.name} lists its depfile as an output"
    assert action.depfile_style in ("make", "raw"), f"{action.name}: {action.depfile_style}"


def every_unit_is_read_and_makes_a_product(lane: Lane, request: LaneRequest) -> None:
    """No unit is dropped, and no product comes from nowhere."""
    plan = lane.plan(request)
    read = {path for action in plan.actions for path in action.inputs}
    written = {path for action in plan.actions for path in action.outputs}
    products: list[ObjectProduct | DataProduct | SourceProduct]
    products = [*plan.objects, *plan.data, *plan.sources]
    for unit in request.units:
        assert unit.path in read, f"no action reads {unit.path}"
        assert any(product.unit == unit for product in products), f"{unit.path} makes no product"
    for product in products:
        assert product.path in written, f"no action writes {product.path}"


def tools_are_named_with_a_reason(lane: Lane, request: LaneRequest) -> None:
    """What was chosen is recorded with the reason."""
    plan = lane.plan(request)
    assert plan.tools, "it names no tool"
    for tool in plan.tools:
        assert tool.name, "a tool without a name"
        assert tool.why, f"{tool.name} has no reason"


def an_unknown_option_is_refused(lane: Lane, request: LaneRequest) -> None:
    """``[lane.NAME]`` belongs to the lane, which must not pass over a key it does not know."""
    try:
        lane.plan(replace(request, options={**request.options, "no-such-option": 1}))
    except LaneError as error:
        check_refusal(error.diagnostics)
        assert any("no-such-option" in item.message for item in error.diagnostics)
    else:
        raise AssertionError("it took the option `no-such-option`")


def check_refusal(diagnostics: tuple[Diagnostic, ...]) -> None:
    """Hold diagnostics to the house style: a code, one sentence, both sides in notes."""
    for item in diagnostics:
        assert item.code, f"no code: {item.message}"
        assert item.message, "an empty message"
        assert not item.message.endswith("."), f"a full stop: {item.message}"
        assert item.notes, f"no side is named: {item.message}"


class _Everything(frozenset[str]):
    """The names of a store that has every payload."""

    def __contains__(self, name: object) -> bool:
        return True


def its_row_of_doctor_is_whole(lane: Lane, request: LaneRequest) -> None:
    """A row that cannot say yes has a reason and a fix: here, on an empty machine, with payloads and none."""
    empty, nothing, everything = {"PATH": ""}, frozenset[str](), _Everything()
    here = request.environment
    for environment, stored in ((here, nothing), (here, everything), (empty, nothing), (empty, everything)):
        row = lane.status(environment, stored)
        assert isinstance(row, LaneStatus)
        assert row.lane == lane.name
        if row.can_build is not True:
            assert row.reason, "it cannot build and says no reason"
            assert row.fix, "it cannot build and says no fix"
        else:
            assert row.found, "it can build and says nothing that it found"


def two_clean_runs_give_equal_bytes(lane: Lane, request: LaneRequest) -> None:
    """The actions run, write what they declare, and write the same bytes again."""
    plan = lane.plan(request)
    first = run_plan(plan, request.root)
    for output in first:
        (request.root / output).unlink()
    second = run_plan(plan, request.root)
    differ = sorted(output for output in first if first[output] != second[output])
    assert not differ, f"two runs differ in {differ}"


def run_plan(plan: LanePlan, root: Path) -> dict[str, str]:
    """Run the actions of a plan in order, without the graph, and return a hash of each output."""
    hashes: dict[str, str] = {}
    for action in plan.actions:
        for output in action.outputs:
            (root / output).parent.mkdir(parents=True, exist_ok=True)
        env = {"PATH": "/usr/bin:/bin", **dict(action.env)}
        done = subprocess.run(action.argv, cwd=root, env=env, capture_output=True, text=True, check=False)
        assert done.returncode == 0, f"{action.name}: {done.stdout}{done.stderr}"
        for output in action.outputs:
            assert (root / output).is_file(), f"{action.name} does not write {output}"
            hashes[output] = hashlib.sha256((root / output).read_bytes()).hexdigest()
        if action.depfile:
            assert (root / action.depfile).is_file(), f"{action.name} does not write {action.depfile}"
    return hashes


def clear(request: LaneRequest) -> None:
    """Remove what :func:`run_plan` wrote."""
    shutil.rmtree(request.root / request.build, ignore_errors=True)


def _tree(root: Path) -> dict[str, int]:
    return {str(path): path.stat().st_mtime_ns for path in root.rglob("*")}


LANE_CHECKS: tuple[LaneCheck, ...] = (
    extensions_are_spelled_with_a_dot,
    without_units_it_asks_for_nothing,
    without_a_set_it_fetches_nothing,
    planning_twice_gives_equal_plans,
    planning_writes_nothing,
    actions_are_whole,
    every_unit_is_read_and_makes_a_product,
    tools_are_named_with_a_reason,
    an_unknown_option_is_refused,
    its_row_of_doctor_is_whole,
    two_clean_runs_give_equal_bytes,
)


def lane_suite(lane: Lane, request: LaneRequest) -> dict[str, str]:
    """Run every check on a lane; return what each said.

    Args:
        lane: The lane.
        request: At least one unit that it can compile, in a project on disk, with the tools it asks for.

    Returns:
        For each check by its name ``ok``, or what was wrong.
    """
    return {check.__name__: _outcome(check, lane, request) for check in LANE_CHECKS}


def _outcome(check: LaneCheck, lane: Lane, request: LaneRequest) -> str:
    try:
        check(lane, request)
    except AssertionError as error:
        return str(error) or "failed"
    return "ok"
