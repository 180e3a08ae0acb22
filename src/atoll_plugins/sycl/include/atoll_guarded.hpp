/* Nothing thrown leaves an island: it becomes a status and a text, here. */
#ifndef ATOLL_GUARDED_HPP
#define ATOLL_GUARDED_HPP

#include <exception>

#include "atoll_launch.h"

namespace atoll_sycl {

/* Calls `body`; returns 0, or 1 where it threw, with what it said as the last error. */
template <class Body>
int guarded(Body body) noexcept {
    try {
        body();
        return 0;
    } catch (const std::exception& error) {
        atoll_fail(error.what());
    } catch (...) {
        atoll_fail("the island threw something that is no std::exception");
    }
    return 1;
}

}  // namespace atoll_sycl
#endif
