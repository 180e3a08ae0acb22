/* What the launchers share: reasons, the choice of a device, the parameter block, kept code.
 * For launchers only (C11, dlopen); a program includes atoll_launch.h. */
#ifndef ATOLL_LAUNCHER_H
#define ATOLL_LAUNCHER_H
/* A launcher waits for devices: every clean build compiles it, in half the time, to as many bytes. */
#if defined __GNUC__ && !defined __clang__ && defined __OPTIMIZE__
#pragma GCC optimize("O1")
#endif
#include "atoll_launch.h"
#include <ctype.h>
#include <dlfcn.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define ATOLL_MAYBE_UNUSED __attribute__((unused))

/* A buffer reaches the device as at least this many bytes: no interface takes an empty one. */
#define ATOLL_LEAST_BUFFER 16u

/* Fill `out` with one sentence and return 1, so that a failing path ends in `return atoll_say(…)`. */
__attribute__((format(printf, 2, 3))) ATOLL_MAYBE_UNUSED static int atoll_say(atoll_text *out,
                                                                               const char *format, ...) {
  va_list arguments;
  if (out == NULL || out->data == NULL || out->capacity == 0) return 1;
  va_start(arguments, format);
  (void)vsnprintf(out->data, out->capacity, format, arguments);
  va_end(arguments);
  return 1;
}

ATOLL_MAYBE_UNUSED static const char *atoll_or_empty(const char *text) { return text ? text : ""; }

ATOLL_MAYBE_UNUSED static void atoll_copy(char *out, size_t capacity, const char *text) {
  size_t length = 0;
  for (text = atoll_or_empty(text); length + 1 < capacity && text[length] != 0; length++) out[length] = text[length];
  out[length] = 0;
}

/* ---- versions: "1.2" asked against {major, minor} present; "" and NULL ask for nothing ---- */

ATOLL_MAYBE_UNUSED static int atoll_read_version(const char *text, uint32_t out[2]) {
  char *end = NULL;
  out[0] = out[1] = 0;
  if (!isdigit((unsigned char)text[0])) return 0;
  out[0] = (uint32_t)strtoul(text, &end, 10);
  if (*end == '.' && isdigit((unsigned char)end[1])) out[1] = (uint32_t)strtoul(end + 1, &end, 10);
  return *end == 0 || *end == '.';
}

ATOLL_MAYBE_UNUSED static int atoll_at_least(const uint32_t have[2], const char *asked) {
  uint32_t least[2];
  if (atoll_or_empty(asked)[0] == 0) return 1;
  if (!atoll_read_version(asked, least)) return 0;
  return have[0] != least[0] ? have[0] > least[0] : have[1] >= least[1];
}

/* ---- the choice of a device ---- */

/* The device of ours that ATOLL_DEVICE names, -1 where it names none of ours, -2 with a reason where
 * it is out of range or can be no other driver's name. */
ATOLL_MAYBE_UNUSED static int atoll_named_device(const char *driver, const atoll_device_facts *all,
                                                 uint32_t count, atoll_text *reason) {
  const char *asked = getenv("ATOLL_DEVICE");
  size_t own = strlen(driver), word;
  if (asked == NULL || asked[0] == 0) return -1;
  if (strncmp(asked, driver, own) == 0 && asked[own] == ':') {
    char *end = NULL;
    unsigned long index = strtoul(asked + own + 1, &end, 10);
    if (isdigit((unsigned char)asked[own + 1]) && *end == 0 && index < count) return (int)index;
    (void)atoll_say(reason, "ATOLL_DEVICE is %s, and %s has %u device(s), counted from 0", asked, driver,
                    (unsigned)count);
    return -2;
  }
  if (strcmp(asked, driver) == 0) return -1;
  for (uint32_t k = 0; k < count; k++)
    if (strcasestr(all[k].name, asked) != NULL) return (int)k;
  word = strspn(asked, "abcdefghijklmnopqrstuvwxyz0123456789_-");
  if (asked[word] == 0 || (asked[word] == ':' && strspn(asked + word + 1, "0123456789") + word + 1 == strlen(asked)))
    return -1; /* another driver's name, or a part of another driver's device */
  (void)atoll_say(reason, "ATOLL_DEVICE is %s, which is in the name of no device of %s; the first is %s", asked,
                  driver, count ? all[0].name : "missing");
  return -2;
}

