"""The four rungs of `examples/boundary`: each answers, names its device, and costs what its page says."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

import pytest

from e2e.harness import ATOLL, EXAMPLES, copied, right, run
from e2e.sabotage import sabotage

NAME = "boundary"
EXAMPLE = EXAMPLES / NAME
RUNGS = ("marked", "seam", "declared", "by_hand")
# What each rung writes beside islands and programs.
WRITTEN = {
    "seam": ("seam/front.cppm",),
    "declared": ("declared/legacy.h",),
    "by_hand": ("by_hand/app.h", "by_hand/app.cppm"),
}


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a copy of the example, built for Vulkan and for the processor."""
    root = copied("boundary", tmp_path_factory.mktemp("rungs"))
    right(ATOLL, "build", where=root)
    right(ATOLL, "build", "--no-accel", where=root)
    return root


@pytest.mark.parametrize("rung", RUNGS)
def test_a_rung_answers_and_names_its_device(project: Path, rung: str, tell: Callable[[str], None]) -> None:
    answer, device = right(ATOLL, "run", rung, where=project).out.splitlines()
    tell(f"{rung}: {answer} on {device}")
    assert answer == "12 24 36 48"
    assert "llvmpipe" in device
    answer, device = right(ATOLL, "run", rung, "--no-accel", where=project).out.splitlines()
    assert answer == "12 24 36 48"
    assert device
    assert "llvmpipe" not in device


@pytest.mark.parametrize("rung", RUNGS)
def test_one_changed_operation_makes_the_answer_wrong(
    project: Path, rung: str, tmp_path: Path, tell: Callable[[str], None]
) -> None:
    (built,) = project.glob(f".atoll/build/release-vulkan*/bin/{rung}")
    broken = tmp_path / rung
    broken.write_bytes(built.read_bytes())
    broken.chmod(0o755)
    assert right(broken, where=tmp_path).out.startswith("12 24 36 48")
    for change in sabotage(broken):
        tell(change)
    outcome = run(broken, where=tmp_path)
    assert not outcome.out.startswith("12 24 36 48"), "a fallback answered in silence"


def test_header_and_module_are_the_same_with_and_without_accelerators(project: Path) -> None:
    with_some, without = sorted(
        (project / ".atoll/plan").glob("release-*"), key=lambda path: "none" in path.name
    )
    for name in ("include/app_kernels.h", "include/app_more.h", "modules/app_kernels.cppm"):
        assert (with_some / name).read_bytes() == (without / name).read_bytes(), name


def lines(path: Path) -> int:
    """Return the lines of a file that hold code."""
    text = re.sub(r"/\*.*?\*/", "", path.read_text(), flags=re.DOTALL)
    return sum(bool(line.split("//")[0].strip()) for line in text.splitlines())


def marks() -> int:
    """Return how many marks the islands of the first rung hold."""
    return sum(
        path.read_text().count("ATOLL_EXPORT")
        for folder in ("cpu", "vulkan")
        for path in (EXAMPLE / folder).glob("*.cpp")
    )


@pytest.mark.parametrize("rung", RUNGS)
def test_the_page_says_what_a_rung_costs_to_write(rung: str) -> None:
    (row,) = re.findall(
        rf"^\| `{rung}` \|[^|]*\| (\d+) \|", (EXAMPLE / "README.md").read_text(), re.MULTILINE
    )
    counted = marks() if rung == "marked" else sum(lines(EXAMPLE / name) for name in WRITTEN[rung])
    assert int(row) == counted


def test_an_import_that_goes_takes_the_module_with_it_and_one_that_comes_brings_it(
    tmp_path: Path, tell: Callable[[str], None]
) -> None:
    root = copied("boundary", tmp_path)
    main = root / "marked/main.cpp"
    imported = main.read_text()
    manifest = (root / "atoll.toml").read_text()
    start, rest = manifest.split("[targets.seam]")
    only = start + re.sub(
        r"^(seam|declared|by_hand)\..*\n", "", rest[rest.index("[target.'cfg") :], flags=re.M
    )
    (root / "atoll.toml").write_text(only)

    def built() -> str:
        return right(ATOLL, "build", "--no-accel", where=root).err

    assert "modules/app_kernels.cppm" in built()
    assert "modules/app_kernels.cppm" not in built()
    plain = '#include "app_kernels.h"\nint main() { return 0; }\n'
    main.write_text(plain)
    assert "scan" not in built()
    assert not list((root / ".atoll").rglob("app_kernels.cppm*.bmi"))
    main.write_text(imported)
    said = built()
    tell(f"with the import back: {said.count('scan ')} scans")
    assert "modules/app_kernels.cppm" in said
    assert right(ATOLL, "run", "marked", "--no-accel", where=root).out.startswith("12 24 36 48\n")
