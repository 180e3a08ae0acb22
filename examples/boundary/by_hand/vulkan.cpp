// The seam over vulkan/saxpy.comp, declared by hand.
#include "atoll_launch.h"
#include "app_data.h"
#include "app.h"

ATOLL_DRIVER(vulkan);

int app_saxpy(float a, const float* x, const float* y, float* out, unsigned n) {
    if (n == 0) return 0;
    const auto shader = app::vulkan::saxpy_comp();
    const atoll_code code = atoll_any_device(shader.data, shader.size);
    const atoll_arg args[] = {
        atoll_read(x, n * sizeof *x),
        atoll_read(y, n * sizeof *y),
        atoll_write(out, n * sizeof *out),
        atoll_value(&a, sizeof a),
        atoll_value(&n, sizeof n),
    };
    const atoll_launch launch = {ATOLL_LAUNCH_ABI, "main", &code, 1, {(n + 63) / 64, 1, 1}, {64, 1, 1}, args, 5};
    return atoll_run(&atoll_driver_vulkan, &launch);
}

const char* app_device() { return atoll_device_name(); }
const char* app_error() { return atoll_last_error(); }
