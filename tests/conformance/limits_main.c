/* Launches `saxpy` with the groups that are asked for, and prints what happened. Arguments: the code's file, groups,
 * and where wanted the size of one. */
#include <stdio.h>
#include <stdlib.h>

#include "atoll_launch.h"

extern const atoll_driver DRIVER;

static char code_bytes[1 << 16] __attribute__((aligned(8)));

int main(int count, char **arguments) {
  float x[4] = {1, 2, 3, 4}, y[4] = {10, 20, 30, 40}, out[4] = {-1, -1, -1, -1};
  struct { float a; uint32_t n; } block = {2, 4};
  atoll_arg args[] = {atoll_read(x, sizeof x), atoll_read(y, sizeof y), atoll_write(out, sizeof out),
                      {ATOLL_SCALAR, 0, &block, sizeof block, 8, 0}};
  atoll_code code = {code_bytes, 0, "", "", ""};
  atoll_launch what = {ATOLL_LAUNCH_ABI, "saxpy", &code, 1, {1, 1, 1}, {64, 1, 1}, args, 4};
  FILE *file = fopen(arguments[1], "rb");
  if (file == NULL || (count != 5 && count != 8)) return 2;
  code.bytes = fread(code_bytes, 1, sizeof code_bytes - 1, file);
  fclose(file);
  for (int k = 0; k < 3; k++) what.groups[k] = (uint32_t)strtoul(arguments[2 + k], NULL, 10);
  for (int k = 0; k < 3 && count == 8; k++) what.group[k] = (uint32_t)strtoul(arguments[5 + k], NULL, 10);
  if (atoll_run(&DRIVER, &what)) puts(atoll_last_error());
  else printf("%g %g %g %g\n", out[0], out[1], out[2], out[3]);
  return 0;
}
