// The processor's implementation.
#include <atoll/target.h>

#include "app_kernels.h"

ATOLL_EXPORT_AS(x[n], y[n], out[n], status)
int app_saxpy(float a, const float* x, const float* y, float* out, unsigned n) {
    for (unsigned i = 0; i < n; ++i) {
        Target::stcs(out + i, Target::muladd(a, Target::ldcs(x + i), Target::ldcs(y + i)));
    }
    atoll_ran_on_cpu();
    return 0;
}
