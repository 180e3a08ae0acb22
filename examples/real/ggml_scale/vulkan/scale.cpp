// Launches ggml's scale shader: d[i] = a[i] * param1 + param2, 512 elements a work-group; groups go along y.
#include "scale.h"

#include <cstdint>

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

}  // namespace

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

const char* device() { return atoll_device_name(); }

const char* failure() { return atoll_last_error(); }
