#!/bin/sh
# Fills .gl and .whl with what a bare GPU machine (CUDA, Python 3.12 with PyTorch) lacks for Atoll:
# the Vulkan and OpenCL loaders as Debian packages, Atoll and its requirements as wheels. Both folders are carried there.
set -eu
cd "$(dirname "$0")/../.."
for folder in /.gl/ /.whl/; do
  grep -qxF "$folder" .git/info/exclude || echo "$folder" >>.git/info/exclude
done
rm -rf .gl .whl
mkdir -p .gl .whl "${TMPDIR:-/tmp}/amd64/partial"
options="-oAPT::Architecture=amd64 -oAPT::Architectures=amd64 -oDir::State::Lists=${TMPDIR:-/tmp}/amd64"
# shellcheck disable=SC2086 # a list of options on purpose
apt-get $options -qq update && (cd .gl && apt-get $options -qq download libvulkan1 ocl-icd-libopencl1 libegl1 libglvnd0 libopengl0 libgl1 libglx0 libgles2)
platforms=""
for glibc in 2_28 2_27 2_24 2_17; do platforms="$platforms --platform manylinux_${glibc}_x86_64"; done
# shellcheck disable=SC2086
.venv/bin/python -m pip download -q --no-deps --only-binary=:all: --python-version 3.12 --implementation cp \
  $platforms --platform manylinux2014_x86_64 -d .whl cffi pycparser platformdirs greenlet msgspec "$@"
.venv/bin/python -m pip wheel -q --no-deps -w .whl .
ls .gl .whl
