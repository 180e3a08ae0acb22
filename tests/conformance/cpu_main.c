/* As launch_main.c, for a kernel that is linked into the program; the code's file is not read. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "atoll_launch.h"

extern const atoll_driver DRIVER;

static void saxpy(void *const *buffers, const void *block, const uint32_t groups[3], const uint32_t group[3],
                  uint64_t first, uint64_t last) {
  const float *x = buffers[0], *y = buffers[1];
  float *out = buffers[2], a;
  uint32_t n;
  (void)groups;
  memcpy(&a, block, 4);
  memcpy(&n, (const char *)block + 4, 4);
  for (uint64_t i = first * group[0]; i < last * group[0]; i++)
    if (i < n) out[i] = a * x[i] + y[i];
}

static atoll_cpu_kernel *const kernel = saxpy;

int main(int count, char **arguments) {
  int turns = count > 2 ? atoi(arguments[2]) : 1;
  for (int turn = 0; turn < turns; turn++) {
    float x[4] = {1, 2, 3, 4}, y[4] = {10, 20, 30, 40}, out[4] = {-1, -1, -1, -1}, a = 2;
    uint32_t n = 4;
    atoll_arg args[] = {atoll_read(x, sizeof x), atoll_read(y, sizeof y), atoll_write(out, sizeof out),
                        atoll_value(&a, 4), atoll_value(&n, 4)};
    atoll_code code = {&kernel, sizeof kernel, "", "", ""};
    atoll_launch launch = {ATOLL_LAUNCH_ABI, "saxpy", &code, 1, {4, 1, 1}, {1, 1, 1}, args, 5};
    if (atoll_run(&DRIVER, &launch))
      printf("failed: %s\n", atoll_last_error());
    else
      printf("%g %g %g %g on %s\n", out[0], out[1], out[2], out[3], atoll_device_name());
  }
  return 0;
}
