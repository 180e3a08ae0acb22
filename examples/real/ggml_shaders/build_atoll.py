"""Build ggml's shaders as ggml does: its generator is a host tool that calls the compiler for each file."""

import re
import shutil

from atoll.build.program import project

FOLDER = "vulkan-shaders"
# What the generator is told of the compiler: the macro, and the feature test whose answer it is.
FEATURES = {
    "GGML_VULKAN_COOPMAT_GLSLC_SUPPORT": "coopmat",
    "GGML_VULKAN_COOPMAT2_GLSLC_SUPPORT": "coopmat2",
    "GGML_VULKAN_COOPMAT2_DECODE_VECTOR_GLSLC_SUPPORT": "coopmat2_decode_vector",
    "GGML_VULKAN_INTEGER_DOT_GLSLC_SUPPORT": "integer_dot",
    "GGML_VULKAN_BFLOAT16_GLSLC_SUPPORT": "bfloat16",
    "GGML_VULKAN_FLOAT_E2M1_GLSLC_SUPPORT": "float_e2m1",
    "GGML_VULKAN_FLOAT_E4M3_GLSLC_SUPPORT": "float_e4m3",
}

# The generator writes no depfile for a shader of which this compiler takes no variant.
ALWAYS_A_DEPFILE = 'rule=$1 depfile=$2; shift 2; "$@" && { [ -e "$depfile" ] || echo "$rule" >"$depfile"; }'

build = project(api=1)
shaders = build.glob(f"{FOLDER}/*.comp")
generator = f"{build.out}/vulkan-shaders-gen"
header = f"{build.out}/include/ggml-vulkan-shaders.hpp"


def shader_compiler() -> str:
    """Return the compiler that the generator will call."""
    found = shutil.which("glslc", path=build.variable("PATH") or "")
    if found is None:
        build.refuse("GGML002", "the generator calls glslc, which is not there", "glslc on PATH", "none")
    return found


def supports(compiler: str, test: str) -> bool:
    """Tell whether the compiler takes the extension that a feature test asks for."""
    path = build.input(f"{FOLDER}/feature-tests/{test}.comp")
    command = [compiler, "-fshader-stage=compute", "--target-env=vulkan1.3", "-o", "/dev/null", path]
    answer = build.probe(command)
    if answer.status not in (0, 1):
        build.refuse("GGML003", "glslc did not answer a feature test", path, answer.err[-200:])
    return re.search(r"extension not supported", answer.err) is None


def main() -> None:
    if "vulkan" not in [entry.backend for entry in build.accel]:
        build.refuse("GGML001", "these shaders are for Vulkan alone", "a set without it", "vulkan1.2")
    if not shaders:
        build.refuse("GGML004", "there are no shaders", f"{FOLDER}/*.comp", "none", hint="run fetch.py first")
    compiler = shader_compiler()
    features = [name for name, test in FEATURES.items() if supports(compiler, test)]
    build.fact("glslc.features", " ".join(features) or "none")
    host_tool(features)
    build.action(
        "list the shaders",
        [generator, "--output-dir", f"{build.out}/spv", "--target-hpp", header],
        inputs=[generator],
        outputs=[header],
    )
    build.header(header)
    for path in shaders:
        shader(path, compiler)


def host_tool(features: list[str]) -> None:
    """Compile the generator for this machine."""
    source, depfile = f"{FOLDER}/vulkan-shaders-gen.cpp", f"{generator}.d"
    host = build.compilers["c++"].path
    defines = [f"-D{name}" for name in features]
    build.action(
        "host tool vulkan-shaders-gen",
        [host, "-std=c++17", "-O0", *defines, "-MD", "-MF", depfile, source, "-o", generator, "-pthread"],
        inputs=[source, host],
        outputs=[generator],
        depfile=depfile,
        env={"PATH": build.variable("PATH") or ""},
    )


def shader(path: str, compiler: str) -> None:
    """Compile every variant of one shader into one C++ file, and that into the library."""
    name = path.rpartition("/")[2]
    made = f"{build.out}/{name}.cpp"
    build.action(
        f"shader {name}",
        [
            *("/bin/sh", "-c", ALWAYS_A_DEPFILE, "sh", f"{made}: {path}", f"{made}.d"),
            *(generator, "--glslc", compiler, "--source", path, "--output-dir", f"{build.out}/spv/{name}"),
            *("--target-hpp", header, "--target-cpp", made),
        ],
        inputs=[generator, compiler, path, header],
        outputs=[made],
        depfile=f"{made}.d",
        raw_depfile=True,
        memory=512 << 20,
    )
    build.source(made, target="ggml_shaders", flags=["-O0"])


main()
