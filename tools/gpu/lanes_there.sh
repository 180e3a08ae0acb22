#!/bin/bash
# On the GPU machine, in the root of the repository, with `.gl` and `.lanes` carried there: runs what lanes.sh built.
. tools/gpu/setup.sh
chmod -R u+rwx .lanes; good=0; all=0
say() { # say LABEL WANTED-REGEX command...
  label=$1 want=$2; shift 2; all=$((all + 1))
  said=$(timeout 60 "$@" 2>&1); code=$?; said=$(printf '%s' "$said" | tr '\n' '|')
  if printf '%s' "$said" | grep -Eq "$want"; then good=$((good + 1)); word=ok; else word=WRONG; fi
  printf '%-34s %-5s rc=%s %s\n' "$label" "$word" "$code" "$said"
}
R='^12 24 36 48\|.*H200'
for n in vulkan opencl cuda slang cuda_clang cuda_plain target_cuda target_opencl run_time kernels_in_cpp; do say $n "$R" .lanes/bin/$n; done
for n in hip cuda_shared; do say "$n (shared runtime)" "$R" env LD_LIBRARY_PATH=$PWD/.lanes/lib .lanes/bin/$n; done
for d in cuda vulkan opencl; do for n in run_time kernels_in_cpp; do say "$n ATOLL_DEVICE=$d" "$R" env ATOLL_DEVICE=$d .lanes/bin/$n; done; done
for n in run_time kernels_in_cpp; do say "$n ATOLL_DEVICE=cpu" '^12 24 36 48\|' env ATOLL_DEVICE=cpu .lanes/bin/$n; done
say "cuda_shared, the machine's runtime" "libcudart.so.13|12 24 36 48" .lanes/bin/cuda_shared
# One operation changed in every piece of device code: the right answer would be a fallback in silence.
for n in vulkan opencl slang cuda_plain target_opencl; do say "changed: $n" '^([^1]|1[^2]|12 ([^2]|2[^4])).*\|.*H200' .lanes/bad/$n; done
say "changed: hip" '^([^1]|1[^2]|12 ([^2]|2[^4])).*\|.*H200' env LD_LIBRARY_PATH=$PWD/.lanes/lib .lanes/bad/hip
for d in cuda vulkan opencl; do say "changed: kernels_in_cpp $d" '^([^1]|1[^2]|12 ([^2]|2[^4])).*\|.*H200' env ATOLL_DEVICE=$d .lanes/bad/kernels_in_cpp; done
for d in vulkan opencl; do say "changed: run_time $d" '^([^1]|1[^2]|12 ([^2]|2[^4])).*\|.*H200' env ATOLL_DEVICE=$d .lanes/bad/run_time; done
echo "lanes: $good of $all as expected"
