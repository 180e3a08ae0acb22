"""Bring ggml's shaders and their generator out of a pinned source distribution, through Atoll's store."""

import random
import shutil
import sys
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
# Hundreds of variants each, which take minutes; `--all` brings them too.
SLOW = {"mul_mm.comp", "mul_mat_vec.comp", "unary.comp"}
SAMPLE = 12
SEED = 0


def main(everything: bool) -> None:
    root = Store.default().ensure(SDIST)
    (folder,) = root.root.glob("**/ggml-vulkan/vulkan-shaders")
    shaders = sorted(path.name for path in folder.glob("*.comp"))
    quick = [name for name in shaders if name not in SLOW]
    chosen = shaders if everything else sorted(random.Random(SEED).sample(quick, SAMPLE))
    target = Path(__file__).parent / "vulkan-shaders"
    shutil.rmtree(target, ignore_errors=True)
    left_out = set(shaders) - set(chosen)
    shutil.copytree(folder, target, ignore=lambda _, names: left_out & set(names))
    print(f"{len(chosen)} of {len(shaders)} shaders: {' '.join(chosen)}")


if __name__ == "__main__":
    main("--all" in sys.argv[1:])
