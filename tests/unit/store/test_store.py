from __future__ import annotations

import dataclasses
import hashlib
import json
import os
import signal
import stat
import subprocess
import sys
import time
from pathlib import Path

import pytest

from atoll.errors import StoreError
from atoll.store import Payload, Store
from unit.store.wheels import FILES, TOYKIT, only, sdist, wheel


@pytest.fixture
def links(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = tmp_path / "links"
    wheel(folder)
    only(folder, monkeypatch)
    return folder


@pytest.fixture
def store(tmp_path: Path) -> Store:
    return Store(tmp_path / "store")


def test_a_payload_is_fetched_once_and_lies_as_in_site_packages(store: Store, links: Path) -> None:
    first = store.ensure(TOYKIT)
    assert (first.root / "toykit/include/toy.h").read_text() == "#define TOY 1\n"
    assert first.why.startswith("fetched now")
    for file in links.iterdir():
        file.unlink()
    again = store.ensure(TOYKIT)
    assert (again.root, again.digest) == (first.root, first.digest)
    assert again.why.startswith("in the store, fetched 20")


def test_files_are_read_only_and_executable_as_the_wheel_says(store: Store, links: Path) -> None:
    root = store.ensure(TOYKIT).root
    modes = {path: stat.S_IMODE((root / path).stat().st_mode) for path in FILES}
    assert modes == {"toykit/bin/tool": 0o555, "toykit/include/toy.h": 0o444}
    assert (
        subprocess.run([root / "toykit/bin/tool"], capture_output=True, check=True).stdout == b"toolkit 1.0\n"
    )


def test_what_was_fetched_and_said_is_recorded(store: Store, links: Path) -> None:
    root = store.ensure(TOYKIT)
    (found,) = store.stored()
    (file,) = links.iterdir()
    assert found.distributions == {file.name: hashlib.sha256(file.read_bytes()).hexdigest()}
    assert found.started == {"toykit/bin/tool": "toolkit 1.0"}
    assert (found.name, found.root, found.digest) == ("toykit-1.0", root.root, root.digest)
    assert store.names() == {"toykit-1.0"}


def test_several_distributions_share_one_root(store: Store, links: Path) -> None:
    shared = {"toykit/include/toy.h": ("#define TOY 1\n", 0o644), "toykit/lib/x": ("x", 0o644)}
    wheel(links, "toymore", "3", shared)
    payload = dataclasses.replace(TOYKIT, requirements=("toykit==1.0", "toymore==3"))
    root = store.ensure(payload).root
    assert (root / "toykit/lib/x").exists()
    assert (root / "toykit/bin/tool").exists()


def test_a_source_distribution_is_unpacked_and_not_built(store: Store, links: Path) -> None:
    sdist(links)
    payload = Payload(name="toysrc", requirements=("toysrc==2.0",), sdist=True)
    root = store.ensure(payload).root
    assert (root / "toysrc-2.0/vendor/shader.txt").read_text() == "text\n"


def test_pinned_bytes_are_accepted(store: Store, links: Path) -> None:
    (file,) = links.iterdir()
    pins = ((file.name, hashlib.sha256(file.read_bytes()).hexdigest()),)
    assert store.ensure(dataclasses.replace(TOYKIT, hashes=pins)).root.is_dir()


@pytest.mark.parametrize("damage", ["bytes", "missing", "mode"])
def test_a_changed_file_is_seen_and_fetched_again(store: Store, links: Path, damage: str) -> None:
    root = store.ensure(TOYKIT).root
    tool = root / "toykit/bin/tool"
    if damage == "missing":
        tool.unlink()
    elif damage == "mode":
        tool.chmod(0o444)
    else:
        tool.chmod(0o755)
        tool.write_text("#!/bin/sh\necho bad\n")
    said: list[str] = []
    again = store.ensure(TOYKIT, say=said.append)
    assert again.root == root
    assert tool.read_text().endswith("toolkit 1.0\n")
    assert os.access(tool, os.X_OK)
    assert "toykit/bin/tool" in said[0]


def test_a_change_that_keeps_size_and_time_is_seen_when_verified(store: Store, links: Path) -> None:
    header = store.ensure(TOYKIT).root / "toykit/include/toy.h"
    before = header.stat()
    header.chmod(0o644)
    header.write_text("#define TOY 2\n")
    os.utime(header, ns=(before.st_atime_ns, before.st_mtime_ns))
    header.chmod(0o444)
    assert store.ensure(TOYKIT).why.startswith("in the store")
    assert store.ensure(TOYKIT, verify=True).why.startswith("fetched now")
    assert header.read_text() == "#define TOY 1\n"


def test_a_damaged_index_means_fetching_again(store: Store, links: Path) -> None:
    store.ensure(TOYKIT)
    (index,) = (store.folder / "v1/index").iterdir()
    for text in ("", "[" * 100_000, "{}", json.dumps({"digest": "../../.."})):
        index.write_text(text)
        assert store.ensure(TOYKIT).why.startswith("fetched now")


def test_offline_works_from_the_store(store: Store, links: Path) -> None:
    store.ensure(TOYKIT)
    assert Store(store.folder, offline=True).ensure(TOYKIT).root.is_dir()


def test_prune_removes_what_nothing_used(store: Store, links: Path) -> None:
    root = store.ensure(TOYKIT).root
    assert store.prune(unused_for=3600) == ()
    assert [item.name for item in store.prune(unused_for=0)] == ["toykit-1.0"]
    assert not root.exists()
    assert store.stored() == ()


def test_two_requests_for_the_same_bytes_share_them(store: Store, links: Path) -> None:
    first = store.ensure(TOYKIT)
    inode = (first.root / "toykit/bin/tool").stat().st_ino
    second = store.ensure(dataclasses.replace(TOYKIT, name="other"))
    assert second.root == first.root
    assert (second.root / "toykit/bin/tool").stat().st_ino == inode
    store.prune(unused_for=0)
    assert not first.root.exists()


def test_nothing_is_written_into_the_environment(store: Store, links: Path) -> None:
    store.ensure(TOYKIT)
    code = "import importlib.util, sys; sys.exit(importlib.util.find_spec('toykit') is not None)"
    assert subprocess.run([sys.executable, "-c", code]).returncode == 0


FETCH = """
import sys, time
sys.path.insert(0, {tests!r})
from pathlib import Path
from unit.store.wheels import TOYKIT
from atoll.store import Store
print(Store(Path({store!r})).ensure(TOYKIT).why)
"""


def fetching(store: Store) -> subprocess.Popen[str]:
    code = FETCH.format(tests=str(Path(__file__).resolve().parents[2]), store=str(store.folder))
    return subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, text=True)


