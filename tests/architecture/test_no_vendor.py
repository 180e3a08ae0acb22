"""The engine knows no vendor, tool or device: counted over every file, comments aside."""

from __future__ import annotations

import ast
import io
import re
import tokenize
from collections.abc import Callable
from pathlib import Path

from atoll.plugin import registry

ENGINE = Path(__file__).resolve().parents[2] / "src" / "atoll"

# Names that are also ordinary words of the engine: the processor, Python itself, file formats.
ORDINARY = {
    *"host cpu python wheel elf archive atoll c cc h py so a".split(),
    # Reader names and shader stages that are words of their own.
    *"packed program offload tar rint mesh task".split(),
}
# Tools, vendors and units that no registry lists.
EXTRA = {
    *("nvcc nvlink ptxas cicc cudafe cudart cubin fatbin fatbinary libdevice nvrtc nvidia hopper".split()),
    *("glslang glslangvalidator glslc slangc shaderc spirv spirv-val".split()),
    *("hipcc rocm amd amdgpu amdgcn radeon gfx xnack icpx dpcpp acpp sycl intel".split()),
    *("lavapipe llvmpipe mesa pocl bisheng ascend dav metal xcrun apple ptx sm_ compute_".split()),
}


def stripped(path: Path) -> str:
    """Return a file's text without comments and docstrings, line structure kept."""
    text = path.read_text(encoding="utf-8")
    if path.suffix != ".py":
        return re.sub(r"/\*.*?\*/|//[^\n]*", lambda match: "\n" * match[0].count("\n"), text, flags=re.DOTALL)
    lines = text.split("\n")
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        if token.type == tokenize.COMMENT:
            row, column = token.start
            lines[row - 1] = lines[row - 1][:column]
    for node in ast.walk(ast.parse(text)):
        if (
            isinstance(node, ast.Expr)
            and isinstance(node.value, ast.Constant)
            and isinstance(node.value.value, str)
        ):
            assert node.end_lineno is not None
            for row in range(node.lineno, node.end_lineno + 1):
                lines[row - 1] = ""
    return "\n".join(lines)


def words() -> set[str]:
    """Return the union of plugin names, backends, device extensions and known tools, ordinary words aside."""
    doors = registry()
    found = {
        name
        for door in (doors.lanes, doors.emitters, doors.drivers, doors.probes, doors.readers)
        for name in door
    }
    for lane in doors.lanes.values():
        found |= set(lane.backends)
        if lane.name != "host":
            found |= {extension.lstrip(".") for extension in lane.extensions}
    return {word.lower() for word in found | EXTRA} - ORDINARY


def hits(text: str, names: set[str]) -> list[tuple[int, str]]:
    """Return (line, word) for each name in `text`: whole words, or the start of one that ends in `_`."""
    pattern = re.compile(
        "|".join(rf"(?<![a-z]){re.escape(name)}(?![a-z])" for name in sorted(names, key=len, reverse=True)),
        re.IGNORECASE,
    )
    return [
        (number, match[0])
        for number, line in enumerate(text.split("\n"), 1)
        for match in pattern.finditer(line)
    ]


def test_the_engine_holds_no_vendor_word(tell: Callable[[str], None]) -> None:
    files = sorted(path for path in ENGINE.rglob("*") if path.suffix in {".py", ".c", ".h", ".toml", ".json"})
    names = words()
    found = [
        f"{path.relative_to(ENGINE)}:{line}: {word}"
        for path in files
        for line, word in hits(stripped(path), names)
    ]
    tell(f"{len(files)} engine files read for {len(names)} words, {len(found)} hits")
    assert len(files) > 40
    assert not found, "\n".join(found)


def test_a_planted_vendor_word_is_seen_and_a_comment_is_not(tmp_path: Path) -> None:
    path = tmp_path / "planted.py"
    path.write_text('"""About nvcc."""\n# nvcc\nname = "nvcc"\narch = "sm_90"\nvalue = "has_small_things"\n')
    assert hits(stripped(path), words()) == [(3, "nvcc"), (4, "sm_")]


def test_every_backend_of_an_installed_lane_is_in_the_list() -> None:
    names = words()
    assert {"cuda", "vulkan", "opencl", "cu", "comp", "cl"} <= names
