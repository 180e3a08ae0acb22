#include <atoll/target.h>

__kernel void saxpy(__global const float* x, __global const float* y, __global float* out, float a, uint n) {
    const uint i = get_global_id(0);
    if (i < n) {
        Target_stcs(out + i, Target_muladd(a, Target_ldcs(x + i), Target_ldcs(y + i)));
    }
}
