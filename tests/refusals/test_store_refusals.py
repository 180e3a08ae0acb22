"""The store refuses by name: offline, pip's own failure, other bytes, programs that do not start, no room."""

from __future__ import annotations

import dataclasses
import subprocess
from pathlib import Path

import pytest

from atoll.diagnostics import Diagnostic
from atoll.errors import StoreError
from atoll.store import Payload, Store
from unit.store.wheels import TOYKIT, only, wheel


@pytest.fixture
def links(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = tmp_path / "links"
    wheel(folder)
    only(folder, monkeypatch)
    return folder


def refused(folder: Path, payload: Payload, offline: bool = False) -> tuple[Diagnostic, ...]:
    store = Store(folder / "store")
    with pytest.raises(StoreError) as caught:
        store.ensure(payload, offline=offline)
    assert store.stored() == ()
    assert list((store.folder / "v1").glob("work/*")) == []
    return caught.value.diagnostics


def test_offline_says_what_to_do(tmp_path: Path, links: Path) -> None:
    (found,) = refused(tmp_path, TOYKIT, offline=True)
    assert found.code == "ATL0580"
    assert "wanted: toykit==1.0" in found.notes
    assert "in the store: no, it was never fetched" in found.notes
    assert found.hint is not None
    assert "ATOLL_OFFLINE" in found.hint


def test_offline_with_a_damaged_payload_says_what_is_wrong(tmp_path: Path, links: Path) -> None:
    store = Store(tmp_path / "s")
    (store.ensure(TOYKIT).root / "toykit/include/toy.h").unlink()
    with pytest.raises(StoreError, match=r"toykit/include/toy\.h is missing"):
        store.ensure(TOYKIT, offline=True)


def test_what_pip_says_is_shown(tmp_path: Path, links: Path) -> None:
    (found,) = refused(tmp_path, dataclasses.replace(TOYKIT, requirements=("toykit==9.9",)))
    assert found.code == "ATL0581"
    assert any("No matching distribution found for toykit==9.9" in note for note in found.notes)


def test_other_bytes_than_the_pinned_ones_are_refused_with_both(tmp_path: Path, links: Path) -> None:
    (file,) = links.iterdir()
    (found,) = refused(tmp_path, dataclasses.replace(TOYKIT, hashes=((file.name, "0" * 64),)))
    assert found.code == "ATL0582"
    assert f"pinned SHA-256: {'0' * 64}" in found.notes
    (found,) = refused(tmp_path, dataclasses.replace(TOYKIT, hashes=(("other.whl", "0" * 64),)))
    assert "pinned SHA-256: none for a file of this name" in found.notes


@pytest.mark.parametrize(
    ("text", "mode", "reason"),
    [
        ("#!/bin/sh\nexit 3\n", 0o755, "exit code 3"),
        ("#!/bin/sh\nkill -SEGV $$\n", 0o755, "signal 11"),
        ("#!/no/such/shell\n", 0o755, "No such file"),
        ("#!/bin/sh\n", 0o644, "Permission denied"),
        (
            "#!/bin/sh\necho 'x: error while loading shared libraries: libtoy.so.1: no'>&2; exit 127\n",
            0o755,
            "the library libtoy.so.1 is missing",
        ),
    ],
)
def test_a_program_that_does_not_start_is_refused(
    tmp_path: Path, links: Path, text: str, mode: int, reason: str
) -> None:
    wheel(links, files={"toykit/bin/tool": (text, mode)})
    (found,) = refused(tmp_path, TOYKIT)
    assert (found.code, found.message) == (
        "ATL0585",
        "`toykit/bin/tool` of the payload `toykit-1.0` does not start",
    )
    assert reason in found.notes[0]


def test_a_program_that_is_not_there_is_refused(tmp_path: Path, links: Path) -> None:
    found = refused(tmp_path, dataclasses.replace(TOYKIT, programs=("a", "b")))
    assert [item.notes[0] for item in found] == ["reason: it is not in the payload"] * 2


def library(folder: Path, name: str, *needs: str) -> dict[str, tuple[str | bytes, int]]:
    """Make a library of that name; it needs others, which are made only to be linked."""
    folder.mkdir(exist_ok=True)
    for need in needs:
        argv = ["gcc", "-shared", "-x", "c", "/dev/null", f"-Wl,-soname,{need}", "-o", need]
        subprocess.run(argv, cwd=folder, check=True)
    argv = ["gcc", "-shared", "-x", "c", "/dev/null", "-x", "none", "-Wl,--no-as-needed", *needs, "-o", name]
    subprocess.run(argv, cwd=folder, check=True)
    return {f"toykit/lib/{each}": ((folder / each).read_bytes(), 0o644) for each in (name, *needs)}


def test_a_library_whose_closure_is_not_whole_is_refused(tmp_path: Path, links: Path) -> None:
    files = library(tmp_path / "made", "libtoy.so", "libneeded.so.1")
    payload = dataclasses.replace(TOYKIT, programs=(), libraries=("toykit/lib/libtoy.so",))
    wheel(links, files=files)
    (found,) = refused(tmp_path, payload)
    assert (found.code, found.message) == (
        "ATL0585",
        "`toykit/lib/libtoy.so` of the payload `toykit-1.0` does not load",
    )
    assert found.notes[:2] == (
        "reason: the library libneeded.so.1 is missing",
        "loaded by: a process of its own",
    )
    # Where the payload says in which folder they find each other, it is whole.
    whole = dataclasses.replace(payload, search=("toykit/lib",))
    assert Store(tmp_path / "store").ensure(whole).root.is_dir()
    assert refused(tmp_path / "other", dataclasses.replace(payload, libraries=("a.so",)))[0].notes[0] == (
        "reason: it is not in the payload"
    )


def test_what_is_looked_at_decides_nothing_of_what_is_fetched(tmp_path: Path, links: Path) -> None:
    store = Store(tmp_path / "store")
    first = store.ensure(TOYKIT)
    again = store.ensure(dataclasses.replace(TOYKIT, libraries=("x.so",), search=("y",)))
    assert (again.root, again.why[:12]) == (first.root, "in the store")


def test_a_program_does_not_start_thanks_to_the_callers_environment(
    tmp_path: Path, links: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TOY_HOME", "/x")
    wheel(links, files={"toykit/bin/tool": ('#!/bin/sh\ntest -n "$TOY_HOME"\n', 0o755)})
    assert refused(tmp_path, TOYKIT)[0].code == "ATL0585"


def test_a_store_that_cannot_be_written_is_refused(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(StoreError, match="ATL0587"):
        Store(tmp_path / "file").ensure(TOYKIT)
