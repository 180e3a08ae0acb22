"""Refused: a root or a layout root that is not there."""

from __future__ import annotations

from pathlib import Path

import pytest

from atoll.boundary import scan
from atoll.errors import UnreadableError
from unit.boundary.kit import interface, one, scanned
from unit.build.build_project import REGISTRY, session

KERNELS = REGISTRY["atoll.toml"].replace(
    'sources = ["cpu/*.cpp", { glob = "vulkan/*.comp", accel = "vulkan" }, "kernels/*.py"]',
    'sources = ["kernels/*.py"]',
)
KERNELS = KERNELS.split("[target.'cfg")[0] + "[boundary" + KERNELS.split("[boundary")[1]
KERNEL = {"kernels/thrice.py": REGISTRY["kernels/thrice.py"]}


def test_a_root_that_does_not_exist(tmp_path: Path) -> None:
    with pytest.raises(UnreadableError) as caught:
        scan(tmp_path / "nowhere", shown=tmp_path)
    assert caught.value.diagnostics[0].message == "the root `nowhere` does not exist"


def test_a_layout_root_that_is_none_of_the_roots(tmp_path: Path) -> None:
    root = scanned(tmp_path / "cpu", "ATOLL_EXPORT_C int f() { return 0; }")
    fault = one(lambda: interface(root, layout_root="gpu"))
    assert (fault.code, fault.message) == ("ATL0314", "the layout root `gpu` is none of the roots")
    assert fault.notes == ("roots: cpu",)


def test_a_file_that_cannot_be_read(tmp_path: Path) -> None:
    (tmp_path / "a.cpp").symlink_to("a.cpp")
    with pytest.raises(UnreadableError) as caught:
        scan(tmp_path, shown=tmp_path)
    assert caught.value.diagnostics[0].message == "the file `a.cpp` could not be read"


def test_every_root_of_a_manifest_without_folder_is_named_at_its_table(tmp_path: Path) -> None:
    manifest = KERNELS.replace('["cpu", "vulkan"]', '["cpu", "vulcan", "deep/other", "vulkan"]')
    with pytest.raises(UnreadableError) as caught:
        session(tmp_path, {"atoll.toml": manifest, **KERNEL}).build()
    found = caught.value.diagnostics
    assert [(item.code, item.message) for item in found] == [
        ("ATL0314", "the root `deep/other` does not exist"),
        ("ATL0314", "the root `vulcan` does not exist"),
    ]
    for item in found:
        assert item.span is not None
        assert item.span.file.endswith("atoll.toml")
        assert manifest.splitlines()[item.span.line - 1] == "[boundary.kernels]"
        assert "generated entries join: cpu, vulkan" in item.notes
    assert found[0].hint == "make the folder or the file, or leave the root out"
    assert found[1].hint == "write `vulkan`"


@pytest.mark.parametrize("no_accel", [False, True])
def test_a_root_whose_entries_are_generated_needs_no_folder(tmp_path: Path, no_accel: bool) -> None:
    project = session(tmp_path, {"atoll.toml": KERNELS, **KERNEL}, no_accel=no_accel)
    files = {Path(file).name for output in project.build().outputs for file in output.files}
    assert "_kernels_cpu.so" in files
    assert ("_kernels_vulkan.so" in files) != no_accel


def test_a_root_without_folder_and_generated_entries_is_refused(tmp_path: Path) -> None:
    manifest = KERNELS.replace('["kernels/*.py"]', '["cpu/*.cpp"]')
    files = {"atoll.toml": manifest, "cpu/twice.cpp": REGISTRY["cpu/twice.cpp"]}
    with pytest.raises(UnreadableError) as caught:
        session(tmp_path, files, no_accel=True).build()
    assert [item.message for item in caught.value.diagnostics] == ["the root `vulkan` does not exist"]
