"""Copy device libraries into one folder: ``python -I -S gather.py FROM TO NAME...``.

Clang searches one folder, and what a distribution lacks is made beside copies of what it has.
"""

import shutil
import sys
from pathlib import Path


def main(source: str, target: str, *names: str) -> None:
    """Copy each name."""
    for name in names:
        shutil.copyfile(Path(source, name), Path(target, name))


if __name__ == "__main__":
    main(*sys.argv[1:])
