"""Plan the project of the working folder and write its graph, as `atoll build` does before the first edge."""

from __future__ import annotations

from pathlib import Path

from atoll._util.process import collect_rarely, leave


def main() -> None:
    """Plan, write, and end as the command does."""
    from atoll.build import plan, write_plan
    from atoll.graph.state import State, lay_out
    from atoll.session import open_session

    session = open_session(Path.cwd())
    made = plan(session.request())
    write_plan(session.root, made)
    state = State(session.root, made.folder)
    state.path.mkdir(parents=True, exist_ok=True)
    lay_out(state, made.graph)


if __name__ == "__main__":
    collect_rarely()
    main()
    leave(0)
