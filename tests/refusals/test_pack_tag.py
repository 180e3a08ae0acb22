"""A platform tag that promises more machines than the objects run on is refused."""

from __future__ import annotations

import subprocess
from pathlib import Path

from refusals.packaging_refused import not_packed
from unit.packaging.binaries import put


def test_a_lower_tag_is_refused_naming_symbol_and_object(tmp_path: Path) -> None:
    source = put(tmp_path / "a.c", b"#include <math.h>\ndouble f(double x) { return pow(x, x); }\n")
    (tmp_path / "tree/demo").mkdir(parents=True)
    library = tmp_path / "tree/demo/native.so"
    subprocess.run(["/usr/bin/gcc", "-shared", "-fPIC", source, "-o", library, "-lm"], check=True)
    found = not_packed(tmp_path / "tree", platform="manylinux_2_5_x86_64")
    assert found.code == "ATL0463"
    assert "demo/native.so needs GLIBC_2.29" in found.notes
