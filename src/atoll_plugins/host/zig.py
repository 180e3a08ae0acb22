"""What compiles for the host where no compiler is installed: the C and C++ compiler of the ziglang wheel?

It is one program that is called with a word (``zig c++``), and keeps what it made for each target in a cache
of its own. The lanes know programs, so that three small scripts stand for it, below the cache folder: each
starts it with its word, its target and its cache. C++ modules it cannot build. What it makes asks for glibc
2.28, as the wheels of most projects do.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from pathlib import Path

from atoll.plugin.tools import cache_folder, python_program, write_atomic
from atoll.store import Payload, PayloadRoot

VERSION = "0.17.1"
PAYLOAD = Payload(
    name=f"ziglang-{VERSION}",
    requirements=(f"ziglang=={VERSION}",),
    hashes=(
        (
            "ziglang-0.17.1-py3-none-manylinux_2_12_x86_64.manylinux2010_x86_64.musllinux_1_1_x86_64.whl",
            "ea6cc5d87b033cf0aedfbc8f9549a908cae6c50ac31f1698188fa48a74524b54",
        ),
    ),
    programs=("ziglang/zig",),
    probe_args=("version",),
)
NAME = "ziglang"
MACHINE = "x86_64"
TARGET = f"{MACHINE}-linux-gnu.2.28"
# Options of other linkers that its own does not know; none of them changes what a program does.
_UNKNOWN = ("-Wl,--exclude-libs,ALL",)
_SCRIPT = """\
#!{python} -IS
# Written by Atoll: `zig {word}` as one program.
import os, sys
os.environ.setdefault("ZIG_GLOBAL_CACHE_DIR", {cache!r})
os.environ.setdefault("ZIG_LOCAL_CACHE_DIR", {cache!r})
if sys.argv[1:] == ["-dumpmachine"]:
    print({machine!r})
    sys.exit()
words = [word for word in sys.argv[1:] if word not in {unknown!r}]
os.execv({zig!r}, [{zig!r}, {word!r}, *{target!r}, *words])
"""


def programs(root: PayloadRoot, environment: Mapping[str, str]) -> tuple[Path, Path]:
    """Return the C++ and the C compiler, as scripts; the archiver ``ar`` stands beside them."""
    zig = str(root.root / "ziglang/zig")
    kept = cache_folder(environment, NAME)
    cache = str(kept / "objects")
    target = ("-target", TARGET)
    texts = {
        name: _SCRIPT.format(
            python=python_program(),
            word=word,
            cache=cache,
            zig=zig,
            unknown=_UNKNOWN,
            machine="x86_64-linux-gnu",
            target=() if word == "ar" else target,
        )
        for name, word in (("clang++", "c++"), ("clang", "cc"), ("ar", "ar"))
    }
    folder = kept / hashlib.sha256("\0".join(texts.values()).encode()).hexdigest()[:16]
    for name, text in texts.items():
        path = folder / name
        if not path.is_file():
            write_atomic(path, text, mode=0o755)
    return folder / "clang++", folder / "clang"
