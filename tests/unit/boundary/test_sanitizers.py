"""The generated C under the address and undefined-behaviour sanitizers: right calls, wrong calls, threads."""

from __future__ import annotations

import subprocess
import sys
import sysconfig
from pathlib import Path

import pytest

from atoll.runtime.sources import include_folder
from unit.boundary.kit import ENVIRONMENT, SAXPY, STRICT, Built, compiled, interface, scanned
from unit.boundary.test_device_space import FAKE
from unit.boundary.test_device_space import ISLAND as PLACED
from unit.boundary.test_python_module import SAXPY_RUN, WIDE
from unit.boundary.test_structs import ISLAND as STRUCTS

CALLS = """
import array, threading
from app import kernels as k
F = lambda *v: array.array('f', v)
def work():
    for _ in range(50):
        k.saxpy(2.0, F(1, 2), F(3, 4), F(0, 0))
        k.ramp(9), k.three(array.array('h', [1, 2, 3])), k.devices(), k.device_name()
        for wrong in ((), (1,) * 9, ('2', F(1), F(1), F(1)), (2, [1], F(1), F(1)), (2, F(1), F(1, 2), F(1)),
                      (2, memoryview(F(1, 2, 3))[::2], F(1), F(1)), (2, b'1234', F(1), F(1))):
            try: k.saxpy(*wrong)
            except (TypeError, ValueError): pass
            else: raise SystemExit('taken')
        for call in (lambda: k.use('none'), lambda: k.small(999), lambda: k.saxpy(z=1), lambda: k.big(-1)):
            try: call()
            except (TypeError, ValueError, OverflowError): pass
            else: raise SystemExit('taken')
threads = [threading.Thread(target=work) for _ in range(4)]
[t.start() for t in threads]; [t.join() for t in threads]
try: k.fail(3)
except k.IslandError as error: print(error)
"""


# Structs by value, and arrays that say where they lie.
MORE = """
from types import SimpleNamespace as S
for _ in range(50):
    p = k.app_add(S(x=1, y=2), S(x=3, y=4))
    m = k.app_same(S(a=-1, b=True, c=2**64 - 1, d=-2**63, e=1.5, f=9))
    for wrong in (S(x=1), S(x='1', y=2), None, S(x=1e300, y=1e300)):
        try: k.app_add(p, wrong)
        except (TypeError, OverflowError): pass
        else: raise SystemExit('taken')
    x, out = Array([1, 2, 3], 1), Array([0, 0, 0], 1)
    k.app_copy(x, out, None)
    for call in (lambda: k.app_copy(Array([1]), out, 1), lambda: k.app_copy(x, Array([0], 1), 0),
                 lambda: k.app_copy(x, out, 'a'), lambda: k.app_copy(x, Array([0, 0, 0], 1, 3), 0)):
        try: call()
        except (TypeError, ValueError): pass
        else: raise SystemExit('taken')
print(p, m.c, list(out.values))
"""


def test_no_sanitizer_finds_anything_in_structs_and_places(tmp_path: Path, whole: bool) -> None:
    if not whole:
        pytest.skip("sanitizers run with --all")
    island = STRUCTS + PLACED
    said = sanitized(
        tmp_path, island, FAKE.replace('kernels.use("toy")', "k = kernels") + MORE, own_structs=True
    )
    assert said == "namespace(x=4.0, y=6.0) 18446744073709551615 [1.0, 2.0, 3.0]\n"


def test_no_sanitizer_finds_anything(tmp_path: Path, whole: bool) -> None:
    if not whole:
        pytest.skip("sanitizers run with --all")
    said = sanitized(tmp_path, SAXPY + WIDE, f"{CALLS}\n{SAXPY_RUN}")
    assert said == "app_fail on `cpu` returned 3\n12.0 24.0 36.0 48.0 by hand\n"


def sanitized(folder: Path, island: str, code: str, *, own_structs: bool = False) -> str:
    """Link an island and its module with sanitizers, run Python on it and return what that prints."""
    made = Built(folder, interface(scanned(folder / "src" / "cpu", island), strip_prefix="app_"), "link")
    checked = ("-g", "-fsanitize=address,undefined", "-fno-sanitize-recover=undefined")
    objects = made.objects("cpu", island, own_structs=own_structs, version="1")
    compiled(
        *("gcc", "-std=c11", *STRICT, *checked, "-shared", "-I", str(include_folder())),
        *("-I", sysconfig.get_paths()["include"], "module.c", *map(str, objects), "-lstdc++"),
        *("-o", str(made.package / "kernels.abi3.so")),
        where=folder,
    )
    libraries = [
        subprocess.run(
            ["gcc", f"-print-file-name={name}"], capture_output=True, text=True, check=True, env=ENVIRONMENT
        ).stdout.strip()
        for name in ("libasan.so", "libubsan.so")
    ]
    return made.run(code, sys.executable, LD_PRELOAD=":".join(libraries), ASAN_OPTIONS="detect_leaks=0")
