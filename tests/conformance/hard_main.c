/* Two threads that launch at once, launches that must be refused, empty buffers, and a fork. */
#define _GNU_SOURCE
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "atoll_launch.h"

extern const atoll_driver DRIVER;

enum { COUNT = 1000, TURNS = 100 };

static char code_bytes[1 << 16] __attribute__((aligned(8)));
static atoll_code code = {code_bytes, 0, "", "", ""};

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

struct block { float a; uint32_t n; };

static int run(float *x, float *y, float *out, uint32_t n, struct block *block, atoll_arg args[4], atoll_launch *launch) {
  *block = (struct block){2, n};
  args[0] = atoll_read(x, 4ull * n);
  args[1] = atoll_read(y, 4ull * n);
  args[2] = atoll_write(out, 4ull * n);
  args[3] = (atoll_arg){ATOLL_SCALAR, 0, block, sizeof *block, 8, 0};
  *launch = (atoll_launch){ATOLL_LAUNCH_ABI, "saxpy", &code, 1, {n / 64 + 1, 1, 1}, {64, 1, 1}, args, 4};
  return 0;
}

static void *work(void *pointer) {
  static __thread float x[COUNT], y[COUNT], out[COUNT];
  long wrong = 0;
  float first = *(float *)pointer;
  for (int turn = 0; turn < TURNS; turn++) {
    struct block block;
    atoll_arg args[4];
    atoll_launch launch;
    int bad;
    for (int k = 0; k < COUNT; k++) x[k] = first + k, y[k] = k, out[k] = -1;
    run(x, y, out, COUNT, &block, args, &launch);
    bad = atoll_run(&DRIVER, &launch) != 0 || atoll_device_name()[0] == 0;
    for (int k = 0; k < COUNT; k++) bad |= out[k] != 2 * x[k] + y[k];
    wrong += bad;
  }
  return (void *)wrong;
}

static void refuse(void (*spoil)(atoll_launch *, atoll_arg *)) {
  float x[4] = {1, 2, 3, 4}, y[4] = {10, 20, 30, 40}, out[4];
  struct block block;
  atoll_arg args[4];
  atoll_launch launch;
  run(x, y, out, 4, &block, args, &launch);
  spoil(&launch, args);
  printf(atoll_run(&DRIVER, &launch) ? "refused: %s\n" : "it was let through%s\n", atoll_last_error());
}

static void no_groups(atoll_launch *launch, atoll_arg *args) { (void)args; launch->groups[0] = 0; }
static void many(atoll_launch *launch, atoll_arg *args) { (void)args; launch->groups[0] = 100000000; }
static void null(atoll_launch *launch, atoll_arg *args) { (void)launch; args[0].data = NULL; }
static void access_9(atoll_launch *launch, atoll_arg *args) { (void)launch; args[0].access = 9; }
static void kind_7(atoll_launch *launch, atoll_arg *args) { (void)launch; args[1].kind = 7; }
static void align_3(atoll_launch *launch, atoll_arg *args) { (void)launch; args[3].align = 3; }
static void abi_99(atoll_launch *launch, atoll_arg *args) { (void)args; launch->abi = 99; }

static int again(uint32_t n) {
  float x[4] = {1, 2, 3, 4}, y[4] = {10, 20, 30, 40}, out[4] = {0};
  struct block block;
  atoll_arg args[4];
  atoll_launch launch;
  run(x, y, out, n, &block, args, &launch);
  return atoll_run(&DRIVER, &launch) != 0 || (n == 4 && out[3] != 48);
}

/* Launch in a child of this process, and say how it went. */
static void in_child(const char *when) {
  int status = 0;
  pid_t child = fork();
  if (child == 0) {
    (void)alarm(20);
    _exit(again(4) ? (strstr(atoll_last_error(), "forked") ? 1 : 2) : 0);
  }
  waitpid(child, &status, 0);
  printf("%s: %s\n", when, !WIFEXITED(status)           ? "stuck"
                            : WEXITSTATUS(status) == 0 ? "right"
                            : WEXITSTATUS(status) == 1 ? "refused"
                                                       : "wrong");
  fflush(stdout);
}

int main(int count, char **arguments) {
  pthread_t threads[2];
  float firsts[2] = {0, 5000};
  long wrong = 0;
  atoll_device_facts facts;
  atoll_text reason;
  FILE *file = fopen(arguments[1], "rb");
  if (file == NULL || count < 2) return 2;
  code.bytes = fread(code_bytes, 1, sizeof code_bytes - 1, file);
  fclose(file);
  if (strcmp(DRIVER.name, "cpu") == 0) code = (atoll_code){&kernel, sizeof kernel, "", "", ""};
  if (strcmp(DRIVER.name, "cuda") == 0) code.floor = "80";
  if (DRIVER.probe(&facts, &reason)) return 3;
  in_child("after a probe and a fork");
  for (int k = 0; k < 2; k++) pthread_create(&threads[k], NULL, work, &firsts[k]);
  for (int k = 0; k < 2; k++) {
    void *result;
    pthread_join(threads[k], &result);
    wrong += (long)result;
  }
  printf("threads: %ld wrong of %d\n", wrong, 2 * TURNS);
  refuse(no_groups);
  refuse(many);
  refuse(null);
  refuse(access_9);
  refuse(kind_7);
  refuse(align_3);
  refuse(abi_99);
  printf("empty buffers: %s\n", again(0) ? atoll_last_error() : "right");
  in_child("after a fork");
  return 0;
}
