"""Copy one file: the action that brings a generated or authored file into a package tree.

Run by path (``python -I -S copying.py IN OUT``), so it imports nothing of Atoll.
"""

import shutil
import sys

if __name__ == "__main__":
    shutil.copyfile(sys.argv[1], sys.argv[2])