def test_two_processes_fetch_once(store: Store, links: Path) -> None:
    processes = [fetching(store) for _ in range(3)]
    said = sorted(process.communicate(timeout=120)[0].split()[0] for process in processes)
    assert said == ["fetched", "in", "in"]
    assert [process.returncode for process in processes] == [0, 0, 0]


def test_a_killed_fetch_leaves_nothing_that_counts(store: Store, links: Path) -> None:
    slow = {"toykit/bin/tool": ("#!/bin/sh\nexec sleep 3\n", 0o755)}
    wheel(links, files=slow)
    process = fetching(store)
    work = store.folder / "v1/work"
    end = time.monotonic() + 60
    while not list(work.glob("*/root/toykit/bin/tool")):
        assert time.monotonic() < end
        time.sleep(0.01)
    process.send_signal(signal.SIGKILL)
    process.communicate()
    assert store.stored() == ()
    wheel(links)
    assert store.ensure(TOYKIT).why.startswith("fetched now")
    assert list(work.iterdir()) == []


def test_the_store_is_where_the_environment_says(tmp_path: Path) -> None:
    named = Store.open({"ATOLL_STORE": str(tmp_path / "s"), "ATOLL_OFFLINE": "1"})
    assert (named.folder, named.offline) == (tmp_path / "s", True)
    assert not Store.open({"ATOLL_OFFLINE": "0"}).offline
    assert Store.open({}, offline=True).offline


def test_a_fault_in_one_payload_leaves_the_others(store: Store, links: Path) -> None:
    store.ensure(TOYKIT)
    with pytest.raises(StoreError):
        store.ensure(Payload(name="none", requirements=("nothing-of-that-name==1",)))
    assert store.names() == {"toykit-1.0"}
