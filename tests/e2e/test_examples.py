"""Every example is built and run here, or listed with the reason and the test that covers it."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from atoll.plugin import registry
from e2e.harness import ATOLL, EXAMPLES, Outcome, copied, machine, right, run
from e2e.sabotage import sabotage

ANSWER = "12 24 36 48"
NO_DEVICE = "not on this machine"
FETCHED = "its sources are fetched first"


@dataclass(frozen=True, slots=True)
class Case:
    """One way to run an example.

    Attributes:
        options: Of `atoll run`.
        device: A part of the device's own name on this machine; empty for any.
        names: What ``ATOLL_DEVICE`` names; empty for the program's own choice.
        absent: A part of what is said where the machine has no such device: then the program ends with 1.
        toolchain: Whether its toolchain comes from the host alone, which may be without.
    """

    options: tuple[str, ...] = ()
    device: str = ""
    names: str = ""
    absent: str = ""
    toolchain: bool = False

    @property
    def label(self) -> str:
        return " ".join((*self.options, f"ATOLL_DEVICE={self.names}")) or "default"

    @property
    def env(self) -> dict[str, str]:
        return machine(**({"ATOLL_DEVICE": self.names} if self.names else {}))


PROCESSOR = registry().drivers["cpu"].devices()[0].name
CPU = Case(("--no-accel",), PROCESSOR)
CUDA = ("--accel", "cuda13.0+{sm_80,sm_90} ptx>=90")
NO_CUDA = "CUDA driver version is insufficient"
# What runs here, each case printing the answer and then the device.
RUN = {
    "saxpy/vulkan": (Case(device="llvmpipe"), CPU),
    "saxpy/opencl": (Case(device="pthread"), CPU),
    "saxpy/cuda": (Case(absent=NO_CUDA), CPU),
    "saxpy/hip": (
        Case(absent="hipErrorInvalidDevice", toolchain=True),
        Case(("--accel", "hip, cuda11.8+{sm_90}"), absent=NO_CUDA, toolchain=True),
        CPU,
    ),
    "saxpy/slang": (Case(device="llvmpipe"), CPU),
    "saxpy/link_time": (
        Case(device="llvmpipe"),
        Case(("--accel", "opencl1.2"), "pthread"),
        Case(CUDA, absent=NO_CUDA),
        CPU,
    ),
    "saxpy/run_time": (
        # Nothing here but devices in software, which are taken only when named.
        Case(),
        Case(device="llvmpipe", names="vulkan"),
        Case(device="pthread", names="opencl"),
        Case(names="cuda", absent="the root `cuda` is not available"),
        Case(device=PROCESSOR, names="cpu"),
        CPU,
    ),
}
# One header for islands in four languages.
RUN["target"] = (
    Case(device="pthread"),
    Case(("--accel", "cuda13.0+{sm_90}"), absent=NO_CUDA),
    Case(("--accel", "hip5.2+{gfx942}"), absent="hipErrorInvalidDevice", toolchain=True),
    CPU,
)
# A unit in Python for the same roots: nothing in its folders but the kernel.
RUN["kernels_in_cpp"] = RUN["saxpy/run_time"]
# What runs elsewhere: why, and which test.
ELSEWHERE = {
    "thread": ("it becomes a wheel", "test_thread.py"),
    "kernels": ("Python calls its kernels, without a build", "test_kernels.py"),
    "python_package": ("pip installs it", "test_pep517.py"),
    "gpt2": ("Python trains it, without a build", "test_gpt2.py"),
    "custom_layer": ("Python fuses it, without a build", "test_custom_layer.py"),
    "saxpy/sycl": ("its toolchain is 520 MB", "test_sycl.py"),
    "boundary": ("it has four programs", "test_boundary_rungs.py"),
    "real/ggml_scale": (FETCHED, "test_real_shader.py"),
    "real/ggml_shaders": (FETCHED, "test_ggml_shaders.py"),
}


def examples(folder: Path = EXAMPLES) -> Iterator[str]:
    """Give every folder below `folder` that is a project, and every other that holds more than a README.

    What is built (`.atoll`, `dist`, `__pycache__`) is left out.
    """
    files = [path for path in sorted(folder.rglob("*")) if path.is_file() and not _built(path, folder)]
    projects = {path.parent for path in files if path.name in ("atoll.toml", "pyproject.toml")}
    loose = {
        path.parent
        for path in files
        if path.name != "README.md" and not any(project in path.parents for project in projects)
    }
    for place in sorted(projects | loose):
        yield place.relative_to(folder).as_posix()


def _built(path: Path, folder: Path) -> bool:
    parts = path.relative_to(folder).parts
    return any(part.startswith(".") or part in ("dist", "__pycache__") for part in parts[:-1])


def unlisted(found: Iterable[str]) -> set[str]:
    """Return the examples that nothing covers."""
    return set(found) - RUN.keys() - ELSEWHERE.keys()


def cases() -> list[object]:
    return [
        pytest.param(name, case, id=f"{name}-{case.label}") for name, listed in RUN.items() for case in listed
    ]


def test_every_example_is_run_or_covered(tell: Callable[[str], None]) -> None:
    found = set(examples())
    tell(f"{len(found)} examples, {len(RUN)} run here, {len(ELSEWHERE)} elsewhere")
    assert not unlisted(found)
    assert not (RUN.keys() | ELSEWHERE.keys()) - found, "listed, but not there"


def test_an_example_that_nobody_lists_is_found(tmp_path: Path) -> None:
    for name in ("saxpy/vulkan", "saxpy/forgotten", "saxpy/vulkan/.atoll/build"):
        (tmp_path / name).mkdir(parents=True)
        (tmp_path / name / "atoll.toml").touch()
    for name in ("README.md", "saxpy/README.md", "saxpy/vulkan/main.cpp", "loose/saxpy.py"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).touch()
    assert unlisted(examples(tmp_path)) == {"saxpy/forgotten", "loose"}


@pytest.mark.parametrize("name", ELSEWHERE)
def test_what_is_covered_elsewhere_is_named_there(name: str) -> None:
    _, test = ELSEWHERE[name]
    assert f'"{name}"' in Path(__file__).with_name(test).read_text(encoding="utf-8")


@pytest.mark.parametrize("name", tuple(examples()))
def test_every_example_that_is_built_is_built_without_accelerators_too(name: str) -> None:
    if not any((EXAMPLES / name / file).exists() for file in ("atoll.toml", "pyproject.toml")):
        return  # Python calls its kernels, on whatever device there is
    if name in RUN:
        assert CPU in RUN[name]
        return
    texts = {path.name: path.read_text("utf-8") for path in Path(__file__).parent.glob("test_*.py")}
    assert any(
        f'"{name}"' in text and "--no-accel" in text for text in texts.values() if "RUN = {" not in text
    )


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Path]:
    """Return a function that gives the copy of an example, the same one each time."""
    made: dict[str, Path] = {}

    def get(name: str) -> Path:
        if name not in made:
            made[name] = copied(name, tmp_path_factory.mktemp("examples"))
        return made[name]

    return get


def answered(outcome: Outcome, case: Case) -> str:
    """Return the device that an example named; it answered rightly, or said what is missing and failed."""
    refused = re.search(r"error\[ATL050[67]\]: (.*)", outcome.err)
    if case.toolchain and refused is not None:
        pytest.skip(f"a toolchain that ./dev setup installs: {refused[1]}")
    if case.absent and outcome.code != 0:
        assert outcome.code == 1
        assert case.absent in outcome.err
        assert not outcome.out
        return NO_DEVICE
    assert outcome.code == 0, outcome.err
    answer, device = outcome.out.splitlines()
    assert answer == ANSWER
    assert device
    assert case.device in device or "NVIDIA" in device
    return device


@pytest.mark.parametrize(("name", "case"), cases())
def test_an_example_answers_and_names_its_device(
    name: str, case: Case, project: Callable[[str], Path], tell: Callable[[str], None]
) -> None:
    outcome = run(ATOLL, "run", *case.options, where=project(name), env=case.env)
    tell(f"{name} {case.label}: {answered(outcome, case)}")


@pytest.mark.parametrize(
    ("name", "case"),
    [
        pytest.param(name, case, id=f"{name}-{case.label}")
        for name, listed in RUN.items()
        for case in listed
        if case.device and case is not CPU and case.device != PROCESSOR
    ],
)
def test_one_changed_operation_makes_the_answer_wrong(
    name: str,
    case: Case,
    project: Callable[[str], Path],
    tmp_path: Path,
    tell: Callable[[str], None],
) -> None:
    folder = project(name)
    options = [word for word in case.options if word != "--no-accel"]
    program = folder / right(ATOLL, "build", *options, where=folder).out.strip()
    broken = tmp_path / "broken"
    broken.write_bytes(program.read_bytes())
    broken.chmod(0o755)
    assert run(broken, where=tmp_path, env=case.env).out.startswith(ANSWER)
    for change in sabotage(broken):
        tell(change)
    outcome = run(broken, where=tmp_path, env=case.env)
    assert not outcome.out.startswith(ANSWER), "a fallback answered in silence"
