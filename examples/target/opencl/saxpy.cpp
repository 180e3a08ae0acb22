// The seam over saxpy.cl: buffers bind in order, scalars follow them as arguments.
#include "atoll_launch.h"
#include "app_data.h"
#include "app_kernels.h"

ATOLL_DRIVER(opencl);

ATOLL_EXPORT_AS(x[n], y[n], out[n], status)
int app_saxpy(float a, const float* x, const float* y, float* out, unsigned n) {
    if (n == 0) return 0;
    const auto source = app::opencl::saxpy_cl();
    const atoll_code code = atoll_any_device(source.data, source.size);
    const atoll_arg args[] = {
        atoll_read(x, n * sizeof *x),
        atoll_read(y, n * sizeof *y),
        atoll_write(out, n * sizeof *out),
        atoll_value(&a, sizeof a),
        atoll_value(&n, sizeof n),
    };
    const atoll_launch launch = {ATOLL_LAUNCH_ABI, "saxpy", &code, 1, {(n + 63) / 64, 1, 1}, {64, 1, 1}, args, 5};
    return atoll_run(&atoll_driver_opencl, &launch);
}
