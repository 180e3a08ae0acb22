"""The declarations in `abi.h` agree with the vendors' own headers, where those are installed."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

import pytest

import atoll_plugins
from atoll_plugins.vulkan.results import NAMES

PLUGINS = Path(atoll_plugins.__file__).parent
PRELUDE = "#include <stddef.h>\n#include <stdint.h>\n#include <stdio.h>\n"
HEADERS = {
    "vulkan": ("/usr/include/vulkan/vulkan_core.h", ""),
    "opencl": ("/usr/include/CL/cl.h", "#define CL_TARGET_OPENCL_VERSION 300\n"),
    "cuda": ("/usr/local/cuda-13.0/include/cuda.h", ""),
}


def abi_text(backend: str) -> str:
    return (PLUGINS / backend / "abi.h").read_text()


def compiled(text: str, folder: Path, name: str) -> str:
    """Compile and run C text; return what it prints."""
    source, program = folder / f"{name}.c", folder / name
    source.write_text(text)
    subprocess.run(["gcc", "-w", "-o", str(program), str(source)], check=True)
    return subprocess.run([str(program)], capture_output=True, text=True, check=True).stdout


def probes(text: str) -> list[str]:
    """Return C statements that print every number, size and offset that a declaration text fixes."""
    lines = [
        rf'printf("{name} %lld\n", (long long){name});' for name in re.findall(r"^#define (\w+) ", text, re.M)
    ]
    for body, name in re.findall(r"typedef struct \w+ \{(.*?)\} (\w+);", text, re.S):
        lines.append(rf'printf("sizeof {name} %zu\n", sizeof({name}));')
        fields = re.findall(r"(\w+)(?:\[\d+\])*(?::\s*\d+)?;", body)
        lines += [rf'printf("{name}.{field} %zu\n", offsetof({name}, {field}));' for field in fields]
    names = re.findall(r"^typedef (?!struct \w+ \{)[^;{]*?(\w+);", text, re.M)
    whole = [name for name in names if not re.search(rf"typedef struct {name} {name};", text)]
    return lines + [rf'printf("sizeof {name} %zu\n", sizeof({name}));' for name in whole]


def header(backend: str) -> tuple[str, str]:
    path, before = HEADERS[backend]
    if not Path(path).is_file():
        pytest.skip(f"no {path}")
    return path, before


@pytest.mark.parametrize("backend", sorted(HEADERS))
def test_numbers_sizes_and_offsets_are_the_vendors(backend: str, tmp_path: Path) -> None:
    path, before = header(backend)
    ours, lines = abi_text(backend), probes(abi_text(backend))
    main = "int main(void) {\n" + "\n".join(lines) + "\nreturn 0; }\n"
    mine = compiled(f"{PRELUDE}{ours}{main}", tmp_path, "mine")
    theirs = compiled(f'{before}{PRELUDE}#include "{path}"\n{main}', tmp_path, "theirs")
    assert mine == theirs
    assert len(lines) >= 18, len(lines)


@pytest.mark.parametrize("backend", ["opencl"])
def test_prototypes_are_compatible_with_the_vendors(backend: str, tmp_path: Path) -> None:
    path, before = header(backend)
    source = tmp_path / "both.c"
    source.write_text(f'{before}{PRELUDE}#include "{path}"\n{abi_text(backend)}')
    subprocess.run(["gcc", "-w", "-fsyntax-only", str(source)], check=True)


# Enumerations and unsigned numbers pass in the same register; this says so in one place.
WORDS = re.compile(
    r"\b(?:CUresult|CUjit_option|CUdevice_attribute|CUstreamCaptureMode|unsigned int|int32_t|uint32_t)\b"
)


def prototypes(text: str, names: list[str]) -> dict[str, list[str]]:
    """Return the parameter types of functions, folded: names dropped, enumerations as `int`."""
    text = re.sub(r"/\*.*?\*/", "", text, flags=re.S)
    found = {}
    for name in names:
        match = re.search(rf"\b{name}\s*\(((?:[^()]|\([^()]*\))*)\)\s*;", text)
        assert match is not None, name
        parameters = re.split(r",(?![^()]*\))", " ".join(match[1].split()))
        found[name] = [folded(item) for item in parameters]
    return found


def folded(parameter: str) -> str:
    text = re.sub(r"\b(?:VKAPI_PTR|CL_CALLBACK|CUDAAPI)\b", "", parameter)
    text = re.sub(r"\s*\*\s*", "*", text).strip()
    text = re.sub(r"\b\w+$", "", text) if re.search(r"[\s*]\w+$", text) else text
    return WORDS.sub("int", text).replace(" ", "").replace("CUdevice_v1", "CUdevice")


@pytest.mark.parametrize("backend", ["vulkan", "cuda"])
def test_parameters_are_the_vendors(backend: str) -> None:
    path, _ = header(backend)
    ours = abi_text(backend)
    names = re.findall(r"^(?!typedef)\w+ (\w+)\(", ours, re.M)
    theirs = Path(path).read_text()
    # The header's names are macros for those of the symbols.
    plain = {name: re.sub("(_v2|WithFlags)$", "", name) if backend == "cuda" else name for name in names}
    mine = prototypes(ours, names)
    real = prototypes(theirs, list(plain.values()))
    assert {plain[name]: types for name, types in mine.items()} == real
    assert len(names) >= 20


def test_a_wrong_offset_is_seen(tmp_path: Path) -> None:
    path, before = header("vulkan")
    ours = abi_text("vulkan").replace("  uint32_t bindingCount;\n", "  uint64_t bindingCount;\n")
    assert ours != abi_text("vulkan")
    main = "int main(void) {\n" + "\n".join(probes(ours)) + "\nreturn 0; }\n"
    mine = compiled(f"{PRELUDE}{ours}{main}", tmp_path, "mine")
    assert mine != compiled(f'{before}{PRELUDE}#include "{path}"\n{main}', tmp_path, "theirs")


def test_results_have_the_vendors_names_in_both_tables() -> None:
    path, _ = header("vulkan")
    real = dict(re.findall(r"^    (VK_\w+) = (-?\d+),$", Path(path).read_text(), re.M))
    launcher = (PLUGINS / "vulkan" / "launcher.c").read_text()
    in_c = {int(number): name for number, name in re.findall(r'case (-?\d+): return "([^"]+)";', launcher)}
    assert in_c == NAMES
    assert {number: real[name.partition(":")[0]] for number, name in NAMES.items()} == {
        number: str(number) for number in NAMES
    }
