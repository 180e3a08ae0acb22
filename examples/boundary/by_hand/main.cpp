// The program is the same on each rung but for the name of the module.
#include <cstdio>

import app.by_hand;

int main() {
    const float x[] = {1, 2, 3, 4}, y[] = {10, 20, 30, 40};
    float out[4] = {};
    if (app::by_hand::saxpy(2, x, y, out, 4) != 0) {
        std::fprintf(stderr, "%s\n", app::by_hand::last_error());
        return 1;
    }
    std::printf("%g %g %g %g\n%s\n", out[0], out[1], out[2], out[3], app::by_hand::device_name());
    return app::by_hand::device_name()[0] == 0;  // nobody says where it ran
}
