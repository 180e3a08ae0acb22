"""How does a long build show how far it is? A bar on a terminal; nothing where stderr is none."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rich.progress import Progress, TaskID

    from atoll.graph import Event


class Bar:
    """A progress bar on stderr that appears with the first action and goes with the last.

    Lines are printed above it, without markup.
    """

    def __init__(self) -> None:
        self._live: tuple[Progress, TaskID] | None = None

    @staticmethod
    def wanted() -> bool:
        """Tell whether stderr is a terminal that can show a bar."""
        import os

        return sys.stderr.isatty() and os.environ.get("TERM", "dumb") != "dumb"

    def event(self, event: Event) -> None:
        """Move with an event of a running build."""
        if event.kind == "end":
            self.close()
        elif event.total:
            progress, task = self._live or self._open()
            progress.update(task, completed=event.done, total=event.total, description=event.name[:50])

    def say(self, text: str) -> None:
        """Print a line above the bar."""
        if self._live is None:
            sys.stderr.write(text + "\n")
        else:
            self._live[0].console.print(text, markup=False, highlight=False, soft_wrap=True)

    def close(self) -> None:
        """Take the bar away."""
        if self._live is not None:
            self._live[0].stop()
            self._live = None

    def _open(self) -> tuple[Progress, TaskID]:
        from rich.console import Console
        from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

        columns = (
            BarColumn(),
            MofNCompleteColumn(),
            TimeElapsedColumn(),
            TextColumn("{task.description}", markup=False),
        )
        progress = Progress(*columns, console=Console(stderr=True), transient=True)
        progress.start()
        self._live = (progress, progress.add_task(""))
        return self._live
