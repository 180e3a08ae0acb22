// Scales four numbers and ten thousand, and checks the many against the processor.
#include <cmath>
#include <cstdio>
#include <vector>

#include "scale.h"

int main() {
    const std::vector<float> a = {5, 11, 17, 23};
    std::vector<float> d(a.size());
    std::vector<float> many(10007), scaled(many.size());
    for (std::size_t i = 0; i < many.size(); ++i) many[i] = 0.37f * static_cast<float>(i) - 1000.0f;
    if (scale(a, d, 2, 2) != 0 || scale(many, scaled, 3, 0.5f) != 0) {
        std::fprintf(stderr, "%s\n", failure());
        return 1;
    }
    for (std::size_t i = 0; i < many.size(); ++i) {
        const double right = 3.0 * many[i] + 0.5;
        if (std::fabs(scaled[i] - right) > 1e-6 * (1 + std::fabs(right))) {
            std::fprintf(stderr, "element %zu is %g, not %g\n", i, scaled[i], right);
            return 1;
        }
    }
    std::printf("%g %g %g %g\n%s\n", d[0], d[1], d[2], d[3], device());
    return 0;
}
