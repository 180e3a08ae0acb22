#!/bin/bash
# On the GPU machine, in the root of the repository, with `.gl`, `.whl` and `.space` carried there: runs what space.sh built.
. tools/gpu/setup.sh
for which in good bad; do
  PYTHONPATH="$PWD/.space/$which:$PYTHONPATH" timeout 120 python3 tools/gpu/space.py $which
done
