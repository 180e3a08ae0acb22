"""What did the planner decide? The plan as a value, and what was built."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from atoll._util.values import dataclass, field
from atoll.artifact import Fact
from atoll.diagnostics import Diagnostic
from atoll.graph import Graph

GENERATED, RESOLUTION, COMMANDS = "generated.json", "resolution.json", "compile_commands.json"


@dataclass(frozen=True, slots=True, kw_only=True)
class Output:
    """What one target becomes.

    Attributes:
        target: Its name in the manifest.
        kind: Its kind in the manifest.
        path: The file, or for ``python`` the package's folder, relative to the root.
        files: Every file of it.
        args: Arguments that `run` and `test` start it with.
        timeout: Seconds that a test may take, or None.
        exclusive: Whether a test runs alone.
        search: Folders of shared libraries that it finds elsewhere once it is installed.
        environment: ``NAME=VALUE`` of what those libraries read when it starts here.
    """

    target: str
    kind: str
    path: str
    files: tuple[str, ...] = ()
    args: tuple[str, ...] = ()
    timeout: float | None = None
    exclusive: bool = False
    search: tuple[str, ...] = ()
    environment: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class BuildPlan:
    """What a build will do.

    Attributes:
        folder: The build folder, relative to the root.
        plan_folder: The folder of what the planner writes.
        graph: The actions.
        outputs: What the targets become.
        generated: Text of each file the planner writes, by path relative to the root.
        resolution: All that was resolved and where it came from.
        commands: The text of ``compile_commands.json``.
        floors: What a machine must meet to run the result.
        diagnostics: Warnings and notes of lanes.
        inputs: Files and folders that the plan was made from; relative to the root or absolute.
    """

    folder: str
    plan_folder: str
    graph: Graph
    outputs: tuple[Output, ...]
    generated: Mapping[str, str] = field(default_factory=dict)
    resolution: Mapping[str, Any] = field(default_factory=dict)
    commands: str = "[]\n"
    floors: tuple[Fact, ...] = ()
    diagnostics: tuple[Diagnostic, ...] = ()
    inputs: tuple[str, ...] = ()

    @property
    def written(self) -> tuple[str, ...]:
        """Every file that writing the plan writes, relative to the root.

        Calls that differ in their PATH alone share a folder: what one of them wrote is not the other's.
        """
        own = (f"{self.folder}/{name}" for name in (RESOLUTION, COMMANDS))
        return (*self.generated, f"{self.plan_folder}/{GENERATED}", *own)
