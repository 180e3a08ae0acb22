// The program: it sees a function and two structs, which the build read from kernels/motion.py.
#include <cstdio>

#include "app_kernels.h"
#include "atoll_launch.h"

int main() {
    Body bodies[] = {{10, 1}, {20, 2}, {30, 3}, {40, 4}};
    if (advance(4, Step{2}, bodies, 4) != 0) {
        std::fprintf(stderr, "%s\n", atoll_last_error());
        return 1;
    }
    std::printf("%g %g %g %g\n%s\n", bodies[0].place, bodies[1].place, bodies[2].place, bodies[3].place,
                atoll_device_name());
    return atoll_device_name()[0] == 0;  // nobody says where it ran
}
