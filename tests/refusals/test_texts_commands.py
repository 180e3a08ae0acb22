"""What commands around a build are refused with, word for word (`texts/`)."""

from __future__ import annotations

import fcntl
import subprocess
from pathlib import Path

from atoll.graph import is_busy
from refusals.exact import command
from unit.build.build_project import PACKAGE, PROGRAM, reopened
from unit.plugins.lane_project import ENVIRONMENT, write

TESTS = {
    "atoll.toml": PACKAGE
    + '[targets.bad]\nkind = "test"\nsources = ["bad.cpp"]\n'
    + '[targets.lib]\nkind = "static"\nsources = ["good.cpp"]\n'
    + '[targets.good]\nkind = "test"\nsources = ["good.cpp"]\n',
    "bad.cpp": "int main() { return 3; }\n",
    "good.cpp": "int main() {}\n",
}


def test_a_library_is_not_run(tmp_path: Path) -> None:
    command("ATL0562_not_run", write(tmp_path, TESTS), "run", "lib")


def test_a_test_that_fails(tmp_path: Path) -> None:
    command("ATL0563_failed_test", write(tmp_path, TESTS), "test", "bad")


def test_a_test_that_names_no_device(tmp_path: Path) -> None:
    command("ATL0564_no_device", write(tmp_path, TESTS), "test", "good", "--require-device")


def test_a_test_that_there_is_not(tmp_path: Path) -> None:
    command("ATL0554_no_such_test", write(tmp_path, TESTS), "test", "lib")


GONE = {
    "atoll.toml": PACKAGE
    + '[targets.prog]\nkind = "KIND"\nsources = ["main.cpp"]\nlinks = ["gone"]\n'
    + '[targets.gone]\nkind = "shared"\nsources = ["gone.cpp"]\n',
    "main.cpp": "int gone();\nint main() { return gone(); }\n",
    "gone.cpp": "int gone() { return 0; }\n",
}


def without_library(root: Path, kind: str) -> Path:
    """Build a program, and let its library be one that this machine lacks."""
    files = {**GONE, "atoll.toml": GONE["atoll.toml"].replace("KIND", kind)}
    stub = write(root, {"stub.cpp": "int gone() { return 0; }\n"}) / "stub.cpp"
    library = root / "lib/libgone.so"
    library.parent.mkdir()
    argv = ["g++", "-shared", "-fPIC", "-Wl,-soname,libgone.so.7", str(stub), "-o", str(library)]
    subprocess.run(argv, env=dict(ENVIRONMENT), check=True)
    text = files["atoll.toml"].partition("[targets.gone]")[0]
    return write(root, {**files, "atoll.toml": f'{text}[build]\nldflags = ["-L{root}/lib"]\n'})


def test_a_program_that_lacks_a_library(tmp_path: Path) -> None:
    command("ATL0576_library", without_library(tmp_path, "executable"), "run")


def test_a_test_that_lacks_a_library(tmp_path: Path) -> None:
    command("ATL0563_library", without_library(tmp_path, "test"), "test")


def test_nothing_was_built(tmp_path: Path) -> None:
    command("ATL0621_nothing_built", write(tmp_path, PROGRAM), "explain", "host")


def test_nothing_of_that_name_was_built(tmp_path: Path) -> None:
    reopened(write(tmp_path, PROGRAM)).build()
    command("ATL0621_no_such_edge", tmp_path, "explain", "host demo src/man.cpp")


def test_the_build_folder_is_a_link(tmp_path: Path) -> None:
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / ".atoll").symlink_to(tmp_path / "elsewhere")
    command("ATL0622_link", write(tmp_path, PROGRAM), "clean")
    assert (tmp_path / "elsewhere").is_dir()


def test_a_build_is_running(tmp_path: Path) -> None:
    built = reopened(write(tmp_path, PROGRAM)).build()
    folder = tmp_path / built.folder
    held = [path.open("a") for path in (folder / ".graph").iterdir() if "lock" in path.name]
    for file in held:
        fcntl.flock(file, fcntl.LOCK_EX)
    try:
        assert is_busy(folder)
        command("ATL0623_running", tmp_path, "clean")
    finally:
        for file in held:
            file.close()
    assert folder.is_dir()


def test_a_payload_that_there_is_not(tmp_path: Path) -> None:
    command("ATL0588_no_payload", write(tmp_path, PROGRAM), "toolchain", "why", "cuda-99")


def test_a_key_that_nothing_is_kept_under(tmp_path: Path) -> None:
    command("ATL0624_no_key", write(tmp_path, PROGRAM), "cache", "explain", "0123abcd")
