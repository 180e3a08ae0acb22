"""What do other projects get of a library? A prefix that can be moved.

It holds headers, the libraries, and how CMake and pkg-config use them, and is `install/` in the build
folder, one for all libraries of the project. Words: a *library* is a target of kind ``static`` or
``shared``; what an archive *needs* is what its users must link with it. An archive that a lane needs from a
folder of its own is *brought along*; side files lie beside the libraries that map them.

Headers are the boundary's and those that the target's `sources` name. Module interfaces are not installed:
a module file belongs to one compiler and its flags.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from pathlib import Path, PurePosixPath

from atoll._util.spelling import this_python
from atoll._util.values import dataclass
from atoll.build.configs import Needs, Shared, cmake_config, cmake_version, pkg_config
from atoll.build.parts import Part
from atoll.build.request import BuildRequest
from atoll.graph import Action, Role
from atoll.manifest import Target, glob
from atoll.manifest.merge import DATA_TARGET
from atoll.plugin import FoundPackage, RuntimeFolder

EMBEDDED = "embedded-files"
_COPY = str(Path(__file__).resolve().with_name("copying.py"))


@dataclass(frozen=True, slots=True, kw_only=True)
class Library:
    """What is known of a library when it is installed.

    Attributes:
        part: Its file.
        target: Its table.
        header: The boundary's header, relative to the root; empty where it has no boundary.
        headers: Header files that globs of the project name.
        words: What linking it needs beside packages and other libraries of the project.
        packages: The libraries of the machine that it names.
        uses: The libraries of the project that it names.
        runtime: The C++ library its objects need, as the linker names it; empty for C alone.
        folders: Where what its objects need at run time lies on this machine.
    """

    part: Part
    target: Target
    header: str = ""
    headers: tuple[str, ...] = ()
    words: tuple[str, ...] = ()
    packages: tuple[FoundPackage, ...] = ()
    uses: tuple[str, ...] = ()
    runtime: str = ""
    folders: tuple[RuntimeFolder, ...] = ()


def install_folder(request: BuildRequest) -> str:
    """Return the prefix, relative to the root."""
    return f"{request.folder}/install"


def install(request: BuildRequest, library: Library) -> tuple[dict[str, str], list[Action]]:
    """Return the texts that describe a library, and the actions that lay out its part of the prefix."""
    package = request.manifest.package.name
    name = exported(library.part.target, package)
    headers = dict(_headers(request, library))
    words, brought = _moved(library.words) if library.part.kind == "static" else ((), {})
    needs = Needs(
        name=name,
        package=request.manifest.package.name,
        description=request.manifest.package.description,
        version=request.manifest.package.version,
        file=installed_file(library.part.target, library.part.output, package),
        kind=library.part.kind,
        headers=bool(headers),
        words=words,
        brought=tuple(brought),
        shared=tuple(_shared(words, library.folders)),
        packages=library.packages,
        uses=tuple(exported(used, package) for used in library.uses),
        runtime=library.runtime if library.part.kind == "static" else "",
    )
    texts = {
        f"lib/cmake/{name}/{name}Config.cmake": cmake_config(needs),
        f"lib/cmake/{name}/{name}ConfigVersion.cmake": cmake_version(needs),
        f"lib/pkgconfig/{name}.pc": pkg_config(needs),
    }
    written = {f"{request.plan_folder}/install/{inside}": text for inside, text in texts.items()}
    sources = {
        f"lib/{needs.file}": library.part.output,
        **headers,
        **{f"lib/{file}": path for file, path in brought.items()},
        **{inside: f"{request.plan_folder}/install/{inside}" for inside in texts},
    }
    return written, [_copy(request, path, inside) for inside, path in sorted(sources.items())]


def exported(target: str, package: str) -> str:
    """Return what a library is called outside: the archive of embedded files has a name of its own there.

    Neither CMake nor pkg-config takes an `@`.
    """
    owner, _, name = target.rpartition(".")
    return f"{owner or package}.{EMBEDDED}" if name == DATA_TARGET else target


def installed_file(target: str, output: str, package: str) -> str:
    """Return the file name of a library in the prefix."""
    name, path = exported(target, package), PurePosixPath(output)
    return path.name if name == target else f"lib{name}{path.suffix}"


def _copy(request: BuildRequest, source: str, inside: str) -> Action:
    output = f"{install_folder(request)}/{inside}"
    return Action(
        name=f"install {inside}",
        argv=(this_python(), "-I", "-S", _COPY, source, output),
        inputs=(source, _COPY),
        outputs=(output,),
        role=Role.ARTIFACT,
        memory=32 << 20,
        description=f"install {inside}",
    )


def _headers(request: BuildRequest, library: Library) -> Iterator[tuple[str, str]]:
    """Give each header's place in the prefix and where it is from."""
    if library.header:
        yield f"include/{PurePosixPath(library.header).name}", library.header
    listed = set(library.headers)
    folders = (*library.target.include, *request.manifest.build.include, "include")
    for source in library.target.sources or () if listed else ():
        pattern = glob.parse(source.glob)
        if isinstance(pattern, glob.Pattern):
            for path in glob.expand(request.root, pattern):
                if path in listed:
                    yield f"include/{_below(path, folders)}", path


def _below(path: str, folders: Iterable[str]) -> str:
    """Return a header as it is included: below the deepest include folder that holds it, or its name."""
    place = PurePosixPath(path)
    holding = [folder for folder in folders if place.is_relative_to(folder)]
    if not holding:
        return place.name
    return place.relative_to(max(holding, key=lambda folder: len(PurePosixPath(folder).parts))).as_posix()


def _moved(words: Iterable[str]) -> tuple[tuple[str, ...], dict[str, str]]:
    """Return words of a link without the folders and paths of archives, and those archives by file name."""
    # Where this machine's loader finds something is no business of another project.
    listed = [word for word in dict.fromkeys(words) if not word.startswith("-Wl,-rpath")]
    folders = [word[2:] for word in listed if word.startswith("-L/")]
    brought: dict[str, str] = {}
    stays: set[str] = set()
    for word in listed:
        if word.startswith("-l"):
            folder = next((item for item in folders if _holds(item, word[2:])), None)
            if folder is not None and Path(folder, f"lib{word[2:]}.so").exists():
                stays.add(folder)
            elif folder is not None:
                brought[f"lib{word[2:]}.a"] = f"{folder}/lib{word[2:]}.a"
    kept = [word for word in listed if not (word.startswith("-L/") and word[2:] not in stays)]
    for index, word in enumerate(kept):
        found = re.fullmatch(r"/.*/(lib([^/]+)\.a)", word)
        if found:
            brought[found[1]] = word
            kept[index] = f"-l{found[2]}"
    return tuple(kept), brought


def _shared(words: Iterable[str], folders: Iterable[RuntimeFolder]) -> Iterator[Shared]:
    """Give the libraries that words name by file and that a lane's runtime folder holds."""
    listed = tuple(folders)
    for word in words:
        file = word.removeprefix("-l:")
        holding = (folder for folder in listed if Path(folder.path, file).is_file())
        found = next(holding, None) if word != file else None
        if found is not None:
            yield Shared(file, found.requirement)


def _holds(folder: str, name: str) -> bool:
    return any(Path(folder, f"lib{name}{end}").is_file() for end in (".so", ".a"))
