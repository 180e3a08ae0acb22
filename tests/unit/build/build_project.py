"""What the tests of the build room share: small projects on a scrubbed machine."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from atoll.session import Session, open_session
from unit.plugins.lane_project import ENVIRONMENT, write

PACKAGE = '[package]\nname = "demo"\n'
PROGRAM = {
    "atoll.toml": PACKAGE + '[targets.demo]\nkind = "executable"\nsources = ["src/*.cpp"]\n',
    "src/main.cpp": '#include "word.h"\n#include <cstdio>\nint main() { std::puts(WORD); }\n',
    "src/word.h": '#define WORD "hello"\n',
}
SHADER = """\
#version 450
layout(local_size_x = 64) in;
layout(set = 0, binding = 0) buffer X { float x[]; };
void main() { x[gl_GlobalInvocationID.x] *= 2.0; }
"""
ROOT = """\
#include "demo_kernels.h"
ATOLL_EXPORT_AS(x[n], status)
int demo_twice(float* x, unsigned n) {
    for (unsigned i = 0; i < n; ++i) x[i] *= 2;
    atoll_ran_on("%s");
    return 0;
}
"""
REGISTRY = {
    "atoll.toml": PACKAGE
    + """\
[build]
accel = "vulkan1.2"
lanes = ["spirv", "python"]
[targets.demo]
kind = "python"
boundary = "kernels"
sources = ["cpu/*.cpp", { glob = "vulkan/*.comp", accel = "vulkan" }, "kernels/*.py"]
[target.'cfg(accelerator = "vulkan")'.targets.demo]
sources = ["vulkan/*.cpp"]
[boundary.kernels]
module = "demo.kernels"
roots = ["cpu", "vulkan"]
layout-root = "cpu"
strip-prefix = "demo_"
shape = "registry"
""",
    "cpu/twice.cpp": ROOT % "cpu",
    "vulkan/twice.cpp": ROOT % "not really",
    "vulkan/twice.comp": SHADER,
    "kernels/thrice.py": """\
import atoll
from atoll import f32, kernel, view

@kernel(block=64)
def thrice(x: view[f32]):
    i = atoll.global_id(0)
    if i < x.size:
        x[i] = 3.0 * x[i]
""",
}


def session(root: Path, files: Mapping[str, str], **options: object) -> Session:
    """Write a project and open its session on the scrubbed machine."""
    write(root, files)
    return reopened(root, **options)


def reopened(root: Path, **options: object) -> Session:
    """Open a session of a project that is there."""
    environment = {**ENVIRONMENT, "ATOLL_OFFLINE": "1", "ATOLL_STORE": str(root / "store")}
    return open_session(root, environment=environment, **options)  # type: ignore[arg-type]
