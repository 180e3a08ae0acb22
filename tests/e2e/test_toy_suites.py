"""The foreign package passes the public suite of each of its doors, as its authors would run it."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from e2e.harness import TOY, foreign_python, right

# Run where the package is installed: the engine of this process must not know it.
SUITES = """
import json, sys
from pathlib import Path
from atoll.accel import Entry
from atoll.plugin import Blob, Emitted, LaneRequest, Target, Unit
from atoll.testing.drivers import DRIVER_CHECKS, LAYOUT, DriverCase
from atoll.testing.emitters import EMITTER_CHECKS
from atoll.testing.lanes import LANE_CHECKS
from atoll.testing.readers import READER_CHECKS
from toyvm.driver import ToyDriver
from toyvm.emitter import ToyEmitter
from toyvm.isa import assemble
from toyvm.lane import ToyLane
from toyvm.reader import ToyReader

project, spoiled = Path(sys.argv[1]), sys.argv[2] if len(sys.argv) > 2 else ""
saxpy = assemble((project / "toy/saxpy.toy").read_text())
entry = Entry(backend="toy", archs=("t1",))
unit = Unit(path="toy/saxpy.toy", target="demo", entry=entry, archs=("t1",))
asked = LaneRequest(root=project, build=".atoll/build/test", package="demo", units=(unit,),
                    environment={"PATH": "/usr/bin:/bin", "PYTHONPATH": ":".join(sys.path)})
code = Emitted(target=Target(backend="toy"), stage="toy", code=saxpy, text=False, entry="main",
               suffix=".toyc", layout=LAYOUT)
sample = Blob(name="saxpy.toyc", kind="", data=memoryview(saxpy))
if spoiled:
    ToyReader.recognises = lambda self, blob: True
    ToyLane.extensions = {"toy": ToyLane.extensions[".toy"]}
    ToyDriver.name = "Toy!"
    ToyEmitter.stage = ""
said = {}
doors = (
    [(check, (ToyLane(), asked)) for check in LANE_CHECKS]
    + [(check, (DriverCase(ToyDriver(), 0, code),)) for check in DRIVER_CHECKS]
    + [(check, (ToyReader(), [sample])) for check in READER_CHECKS]
    + [(check, (ToyEmitter(),)) for check in EMITTER_CHECKS]
)
for check, arguments in doors:
    try:
        check(*arguments)
        said[f"{check.__module__}.{check.__name__}"] = "ok"
    except Exception as error:
        said[f"{check.__module__}.{check.__name__}"] = f"{type(error).__name__}: {error}"
print(json.dumps(said))
"""


@pytest.fixture(scope="module")
def foreign(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the interpreter of an environment that has Atoll, its dependencies and the foreign package."""
    return foreign_python(tmp_path_factory.mktemp("toy-suites") / "venv")


def said(foreign: Path, folder: Path, *spoiled: str) -> dict[str, str]:
    import shutil

    shutil.copytree(TOY / "project", folder / "project")
    found: dict[str, str] = json.loads(
        right(foreign, "-c", SUITES, folder / "project", *spoiled, where=folder).out
    )
    return found


def test_every_check_of_every_door_passes(foreign: Path, tmp_path: Path, tell: Callable[[str], None]) -> None:
    found = said(foreign, tmp_path)
    tell(f"{len(found)} checks of the foreign package's doors")
    assert [f"{name}: {text}" for name, text in found.items() if text != "ok"] == []
    assert len(found) > 40


def test_the_suites_see_a_package_that_breaks_its_promises(foreign: Path, tmp_path: Path) -> None:
    found = said(foreign, tmp_path, "spoiled")
    failed = {name.rsplit(".", 2)[-2] for name, text in found.items() if text != "ok"}
    assert failed >= {"lanes", "drivers", "readers", "emitters"}, found