/* The index of the device to use, or -1 with a reason; sets `named`. */
ATOLL_MAYBE_UNUSED static int atoll_choose_device(const char *driver, atoll_device_facts *all, uint32_t count,
                                                  atoll_text *reason) {
  const char *asked = getenv("ATOLL_DEVICE");
  int named = atoll_named_device(driver, all, count, reason);
  int chosen = named;
  if (named == -2) return -1;
  for (uint32_t k = 0; chosen < 0 && k < count; k++)
    if (!all[k].software) chosen = (int)k;
  if (chosen < 0) chosen = 0;
  all[chosen].named = named >= 0 || (asked != NULL && strcmp(asked, driver) == 0);
  return chosen;
}

/* ---- arguments ---- */

ATOLL_MAYBE_UNUSED static uint32_t atoll_count(const atoll_launch *launch, int kind) {
  uint32_t count = 0;
  for (uint32_t k = 0; k < launch->arg_count; k++) count += launch->args[k].kind == kind;
  return count;
}

/* The first buffer that is the same memory as buffer `k`, or `k`: they are one buffer on the device, so that
 * what a kernel writes through one is what it reads through the other. */
ATOLL_MAYBE_UNUSED static uint32_t atoll_owner(const atoll_launch *launch, uint32_t k) {
  const atoll_arg *arg = &launch->args[k];
  for (uint32_t j = 0; j < k && arg->bytes != 0; j++)
    if (launch->args[j].kind == ATOLL_BUFFER && launch->args[j].data == arg->data && launch->args[j].bytes == arg->bytes)
      return j;
  return k;
}

/* Whether the kernel writes the memory of buffer `k`, through whichever argument. */
ATOLL_MAYBE_UNUSED static int atoll_is_written(const atoll_launch *launch, uint32_t k) {
  for (uint32_t j = k; j < launch->arg_count; j++)
    if (launch->args[j].kind == ATOLL_BUFFER && launch->args[j].access != ATOLL_READ && atoll_owner(launch, j) == k)
      return 1;
  return 0;
}

/* 0, or 1 with the reason where two buffers share a part of their memory and one of them is written: each would
 * be copied back over the other. For devices with memory of their own. */
ATOLL_MAYBE_UNUSED static int atoll_overlaps(const atoll_launch *launch, atoll_text *reason) {
  for (uint32_t k = 0; k < launch->arg_count; k++)
    for (uint32_t j = 0; j < k; j++) {
      const atoll_arg *one = &launch->args[j], *other = &launch->args[k];
      uintptr_t low = (uintptr_t)one->data, start = (uintptr_t)other->data;
      if (one->kind != ATOLL_BUFFER || other->kind != ATOLL_BUFFER || atoll_owner(launch, k) == j) continue;
      if (one->access == ATOLL_READ && other->access == ATOLL_READ) continue;
      if (low < start + other->bytes && start < low + one->bytes && (low != start || one->bytes != other->bytes))
        return atoll_say(reason, "arguments %u and %u of %s overlap in a part, and one of them is written", (unsigned)j,
                         (unsigned)k, launch->entry);
    }
  return 0;
}

/* Pack the scalars in order, each at the next multiple of its alignment. Returns the bytes used; where
 * `out` is not NULL it holds at least as many. */
ATOLL_MAYBE_UNUSED static uint64_t atoll_pack(const atoll_launch *launch, unsigned char *out) {
  uint64_t at = 0;
  for (uint32_t k = 0; k < launch->arg_count; k++) {
    const atoll_arg *arg = &launch->args[k];
    uint64_t align = arg->align ? arg->align : 1;
    if (arg->kind != ATOLL_SCALAR) continue;
    at = (at + align - 1) / align * align;
    if (out != NULL && arg->bytes != 0) memcpy(out + at, arg->data, arg->bytes);
    at += arg->bytes;
  }
  return at;
}

