"""What the store is refused with, word for word (`texts/`)."""

from __future__ import annotations

import dataclasses
import hashlib
import re
import zipfile
from pathlib import Path

import pytest

from atoll.errors import StoreError
from atoll.store import Payload, Store
from refusals.exact import check, same
from unit.store.wheels import TOYKIT, only, wheel


@pytest.fixture
def links(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = tmp_path / "links"
    wheel(folder)
    only(folder, monkeypatch)
    return folder


def wanted(name: str, root: Path, payload: Payload, *, offline: bool = False) -> None:
    check(name, root, lambda _: Store(root / "store").ensure(payload, offline=offline))


def test_offline(tmp_path: Path, links: Path) -> None:
    wanted("ATL0580_offline", tmp_path, TOYKIT, offline=True)


def test_what_pip_says(tmp_path: Path, links: Path) -> None:
    with pytest.raises(StoreError) as caught:
        Store(tmp_path / "store").ensure(dataclasses.replace(TOYKIT, requirements=("toykit==9.9",)))
    # What pip says is pip's own.
    said = re.sub(r"(?:  pip: .*\n)+", "  pip: …\n", str(caught.value))
    same("ATL0581_pip", said, tmp_path)


def test_other_bytes(tmp_path: Path, links: Path) -> None:
    (file,) = links.iterdir()
    payload = dataclasses.replace(TOYKIT, hashes=((file.name, "0" * 64),))
    masks = {hashlib.sha256(file.read_bytes()).hexdigest(): "DIGEST"}
    check("ATL0582_other_bytes", tmp_path, lambda root: Store(root / "store").ensure(payload), masks)


def test_a_member_that_leaves_its_folder(tmp_path: Path, links: Path) -> None:
    (file,) = links.iterdir()
    with zipfile.ZipFile(file, "a") as opened:
        opened.writestr("../outside", "x")
    wanted("ATL0584_leaves", tmp_path, TOYKIT)


def test_a_program_that_does_not_start(tmp_path: Path, links: Path) -> None:
    said = "x: error while loading shared libraries: libtoy.so.1: cannot open"
    wheel(links, files={"toykit/bin/tool": (f"#!/bin/sh\necho '{said}' >&2; exit 127\n", 0o755)})
    wanted("ATL0585_does_not_start", tmp_path, TOYKIT)


def test_a_store_that_cannot_be_written(tmp_path: Path, links: Path) -> None:
    (tmp_path / "store").write_text("")
    wanted("ATL0587_not_written", tmp_path, TOYKIT)
