/* Launches `saxpy` on one driver through the C launcher, as a program would, and prints what happened.
 * Arguments: the code's file, the number of launches; then `arch=… floor=… version=…` for one code each. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "atoll_launch.h"

extern const atoll_driver DRIVER;

static char code_bytes[1 << 16] __attribute__((aligned(8)));

static void launch(const char *entry, const atoll_code *codes, uint32_t count) {
  float x[4] = {1, 2, 3, 4}, y[4] = {10, 20, 30, 40}, apart[4] = {-1, -1, -1, -1};
  float *out = getenv("IN_PLACE") ? y : apart;
  struct { float a; uint32_t n; } block = {2, 4};
  atoll_arg args[] = {atoll_read(x, sizeof x), atoll_read(y, sizeof y), atoll_write(out, sizeof apart),
                      {ATOLL_SCALAR, 0, &block, sizeof block, 8, 0}};
  atoll_launch what = {ATOLL_LAUNCH_ABI, entry, codes, count, {1, 1, 1}, {64, 1, 1}, args, 4};
  if (atoll_run(&DRIVER, &what))
    printf("failed: %s\n", atoll_last_error());
  else
    printf("%g %g %g %g on %s\n", out[0], out[1], out[2], out[3], atoll_device_name());
}

int main(int count, char **arguments) {
  atoll_code codes[16] = {{code_bytes, 0, "", "", ""}};
  uint32_t code_count = 1;
  FILE *file = fopen(arguments[1], "rb");
  if (file == NULL || count < 3) return 2;
  codes[0].bytes = fread(code_bytes, 1, sizeof code_bytes - 1, file);
  fclose(file);
  for (int k = 3; k + 2 < count && k < 3 + 3 * 16; k += 3, code_count = (uint32_t)(k - 3) / 3)
    codes[(k - 3) / 3] = (atoll_code){code_bytes, codes[0].bytes, arguments[k], arguments[k + 1], arguments[k + 2]};
  for (int turn = 0; turn < atoi(arguments[2]); turn++) launch("saxpy", codes, code_count);
  return 0;
}
