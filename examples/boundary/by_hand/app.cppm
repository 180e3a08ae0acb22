// The module by hand: each declaration a third time, since g++ 12 drops an exported using-declaration.
module;
#include "app.h"
export module app.by_hand;

export namespace app::by_hand {
extern "C" int app_saxpy(float a, const float *x, const float *y, float *out, unsigned n);
inline constexpr auto saxpy = app_saxpy;
inline const char *device_name() { return app_device(); }
inline const char *last_error() { return app_error(); }
}  // namespace app::by_hand
