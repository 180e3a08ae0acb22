#include <cstdio>

import front;

int main() {
    const float x[] = {1, 2, 3, 4}, y[] = {10, 20, 30, 40};
    try {
        const auto answer = front::saxpy(2, x, y);
        const float* out = answer.values;
        std::printf("%g %g %g %g\n%s\n", out[0], out[1], out[2], out[3], answer.device);
        return answer.device[0] == 0;  // nobody says where it ran
    } catch (const front::Error& error) {
        std::fprintf(stderr, "%s\n", error.reason);
        return 1;
    }
}
