__kernel void saxpy(__global const float* x, __global const float* y, __global float* out, float a, uint n) {
    const uint i = get_global_id(0);
    if (i < n) {
        out[i] = a * x[i] + y[i];
    }
}
