"""Where are a payload's files? The store: fetched once, checked, shared by every project of a user.

A payload lies in ``payloads/DIGEST``, where DIGEST is over the names and hashes of its distributions; a
file ``index/KEY.json`` says which digest a request had. A folder appears there by one rename, whole, and
only after every program of the payload has started. A file that differs from what was recorded makes the
store fetch the payload again.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import re
import shutil
import sysconfig
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path
from typing import Any

from atoll._util.files import write_atomic
from atoll._util.values import dataclass
from atoll.diagnostics import Diagnostic
from atoll.errors import StoreError
from atoll.store import fetch, start
from atoll.store.payload import Payload, PayloadRoot
from atoll.store.unpack import TIME, StoredFile, unpack

# Part of every path, so that a new layout never meets an old one.
LAYOUT = "v1"

Say = Callable[[str], None]


def _silent(line: str) -> None:
    pass


@dataclass(frozen=True, slots=True, kw_only=True)
class Stored:
    """One payload that the store holds.

    Attributes:
        name: The payload's name.
        requirements: What it was made from.
        digest: Its digest.
        distributions: The SHA-256 of each distribution file by its name.
        root: Its folder.
        size: Bytes of its files.
        files: How many there are.
        fetched / used: When, in seconds since 1970.
        started: What each of its programs said when it was started.
    """

    name: str
    requirements: tuple[str, ...]
    digest: str
    distributions: dict[str, str]
    root: Path
    size: int
    files: int
    fetched: float
    used: float
    started: dict[str, str]


class Store:
    """A folder of payloads.

    Args:
        folder: Where they lie.
        offline: Whether nothing may be fetched.
    """

    def __init__(self, folder: Path, *, offline: bool = False) -> None:
        self.folder = folder
        self.offline = offline
        self._base = folder / LAYOUT

    @classmethod
    def open(cls, environment: Mapping[str, str], *, offline: bool = False) -> Store:
        """Return the user's store: ``ATOLL_STORE``, else a folder in the user's cache.

        Args:
            environment: Where the settings stand; ``ATOLL_OFFLINE=1`` forbids fetching too.
            offline: Whether nothing may be fetched.
        """
        named = environment.get("ATOLL_STORE")
        offline = offline or environment.get("ATOLL_OFFLINE", "") not in {"", "0"}
        if named:
            return cls(Path(named).absolute(), offline=offline)
        from platformdirs import user_cache_path

        return cls(user_cache_path("atoll") / "store", offline=offline)

    @classmethod
    def default(cls) -> Store:
        """Return the store that this process's environment names."""
        return cls.open(os.environ)

    def ensure(
        self, payload: Payload, *, offline: bool | None = None, verify: bool = False, say: Say | None = None
    ) -> PayloadRoot:
        """Return a payload's files; fetch them where they are not there.

        Args:
            payload: What is needed.
            offline: Whether nothing may be fetched; as the store was opened where None.
            verify: Hash every file, instead of comparing sizes and times.
            say: Called with lines of progress.

        Raises:
            StoreError: Where it is not there and cannot be fetched, verified or started.
        """
        offline = self.offline if offline is None else offline
        say = say or _silent
        key = _key(payload)
        with self._locked(key):
            known = self._index(key)
            fault = "it was never fetched" if known is None else self._fault(known, verify)
            if known is not None and fault is None:
                self._touch(key, known)
                return _root(payload, known, self._base, f"in the store, fetched {_day(known['fetched'])}")
            if offline:
                raise _offline(payload, self.folder, fault or "")
            if known is not None:
                say(f"the stored payload {payload.name} is damaged ({fault}); it is fetched again")
            say(f"fetching {payload.name}: {' '.join(payload.requirements)}")
            fresh = self._fetch(payload, key, say)
            return _root(payload, fresh, self._base, "fetched now, by pip with its own index settings")

    def take(self, file: Path, name: str, *, say: Say | None = None) -> PayloadRoot:
        """Return the unpacked files of a distribution that lies on this machine.

        Raises:
            StoreError: Where it cannot be unpacked or the store cannot be written.
        """
        sha = _sha256(file)
        payload = Payload(name=f"file-{name}", requirements=(f"{file.name} {sha}",))
        key = _key(payload)
        with self._locked(key):
            known = self._index(key)
            if known is None or self._fault(known, False) is not None:
                known = self._kept(payload, key, {file.name: sha}, file.parent, say or _silent)
            self._touch(key, known)
            return _root(payload, known, self._base, f"unpacked from {file.name}")

    def newest(self, name: str, asked: str, *, say: Say | None = None) -> tuple[str, bool]:
        """Return the version that the user's index has for a requirement, and whether only as sources.

        Raises:
            StoreError: Where nothing may be fetched, or the index has nothing that serves.
        """
        payload = Payload(name=f"package-{name}", requirements=(asked,))
        if self.offline:
            raise _offline(payload, self.folder, f"`atoll.lock` pins no version of {name}")
        work = self._base / "work"
        work.mkdir(parents=True, exist_ok=True)
        folder = Path(tempfile.mkdtemp(prefix="newest-", dir=work))
        try:
            return fetch.newest(payload, folder, say or _silent)
        finally:
            self._discard(folder)

    def names(self) -> frozenset[str]:
        """Return the names of the payloads that are there."""
        return frozenset(stored.name for stored in self.stored())

    def stored(self) -> tuple[Stored, ...]:
        """Return what the store holds, by name."""
        found = []
        for path in sorted((self._base / "index").glob("*.json")):
            entry = self._index(path.stem)
            if entry is not None and (self._base / "payloads" / entry["digest"]).is_dir():
                found.append(_stored(entry, self._base))
        return tuple(sorted(found, key=lambda item: (item.name, item.requirements)))

    def prune(self, *, unused_for: float) -> tuple[Stored, ...]:
        """Remove the payloads that nothing used for so many seconds; return them."""
        removed = []
        for path in sorted((self._base / "index").glob("*.json")):
            with self._locked(path.stem):
                entry = self._index(path.stem)
                if entry is None or time.time() - entry["used"] < unused_for:
                    continue
                removed.append(_stored(entry, self._base))
                path.unlink(missing_ok=True)
                if not self._shared(entry["digest"]):
                    self._discard(self._base / "payloads" / entry["digest"])
        return tuple(removed)

    # inside

    @contextmanager
    def _locked(self, key: str) -> Iterator[None]:
        from filelock import FileLock

        folder = self._base / "locks"
        try:
            folder.mkdir(parents=True, exist_ok=True)
            lock = FileLock(folder / f"{key}.lock")
            lock.acquire()
        except OSError as error:
            raise StoreError(
                Diagnostic(
                    code="ATL0587",
                    message="the store cannot be written",
                    notes=(f"folder: {self.folder}", f"reason: {error.strerror or error}"),
                    hint="name another folder with `ATOLL_STORE`",
                )
            ) from error
        try:
            yield
        finally:
            lock.release()

    def _index(self, key: str) -> dict[str, Any] | None:
        """Return an entry of the index, or None where there is none that can be used."""
        try:
            entry = json.loads((self._base / "index" / f"{key}.json").read_text(encoding="utf-8"))
        except (OSError, ValueError, RecursionError):
            return None
        wanted = {"name": str, "digest": str, "fetched": float, "used": float, "files": list}
        good = isinstance(entry, dict) and all(isinstance(entry.get(n), t) for n, t in wanted.items())
        good = good and re.fullmatch(r"[0-9a-f]{64}", entry["digest"]) is not None
        return entry if good else None

    def _fault(self, entry: dict[str, Any], verify: bool) -> str | None:
        """Return what is wrong with a stored payload, or None."""
        root = self._base / "payloads" / entry["digest"]
        for path, size, sha256, executable in entry["files"]:
            file = root / path
            try:
                found = file.lstat()
            except OSError:
                return f"{path} is missing"
            if found.st_size != size or found.st_mtime_ns != TIME * 10**9:
                return f"{path} was changed"
            if bool(found.st_mode & 0o100) != executable:
                return f"{path} has another mode"
            if verify and _sha256(file) != sha256:
                return f"{path} has other bytes"
        return None

    def _touch(self, key: str, entry: dict[str, Any]) -> None:
        # Once an hour is enough to know what is in use; a no-op build writes nothing.
        if time.time() - entry["used"] > 3600:
            self._write_index(key, entry | {"used": time.time()})

    def _write_index(self, key: str, entry: dict[str, Any]) -> None:
        write_atomic(self._base / "index" / f"{key}.json", json.dumps(entry) + "\n")

    def _fetch(self, payload: Payload, key: str, say: Say) -> dict[str, Any]:
        work = self._base / "work"
        work.mkdir(parents=True, exist_ok=True)
        # The lock is held, so whatever an earlier, killed fetch of this payload left is dead.
        for dead in work.glob(f"{key}-*"):
            self._discard(dead)
        folder = Path(tempfile.mkdtemp(prefix=f"{key}-", dir=work))
        try:
            return self._through(payload, key, folder, say)
        finally:
            self._discard(folder)

    def _kept(
        self, payload: Payload, key: str, distributions: dict[str, str], where: Path, say: Say
    ) -> dict[str, Any]:
        """Unpack files that are already here."""
        work = self._base / "work"
        work.mkdir(parents=True, exist_ok=True)
        folder = Path(tempfile.mkdtemp(prefix=f"{key}-", dir=work))
        try:
            return self._unpacked(payload, key, folder, distributions, where, say)
        finally:
            self._discard(folder)

    def _through(self, payload: Payload, key: str, folder: Path, say: Say) -> dict[str, Any]:
        distributions = fetch.fetch(payload, folder / "download", say)
        return self._unpacked(payload, key, folder, distributions, folder / "download", say)

    def _unpacked(
        self, payload: Payload, key: str, folder: Path, distributions: dict[str, str], where: Path, say: Say
    ) -> dict[str, Any]:
        root = folder / "root"
        root.mkdir()
        files: list[StoredFile] = []
        for name in distributions:
            say(f"unpacking {name}")
            files += unpack(where / name, root)
        started = start.start_all(payload, root)
        digest = _digest(distributions)
        place = self._base / "payloads" / digest
        place.parent.mkdir(parents=True, exist_ok=True)
        entry: dict[str, Any] = {
            "name": payload.name,
            "requirements": list(payload.requirements),
            "digest": digest,
            "distributions": distributions,
            "fetched": time.time(),
            "used": time.time(),
            "started": started,
            "files": [[file.path, file.size, file.sha256, file.executable] for file in dict.fromkeys(files)],
        }
        # Another request may have brought the same bytes; whoever uses them keeps them.
        if place.exists() and self._fault(entry, verify=True) is not None:
            self._discard(place)
        if not place.exists():
            with contextlib.suppress(FileExistsError):
                root.rename(place)
        self._write_index(key, entry)
        return entry

    def _shared(self, digest: str) -> bool:
        entries = (self._index(path.stem) for path in (self._base / "index").glob("*.json"))
        return any(entry is not None and entry["digest"] == digest for entry in entries)

    def _discard(self, folder: Path) -> None:
        """Remove a folder; first out of its place, so that nobody sees half of it."""
        if folder.parent.name == "payloads":
            gone = self._base / "work" / f"gone-{os.getpid()}-{time.monotonic_ns()}"
            gone.parent.mkdir(parents=True, exist_ok=True)
            with contextlib.suppress(OSError):
                folder.rename(gone)
                folder = gone
        shutil.rmtree(folder, ignore_errors=True)


