/* ---- values: what the tables above are made of, and what stands at run time ---- */

typedef struct atoll_array {
  Py_buffer view;
  int viewed;
  struct atoll_tensor *tensor;
  const char *format; /* NULL for a tensor */
  const int *memory;  /* DLPack device types that are taken, 0 behind the last; NULL for host memory */
  int root;           /* the root that `memory` is of */
  long device_type;
  long device_id;
  unsigned long long stream; /* what `__dlpack__` is told; 0 for nothing */
  char kind;
  Py_ssize_t size;
  void *data;
  int readonly;
  int rank;
  Py_ssize_t shape[ATOLL_MOST_RANK];
} atoll_array;

typedef struct atoll_opened {
  atomic_int done;
  const atoll_root *table; /* NULL where it could not be opened; then state.reason says why */
  atoll_root_state state;
  void (*functions[ATOLL_ENTRY_COUNT])(void);
  const char *other[ATOLL_ENTRY_COUNT]; /* the declaration it was built from, where that is another one */
} atoll_opened;

typedef struct atoll_state {
  PyObject *island_error;
  PyObject *unavailable_error;
} atoll_state;

enum { ATOLL_NONE = -1, ATOLL_UNKNOWN = -2 };

static atoll_opened atoll_opened_roots[ATOLL_ROOT_COUNT];
static pthread_mutex_t atoll_opening = PTHREAD_MUTEX_INITIALIZER;
static atomic_int atoll_used = ATOLL_NONE;             /* what use() chose, for the whole process */
static _Thread_local int atoll_last = ATOLL_NONE;      /* the root that this thread's last call went to */
static char atoll_folder[4096];                        /* where this file lies, and the roots beside it */

/* ---- roots: opened once, without the interpreter's lock ---- */

static void atoll_no(atoll_opened *root, const char *format, ...) {
  va_list arguments;
  va_start(arguments, format);
  (void)vsnprintf(root->state.reason, sizeof root->state.reason, format, arguments);
  va_end(arguments);
  root->state.available = 0;
  root->table = NULL;
}

static const atoll_root *atoll_load(atoll_opened *root, int index) {
#if ATOLL_LINKED
  (void)root;
  (void)index;
  return atoll_root_v1();
#else
  char path[sizeof atoll_folder + 512];
  union {
    void *object;
    const atoll_root *(*function)(void);
  } found;
  void *handle;
  (void)snprintf(path, sizeof path, "%s/%s", atoll_folder, atoll_root_files[index]);
  if (access(path, F_OK) != 0) {
    atoll_no(root, "it is not part of this build: there is no %s", path);
    return NULL;
  }
  handle = dlopen(path, RTLD_NOW | RTLD_LOCAL);
  if (handle == NULL) {
    atoll_no(root, "it could not be opened: %s", dlerror());
    return NULL;
  }
  found.object = dlsym(handle, "atoll_root_v1");
  if (found.object == NULL) {
    atoll_no(root, "%s is no root: it has no atoll_root_v1", path);
    return NULL;
  }
  return found.function();
#endif
}

static void atoll_bind(atoll_opened *root) {
  for (uint32_t k = 0; k < root->table->entry_count; k++) {
    const atoll_root_entry *row = &root->table->entries[k];
    for (int e = 0; e < ATOLL_ENTRY_COUNT; e++) {
      if (strcmp(row->name, atoll_entries[e].name) != 0) continue;
      if (strcmp(row->declaration, atoll_entries[e].declaration) == 0)
        root->functions[e] = row->function;
      else
        root->other[e] = row->declaration;
    }
  }
}

static void atoll_open_locked(atoll_opened *root, int index) {
  const atoll_root *table = atoll_load(root, index);
  if (table == NULL) return;
  if (table->abi != ATOLL_ROOT_ABI || strcmp(table->name, atoll_root_names[index]) != 0 ||
      strcmp(table->package, ATOLL_PACKAGE) != 0) {
    atoll_no(root, "it is the root %s of %s with root ABI %u, not %s of %s with root ABI %u", table->name,
             table->package, (unsigned)table->abi, atoll_root_names[index], ATOLL_PACKAGE,
             (unsigned)ATOLL_ROOT_ABI);
    return;
  }
  root->table = table;
  table->state(&root->state);
  atoll_bind(root);
}

/* The caller does not hold the interpreter's lock: looking for a device may take seconds. */
static atoll_opened *atoll_open(int index) {
  atoll_opened *root = &atoll_opened_roots[index];
  if (atomic_load_explicit(&root->done, memory_order_acquire)) return root;
  (void)pthread_mutex_lock(&atoll_opening);
  if (!atomic_load_explicit(&root->done, memory_order_relaxed)) {
    atoll_open_locked(root, index);
    atomic_store_explicit(&root->done, 1, memory_order_release);
  }
  (void)pthread_mutex_unlock(&atoll_opening);
  return root;
}

static int atoll_is_host(const atoll_opened *root) { return root->table != NULL && root->table->driver[0] == 0; }

static int atoll_by_name(const char *name, size_t length) {
  for (int k = 0; k < ATOLL_ROOT_COUNT; k++)
    if (strlen(atoll_root_names[k]) == length && memcmp(atoll_root_names[k], name, length) == 0) return k;
  return ATOLL_NONE;
}