/* 0, or 1 with the reason where the launch itself is wrong whatever the device. */
ATOLL_MAYBE_UNUSED static int atoll_check(const atoll_launch *launch, atoll_text *reason) {
  double groups = (double)launch->groups[0] * launch->groups[1] * launch->groups[2];
  for (uint32_t d = 0; d < 3; d++)
    if (launch->groups[d] == 0 || launch->group[d] == 0)
      return atoll_say(reason, "the launch of %s has %u x %u x %u groups of %u x %u x %u; none may be 0",
                       launch->entry, launch->groups[0], launch->groups[1], launch->groups[2], launch->group[0],
                       launch->group[1], launch->group[2]);
  for (uint32_t d = 0; d < 3; d++)
    if ((uint64_t)launch->groups[d] * launch->group[d] > INT32_MAX || groups > 9e18)
      return atoll_say(reason, "the launch of %s has %u groups of %u in dimension %u, over 2147483647 work-items",
                       launch->entry, launch->groups[d], launch->group[d], (unsigned)d);
  for (uint32_t k = 0; k < launch->arg_count; k++) {
    const atoll_arg *arg = &launch->args[k];
    int buffer = arg->kind == ATOLL_BUFFER;
    if (!buffer && arg->kind != ATOLL_SCALAR)
      return atoll_say(reason, "argument %u of %s is of kind %d", (unsigned)k, launch->entry, (int)arg->kind);
    if (buffer && (arg->access < ATOLL_READ || arg->access > ATOLL_BOTH))
      return atoll_say(reason, "argument %u of %s has access %d", (unsigned)k, launch->entry, (int)arg->access);
    if (arg->bytes != 0 && arg->data == NULL)
      return atoll_say(reason, "argument %u of %s has %llu bytes at a null pointer", (unsigned)k, launch->entry,
                       (unsigned long long)arg->bytes);
    if (arg->align & (arg->align - 1))
      return atoll_say(reason, "argument %u of %s has alignment %u", (unsigned)k, launch->entry,
                       (unsigned)arg->align);
  }
  return 0;
}

/* What a device states; 0 where it states nothing. */
typedef struct atoll_limits {
  uint64_t groups[3], items[3], together, shared_bytes;
} atoll_limits;

/* 0, or 1 with both where there are more groups, or larger ones, than a device states. `most_items` is the
 * code's own, or 0. */
ATOLL_MAYBE_UNUSED static int atoll_too_large(const atoll_launch *launch, const atoll_limits *limits,
                                              uint64_t most_items, const char *name, atoll_text *reason) {
  const uint32_t *groups = launch->groups, *group = launch->group;
  uint64_t count = (uint64_t)group[0] * group[1] * group[2], together = limits->together, each[3];
  int many = 0, large = 0;
  for (int d = 0; d < 3; d++) {
    each[d] = limits->items[d] ? limits->items[d] : limits->together;
    many |= limits->groups[d] && groups[d] > limits->groups[d];
    large |= each[d] && group[d] > each[d];
  }
  if (many)
    return atoll_say(reason, "too many groups for %s; asked for: (%u, %u, %u), possible: at most (%llu, %llu, %llu)",
                     name, groups[0], groups[1], groups[2], (unsigned long long)limits->groups[0],
                     (unsigned long long)limits->groups[1], (unsigned long long)limits->groups[2]);
  if (most_items && (!together || most_items < together)) together = most_items;
  if (large || (together && count > together))
    return atoll_say(reason,
                     "too many work-items in a group for %s; asked for: (%u, %u, %u), %llu together, "
                     "possible: at most (%llu, %llu, %llu), %llu together",
                     name, group[0], group[1], group[2], (unsigned long long)count, (unsigned long long)each[0],
                     (unsigned long long)each[1], (unsigned long long)each[2], (unsigned long long)together);
  return 0;
}

ATOLL_MAYBE_UNUSED static uint64_t atoll_room(uint64_t bytes) {
  uint64_t rounded = (bytes + 3) / 4 * 4;
  return rounded < ATOLL_LEAST_BUFFER ? ATOLL_LEAST_BUFFER : rounded;
}

/* ---- the code to take: the first of the best score that fits ---- */

/* What a launcher says of code. `floor` and `close` stand around a floor where an accel set spells it. */
typedef struct atoll_rules {
  const char *driver, *floor, *close;
  int (*fits)(const atoll_code *, const atoll_device_facts *);
  uint32_t (*score)(const atoll_code *, const atoll_device_facts *);
} atoll_rules;

/* Append; control characters are spelled out, as in a diagnostic. */
ATOLL_MAYBE_UNUSED static void atoll_add(atoll_text *out, const char *text) {
  size_t used;
  if (out == NULL || out->data == NULL || out->capacity == 0) return;
  used = strlen(out->data);
  for (; *text != 0 && used + 5 < out->capacity; text++) {
    const unsigned char byte = (unsigned char)*text;
    if ((byte >= 32 && byte != 127) || byte == '\n')
      out->data[used++] = *text;
    else if (byte == '\t' || byte == '\r')
      used += (size_t)snprintf(out->data + used, out->capacity - used, "%s", byte == '\t' ? "\\t" : "\\r");
    else
      used += (size_t)snprintf(out->data + used, out->capacity - used, "\\x%02x", (unsigned)byte);
  }
  out->data[used] = 0;
}

