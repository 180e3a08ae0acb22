// The CUDA island: a kernel and the function that launches it. Errors leave it as codes with a text.
// The generated header is included by the lane, before the first line.
#include <cuda_runtime.h>

#include <atoll/target.h>

#include "atoll_launch.h"

__global__ void saxpy(float a, const float* x, const float* y, float* out, unsigned n) {
    const unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) {
        Target::stcs(out + i, Target::muladd(a, Target::ldcs(x + i), Target::ldcs(y + i)));
    }
}

static cudaError_t run(float a, const float* x, const float* y, float* out, unsigned n, float* device) {
    const size_t bytes = n * sizeof(float);
    cudaError_t error = cudaMemcpy(device, x, bytes, cudaMemcpyHostToDevice);
    if (error == cudaSuccess) error = cudaMemcpy(device + n, y, bytes, cudaMemcpyHostToDevice);
    if (error == cudaSuccess && n > 0) {
        saxpy<<<(n + 255) / 256, 256>>>(a, device, device + n, device + 2 * size_t{n}, n);
        error = cudaGetLastError();
    }
    if (error == cudaSuccess) error = cudaMemcpy(out, device + 2 * size_t{n}, bytes, cudaMemcpyDeviceToHost);
    return error;
}

ATOLL_EXPORT_AS(x[n], y[n], out[n], status)
int app_saxpy(float a, const float* x, const float* y, float* out, unsigned n) {
    float* device = nullptr;  // x, y and out, one after the other
    cudaError_t error = cudaMalloc(&device, 3 * n * sizeof(float) + 1);
    if (error == cudaSuccess) error = run(a, x, y, out, n, device);
    cudaFree(device);
    cudaDeviceProp facts;
    int current = 0;
    if (error == cudaSuccess) error = cudaGetDevice(&current);
    if (error == cudaSuccess) error = cudaGetDeviceProperties(&facts, current);
    if (error == cudaSuccess) atoll_ran_on(facts.name);
    if (error != cudaSuccess) atoll_fail(cudaGetErrorString(error));
    return error;
}
