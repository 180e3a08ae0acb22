#if defined(__GNUC__)
#define ATOLL_SHOWN __attribute__((visibility("default")))
#else
#define ATOLL_SHOWN
#endif

/* ---- roots: each is asked once whether it can be used here, when it is first looked at ---- */

enum { ATOLL_NONE = -1 };

typedef struct atoll_opened {
  atomic_int done;
  atoll_root_state state;
} atoll_opened;

static atoll_opened atoll_opened_roots[ATOLL_ROOT_COUNT];
static pthread_mutex_t atoll_opening = PTHREAD_MUTEX_INITIALIZER;
static atomic_int atoll_used = ATOLL_NONE; /* what use() chose, for the whole process */

static const atoll_root_state *atoll_open(int index) {
  atoll_opened *root = &atoll_opened_roots[index];
  if (atomic_load_explicit(&root->done, memory_order_acquire)) return &root->state;
  (void)pthread_mutex_lock(&atoll_opening);
  if (!atomic_load_explicit(&root->done, memory_order_relaxed)) {
    if (atoll_root_tables[index] != NULL)
      atoll_root_tables[index]()->state(&root->state);
    else
      (void)snprintf(root->state.reason, sizeof root->state.reason, "it is not part of this build");
    atomic_store_explicit(&root->done, 1, memory_order_release);
  }
  (void)pthread_mutex_unlock(&atoll_opening);
  return &root->state;
}

/* ---- choosing ---- */

static int atoll_by_name(const char *name, size_t length) {
  for (int k = 0; k < ATOLL_ROOT_COUNT; k++)
    if (strlen(atoll_root_names[k]) == length && memcmp(atoll_root_names[k], name, length) == 0) return k;
  return ATOLL_NONE;
}

/* A root's name, a root's name and a device's index, or a part of a device's own name. */
static int atoll_named(const char *asked) {
  int found = atoll_by_name(asked, strcspn(asked, ":"));
  for (int k = 0; found < 0 && k < ATOLL_ROOT_COUNT; k++) {
    const atoll_root_state *state = atoll_open(k);
    if (state->available && strstr(state->device, asked) != NULL) found = k;
  }
  return found;
}

/* The first available root; a software device is taken only when it is named. */
static int atoll_first(void) {
  for (int k = 0; k < ATOLL_ROOT_COUNT; k++) {
    const atoll_root_state *state = atoll_open(k);
    if (state->available && !state->software) return k;
  }
  return ATOLL_NONE;
}

static void atoll_add(char *out, size_t capacity, const char *format, ...) {
  const size_t used = strlen(out);
  va_list arguments;
  va_start(arguments, format);
  (void)vsnprintf(out + used, capacity - used, format, arguments);
  va_end(arguments);
}

/* Keep why no root is taken: a line for each root that was looked at. */
static int atoll_refuse(const char *message, const char *name) {
  static _Thread_local char text[8192];
  text[0] = 0;
  atoll_add(text, sizeof text, "%s: %s%s", ATOLL_MODULE, message, name);
  for (int k = 0; k < ATOLL_ROOT_COUNT; k++) {
    const atoll_root_state *state = &atoll_opened_roots[k].state;
    if (!atomic_load_explicit(&atoll_opened_roots[k].done, memory_order_acquire)) continue;
    if (!state->available)
      atoll_add(text, sizeof text, "\n  %s: %s", atoll_root_names[k], state->reason);
    else
      atoll_add(text, sizeof text, "\n  %s: %s%s", atoll_root_names[k],
                state->software ? "a device in software, taken only when named: " : "available ", state->device);
  }
  atoll_fail(text);
  return ATOLL_NONE;
}

static int atoll_not_available(int root) {
  static _Thread_local char text[8192];
  text[0] = 0;
  atoll_add(text, sizeof text, "%s: the root `%s` is not available: %s", ATOLL_MODULE, atoll_root_names[root],
            atoll_open(root)->reason);
  atoll_fail(text);
  return ATOLL_NONE;
}

static int atoll_is_host(int root) { return atoll_root_tables[root]()->driver[0] == 0; }

/* The root that a call goes to, or ATOLL_NONE with the reason kept. */
static int atoll_pick(void) {
  const char *asked = getenv("ATOLL_DEVICE"), *required = getenv("ATOLL_REQUIRE_DEVICE");
  int chosen = atomic_load(&atoll_used), named = chosen >= 0;
  /* What use() named stands, but a variable that names nothing is refused all the same. */
  if (asked != NULL && asked[0] != 0) {
    const int meant = atoll_named(asked);
    if (meant < 0) return atoll_refuse("ATOLL_DEVICE names no root and no device: ", asked);
    if (!named) chosen = meant;
    named = 1;
  }
  if (!named) chosen = atoll_first();
  if (chosen < 0) return atoll_refuse("no root can run here", "");
  if (!atoll_open(chosen)->available) return atoll_not_available(chosen);
  if (!named && required != NULL && required[0] != 0 && strcmp(required, "0") != 0 && atoll_is_host(chosen))
    return atoll_refuse("ATOLL_REQUIRE_DEVICE is set and only the processor is left", "");
  return chosen;
}

static int atoll_use(const char *root) {
  const int chosen = root == NULL ? ATOLL_NONE : atoll_by_name(root, strlen(root));
  if (root != NULL && chosen < 0) return atoll_refuse("there is no root ", root), 1;
  if (root != NULL && !atoll_open(chosen)->available) return atoll_not_available(chosen), 1;
  atomic_store(&atoll_used, chosen);
  return 0;
}

/* ---- calling ---- */

static void atoll_begin(void) {
  atoll_ran_on("");
  atoll_fail("");
}

/* Nothing ran: forget an earlier call's device; the reason is kept, or is that the root lacks the entry. */
static int atoll_refused(int root, const char *entry) {
  static _Thread_local char text[512];
  atoll_ran_on("");
  if (root >= 0) {
    (void)snprintf(text, sizeof text, "%s: the root `%s` lacks `%s`", ATOLL_MODULE, atoll_root_names[root], entry);
    atoll_fail(text);
  }
  return 1;
}

/* An entry without a status cannot fail: going on would be a silent fallback. */
_Noreturn static void atoll_stop(int root, const char *entry) {
  (void)atoll_refused(root, entry);
  (void)fprintf(stderr, "%s\n", atoll_last_error());
  abort();
}