/* A root's name, a root's name and a device's index, or a part of a device's own name. */
static int atoll_named(const char *asked) {
  int found = atoll_by_name(asked, strcspn(asked, ":"));
  for (int k = 0; found < 0 && k < ATOLL_ROOT_COUNT; k++) {
    const atoll_opened *root = atoll_open(k);
    if (root->state.available && strstr(root->state.device, asked) != NULL) found = k;
  }
  return found < 0 ? ATOLL_UNKNOWN : found;
}

/* The first available root; a software device is taken only when it is named. */
static int atoll_first(void) {
  for (int k = 0; k < ATOLL_ROOT_COUNT; k++) {
    const atoll_opened *root = atoll_open(k);
    if (root->state.available && !root->state.software) return k;
  }
  return ATOLL_NONE;
}

static int atoll_is_open(int index) {
  return atomic_load_explicit(&atoll_opened_roots[index].done, memory_order_acquire);
}

/* Whether choosing opens no root, so that the interpreter's lock need not be given back for it. */
static int atoll_is_ready(const char *asked, int used) {
  int named = asked[0] != 0 ? atoll_by_name(asked, strcspn(asked, ":")) : ATOLL_NONE;
  if (asked[0] != 0 && named < 0) return 0;
  if (used >= 0) return atoll_is_open(used);
  if (named >= 0) return atoll_is_open(named);
  for (int k = 0; k < ATOLL_ROOT_COUNT && atoll_is_open(k); k++)
    if (atoll_opened_roots[k].state.available && !atoll_opened_roots[k].state.software) return 1;
  return 0;
}

static void atoll_environment(const char *name, char *out, size_t capacity) {
  const char *value = getenv(name);
  out[0] = 0;
  if (value != NULL) (void)snprintf(out, capacity, "%s", value);
}

/* One line for each root that was looked at: why it is not taken. */
static PyObject *atoll_reasons(void) {
  PyObject *text = PyUnicode_FromString("");
  for (int k = 0; text != NULL && k < ATOLL_ROOT_COUNT; k++) {
    const atoll_opened *root = &atoll_opened_roots[k];
    const char *said = root->state.available ? root->state.device : root->state.reason;
    PyObject *longer, *about;
    if (!atomic_load_explicit(&root->done, memory_order_acquire)) continue;
    about = PyUnicode_DecodeUTF8(said, (Py_ssize_t)strlen(said), "replace");
    longer = about == NULL ? NULL
                           : PyUnicode_FromFormat("%U\n  %s: %s%U", text, atoll_root_names[k],
                                                  !root->state.available  ? ""
                                                  : root->state.software ? "a device in software, taken only when named: "
                                                                         : "available ",
                                                  about);
    Py_XDECREF(about);
    Py_DECREF(text);
    text = longer;
  }
  return text;
}

static int atoll_refuse(atoll_state *state, const char *message, const char *name) {
  PyObject *reasons = atoll_reasons();
  if (reasons != NULL)
    PyErr_Format(state->unavailable_error, "%s: %s%s%U", ATOLL_MODULE, message, name, reasons);
  Py_XDECREF(reasons);
  return ATOLL_NONE;
}

static int atoll_not_available(atoll_state *state, int root) {
  const char *said = atoll_opened_roots[root].state.reason;
  PyObject *reason = PyUnicode_DecodeUTF8(said, (Py_ssize_t)strlen(said), "replace");
  if (reason != NULL)
    PyErr_Format(state->unavailable_error, "%s: the root `%s` is not available: %U", ATOLL_MODULE,
                 atoll_root_names[root], reason);
  Py_XDECREF(reason);
  return ATOLL_NONE;
}

/* The root that a call goes to, or ATOLL_NONE with an exception set. */
static int atoll_select(atoll_state *state) {
  char asked[512], required[8];
  int chosen = atomic_load(&atoll_used), named = chosen >= 0;
  atoll_environment("ATOLL_DEVICE", asked, sizeof asked);
  atoll_environment("ATOLL_REQUIRE_DEVICE", required, sizeof required);
  PyThreadState *const waiting = atoll_is_ready(asked, chosen) ? NULL : PyEval_SaveThread();
  /* What use() named stands, but a variable that names nothing is refused all the same. */
  if (asked[0] != 0) {
    const int meant = atoll_named(asked);
    if (!named || meant == ATOLL_UNKNOWN) chosen = meant;
    named = 1;
  }
  if (!named) chosen = atoll_first();
  if (chosen >= 0) (void)atoll_open(chosen);
  if (waiting != NULL) PyEval_RestoreThread(waiting);
  if (chosen == ATOLL_UNKNOWN) return atoll_refuse(state, "ATOLL_DEVICE names no root and no device: ", asked);
  if (chosen < 0) return atoll_refuse(state, "no root can run here", "");
  if (!atoll_opened_roots[chosen].state.available)
    return atoll_not_available(state, chosen);
  if (!named && required[0] != 0 && strcmp(required, "0") != 0 && atoll_is_host(&atoll_opened_roots[chosen]))
    return atoll_refuse(state, "ATOLL_REQUIRE_DEVICE is set and only the processor is left", "");
  return chosen;
}
