"""In what does a link differ by host? Words of the linker, names that it shows, where libraries lie.

Compiling differs in one word: Windows has no position-independent code to ask for. What a lane or a manifest
writes for Linux's loader (``$ORIGIN``, ``-Wl,-rpath``) is said here in the host's own words, or left out
where the loader has none. Linux is measured; macOS and Windows are planned by what Apple's ``ld``,
``lld-link`` and clang document.
"""

from __future__ import annotations

from collections.abc import Iterable

from atoll.plugin.values import dataclass
from atoll_plugins.formats.hosts import LINUX, MACOS, WINDOWS

_RPATH = "-Wl,-rpath,"


@dataclass(frozen=True, slots=True, kw_only=True)
class Platform:
    """How one host links.

    Attributes:
        kinds: What a link adds by kind of file.
        words: What every link adds.
        exports: The argument that names the file of exported symbols, up to the file's name.
        named: The argument by which a shared library names itself, up to its name; empty where it does not.
        families: The compilers that are driven.
        archiver: The program that makes static libraries.
        archive: The command of ``writes.py`` that makes one without times.
        origin: What stands for the folder of the file that is loaded; empty where libraries are looked for
            beside the program and on PATH alone.
        left_out: Libraries that the host has inside its C library.
        library: How a shared library ends that is linked by another file beside it, and how that one ends.
    """

    kinds: dict[str, tuple[str, ...]]
    words: tuple[str, ...]
    exports: str
    named: str = ""
    families: tuple[str, ...] = ("gcc", "clang")
    archiver: str = "ar"
    archive: str = "archive"
    origin: str = "$ORIGIN"
    left_out: frozenset[str] = frozenset()
    library: tuple[str, str] = ("", "")

    def args(self, words: Iterable[str]) -> tuple[str, ...]:
        """Return arguments of a link, written for Linux, as this host takes them."""
        kept = (word for word in words if word not in self.left_out)
        if not self.origin:
            return tuple(self._beside(word) for word in kept if not word.startswith(_RPATH))
        return tuple(
            word.replace("$ORIGIN", self.origin) if word.startswith(_RPATH) else word for word in kept
        )

    def _beside(self, word: str) -> str:
        end, other = self.library
        return word.removesuffix(end) + other if end and word.endswith(end) else word


#: Symbols of static archives never leave the image. A Python extension leaves the interpreter's symbols
#: undefined; everything else that is shared must be whole.
PLATFORMS = {
    LINUX: Platform(
        kinds={
            "executable": (),
            "shared": ("-shared", "-Wl,-z,defs", "-Wl,--exclude-libs,ALL"),
            "module": ("-shared", "-Wl,--exclude-libs,ALL"),
        },
        words=("-Wl,--as-needed", "-Wl,--build-id=sha1"),
        exports="-Wl,--version-script=",
        named="-Wl,-soname,",
    ),
    MACOS: Platform(
        kinds={
            "executable": (),
            "shared": ("-dynamiclib",),
            "module": ("-bundle", "-Wl,-undefined,dynamic_lookup"),
        },
        words=("-Wl,-dead_strip_dylibs",),
        exports="-Wl,-exported_symbols_list,",
        named="-Wl,-install_name,@rpath/",
        archive="archive-plain",
        origin="@loader_path",
        left_out=frozenset({"-ldl", "-lrt", "-lpthread", "-Wl,--exclude-libs,ALL"}),
    ),
    WINDOWS: Platform(
        kinds={"executable": (), "shared": ("-shared",), "module": ("-shared",)},
        words=("-fuse-ld=lld", "-Wl,/Brepro"),
        exports="-Wl,/DEF:",
        families=("clang",),
        archiver="llvm-ar",
        origin="",
        left_out=frozenset({"-ldl", "-lrt", "-lpthread", "-lm", "-Wl,--exclude-libs,ALL"}),
        library=(".dll", ".lib"),
    ),
}


def export_lines(host: str, names: Iterable[str]) -> tuple[str, ...]:
    """Return the lines of the file that names the exported symbols."""
    listed = sorted(names)
    if host == MACOS:
        return tuple(f"_{name}" for name in listed)
    if host == WINDOWS:
        return ("EXPORTS", *(f"  {name}" for name in listed))
    shown = ("global:", *(f"  {name};" for name in listed)) if listed else ()
    return ("{", *shown, "local: *;", "};")
