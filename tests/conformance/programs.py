"""Programs that launch through the C launcher, built for the tests."""

from __future__ import annotations

import subprocess
from pathlib import Path

from atoll.plugin import Driver
from atoll.runtime import core_source, include_folder
from atoll_plugins.cpu.driver import CpuDriver

HERE = Path(__file__).parent
WARNINGS = ("-std=c11", "-O1", "-g", "-Wall", "-Wextra", "-Werror")


def launcher_object(
    found: Driver,
    folder: Path,
    library: Path | None = None,
    edit: tuple[str, str] = ("", ""),
    flags: tuple[str, ...] = (),
) -> Path:
    """Compile a driver's C launcher, on another library where one is given, with one edit of its text."""
    launcher = found.launcher()
    assert launcher is not None
    text = launcher.text
    if edit[0]:
        assert text.count(edit[0]) == 1, f"{edit[0]!r} stands {text.count(edit[0])} times in the launcher"
        text = text.replace(*edit)
    source, out = folder / f"launcher_{found.name}.c", folder / f"launcher_{found.name}.o"
    source.write_text(text)
    define = [f'-DATOLL_{found.name.upper()}_LIBRARY="{library}"'] if library else []
    include = f"-I{include_folder()}"
    words = ["gcc", *WARNINGS, *flags, include, *define, "-c", str(source), "-o", str(out)]
    subprocess.run(words, check=True)
    return out


def program(
    found: Driver,
    folder: Path,
    launcher: Path,
    main: str = "launch_main.c",
    flags: tuple[str, ...] = (),
) -> Path:
    """Link a main program with a launcher and the core."""
    out = folder / f"program_{found.name}"
    command = ["gcc", *WARNINGS, *flags, f"-I{include_folder()}", f"-DDRIVER=atoll_driver_{found.name}"]
    inputs = [str(HERE / main), str(core_source()), str(launcher)]
    subprocess.run([*command, *inputs, "-o", str(out), "-ldl", "-lpthread", "-lm"], check=True)
    return out


def stand_in(entries: list[Path], folder: Path) -> Path:
    """Link kernels for the processor, which the fake interface of CUDA runs in the place of its own."""
    out, launcher = folder / "kernels.so", launcher_object(CpuDriver(), folder)
    command = ["gcc", "-w", "-shared", "-fPIC", f"-I{include_folder()}", *map(str, entries)]
    command += [str(core_source()), str(launcher), "-o", str(out), "-ldl", "-lpthread", "-lm"]
    subprocess.run(command, check=True)
    return out


def run(*command: str | Path, env: dict[str, str]) -> str:
    """Run a program and return what it printed."""
    done = subprocess.run(
        [str(word) for word in command], env=env, capture_output=True, text=True, timeout=120
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout
