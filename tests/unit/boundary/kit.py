"""What the tests of the boundary share: roots on disk, refusals, and modules built by hand and run."""

from __future__ import annotations

import subprocess
import sys
import sysconfig
from collections.abc import Callable, Mapping
from pathlib import Path

import pytest

from atoll.boundary import (
    Interface,
    Root,
    compare,
    header,
    header_name,
    python_source,
    root_file,
    root_source,
    scan,
)
from atoll.diagnostics import Diagnostic
from atoll.errors import BoundaryError
from atoll.runtime.sources import core_source, include_folder

PYTHONS = [Path(f"/root/.pyenv/versions/{version}/bin/python") for version in ("3.11.7", "3.12.1", "3.13.0")]
STRICT = ("-Wall", "-Wextra", "-Werror", "-fPIC", "-O1")
CLOSED = ("-Wl,--no-undefined",)
ENVIRONMENT = {"PATH": "/usr/bin:/bin"}
SAXPY = """
ATOLL_EXPORT_AS(x[n], y[n], out[n], status)
int app_saxpy(float a, const float* x, const float* y, float* out, unsigned n) {
  for (unsigned i = 0; i < n; ++i) out[i] = a * x[i] + y[i];
  atoll_ran_on("by hand");
  return 0;
}
"""


def write(folder: Path, files: Mapping[str, str]) -> Path:
    """Write files below a folder and return it."""
    for name, text in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    folder.mkdir(parents=True, exist_ok=True)
    return folder


def scanned(folder: Path, files: Mapping[str, str] | str) -> Root:
    """Return the root that files make; one text is ``island.cpp``."""
    return scan(
        write(folder, {"island.cpp": files} if isinstance(files, str) else files), shown=folder.parent
    )


def interface(*roots: Root, module: str = "app.kernels", package: str = "app", **more: str) -> Interface:
    """Return the interface of roots."""
    return compare(roots, module=module, package=package, **more)  # type: ignore[arg-type]


def refused(call: Callable[[], object]) -> tuple[Diagnostic, ...]:
    """Return what a call refuses with."""
    with pytest.raises(BoundaryError) as caught:
        call()
    return caught.value.diagnostics


def one(call: Callable[[], object]) -> Diagnostic:
    """Return the only diagnostic a call refuses with."""
    (diagnostic,) = refused(call)
    return diagnostic


def compiled(*command: str | Path, where: Path) -> None:
    """Run a compiler and show what it says where it fails."""
    done = subprocess.run(
        [str(part) for part in command],
        cwd=where,
        capture_output=True,
        text=True,
        env=ENVIRONMENT,
        check=False,
    )
    assert done.returncode == 0, done.stderr


class Built:
    """A registry built by hand in one folder."""

    def __init__(
        self,
        folder: Path,
        made: Interface,
        shape: str = "registry",
        memories: Mapping[str, tuple[int, ...]] | None = None,
    ) -> None:
        self.folder, self.interface = folder, made
        self.package = folder / Path(*made.segments[:-1])
        self.package.mkdir(parents=True, exist_ok=True)
        (folder / header_name(made.module)).write_text(header(made))
        (folder / "module.c").write_text(python_source(made, shape, memories))
        (self.package / "__init__.py").write_text("")

    def module(self, compiler: str = "gcc", *extra: str | Path) -> Path:
        """Compile the extension module and return it."""
        out = self.package / f"{self.interface.segments[-1]}.abi3.so"
        compiled(
            *(compiler, "-std=c11", *STRICT, "-shared", "-I", include_folder()),
            *("-I", sysconfig.get_paths()["include"], "module.c", *extra, "-o", out, "-ldl", "-lpthread"),
            where=self.folder,
        )
        return out

    def objects(
        self, root: str, island: str, launcher: str = "", *, own_structs: bool = False, **table: object
    ) -> list[Path]:
        """Compile one root's island, table and launcher, and return the objects."""
        own = "#define ATOLL_OWN_STRUCTS\n" if own_structs else ""
        write(
            self.folder,
            {
                f"{root}_island.cpp": f'{own}#include "{header_name(self.interface.module)}"\n{island}',
                f"{root}_table.c": root_source(self.interface, root, **table),  # type: ignore[arg-type]
                f"{root}_launcher.c": f'#include "atoll_launch.h"\n{launcher}\n',
            },
        )
        made = []
        for source in (f"{root}_island.cpp", f"{root}_table.c", f"{root}_launcher.c", str(core_source())):
            compiler = ("g++", "-std=c++20") if source.endswith("cpp") else ("gcc", "-std=c11")
            made.append(self.folder / f"{root}_{Path(source).stem}.o")
            compiled(
                *(*compiler, *STRICT, "-fvisibility=hidden", "-I", include_folder(), "-I", "."),
                *("-c", source, "-o", made[-1]),
                where=self.folder,
            )
        return made

    def root(
        self, root: str, island: str, launcher: str = "", *, own_structs: bool = False, **table: object
    ) -> Path:
        """Link one root's library and return it."""
        out = self.folder / root_file(self.interface, root)
        objects = self.objects(root, island, launcher, own_structs=own_structs, **table)
        compiled("g++", *STRICT, "-shared", *CLOSED, *objects, "-o", out, where=self.folder)
        return out

    def run(self, code: str, python: Path | str = sys.executable, **environment: str) -> str:
        """Run Python beside the module and return what it prints."""
        env = {**ENVIRONMENT, "PYTHONPATH": str(self.folder), **environment}
        done = subprocess.run(
            [str(python), "-X", "faulthandler", "-c", code],
            cwd="/",
            env=env,
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 0, done.stderr
        return done.stdout


def driver(
    name: str,
    *,
    device: str = "Fake 1",
    arch: str = "",
    version: str = "1, 2",
    software: int = 0,
    missing: str = "",
    fits: str = "1",
) -> str:
    """Return a launcher whose device is what the test says, and which runs nothing."""
    return f"""
#include <stdio.h>
#include <string.h>
static int probe(atoll_device_facts *facts, atoll_text *reason) {{
  const char *missing = "{missing}";
  const uint32_t version[2] = {{{version}}};
  memset(facts, 0, sizeof *facts);
  (void)snprintf(facts->name, sizeof facts->name, "%s", "{device}");
  (void)snprintf(facts->arch, sizeof facts->arch, "%s", "{arch}");
  facts->version[0] = version[0];
  facts->version[1] = version[1];
  facts->software = {software};
  if (missing[0] == 0) return 0;
  (void)snprintf(reason->data, reason->capacity, "%s", missing);
  return 1;
}}
static int fits(const atoll_code *code, const atoll_device_facts *facts) {{
  (void)code;
  (void)facts;
  return {fits};
}}
static int launch(const atoll_launch *launched, atoll_text *device, atoll_text *reason) {{
  (void)launched;
  (void)device;
  (void)snprintf(reason->data, reason->capacity, "the fake launches nothing");
  return 1;
}}
ATOLL_DRIVER({name});
const atoll_driver atoll_driver_{name} = {{"{name}", probe, fits, launch}};
"""
