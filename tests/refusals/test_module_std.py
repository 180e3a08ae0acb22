"""`import std`: refused with the reason where the C++ library in use brings no modules."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from refusals.modules_refused import MAIN, MANIFEST, refused

FILES = {"src/a.cppm": "export module a;\n", "src/main.cpp": f"import std;\n{MAIN}"}
# A clang that finds its libc++, and no list of modules beside it.
WITHOUT_LIST = """\
#!/bin/sh
for word; do
  case "$word" in -print-file-name=*) echo "${word#*=}"; exit 0 ;; esac
done
exec /usr/bin/clang++-19 "$@"
"""


def test_it_says_which_library_is_in_use(tmp_path: Path) -> None:
    (found,) = refused(tmp_path, FILES, MANIFEST)
    assert found.code == "ATL0522"
    assert found.message == "`src/main.cpp` imports the module `std` of the C++ library"
    assert found.notes[0] == "asked at: src/main.cpp:1"
    assert "g++" in found.notes[1]
    assert found.hint == "include the headers instead"


@pytest.mark.skipif(
    shutil.which("clang-scan-deps-19", path="/usr/bin") is None, reason="clang-scan-deps-19 is not installed"
)
def test_it_says_what_a_clang_lacks(tmp_path: Path) -> None:
    (found,) = refused(tmp_path / "plain", FILES, MANIFEST.replace('"g++"', '"clang++-19"'))
    assert found.notes[1] == "the C++ library in use, libstdc++, brings no modules"
    assert (
        found.hint == 'include the headers instead, or take libc++: `[build] cxxflags = ["-stdlib=libc++"]`'
    )

    compiler = tmp_path / "clang++-19"
    compiler.write_text(WITHOUT_LIST)
    compiler.chmod(0o755)
    manifest = MANIFEST.replace('"g++"', f'"{compiler}"')
    manifest = manifest.replace("[targets.", '[build]\ncxxflags = ["-stdlib=libc++"]\n[targets.', 1)
    (found,) = refused(tmp_path / "libc++", FILES, manifest)
    assert found.message == "`src/main.cpp` imports the module `std` of the C++ library"
    assert "libc++ of clang++-19 19." in found.notes[1]
    assert found.notes[1].endswith(" brings no modules: it finds no libc++.modules.json")
    assert found.hint == (
        "install them (Debian: apt-get install libc++-19-dev), or include the headers instead"
    )
