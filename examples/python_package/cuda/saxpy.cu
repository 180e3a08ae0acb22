// The CUDA island. The generated header is included by the lane, before the first line.
#include <cuda_runtime.h>

__global__ void saxpy(float a, const float* x, const float* y, float* out, unsigned n) {
    const unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) {
        out[i] = a * x[i] + y[i];
    }
}

ATOLL_EXPORT_AS(x[n], y[n], out[n], out=out, status)
int mypkg_saxpy(float a, const float* x, const float* y, float* out, unsigned n) {
    const size_t bytes = n * sizeof(float);
    float* device = nullptr;  // x, y and out, one after the other
    cudaError_t error = cudaMalloc(&device, 3 * bytes + 1);
    if (error == cudaSuccess) error = cudaMemcpy(device, x, bytes, cudaMemcpyHostToDevice);
    if (error == cudaSuccess) error = cudaMemcpy(device + n, y, bytes, cudaMemcpyHostToDevice);
    if (error == cudaSuccess && n > 0) {
        saxpy<<<(n + 255) / 256, 256>>>(a, device, device + n, device + 2 * size_t{n}, n);
        error = cudaGetLastError();
    }
    if (error == cudaSuccess) error = cudaMemcpy(out, device + 2 * size_t{n}, bytes, cudaMemcpyDeviceToHost);
    cudaFree(device);
    cudaDeviceProp facts;
    int current = 0;
    if (error == cudaSuccess) error = cudaGetDevice(&current);
    if (error == cudaSuccess) error = cudaGetDeviceProperties(&facts, current);
    if (error == cudaSuccess) atoll_ran_on(facts.name);
    return error;
}
