"""The store refuses by name: offline, pip's own failure, other bytes, programs that do not start, no room."""

from __future__ import annotations

import dataclasses
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
