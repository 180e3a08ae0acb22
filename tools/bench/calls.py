"""What does a call from Python cost? A generated module beside nanobind and ctypes by hand, in one run.

The same function (`out = a * x + y` over 16 elements) behind each, called with the same NumPy arrays and
with the same checks: element type, rank, contiguity, equal lengths. The sides take turns within a round and
change places in the next; a ratio is the median of the rounds' ratios. ``--without-nanobind`` leaves that
side out.
"""

from __future__ import annotations

import argparse
import ctypes
import importlib.util
import json
import statistics
import subprocess
import sys
import sysconfig
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np

from atoll.session import open_session

ISLAND = """\
#include "calls_kernels.h"
ATOLL_EXPORT_AS(x[n], y[n], out[n], status)
int saxpy(float a, const float* x, const float* y, float* out, unsigned n) {
    for (unsigned i = 0; i < n; ++i) out[i] = a * x[i] + y[i];
    return 0;
}
"""
MANIFEST = """\
[package]
name = "calls"
[targets.calls]
kind = "python"
boundary = "kernels"
sources = ["cpu/*.cpp"]
[boundary.kernels]
module = "calls.kernels"
roots = ["cpu"]
shape = "registry"
"""
PLAIN = """\
extern "C" int saxpy(float a, const float* x, const float* y, float* out, unsigned n) {
    for (unsigned i = 0; i < n; ++i) out[i] = a * x[i] + y[i];
    return 0;
}
"""
NANOBIND = """\
#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <stdexcept>
namespace nb = nanobind;
extern "C" int saxpy(float a, const float* x, const float* y, float* out, unsigned n);
using Read = nb::ndarray<const float, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
using Write = nb::ndarray<float, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
NB_MODULE(by_hand, m) {
    m.def("saxpy", [](float a, Read x, Read y, Write out) {
        const unsigned n = unsigned(x.shape(0));
        if (n != y.shape(0) || n != out.shape(0)) throw std::invalid_argument("lengths differ");
        nb::gil_scoped_release free;
        if (saxpy(a, x.data(), y.data(), out.data(), n) != 0) throw std::runtime_error("failed");
    });
}
"""
FLAGS = ("-O2", "-DNDEBUG", "-fPIC", "-fvisibility=hidden", "-shared", "-std=c++17")
CALLS = 20_000
Call = Callable[..., Any]


def generated(folder: Path) -> Call:
    """Return the entry of a generated module."""
    (folder / "cpu").mkdir(parents=True)
    (folder / "atoll.toml").write_text(MANIFEST)
    (folder / "cpu/saxpy.cpp").write_text(ISLAND)
    built = open_session(folder).build()
    sys.path.insert(0, str(built.tree))
    try:
        function: Call = importlib.import_module("calls.kernels").saxpy
    finally:
        sys.path.pop(0)
    return function


def with_ctypes(folder: Path) -> Call:
    """Return the function through ctypes, its arrays checked by `numpy.ctypeslib`."""
    (folder / "plain.cpp").write_text(PLAIN)
    _compiled("plain.cpp", "-o", "plain.so", "-fvisibility=default", where=folder)
    array = np.ctypeslib.ndpointer(np.float32, ndim=1, flags="C_CONTIGUOUS")
    function = ctypes.CDLL(str(folder / "plain.so")).saxpy
    function.argtypes = [ctypes.c_float, array, array, array, ctypes.c_uint]

    def saxpy(a: float, x: Any, y: Any, out: Any) -> None:
        if x.size != y.size or x.size != out.size:
            raise ValueError("lengths differ")
        if function(a, x, y, out, x.size) != 0:
            raise RuntimeError("failed")

    return saxpy


def with_nanobind(folder: Path) -> Call:
    """Return the function through nanobind."""
    nanobind: Any = importlib.import_module("nanobind")
    source = Path(nanobind.source_dir())
    includes = (
        *("-I", nanobind.include_dir(), "-I", str(source.parent / "ext/robin_map/include")),
        *("-I", sysconfig.get_path("include")),
    )
    (folder / "by_hand.cpp").write_text(NANOBIND)
    (folder / "plain.cpp").write_text(PLAIN)
    out = f"by_hand{sysconfig.get_config_var('EXT_SUFFIX')}"
    _compiled("by_hand.cpp", "plain.cpp", str(source / "nb_combined.cpp"), *includes, "-o", out, where=folder)
    function: Call = _loaded("by_hand", folder / out).saxpy
    return function


def _compiled(*words: str, where: Path) -> None:
    subprocess.run(["g++", *FLAGS, *words], cwd=where, check=True)


def _loaded(name: str, path: Path) -> ModuleType:
    spec = importlib.util.spec_from_file_location(name, path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def seconds(call: Call, calls: int) -> float:
    """Return the processor's seconds of one call, over many: other work on the machine is none of it."""
    x, y, out = (np.arange(16, dtype=np.float32) for _ in range(3))
    begin = time.process_time()
    for _ in range(calls):
        call(2.0, x, y, out)
    return (time.process_time() - begin) / calls


def measured(sides: dict[str, Call], rounds: int, calls: int) -> dict[str, list[float]]:
    """Return the seconds of one call by side and round; the first round warms up and is left out."""
    found: dict[str, list[float]] = {name: [] for name in sides}
    for turn in range(rounds + 1):
        order = list(sides) if turn % 2 else list(reversed(sides))
        for name in order:
            taken = seconds(sides[name], calls)
            if turn:
                found[name].append(taken)
    return found


def ratios(found: dict[str, list[float]], base: str = "atoll") -> dict[str, float]:
    """Return how many times the base's call each other side's takes: the median over the rounds."""
    return {
        name: statistics.median(other / own for other, own in zip(rows, found[base], strict=True))
        for name, rows in found.items()
        if name != base
    }


def main(argv: list[str]) -> int:
    """Measure, and print the least time of a round and the medians of the ratios."""
    parser = argparse.ArgumentParser(prog="./dev bench calls")
    parser.add_argument("--rounds", type=int, default=9)
    parser.add_argument("--calls", type=int, default=CALLS)
    parser.add_argument("--without-nanobind", action="store_true")
    asked = parser.parse_args(argv)
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place)
        sides = {"atoll": generated(folder / "generated"), "ctypes": with_ctypes(folder)}
        if not asked.without_nanobind:
            sides["nanobind"] = with_nanobind(folder)
        for call in sides.values():
            _check(call)
        found = measured(sides, asked.rounds, asked.calls)
    spent = {name: round(min(rows) * 1e6, 2) for name, rows in found.items()}
    of_ours = {name: round(value, 2) for name, value in ratios(found).items()}
    print(json.dumps({"microseconds of a call": spent, "of a generated module's call": of_ours}))
    return 0


def _check(call: Call) -> None:
    x, y, out = (np.arange(4, dtype=np.float32) for _ in range(3))
    call(2.0, x, y, out)
    if out.tolist() != [0, 3, 6, 9]:
        raise SystemExit(f"a wrong answer: {out}")
