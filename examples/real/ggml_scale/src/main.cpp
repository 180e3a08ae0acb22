// Launches ggml's scale shader: d[i] = a[i] * param1 + param2, 512 elements a work-group; groups go along y.
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <vector>

#include "atoll_launch.h"
#include "ggml_scale_data.h"

ATOLL_DRIVER(vulkan);

namespace {

// The push-constant block of ggml's generic_unary_head.glsl, field for field.
struct Parameters {
    std::uint32_t ne;
    std::uint32_t shape_and_strides[16];
    std::uint32_t misalign_offsets;
    float param1, param2, param3, param4;
    std::uint32_t division[8];
};

int scale(const std::vector<float>& a, std::vector<float>& d, float factor, float bias) {
    Parameters parameters{};
    parameters.ne = static_cast<std::uint32_t>(a.size());
    parameters.param1 = factor;
    parameters.param2 = bias;
    const auto shader = ggml_scale::shaders::scale_comp();
    const atoll_code code = atoll_any_device(shader.data, shader.size);
    const atoll_arg args[] = {
        atoll_read(a.data(), a.size() * sizeof(float)),
        atoll_write(d.data(), d.size() * sizeof(float)),
        {ATOLL_SCALAR, 0, &parameters, sizeof parameters, 4, 0},
    };
    const atoll_launch launch = {
        ATOLL_LAUNCH_ABI, "main", &code, 1, {1, (parameters.ne + 511) / 512, 1}, {128, 1, 1}, args, 3};
    return atoll_run(&atoll_driver_vulkan, &launch);
}

}  // namespace

int main() {
    const std::vector<float> a = {5, 11, 17, 23};
    std::vector<float> d(a.size());
    std::vector<float> many(10007), scaled(many.size());
    for (std::size_t i = 0; i < many.size(); ++i) many[i] = 0.37f * static_cast<float>(i) - 1000.0f;
    if (scale(a, d, 2, 2) != 0 || scale(many, scaled, 3, 0.5f) != 0) {
        std::fprintf(stderr, "%s\n", atoll_last_error());
        return 1;
    }
    for (std::size_t i = 0; i < many.size(); ++i) {
        const double right = 3.0 * many[i] + 0.5;
        if (std::fabs(scaled[i] - right) > 1e-6 * (1 + std::fabs(right))) {
            std::fprintf(stderr, "element %zu is %g, not %g\n", i, scaled[i], right);
            return 1;
        }
    }
    std::printf("%g %g %g %g\n%s\n", d[0], d[1], d[2], d[3], atoll_device_name());
    return 0;
}
