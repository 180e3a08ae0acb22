"""What is made once is made once, whichever threads ask together."""

from __future__ import annotations

import importlib
import threading
from collections.abc import Callable
from pathlib import Path

import pytest

from atoll._util.installed import Point
from atoll._util.once import once
from atoll.plugin import DeviceInfo
from atoll.plugin.registry import Door
from atoll.runtime.native import declarations
from atoll.runtime.status import ask
from unit.runtime.fakes import MemoryDriver


def together(ask_it: Callable[[], object], many: int = 8) -> list[object]:
    """Return what threads get that ask at one moment."""
    found: list[object] = []
    start = threading.Barrier(many)

    def go() -> None:
        start.wait()
        found.append(ask_it())

    threads = [threading.Thread(target=go) for _ in range(many)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return found


class Slowly:
    """Counts how many are in at once; each lets the others run before it answers."""

    def __init__(self) -> None:
        self.inside = self.most = self.calls = 0

    def __call__(self, *_: object) -> object:
        self.calls += 1
        self.inside += 1
        self.most = max(self.most, self.inside)
        threading.Event().wait(0.01)  # let go of the interpreter, so that another would get in
        self.inside -= 1
        return object()


def test_threads_that_ask_together_get_one_answer() -> None:
    slowly = Slowly()
    made = once(lambda: slowly())
    assert len({id(item) for item in together(made)}) == 1
    assert slowly.calls == 1


def test_a_plugin_is_made_once(monkeypatch: pytest.MonkeyPatch) -> None:
    slowly = Slowly()
    monkeypatch.setattr(importlib.import_module("atoll.plugin.registry"), "_make", slowly)
    door: Door[object] = Door(
        "atoll.drivers", "atoll.plugin.driver:Driver", {"mem": Point("atoll.drivers", "mem", "a:b", "here")}
    )
    assert len({id(item) for item in together(lambda: door["mem"])}) == 1


def test_c_declarations_have_one_set_of_types(tmp_path: Path) -> None:
    header = tmp_path / "abi.h"
    header.write_text("".join(f"typedef struct s{at} *t{at};\n" for at in range(200)))
    assert len({id(item) for item in together(lambda: declarations(header))}) == 1


def test_a_driver_lists_its_devices_to_one_thread_at_a_time() -> None:
    slowly = Slowly()

    class Watched(MemoryDriver):
        def devices(self) -> tuple[DeviceInfo, ...]:
            slowly()
            return super().devices()

    driver = Watched()
    together(lambda: ask(driver, "watched"))
    assert slowly.most == 1
