"""Copy one file: ``python -I -S tame_copy.py IN OUT``; it imports nothing of Atoll."""

import shutil
import sys

if __name__ == "__main__":
    shutil.copyfile(sys.argv[1], sys.argv[2])
