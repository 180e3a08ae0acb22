"""The thread: one project through every room, from sources to answers on every device that is here."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from atoll import AccelSet
from e2e.harness import ATOLL, ROOT, copied, installed, machine, packed, right, run, site
from e2e.sabotage import sabotage

ANSWER = "12 24 36 48"
SOFTWARE = {"vulkan": "llvmpipe", "opencl": "pthread"}


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return copied("thread", tmp_path_factory.mktemp("thread"))


@pytest.fixture(scope="module")
def wheel(project: Path) -> Path:
    return packed(project)


@pytest.fixture(scope="module")
def python(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return installed(wheel, tmp_path_factory.mktemp("fresh") / "venv")


def lines(python: Path, name: str, project: Path) -> list[str]:
    """Return what run.py says of one root, or skip where this machine has no such device."""
    outcome = run(python, project / "run.py", name, where=python.parent)
    if outcome.code == 1 and "not on this machine" in outcome.err:
        pytest.skip(f"no {name} device")
    assert outcome.code == 0, outcome.err
    return outcome.out.splitlines()


def test_the_wheel_is_one_file_for_every_python_from_3_11(wheel: Path) -> None:
    assert wheel.name.startswith("thread-0.1.0-cp311-abi3-")


def test_measure_prints_the_set_that_the_manifest_asks_for(wheel: Path, tell: Callable[[str], None]) -> None:
    outcome = right(ATOLL, "measure", wheel, "--json", where=wheel.parent)
    (found,) = json.loads(outcome.out)["files"]
    tell(f"{wheel.name} measures as {found['accel']}; declared {found['declared']}")
    measured = AccelSet.parse(found["accel"], floor_words={"cuda": "ptx"})
    cuda, vulkan = measured.get("cuda"), measured.get("vulkan")
    assert cuda is not None
    assert set(cuda.archs) == {"sm_80", "sm_90"}
    assert str(cuda.floor.value if cuda.floor else None) == "90"
    assert vulkan is not None
    assert str(vulkan.version) == "1.2"
    assert [entry.backend for entry in measured] == ["cuda", "vulkan"]
    assert any("opencl" in entry for entry in found["declared"])


@pytest.mark.parametrize("name", ["cpu", "vulkan", "opencl", "cuda"])
def test_each_root_answers_and_names_its_device(
    python: Path, project: Path, name: str, tell: Callable[[str], None]
) -> None:
    said = lines(python, name, project)
    for line in said:
        tell(line)
    assert len(said) == 2
    for line in said:
        answer, device = line.split("  ", 1)
        assert answer == ANSWER
        assert device.startswith(f"{name}: ")
        assert len(device) > len(f"{name}: ")
        assert SOFTWARE.get(name, "") in device or name == "cuda"


@pytest.mark.parametrize("name", ["cpu", "vulkan", "opencl", "cuda"])
def test_arrays_without_elements_are_an_answer_on_every_root(python: Path, project: Path, name: str) -> None:
    lines(python, name, project)
    code = (
        "from array import array\nfrom thread import kernels\n"
        f"kernels.use('{name}')\nx = array('f')\n"
        "print(kernels.saxpy(2.0, x, x, array('f')), kernels.axpy(2.0, x, x, array('f'), over=0))"
    )
    assert right(python, "-c", code, where=python.parent).out == "None None\n"


@pytest.mark.parametrize("name", ["vulkan", "opencl"])
def test_one_changed_operation_makes_the_answer_wrong(
    python: Path, project: Path, name: str, tmp_path: Path, tell: Callable[[str], None]
) -> None:
    lines(python, name, project)
    package = tmp_path / "thread"
    shutil.copytree(site(python) / "thread", package)
    for change in sabotage(package / f"_kernels_{name}.so"):
        tell(change)
    env = machine(PYTHONPATH=str(tmp_path))
    outcome = run(python, project / "run.py", name, where=tmp_path, env=env)
    assert outcome.code == 0, outcome.err
    said = outcome.out.splitlines()
    assert len(said) == 2
    assert not [line for line in said if line.startswith(ANSWER)], "a fallback answered in silence"


def test_a_second_build_does_nothing(project: Path, wheel: Path) -> None:
    outcome = right(ATOLL, "build", "--json", where=project)
    events = [json.loads(line) for line in outcome.out.splitlines()]
    assert not [event for event in events if event["event"] == "edge"]
    assert events[-1]["event"] == "result"


def test_no_accel_fetches_nothing_and_answers_on_the_processor(tmp_path: Path) -> None:
    project = copied("thread", tmp_path)
    store = tmp_path / "store"
    env = machine(ATOLL_STORE=str(store), PIP_NO_INDEX="1", ATOLL_OFFLINE="1")
    right(ATOLL, "build", "--no-accel", where=project, env=env)
    assert not store.exists() or not any(store.iterdir())


def test_an_edited_set_is_refused_in_the_same_words_at_match_and_at_load(
    tmp_path: Path, tell: Callable[[str], None]
) -> None:
    project = copied("thread", tmp_path)
    manifest = project / "atoll.toml"
    text = manifest.read_text()
    assert "cuda13.0+{sm_80,sm_90} ptx>=90" in text
    manifest.write_text(text.replace("cuda13.0+{sm_80,sm_90} ptx>=90", "cuda13.0+{sm_80}"))
    wheel = packed(project)
    matched = run(ATOLL, "match", "--want", "cuda13.0+{sm_90}", wheel, where=tmp_path)
    assert matched.code == 1
    python = installed(wheel, tmp_path / "venv")
    driver = tmp_path / "driver"
    driver.mkdir()
    fake = ROOT / "tests" / "conformance" / "fake_cuda.c"
    include = ROOT / "src" / "atoll_plugins" / "cuda"
    right("gcc", "-shared", "-fPIC", f"-I{include}", fake, "-o", driver / "libcuda.so.1", where=tmp_path)
    code = "from thread import kernels; print(kernels.devices()['cuda'])"
    env = machine(LD_LIBRARY_PATH=str(driver), FAKE_CUDA_LEVELS="90")
    loaded = right(python, "-c", code, where=tmp_path, env=env)
    at_match, at_load = (_refusal(said) for said in (matched.err, loaded.out))
    for label, said in at_load.items():
        tell(f"{label}: {said}")
    assert at_match["first"].replace("this build", "X") == at_load["first"].replace("this device", "X")
    assert at_match["accel"] == at_load["accel"] == "asked sm_90, carried sm_80"
    assert at_match["help"] == at_load["help"]
    fitting = right(python, "-c", code, where=tmp_path, env=env | {"FAKE_CUDA_LEVELS": "86"})
    assert fitting.out.strip() == ""


def _refusal(text: str) -> dict[str, str]:
    """Return a refusal's first line and its labelled lines."""
    first, *rest = text[text.index("error[ATL0412]") :].splitlines()
    rows = (line.strip().split(maxsplit=1) for line in rest if line.strip())
    return {"first": first} | {row[0].rstrip(":"): row[-1] for row in rows}
