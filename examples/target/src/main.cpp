// The program: it calls one function and knows no device. Which island answers is decided in atoll.toml.
#include <cstdio>

#include "app_kernels.h"
#include "atoll_launch.h"

int main() {
    const float x[] = {1, 2, 3, 4}, y[] = {10, 20, 30, 40};
    float out[4] = {};
    if (app_saxpy(2, x, y, out, 4) != 0) {
        std::fprintf(stderr, "%s\n", atoll_last_error());
        return 1;
    }
    std::printf("%g %g %g %g\n%s\n", out[0], out[1], out[2], out[3], atoll_device_name());
    return atoll_device_name()[0] == 0;  // nobody says where it ran
}
