"""Bring ggml's scale shader out of its pinned source distribution, through Atoll's own store."""

import shutil
from pathlib import Path

from atoll.store import Payload, Store

SDIST = Payload(
    name="llama-cpp-python-0.3.36",
    requirements=("llama-cpp-python==0.3.36",),
    hashes=(
        (
            "llama_cpp_python-0.3.36.tar.gz",
            "832db0699007f1be95a7e41ef12e88926b02ba836461e36a36372db2760c1a2e",
        ),
    ),
    sdist=True,
)
FILES = ("scale.comp", "generic_unary_head.glsl", "types.glsl", "utils.glsl")


def main() -> None:
    root = Store.default().ensure(SDIST)
    (folder,) = root.root.glob("**/ggml-vulkan/vulkan-shaders")
    shaders = Path(__file__).parent / "shaders"
    shaders.mkdir(exist_ok=True)
    for name in FILES:
        shutil.copyfile(folder / name, shaders / name)


if __name__ == "__main__":
    main()