/* Append a line of the refusal: its label, padded, and what stands there. */
ATOLL_MAYBE_UNUSED static void atoll_row(atoll_text *out, const char *label, const char *text) {
  char head[32];
  (void)snprintf(head, sizeof head, "\n  %-21s ", label);
  atoll_add(out, head);
  atoll_add(out, text);
}

/* Append code as an entry of an accel set. */
ATOLL_MAYBE_UNUSED static void atoll_entry(atoll_text *out, const atoll_rules *rules, const atoll_code *code) {
  const char *arch = atoll_or_empty(code->arch), *floor = atoll_or_empty(code->floor);
  const char *const parts[] = {rules->driver,        atoll_or_empty(code->version), arch[0] ? "+{" : "", arch,
                               arch[0] ? "}" : "",   floor[0] ? rules->floor : "",  floor,
                               floor[0] ? rules->close : ""};
  for (size_t k = 0; k < sizeof parts / sizeof *parts; k++) atoll_add(out, parts[k]);
}

/* Append the architecture and the floor of code without what belongs to a set alone, or its head. */
ATOLL_MAYBE_UNUSED static void atoll_forms(atoll_text *out, const atoll_rules *rules, const atoll_code *code) {
  const char *arch = atoll_or_empty(code->arch), *floor = atoll_or_empty(code->floor);
  const atoll_code head = {NULL, 0, "", "", code->version};
  if (arch[0] == 0 && floor[0] == 0) atoll_entry(out, rules, &head);
  atoll_add(out, arch);
  atoll_add(out, arch[0] && floor[0] ? ", " : "");
  atoll_add(out, floor[0] ? rules->floor + strspn(rules->floor, " +{") : "");
  atoll_add(out, floor);
}

ATOLL_MAYBE_UNUSED static int atoll_same_text(const char *one, const char *other) {
  return strcmp(atoll_or_empty(one), atoll_or_empty(other)) == 0;
}

/* Append what there is, equal ones once, at most eight. */
ATOLL_MAYBE_UNUSED static void atoll_published(atoll_text *out, const atoll_launch *launch, const atoll_rules *rules) {
  uint32_t shown = 0, more = 0;
  char count[32];
  for (uint32_t k = 0; k < launch->code_count; k++) {
    const atoll_code *code = &launch->codes[k];
    int known = 0;
    for (uint32_t j = 0; j < k && !known; j++)
      known = atoll_same_text(launch->codes[j].arch, code->arch) &&
              atoll_same_text(launch->codes[j].floor, code->floor) &&
              atoll_same_text(launch->codes[j].version, code->version);
    if (known || shown == 8) {
      more += !known;
      continue;
    }
    atoll_row(out, shown++ ? "" : "published", "accel ");
    atoll_entry(out, rules, code);
  }
  (void)snprintf(count, sizeof count, "and %u more", (unsigned)more);
  if (more) atoll_row(out, "", count);
  if (launch->code_count == 0) atoll_row(out, "published", "nothing");
}

/* Append how the first code differs. One of the device's own architecture runs wherever the version does, so
 * where even that does not, or where the code would without its version, it is the version. */
ATOLL_MAYBE_UNUSED static void atoll_differs(atoll_text *out, const atoll_code *code, const atoll_rules *rules,
                                             const atoll_device_facts *facts, const char *hardware,
                                             const char *version) {
  const atoll_code own = {NULL, 0, facts->arch, "", code->version};
  const atoll_code timeless = {NULL, 0, code->arch, code->floor, ""};
  const atoll_code head = {NULL, 0, "", "", code->version};
  const int older = !rules->fits(&own, facts) || rules->fits(&timeless, facts);
  atoll_row(out, "closest", "the first, which differs on");
  atoll_row(out, "  accel", "asked ");
  if (older) atoll_add(out, rules->driver);
  atoll_add(out, older ? version : hardware[0] ? hardware : "an unknown architecture");
  atoll_add(out, ", carried ");
  if (older)
    atoll_entry(out, rules, &head);
  else
    atoll_forms(out, rules, code);
}

/* The one refusal (docs/reference/accel.md), about the kernel instead of a package. `hardware` is what the
 * device runs, "" where nothing names it. */
