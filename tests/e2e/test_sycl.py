"""The SYCL example from wheels: it runs on their device, and a changed kernel answers wrongly."""

from __future__ import annotations

import struct
from collections.abc import Callable
from pathlib import Path

import pytest

from atoll.store import Store
from atoll_plugins.sycl.wheels import PAYLOAD, library_folders, surroundings
from e2e.harness import ATOLL, copied, machine, right, run
from e2e.sabotage import sabotage

ANSWER = "12 24 36 48"
EXTENDED = 12  # OpExtInst


@pytest.fixture
def wheels(pytestconfig: pytest.Config) -> None:
    """Skip where the wheels would have to be fetched, unless everything is asked for."""
    if not pytestconfig.getoption("--all") and PAYLOAD.name not in Store.default().names():
        pytest.skip(f"the payload {PAYLOAD.name} (520 MB), which is fetched with --all")


def test_it_runs_on_the_device_of_the_wheels_and_not_by_a_fallback(
    wheels: None, tmp_path: Path, tell: Callable[[str], None]
) -> None:
    folder = copied("saxpy/sycl", tmp_path)
    ran = right(ATOLL, "run", where=folder, env=machine())
    answer, device = ran.out.splitlines()
    assert "ATL0536" not in ran.err, "its headers need the C++ library: nothing an author could mend"
    assert answer == ANSWER
    tell(f"saxpy/sycl: {device}")
    (program,) = folder.glob(".atoll/build/*/bin/saxpy")
    assert "opencl" in right(ATOLL, "measure", program, where=folder, env=machine()).out
    for change in sabotage(program, swapped):
        tell(change)
    root = Store.default().ensure(PAYLOAD).root
    libraries = ":".join(str(path) for path in library_folders(root))
    env = machine(LD_LIBRARY_PATH=libraries, **surroundings(root))
    assert not run(program, where=folder, env=env).out.startswith(ANSWER), "a fallback answered in silence"


def swapped(kind: str, payload: bytes) -> tuple[bytes, str]:
    """Swap first and last operand of the one fused operation: y * x + a."""
    assert kind == "spirv"
    words = list(struct.unpack(f"<{len(payload) // 4}I", payload))
    at = 5
    while at < len(words):
        if words[at] == 8 << 16 | EXTENDED:
            words[at + 5], words[at + 7] = words[at + 7], words[at + 5]
            return struct.pack(f"<{len(words)}I", *words), f"operands of word {at}"
        at += max(words[at] >> 16, 1)
    return payload, "nothing"


def test_without_an_accelerator_the_processor_answers(tmp_path: Path) -> None:
    folder = copied("saxpy/sycl", tmp_path)
    assert right(ATOLL, "run", "--no-accel", where=folder, env=machine()).out.startswith(ANSWER)


USES = """
#include <iostream>
#include <string>
static const struct Library { Library() { std::cout << std::string("libc++") << std::endl; } } library;
"""


def test_in_a_program_of_libcxx_what_the_runtime_throws_is_caught_and_a_code_crosses(
    wheels: None, tmp_path: Path, tell: Callable[[str], None]
) -> None:
    if not Path("/usr/bin/clang++-19").exists() or not Path("/usr/lib/llvm-19/include/c++").exists():
        pytest.skip("no clang++-19 with its libc++ on this machine")
    folder = copied("saxpy/sycl", tmp_path)
    manifest = folder / "atoll.toml"
    text = manifest.read_text().replace('lanes = ["sycl"]', 'lanes = ["sycl"]\ncxxflags = ["-stdlib=libc++"]')
    manifest.write_text(f'{text}\n[lane.host]\ncompiler = "clang++-19"\n')
    main = folder / "src/main.cpp"
    main.write_text(main.read_text() + USES)
    ran = right(ATOLL, "run", where=folder, env=machine())
    assert "note[ATL0533]: the program has two C++ libraries" in ran.err
    library, answer, device = ran.out.splitlines()
    assert (library, answer) == ("libc++", ANSWER)
    tell(f"{library} and libstdc++ in one image: {device}")
    (program,) = folder.glob(".atoll/build/*/bin/saxpy")
    needed = right("/usr/bin/readelf", "-d", program, where=folder).out
    assert "libc++.so.1" in needed
    assert "libstdc++.so.6" in needed
    # No such device: the runtime throws, which ends in the island.
    failed = run(ATOLL, "run", where=folder, env=machine(ONEAPI_DEVICE_SELECTOR="level_zero:gpu"))
    assert (failed.code, failed.out) == (1, "libc++\n")
    assert "No device of requested type" in failed.err
    assert "terminate called" not in failed.err
    tell(failed.err.splitlines()[-1])
