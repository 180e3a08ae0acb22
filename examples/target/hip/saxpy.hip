// The HIP island: a kernel and the function that launches it. Errors leave it as codes with a text.
// The generated header is included by the lane, before the first line.
#include <hip/hip_runtime.h>

#include <atoll/target.h>

#include "atoll_launch.h"

__global__ void saxpy(float a, const float* x, const float* y, float* out, unsigned n) {
    const unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) {
        Target::stcs(out + i, Target::muladd(a, Target::ldcs(x + i), Target::ldcs(y + i)));
    }
}

static hipError_t run(float a, const float* x, const float* y, float* out, unsigned n, float* device) {
    const size_t bytes = n * sizeof(float);
    hipError_t error = hipMemcpy(device, x, bytes, hipMemcpyHostToDevice);
    if (error == hipSuccess) error = hipMemcpy(device + n, y, bytes, hipMemcpyHostToDevice);
    if (error == hipSuccess && n > 0) {
        saxpy<<<(n + 255) / 256, 256>>>(a, device, device + n, device + 2 * size_t{n}, n);
        error = hipGetLastError();
    }
    if (error == hipSuccess) error = hipMemcpy(out, device + 2 * size_t{n}, bytes, hipMemcpyDeviceToHost);
    return error;
}

ATOLL_EXPORT_AS(x[n], y[n], out[n], status)
int app_saxpy(float a, const float* x, const float* y, float* out, unsigned n) {
    float* device = nullptr;  // x, y and out, one after the other
    hipError_t error = hipMalloc(&device, 3 * n * sizeof(float) + 1);
    if (error == hipSuccess) error = run(a, x, y, out, n, device);
    if (device != nullptr) (void)hipFree(device);
    hipDeviceProp_t facts;
    int current = 0;
    if (error == hipSuccess) error = hipGetDevice(&current);
    if (error == hipSuccess) error = hipGetDeviceProperties(&facts, current);
    if (error == hipSuccess) atoll_ran_on(facts.name);
    if (error != hipSuccess) atoll_fail(hipGetErrorString(error));
    return error;
}
