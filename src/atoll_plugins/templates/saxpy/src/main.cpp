#include <cstdio>

#include "PACKAGE_kernels.h"
#include "atoll_launch.h"

int main() {
    const float x[] = {1, 2, 3, 4}, y[] = {10, 20, 30, 40};
    float out[4] = {};
    if (PACKAGE_saxpy(2, x, y, out, 4) != 0) {
        std::fprintf(stderr, "%s\n", atoll_last_error());
        return 1;
    }
    std::printf("%g %g %g %g on %s\n", out[0], out[1], out[2], out[3], atoll_device_name());
    return 0;
}
