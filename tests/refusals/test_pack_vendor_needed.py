"""A module whose import needs a vendor's library is refused; a library opened on demand may need it."""

from __future__ import annotations

import subprocess
from pathlib import Path

from atoll.packaging import pack_tree
from refusals.packaging_refused import ABOUT, not_packed
from unit.packaging.binaries import put


def build(folder: Path, name: str, symbol: str) -> None:
    """Link a library against one called like a vendor's driver."""
    (folder / "demo").mkdir(parents=True, exist_ok=True)
    source = put(
        folder.parent / "a.c", f"int cuInit(int); int {symbol}(void) {{ return cuInit(0); }}\n".encode()
    )
    stub = put(folder.parent / "stub.c", b"int cuInit(int x) { return x; }\n")
    driver = folder.parent / "libcuda.so.1"
    gcc = ["/usr/bin/gcc", "-shared", "-fPIC"]
    subprocess.run([*gcc, stub, "-Wl,-soname,libcuda.so.1", "-o", driver], check=True)
    subprocess.run([*gcc, source, driver, "-o", folder / "demo" / name], check=True)


def test_an_extension_module_must_not_need_it(tmp_path: Path) -> None:
    build(tmp_path / "tree", "native.abi3.so", "PyInit_native")
    found = not_packed(tmp_path / "tree")
    assert (found.code, found.notes[0]) == ("ATL0462", "needed by the loader: libcuda.so.1")


def test_a_library_that_is_opened_on_demand_may_need_it(tmp_path: Path) -> None:
    build(tmp_path / "tree", "_kernels_cuda.so", "atoll_root_v1")
    assert pack_tree(tmp_path / "tree", ABOUT, tmp_path / "dist").path.exists()
