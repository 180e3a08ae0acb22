#include <cstdio>

import app.more;

int main() {
    const float x[] = {1, 2, 3, 4};
    float y[] = {5, 10, 15, 20}, out[4] = {};
    app::more::scale(2, y, 4);  // reports no device, so it comes before the call that does
    if (app::more::saxpy(2, x, y, out, 4) != 0) {
        std::fprintf(stderr, "%s\n", app::more::last_error());
        return 1;
    }
    std::printf("%g %g %g %g\n%s\n", out[0], out[1], out[2], out[3], app::more::device_name());
    return app::more::device_name()[0] == 0;
}
