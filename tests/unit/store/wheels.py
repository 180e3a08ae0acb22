"""Small wheels and source distributions, made here, and a pip that sees nothing else."""

from __future__ import annotations

import base64
import hashlib
import io
import tarfile
import zipfile
from collections.abc import Mapping
from pathlib import Path

import pytest

from atoll.store import Payload

TOOL = "#!/bin/sh\necho toolkit 1.0\n"
FILES: Mapping[str, tuple[str, int]] = {
    "toykit/bin/tool": (TOOL, 0o755),
    "toykit/include/toy.h": ("#define TOY 1\n", 0o644),
}


def wheel(
    folder: Path,
    name: str = "toykit",
    version: str = "1.0",
    files: Mapping[str, tuple[str | bytes, int]] | Mapping[str, tuple[str, int]] = FILES,
    more: Mapping[str, bytes] | None = None,
) -> Path:
    """Write a wheel; return its path."""
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"{name}-{version}-py3-none-any.whl"
    info = f"{name}-{version}.dist-info"
    meta = {
        f"{info}/METADATA": f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n",
        f"{info}/WHEEL": "Wheel-Version: 1.0\nGenerator: test\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
    }
    whole = {**files, **{member: (text, 0o644) for member, text in meta.items()}}
    rows = []
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as opened:
        for member, (text, mode) in whole.items():
            entry = zipfile.ZipInfo(member, (2020, 1, 1, 0, 0, 0))
            entry.external_attr = (0o100000 | mode) << 16
            data = text.encode() if isinstance(text, str) else text
            opened.writestr(entry, data)
            digest = base64.urlsafe_b64encode(hashlib.sha256(data).digest()).rstrip(b"=").decode()
            rows.append(f"{member},sha256={digest},{len(data)}")
        for member, data in (more or {}).items():
            opened.writestr(member, data)
        opened.writestr(f"{info}/RECORD", "\n".join([*rows, f"{info}/RECORD,,"]) + "\n")
    return path


def sdist(folder: Path, name: str = "toysrc", version: str = "2.0") -> Path:
    """Write a source distribution whose build back end lies inside it; return its path."""
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"{name}-{version}.tar.gz"
    base = f"{name}-{version}"
    backend = (
        "import os\n"
        "def get_requires_for_build_wheel(config=None): return []\n"
        "def prepare_metadata_for_build_wheel(folder, config=None):\n"
        f"    os.mkdir(os.path.join(folder, '{base}.dist-info'))\n"
        f"    with open(os.path.join(folder, '{base}.dist-info', 'METADATA'), 'w') as f:\n"
        f"        f.write('Metadata-Version: 2.1\\nName: {name}\\nVersion: {version}\\n')\n"
        f"    return '{base}.dist-info'\n"
        "def build_wheel(*a, **k): raise SystemExit('never built')\n"
    )
    project = '[build-system]\nrequires = []\nbuild-backend = "backend"\nbackend-path = ["."]\n'
    members = {"pyproject.toml": project, "backend.py": backend, "vendor/shader.txt": "text\n"}
    members["PKG-INFO"] = f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n"
    with tarfile.open(path, "w:gz") as tar:
        for member, text in members.items():
            entry = tarfile.TarInfo(f"{base}/{member}")
            entry.size = len(text.encode())
            tar.addfile(entry, io.BytesIO(text.encode()))
    return path


def only(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Let pip see the files of one folder and no index."""
    monkeypatch.setenv("PIP_CONFIG_FILE", "/dev/null")
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.setenv("PIP_FIND_LINKS", str(folder))
    monkeypatch.delenv("PIP_CONSTRAINT", raising=False)


TOYKIT = Payload(name="toykit-1.0", requirements=("toykit==1.0",), programs=("toykit/bin/tool",))
