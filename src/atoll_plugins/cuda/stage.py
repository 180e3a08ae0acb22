"""Give a source another name: ``python -I -S stage.py include|copy OUT PATH``; imports nothing of Atoll."""

import shutil
import sys
from pathlib import Path

if __name__ == "__main__":
    how, out, path = sys.argv[1:]
    if how == "copy":
        shutil.copyfile(path, out)
    else:
        Path(out).write_text(f"#include <{path}>\n", encoding="utf-8", errors="surrogateescape")
