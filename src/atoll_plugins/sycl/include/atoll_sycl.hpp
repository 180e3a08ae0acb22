/* The host half of a SYCL island that is compiled from wheels: its SPIR-V as kernels, and nothing thrown past it.

   A unit is compiled twice. The device's compiler sees `__SYCL_DEVICE_ONLY__` and takes the kernels, which are free
   functions; the host compiler takes what stands under `#ifndef __SYCL_DEVICE_ONLY__`. */
#ifndef ATOLL_SYCL_HPP
#define ATOLL_SYCL_HPP

#include <sycl/sycl.hpp>

#ifndef __SYCL_DEVICE_ONLY__
#include <cstddef>
#include <string>
#include <vector>

#include "atoll_guarded.hpp"

namespace atoll_sycl {

/* Returns a free function `name` of a module, built for the queue's device. */
inline sycl::kernel kernel(const sycl::queue& queue, const void* data, std::size_t size, const std::string& name) {
    namespace sx = sycl::ext::oneapi::experimental;
    const auto* bytes = static_cast<const std::byte*>(data);
    auto source = sx::create_kernel_bundle_from_source(
        queue.get_context(), sx::source_language::spirv, std::vector<std::byte>(bytes, bytes + size));
    return sx::build(source).ext_oneapi_get_kernel("__sycl_kernel_" + name);
}

}  // namespace atoll_sycl
#endif
#endif