ATOLL_MAYBE_UNUSED static void atoll_refuse(const atoll_launch *launch, const atoll_rules *rules,
                                            const atoll_device_facts *facts, const char *hardware,
                                            atoll_text *reason) {
  char version[32];
  const atoll_code device = {NULL, 0, facts->arch, "", version};
  (void)snprintf(version, sizeof version, "%u.%u", (unsigned)facts->version[0], (unsigned)facts->version[1]);
  (void)atoll_say(reason, "%s", "");
  atoll_add(reason, "error[ATL0412]: no prebuilt artifact of `");
  atoll_add(reason, launch->entry);
  atoll_add(reason, "` fits this device");
  atoll_row(reason, "this device is", facts->name);
  atoll_add(reason, "  accel ");
  atoll_entry(reason, rules, &device);
  atoll_published(reason, launch, rules);
  if (launch->code_count != 0) atoll_differs(reason, &launch->codes[0], rules, facts, hardware, version);
  atoll_add(reason, "\n  help: name an architecture it carries (--accel), take a variant without device code (--no-accel), "
                    "or ask the publisher for one that covers yours");
}

ATOLL_MAYBE_UNUSED static const atoll_code *atoll_choose_code(const atoll_launch *launch, const atoll_rules *rules,
                                                              const atoll_device_facts *facts, const char *hardware,
                                                              atoll_text *reason) {
  const atoll_code *best = NULL;
  for (uint32_t k = 0; k < launch->code_count; k++) {
    const atoll_code *code = &launch->codes[k];
    if (!rules->fits(code, facts)) continue;
    if (best == NULL || rules->score(code, facts) > rules->score(best, facts)) best = code;
  }
  if (best == NULL) atoll_refuse(launch, rules, facts, hardware, reason);
  return best;
}

/* ---- loaded code is kept by its bytes, so that a second launch does not load it again ---- */

enum { ATOLL_KEPT = 64 };

typedef struct atoll_kept {
  void *bytes;
  uint64_t size;
  char *entry;
  uint64_t shape; /* whatever else the loaded form depends on */
  uint64_t used;
  void *loaded;
} atoll_kept;

typedef struct atoll_cache {
  atoll_kept rows[ATOLL_KEPT];
  uint64_t clock;
} atoll_cache;

ATOLL_MAYBE_UNUSED static void *atoll_find(atoll_cache *cache, const atoll_code *code, const char *entry,
                                           uint64_t shape) {
  for (int k = 0; k < ATOLL_KEPT; k++) {
    atoll_kept *row = &cache->rows[k];
    if (row->loaded == NULL || row->size != code->bytes || row->shape != shape) continue;
    if (strcmp(row->entry, entry) != 0 || memcmp(row->bytes, code->data, code->bytes) != 0) continue;
    row->used = ++cache->clock;
    return row->loaded;
  }
  return NULL;
}

/* Keep `loaded`; the row that was used longest ago makes room through `unload`. 0, or 1 without memory. */
ATOLL_MAYBE_UNUSED static int atoll_keep_code(atoll_cache *cache, const atoll_code *code, const char *entry,
                                              uint64_t shape, void *loaded, void (*unload)(void *)) {
  atoll_kept *row = &cache->rows[0];
  void *bytes = malloc(code->bytes + 1);
  char *name = strdup(entry);
  if (bytes == NULL || name == NULL) {
    free(bytes);
    free(name);
    return 1;
  }
  for (int k = 0; k < ATOLL_KEPT; k++)
    if (cache->rows[k].used < row->used) row = &cache->rows[k];
  if (row->loaded != NULL) unload(row->loaded);
  free(row->bytes);
  free(row->entry);
  memcpy(bytes, code->data, code->bytes);
  *row = (atoll_kept){bytes, code->bytes, name, shape, ++cache->clock, loaded};
  return 0;
}

/* ---- the vendor's library ---- */

/* Open `library` and fill `count` function pointers; 0, or 1 with the reason. */
ATOLL_MAYBE_UNUSED static int atoll_open_library(const char *library, const char *const *names, void **table,
                                                 size_t count, atoll_text *reason) {
  void *handle = dlopen(library, RTLD_NOW | RTLD_LOCAL);
  if (handle == NULL) return atoll_say(reason, "%s could not be opened: %s", library, dlerror());
  for (size_t k = 0; k < count; k++) {
    table[k] = dlsym(handle, names[k]);
    if (table[k] == NULL) {
      (void)atoll_say(reason, "%s has no %s", library, names[k]);
      (void)dlclose(handle);
      return 1;
    }
  }
  return 0;
}
#endif
