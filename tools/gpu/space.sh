#!/bin/bash
# Fills .space with a Python package whose functions take arrays where they lie (`space=device`), built here, and with one
# whose device code is changed in one operation; space_there.sh runs both on a machine with an NVIDIA GPU.
set -eu
cd "$(dirname "$0")/../.."
root=$PWD
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
grep -qxF /.space/ .git/info/exclude || echo /.space/ >>.git/info/exclude
rm -rf .space
mkdir -p .space
mkdir "$work/cuda" "$work/cpu"
cat >"$work/cuda/spaced.cu" <<'CODE'
#include <cuda_runtime.h>

__global__ void scale(float a, const float* x, float* out, unsigned n) {
    const unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) out[i] = a * x[i];
}

ATOLL_EXPORT_AS(x[n], out[n], space=device, stream=s, status)
int spaced_scale(float a, const float* x, float* out, unsigned n, void* s) {
    cudaDeviceProp facts;
    int current = 0;
    if (n > 0) scale<<<(n + 255) / 256, 256, 0, static_cast<cudaStream_t>(s)>>>(a, x, out, n);
    cudaError_t error = cudaGetLastError();
    if (error == cudaSuccess) error = cudaGetDevice(&current);
    if (error == cudaSuccess) error = cudaGetDeviceProperties(&facts, current);
    if (error == cudaSuccess) atoll_ran_on(facts.name);
    return error;
}

ATOLL_EXPORT_AS(status)
int spaced_wait() { return cudaDeviceSynchronize(); }
CODE
cat >"$work/cpu/spaced.cpp" <<'CODE'
#include "spaced_kernels.h"

ATOLL_EXPORT_AS(x[n], out[n], space=device, stream=s, status)
int spaced_scale(float a, const float* x, float* out, unsigned n, void* s) {
    (void)s;
    for (unsigned i = 0; i < n; ++i) out[i] = a * x[i];
    atoll_ran_on_cpu();
    return 0;
}

ATOLL_EXPORT_AS(status)
int spaced_wait() { return 0; }
CODE
cat >"$work/atoll.toml" <<'TOML'
[package]
name = "spaced"
version = "0.1.0"

[build]
accel = "cuda13.0+{sm_90} ptx>=90"
lanes = ["cuda"]

[targets.spaced]
kind = "python"
boundary = "kernels"
sources = ["cpu/*.cpp", { glob = "cuda/*.cu", accel = "cuda" }]

[boundary.kernels]
module = "spaced.kernels"
roots = ["cpu", "cuda"]
strip-prefix = "spaced_"
shape = "registry"
TOML
built=$(cd "$work" && "$root/.venv/bin/atoll" build)
mkdir .space/good .space/bad
cp -r "$work/$built" .space/good/spaced
sed -i 's/a \* x\[i\];/a + x[i];/' "$work/cuda/spaced.cu"
built=$(cd "$work" && "$root/.venv/bin/atoll" build)
cp -r "$work/$built" .space/bad/spaced
find .space -type f
