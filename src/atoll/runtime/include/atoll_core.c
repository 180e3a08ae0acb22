/* What every root and every program that launches holds: the state of atoll_launch.h per thread. */
#include "atoll_launch.h"
#include <ctype.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static _Thread_local char atoll_device_text[256];
static _Thread_local char atoll_error_text[8192];

static void atoll_keep(char *out, size_t capacity, const char *text) {
  (void)snprintf(out, capacity, "%s", text ? text : "");
}

/* `atoll test` asks which devices a program reported: one line each, appended to the file it names. */
static void atoll_report(const char *device) {
  const char *path = getenv("ATOLL_DEVICE_REPORT");
  FILE *file = path && path[0] && device && device[0] ? fopen(path, "a") : NULL;
  if (file == NULL) return;
  (void)fprintf(file, "%s\n", device);
  (void)fclose(file);
}

ATOLL_HIDDEN void atoll_ran_on(const char *device) {
  atoll_report(device);
  atoll_keep(atoll_device_text, sizeof atoll_device_text, device);
}

ATOLL_HIDDEN void atoll_processor_name(char *out, size_t capacity) {
  char line[512];
  FILE *file = fopen("/proc/cpuinfo", "r");
  atoll_keep(out, capacity, "");
  while (file != NULL && out[0] == 0 && fgets(line, sizeof line, file) != NULL) {
    char *value = strncmp(line, "model name", 10) == 0 ? strchr(line, ':') : NULL;
    if (value == NULL) continue;
    for (size_t end = strlen(value); end > 0 && isspace((unsigned char)value[end - 1]); end--) value[end - 1] = 0;
    atoll_keep(out, capacity, value + 1 + strspn(value + 1, " "));
  }
  if (file != NULL) (void)fclose(file);
  if (out[0] == 0) atoll_keep(out, capacity, "processor");
}

ATOLL_HIDDEN void atoll_ran_on_cpu(void) {
  char name[sizeof atoll_device_text];
  atoll_processor_name(name, sizeof name);
  atoll_ran_on(name);
}

ATOLL_HIDDEN const char *atoll_device_name(void) { return atoll_device_text; }

ATOLL_HIDDEN const char *atoll_last_error(void) { return atoll_error_text; }

ATOLL_HIDDEN void atoll_fail(const char *text) {
  atoll_keep(atoll_error_text, sizeof atoll_error_text, text);
}

ATOLL_HIDDEN void atoll_forget(void) {
  atoll_device_text[0] = 0;
  atoll_error_text[0] = 0;
}

/* ---- what the environment asks: nothing else runs in silence ---- */

static atomic_int atoll_is_decided;

ATOLL_HIDDEN void atoll_decided(void) { atomic_store_explicit(&atoll_is_decided, 1, memory_order_relaxed); }

static const char *atoll_variable(const char *name) {
  const char *value = getenv(name);
  return value ? value : "";
}

/* 0, or 1 with the reason where ATOLL_DEVICE names no device of this driver, or ATOLL_REQUIRE_DEVICE is
 * set and the device that nothing names is software. The words are those of the Python side. */
static int atoll_unasked(const atoll_driver *driver, atoll_text *reason) {
  const char *asked = atoll_variable("ATOLL_DEVICE"), *required = atoll_variable("ATOLL_REQUIRE_DEVICE");
  atoll_device_facts facts;
  const int must = required[0] != 0 && strcmp(required, "0") != 0;
  if (atomic_load_explicit(&atoll_is_decided, memory_order_relaxed) || (asked[0] == 0 && !must)) return 0;
  memset(&facts, 0, sizeof facts);
  if (driver->probe(&facts, reason) != 0) return 1;
  if (facts.named || (asked[0] == 0 && !facts.software)) return 0;
  if (asked[0] != 0)
    (void)snprintf(reason->data, reason->capacity,
                   "there is no device `%s`, which ATOLL_DEVICE names; present: %s:%u (%s)", asked, driver->name,
                   (unsigned)facts.index, facts.name);
  else
    (void)snprintf(reason->data, reason->capacity,
                   "a device is required and only the processor is left: ATOLL_REQUIRE_DEVICE is set; present: "
                   "%s:%u (%s)",
                   driver->name, (unsigned)facts.index, facts.name);
  return 1;
}

ATOLL_HIDDEN int atoll_run(const atoll_driver *driver, const atoll_launch *launch) {
  char device[sizeof atoll_device_text] = "";
  atoll_text name = {device, sizeof device};
  atoll_text reason = {atoll_error_text, sizeof atoll_error_text};
  atoll_error_text[0] = 0;
  atoll_device_text[0] = 0;
  if (launch->abi != ATOLL_LAUNCH_ABI) {
    (void)snprintf(reason.data, reason.capacity, "the caller speaks launch ABI %u, this library %u",
                   (unsigned)launch->abi, (unsigned)ATOLL_LAUNCH_ABI);
    return 1;
  }
  if (atoll_unasked(driver, &reason) || driver->launch(launch, &name, &reason) != 0) {
    if (atoll_error_text[0] == 0) atoll_fail("the launcher failed and gave no reason");
    return 1;
  }
  atoll_ran_on(device);
  return 0;
}