def _key(payload: Payload) -> str:
    """Return the name of a request in the index: a payload as it would be fetched by this Python."""
    asked = asdict(payload) | {"platform": sysconfig.get_platform(), "layout": LAYOUT}
    # What is looked at when it is there decides nothing of what is fetched.
    for name in ("programs", "probe_args", "libraries", "search"):
        del asked[name]
    text = json.dumps(asked, sort_keys=True)
    return (
        f"{re.sub(r'[^A-Za-z0-9.]', '_', payload.name)[:40]}-{hashlib.sha256(text.encode()).hexdigest()[:16]}"
    )


def _digest(distributions: dict[str, str]) -> str:
    text = "".join(f"{name} {sha}\n" for name, sha in sorted(distributions.items()))
    return hashlib.sha256(text.encode()).hexdigest()


def _sha256(path: Path) -> str:
    with path.open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()


def _root(payload: Payload, entry: dict[str, Any], base: Path, why: str) -> PayloadRoot:
    return PayloadRoot(
        payload=payload,
        root=base / "payloads" / entry["digest"],
        digest=entry["digest"],
        why=why,
        distributions=dict(entry.get("distributions", {})),
    )


def _stored(entry: dict[str, Any], base: Path) -> Stored:
    return Stored(
        name=entry["name"],
        requirements=tuple(entry.get("requirements", ())),
        digest=entry["digest"],
        distributions=dict(entry.get("distributions", {})),
        root=base / "payloads" / entry["digest"],
        size=sum(int(file[1]) for file in entry["files"]),
        files=len(entry["files"]),
        fetched=entry["fetched"],
        used=entry["used"],
        started=dict(entry.get("started", {})),
    )


def _day(moment: float) -> str:
    return time.strftime("%Y-%m-%d", time.gmtime(moment))


def _offline(payload: Payload, folder: Path, fault: str) -> StoreError:
    return StoreError(
        Diagnostic(
            code="ATL0580",
            message=f"the payload `{payload.name}` is not in the store and nothing may be fetched",
            notes=(
                f"wanted: {' '.join(payload.requirements)}",
                f"store: {folder}",
                f"in the store: no, {fault}",
            ),
            hint="build once without `--offline` and `ATOLL_OFFLINE`, or run `atoll toolchain add` where "
            "packages can be fetched",
        )
    )
