"""What goes wrong around a build: two at once, clocks, read-only files, a full disk, compilers that die."""

from __future__ import annotations

import json
import os
import resource
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Mapping
from pathlib import Path

import pytest

from atoll.diagnostics import Diagnostic
from atoll.errors import AtollError
from atoll.session import Built, open_session
from unit.build.build_project import PACKAGE, SHADER
from unit.plugins.lane_project import program, write

FILES = {
    "atoll.toml": PACKAGE
    + '[build]\naccel = "vulkan1.2"\nlanes = ["spirv"]\n[targets.demo]\nkind = "executable"\n'
    'sources = ["src/*.cpp", { glob = "dev/*.comp", accel = "vulkan" }]\n',
    "src/main.cpp": '#include "word.h"\n#include <cstdio>\nint main() { std::puts(WORD); }\n',
    "src/word.h": '#define WORD "hello"\n',
    "dev/twice.comp": SHADER,
}
# The same without a shader and the launcher that it brings: where only a compiler of the host goes wrong.
PLAIN = {
    "atoll.toml": PACKAGE + '[targets.demo]\nkind = "executable"\nsources = ["src/*.cpp"]\n',
    "src/main.cpp": FILES["src/main.cpp"],
    "src/word.h": FILES["src/word.h"],
    "src/other.cpp": "int other() { return 1; }\n",
}


def build(root: Path, path: str = "/usr/bin:/bin", **options: object) -> Built:
    environment = {"PATH": path, "ATOLL_OFFLINE": "1"}
    return open_session(root, environment=environment, **options).build()  # type: ignore[arg-type]


def said(built: Built) -> str:
    found = built.output("demo")
    assert found is not None
    return subprocess.run([built.root / found.path], capture_output=True, text=True, check=True).stdout


def first(root: Path, path: str) -> Diagnostic:
    with pytest.raises(AtollError) as raised:
        build(root, path)
    return raised.value.diagnostics[0]


