#!/bin/bash
# Fills .lanes with the examples built here for a machine with an NVIDIA GPU, and with copies whose device code is changed
# in one operation; lanes_there.sh runs both. Needs clang-22, the HIP headers (./dev setup) and the store's wheels.
set -eu
cd "$(dirname "$0")/../.."
root=$PWD
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
grep -qxF /.lanes/ .git/info/exclude || echo /.lanes/ >>.git/info/exclude
rm -rf .lanes
mkdir -p .lanes/bin .lanes/bad .lanes/lib
made() { # NAME EXAMPLE MANIFEST-LINES OPTIONS…
  name=$1 example=$2 lines=$3
  shift 3
  cp -r "examples/$example" "$work/$name"
  rm -rf "$work/$name/.atoll"
  printf '%b' "$lines" >>"$work/$name/atoll.toml"
  built=$(cd "$work/$name" && "$root/.venv/bin/atoll" build "$@" 2>/dev/null)
  cp "$work/$name/$built" ".lanes/bin/$name"
}
for each in vulkan opencl cuda slang; do made $each saxpy/$each ''; done
made hip saxpy/hip '' --accel 'hip, cuda11.8+{sm_90}'
made cuda_clang saxpy/cuda '\n[lane.cuda]\ncompiler = "clang++-22"\n'
made cuda_shared saxpy/cuda '\n[lane.cuda]\nruntime = "shared"\n'
made cuda_plain saxpy/cuda '\n[lane.cuda]\nflags = ["--no-compress"]\n'
made run_time saxpy/run_time ''
made kernels_in_cpp kernels_in_cpp ''
made target_cuda target '' --accel 'cuda13.0+{sm_90}'
made target_opencl target ''
.venv/bin/python - <<'CODE'
import shutil, sys
from pathlib import Path

sys.path[:0] = ["tests", "."]
from atoll.store import Store
from atoll_plugins.cuda.toolkit import PAYLOADS, PINNED
from atoll_plugins.hip.nvidia import PAYLOAD
from e2e.sabotage import sabotage
from e2e.sabotage_cuda import sabotage_cuda

here, store = Path(".lanes"), Store.default()
shutil.copy(store.ensure(PAYLOAD).root / "nvidia/cuda_runtime/lib/libcudart.so.11.0", here / "lib")
shutil.copy(store.ensure(PAYLOADS[PINNED]).root / "nvidia/cu13/lib/libcudart.so.13", here / "lib")
for name in ("vulkan", "opencl", "slang", "kernels_in_cpp", "target_opencl", "run_time", "cuda_plain", "hip"):
    shutil.copy(here / "bin" / name, here / "bad" / name)
    (sabotage_cuda if name in ("cuda_plain", "hip") else sabotage)(here / "bad" / name)
CODE
du -sh .lanes
