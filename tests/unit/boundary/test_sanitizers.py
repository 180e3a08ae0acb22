"""The generated C under the address and undefined-behaviour sanitizers: right calls, wrong calls, threads."""

from __future__ import annotations

import subprocess
import sys
import sysconfig
from pathlib import Path

import pytest

from atoll.runtime.sources import include_folder
from unit.boundary.kit import ENVIRONMENT, SAXPY, STRICT, Built, compiled, interface, scanned
from unit.boundary.test_python_module import SAXPY_RUN, WIDE

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


def test_no_sanitizer_finds_anything(tmp_path: Path, whole: bool) -> None:
    if not whole:
        pytest.skip("sanitizers run with --all")
    made = Built(
        tmp_path, interface(scanned(tmp_path / "src" / "cpu", SAXPY + WIDE), strip_prefix="app_"), "link"
    )
    checked = ("-g", "-fsanitize=address,undefined", "-fno-sanitize-recover=undefined")
    objects = made.objects("cpu", SAXPY + WIDE, version="1")
    compiled(
        *("gcc", "-std=c11", *STRICT, *checked, "-shared", "-I", str(include_folder())),
        *("-I", sysconfig.get_paths()["include"], "module.c", *map(str, objects), "-lstdc++"),
        *("-o", str(made.package / "kernels.abi3.so")),
        where=tmp_path,
    )
    libraries = [
        subprocess.run(
            ["gcc", f"-print-file-name={name}"], capture_output=True, text=True, check=True, env=ENVIRONMENT
        ).stdout.strip()
        for name in ("libasan.so", "libubsan.so")
    ]
    said = made.run(
        f"{CALLS}\n{SAXPY_RUN}", sys.executable, LD_PRELOAD=":".join(libraries), ASAN_OPTIONS="detect_leaks=0"
    )
    assert said == "app_fail on `cpu` returned 3\n12.0 24.0 36.0 48.0 by hand\n"
