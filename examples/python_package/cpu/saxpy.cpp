// The processor's implementation: always in the wheel, and last in the order of choice.
#include "mypkg_kernels.h"

// Return a * x + y.
ATOLL_EXPORT_AS(x[n], y[n], out[n], out=out, status)
int mypkg_saxpy(float a, const float* x, const float* y, float* out, unsigned n) {
    for (unsigned i = 0; i < n; ++i) {
        out[i] = a * x[i] + y[i];
    }
    atoll_ran_on_cpu();
    return 0;
}
