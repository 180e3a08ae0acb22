// The processor's island; it keeps by itself what it reports.
#include "app.h"

static thread_local const char* device = "";

int app_saxpy(float a, const float* x, const float* y, float* out, unsigned n) {
    for (unsigned i = 0; i < n; ++i) {
        out[i] = a * x[i] + y[i];
    }
    device = "the processor";
    return 0;
}

const char* app_device() { return device; }
const char* app_error() { return ""; }
