"""There is one kernel source: a fault in an emitter reddens kernels, primitives, fused ones and the wheel."""

from __future__ import annotations

import shutil
import subprocess
import sys
import venv
import zipfile
from collections.abc import Callable
from pathlib import Path

import pytest

from e2e.harness import ROOT, copied, machine, right

#: The plant: the emitter of the shader format writes a difference where KIR has a sum.
FAULT = ("Core.FADD: Op.FAdd", "Core.FADD: Op.FSub")

ASK = """
import json
import numpy as np
import atoll
from atoll import engine, f32, kernel, view


@kernel
def saxpy(a: f32, x: view[f32], y: view[f32], out: view[f32]):
    i = atoll.global_id(0)
    out[i] = a * x[i] + y[i]


x, y, out = np.arange(1, 9, dtype="f4"), np.full(8, 3, "f4"), np.zeros(8, "f4")
saxpy.over(8, device="vulkan")(2.0, x, y, out)
names = ("binary.add.f32", "matmul.small.f32", "scan.prefix.f32", "softmax", "reduce.sum.f32")
found = engine.results("vulkan", only=lambda name: name in names)
on = [atoll.array(item, device="vulkan") for item in (x, y)]
fused = atoll.fuse(lambda x, y: x * 2.0 + y)(*on).numpy()
print(json.dumps({
    "kernel": bool((out == 2 * x + y).all()),
    "primitives": [item.name for item in found if item.is_equal],
    "fused": bool((fused == 2 * x + y).all()),
    "home": atoll.__file__,
}))
"""


@pytest.fixture(scope="module")
def faulty(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a copy of the source with the fault."""
    home = tmp_path_factory.mktemp("faulty") / "src"
    shutil.copytree(ROOT / "src", home, ignore=shutil.ignore_patterns("__pycache__"))
    emitter = home / "atoll_plugins" / "spirv" / "function.py"
    text = emitter.read_text(encoding="utf-8")
    assert text.count(FAULT[0]) == 1
    emitter.write_text(text.replace(*FAULT), encoding="utf-8")
    return home


def _asked(source: Path, folder: Path) -> dict[str, object]:
    import json

    (folder / "ask.py").write_text(ASK)
    env = machine(PYTHONPATH=str(source))
    done = subprocess.run(
        [sys.executable, "ask.py"], cwd=folder, env=env, capture_output=True, text=True, timeout=300
    )
    assert done.returncode == 0, done.stderr
    found: dict[str, object] = json.loads(done.stdout.splitlines()[-1])
    assert str(found.pop("home")).startswith(str(source))
    return found


def test_a_fault_in_one_emitter_reddens_kernels_primitives_and_fused_functions(
    faulty: Path, tmp_path: Path, tell: Callable[[str], None]
) -> None:
    assert _asked(faulty, tmp_path) == {"kernel": False, "primitives": [], "fused": False}
    sound = _asked(ROOT / "src", tmp_path)
    assert (sound["kernel"], sound["fused"]) == (True, True)
    assert len(sound["primitives"]) == 5  # type: ignore[arg-type]
    tell("a kernel, 5 primitives and a fused function went red together, and are green without the fault")


def _python(source: Path, folder: Path) -> Path:
    """Return an interpreter whose Atoll is a source: steps of a build see no PYTHONPATH."""
    venv.create(folder, with_pip=False, symlinks=True)
    (packages,) = (folder / "lib").glob("python3*/site-packages")
    (packages / "atoll.pth").write_text(f"{source}\n{Path(pytest.__file__).parents[1]}\n")
    return folder / "bin" / "python"


def test_the_same_fault_reddens_the_wheel(
    faulty: Path, whole: bool, tmp_path: Path, tell: Callable[[str], None]
) -> None:
    if not whole:
        tell("the wheel: with --all")
        return
    answers = {}
    for word, source in (("faulty", faulty), ("right", ROOT / "src")):
        (tmp_path / word).mkdir()
        project = copied("thread", tmp_path / word)
        manifest = (project / "atoll.toml").read_text().replace("cuda13.0+{sm_80,sm_90} ptx>=90, ", "")
        (project / "atoll.toml").write_text(manifest)
        python = _python(source, tmp_path / word / "venv")
        for asked in (("build",), ("pack", "--out", "dist")):
            right(python, "-m", "atoll", *asked, where=project)
        (wheel,) = (project / "dist").glob("*.whl")
        with zipfile.ZipFile(wheel) as archive:
            archive.extractall(tmp_path / word / "site")
        shutil.copy(project / "run.py", tmp_path / word / "asked.py")
        env = machine(PYTHONPATH=str(tmp_path / word / "site"))
        ran = right(sys.executable, "asked.py", "vulkan", where=tmp_path / word, env=env)
        answers[word] = [line.split("  ")[0] for line in ran.out.splitlines()]
    # The shader of GLSL keeps its answer; the kernel in Python goes red.
    assert answers["right"] == ["12 24 36 48", "12 24 36 48"]
    assert answers["faulty"] == ["12 24 36 48", "-8 -16 -24 -32"]
    tell(f"the wheel said {answers['faulty'][1]}")
