// The seam over cubic.poly: here the processor reads the compiled bytes; a driver would hand them to its device.
#include <cstdint>
#include <cstdio>
#include <cstring>

#include "example_data.h"

int main() {
    const auto code = example::poly::cubic_poly();
    std::uint32_t count = 0;
    std::memcpy(&count, static_cast<const char*>(code.data) + 8, sizeof count);
    const double points[] = {0, 1, 2};
    for (const double x : points) {
        double sum = 0, coefficient = 0;
        for (std::uint32_t i = count; i-- > 0;) {
            std::memcpy(&coefficient, static_cast<const char*>(code.data) + 12 + 8 * i, sizeof coefficient);
            sum = sum * x + coefficient;
        }
        std::printf("%g ", sum);
    }
    std::printf("\n");
    return 0;
}
