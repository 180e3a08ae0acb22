from __future__ import annotations

import os
import pty
import subprocess
import sys

from atoll.cli._progress import Bar
from atoll.graph import Event

CODE = """
from atoll.cli._progress import Bar
from atoll.graph import Event
assert Bar.wanted()
bar = Bar()
bar.event(Event(kind="finish", name="one [b]x[/b]", done=1, total=3))
bar.say("a line [red]as it is[/red]")
bar.event(Event(kind="end", done=3, total=3))
bar.say("after")
"""


def test_a_terminal_gets_a_bar_and_lines_without_markup() -> None:
    controller, terminal = pty.openpty()
    env = {**os.environ, "TERM": "xterm"}
    subprocess.run([sys.executable, "-c", CODE], stderr=terminal, env=env, check=True)
    os.close(terminal)
    shown = b""
    try:
        while data := os.read(controller, 65536):
            shown += data
    except OSError:
        pass
    os.close(controller)
    text = shown.decode()
    assert "1/3" in text
    assert "one [b]x[/b]" in text
    assert "a line [red]as it is[/red]" in text
    assert text.rstrip().endswith("after")


def test_what_is_no_terminal_gets_lines_only() -> None:
    code = CODE.replace("assert Bar.wanted()", "assert not Bar.wanted()").replace(
        'bar.event(Event(kind="finish", name="one [b]x[/b]", done=1, total=3))', ""
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stderr == "a line [red]as it is[/red]\nafter\n"
    bar = Bar()
    bar.event(Event(kind="end"))