def test_two_builds_at_once_are_both_right(tmp_path: Path) -> None:
    write(tmp_path, FILES)
    found: list[Built | BaseException] = []

    def one() -> None:
        try:
            found.append(build(tmp_path))
        except BaseException as error:
            found.append(error)

    threads = [threading.Thread(target=one) for _ in range(2)]
    children = [
        subprocess.Popen([sys.executable, "-c", CHILD, str(tmp_path)], stderr=subprocess.PIPE, text=True)
        for _ in range(2)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for child in children:
        _, talk = child.communicate(timeout=120)
        assert child.returncode == 0, talk
    assert all(isinstance(item, Built) for item in found), found
    assert said(build(tmp_path)) == "hello\n"
    assert build(tmp_path).result.ran == ()


CHILD = """\
import pathlib, sys
from atoll.session import open_session
open_session(pathlib.Path(sys.argv[1]), environment={"PATH": "/usr/bin:/bin", "ATOLL_OFFLINE": "1"}).build()
"""


@pytest.mark.parametrize("moment", [0, 10**9, 2**31 + 10**6, 4 * 10**9])
def test_a_clock_that_was_wrong_hides_no_edit(tmp_path: Path, moment: int) -> None:
    write(tmp_path, PLAIN)
    assert said(build(tmp_path)) == "hello\n"
    for number in range(3):
        path = tmp_path / "src/word.h"
        path.write_text(f'#define WORD "{number}"\n')
        os.utime(path, (moment, moment))
        assert said(build(tmp_path)) == f"{number}\n"
    ran = build(tmp_path).result.ran
    assert set(ran) <= {"host demo src/main.cpp", "link bin/demo"}


def test_sources_may_be_read_only(tmp_path: Path) -> None:
    write(tmp_path, FILES)
    (tmp_path / ".atoll").mkdir()
    for path in [*tmp_path.rglob("*")]:
        if ".atoll" not in path.parts:
            path.chmod(0o555 if path.is_dir() else 0o444)
    try:
        assert said(build(tmp_path)) == "hello\n"
        assert build(tmp_path).result.ran == ()
    finally:
        for path in tmp_path.rglob("*"):
            path.chmod(0o755)


FULL = """\
import json, pathlib, resource, signal, sys
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
resource.setrlimit(resource.RLIMIT_FSIZE, (int(sys.argv[2]), resource.RLIM_INFINITY))
from atoll.errors import AtollError
from atoll.session import open_session
try:
    environment = {"PATH": "/usr/bin:/bin", "ATOLL_OFFLINE": "1"}
    open_session(pathlib.Path(sys.argv[1]), environment=environment).build()
except AtollError as error:
    print(json.dumps([[item.code, item.message] for item in error.diagnostics]))
"""


@pytest.mark.parametrize("limit", [0, 100, 3000, 300_000])
def test_a_full_disk_is_said_and_the_next_build_is_right(
    tmp_path: Path, limit: int, tell: Callable[[str], None]
) -> None:
    # The object of the large file is what only the last limit stops.
    big = '[data.big]\nfiles = ["big.bin"]\nstorage = "object"\n'
    main = PLAIN["src/main.cpp"].replace("{ std", "{ if (demo::big_bin().size != 400000) return 1; std")
    files = {"atoll.toml": PLAIN["atoll.toml"] + big, "src/main.cpp": '#include "demo_data.h"\n' + main}
    write(tmp_path, {**PLAIN, **files, "big.bin": "x" * 400_000})
    done = subprocess.run(
        [sys.executable, "-B", "-c", FULL, str(tmp_path), str(limit)],
        capture_output=True,
        text=True,
        check=False,
    )
    assert "Traceback" not in done.stderr, done.stderr[-2000:]
    found = json.loads(done.stdout)
    tell(f"at most {limit} bytes a file: {found[0][0]} {found[0][1]}")
    assert found[0][0] == "ATL0007" if limit < 300_000 else found[0][0].startswith("ATL060")
    assert resource.getrlimit(resource.RLIMIT_FSIZE)[0] == resource.RLIM_INFINITY
    assert said(build(tmp_path)) == "hello\n"


def wrapped(folder: Path, script: str) -> str:
    """Put a g++ on the PATH that answers questions as the real one and does something else on a compile."""
    text = f'case "$*" in *"src/main.cpp"*) {script} ;; esac\nexec /usr/bin/g++ "$@"'
    program(folder, "g++", text)
    program(folder, "gcc", 'exec /usr/bin/gcc "$@"')
    return f"{folder}:/usr/bin:/bin"


DEATHS: Mapping[str, tuple[str, str, str]] = {
    "crashes": ("kill -SEGV $$", "ATL0602", "`host demo src/main.cpp` was ended by signal 11 (SIGSEGV)"),
    "is killed": (
        "kill -KILL $$",
        "ATL0603",
        "`host demo src/main.cpp` was killed, most likely for want of memory",
    ),
    "fails": ("echo no >&2; exit 4", "ATL0601", "`host demo src/main.cpp` failed"),
    "writes nothing": ("exit 0", "ATL0605", "`host demo src/main.cpp` did not write all it should"),
    "vanishes": ("rm -f $0; exit 127", "ATL0601", "`host demo src/main.cpp` failed"),
}


@pytest.mark.parametrize("how", list(DEATHS))
def test_a_compiler_that_dies_gives_one_true_first_line(tmp_path: Path, how: str) -> None:
    script, code, message = DEATHS[how]
    root = write(tmp_path / "p", PLAIN)
    found = first(root, wrapped(tmp_path / "bin", script))
    assert (found.code, found.message) == (code, message)
    assert any(note.startswith("command: ") and "src/main.cpp" in note for note in found.notes)
    assert not list(root.glob(".atoll/build/*/host/demo/src/main.cpp.o"))
    assert said(build(root)) == "hello\n"


def test_a_compiler_that_hangs_is_stopped_with_all_below_it(tmp_path: Path) -> None:
    # A person or a CI ends the build before the limit does, and nothing is left.
    root = write(tmp_path / "p", PLAIN)
    mark = tmp_path / "at-work"
    path = wrapped(tmp_path / "bin", f"echo $$ > {mark}; sleep 600")
    child = subprocess.Popen([sys.executable, "-c", CHILD.replace('"/usr/bin:/bin"', repr(path)), str(root)])
    while not mark.exists() or not mark.read_text().strip():
        assert child.poll() is None
    child.terminate()
    child.wait(timeout=120)
    assert ended(int(mark.read_text()))
    assert said(build(root)) == "hello\n"


def test_a_compiler_that_hangs_is_stopped_at_its_limit(tmp_path: Path) -> None:
    mark = tmp_path / "at-work"
    path = wrapped(tmp_path / "bin", f"sleep 600 & echo $! > {mark}; wait")
    # On a busy machine the compiler may not have come so far, and other actions may pass the limit too.
    for limit in (4, 20, 100):
        text = f"{PLAIN['atoll.toml']}[lane.host]\ntime-limit = {limit}\n"
        root = write(tmp_path / "p", {**PLAIN, "atoll.toml": text})
        with pytest.raises(AtollError) as raised:
            build(root, path)
        messages = {item.message: item for item in raised.value.diagnostics}
        if mark.exists() and mark.read_text().strip():
            break
    found = messages["`host demo src/main.cpp` took too long"]
    assert found.code == "ATL0604"
    assert found.notes[0] == f"limit: {limit} s"
    assert found.hint == (
        "find out what it waits for, or give it longer: `time-limit` of `[lane.NAME]`, in seconds"
    )
    assert ended(int(mark.read_text()))
    assert not list(root.glob(".atoll/build/*/host/demo/src/main.cpp.o"))
    (root / "atoll.toml").write_text(PLAIN["atoll.toml"])
    assert said(build(root)) == "hello\n"


def ended(number: int) -> bool:
    """Tell whether a process ends within a minute."""
    end = time.monotonic() + 60
    while _state(number) != "Z" and time.monotonic() < end:
        time.sleep(0.01)
    return _state(number) == "Z"


def _state(number: int) -> str:
    try:
        return Path(f"/proc/{number}/stat").read_text().rpartition(")")[2].split()[0]
    except OSError:
        return "Z"


def test_the_resolution_of_a_build_without_accelerators_names_no_device_payload(
    tmp_path: Path, tell: Callable[[str], None]
) -> None:
    text = FILES["atoll.toml"].replace(
        '"vulkan1.2"\nlanes = ["spirv"]', '"vulkan1.2, cuda13.0+{sm_90}"\nlanes = ["spirv", "cuda"]'
    )
    write(tmp_path, {**FILES, "atoll.toml": text})
    built = build(tmp_path, no_accel=True)
    found = json.loads((tmp_path / built.folder / "resolution.json").read_text())
    payloads = [payload for lane in found["lanes"].values() for payload in lane["payloads"]]
    tell(f"lanes in it: {', '.join(found['lanes'])}; payloads: {len(payloads)}")
    assert payloads == []
    assert set(found["lanes"]) == {"host"}
    assert not (tmp_path / "atoll.lock").exists()
