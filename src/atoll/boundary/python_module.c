/* ---- values: what the tables above are made of, and what stands at run time ---- */

typedef struct atoll_array {
  Py_buffer view;
  int viewed;
  struct atoll_tensor *tensor;
  const char *format; /* NULL for a tensor */
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

static void atoll_environment(const char *name, char *out, size_t capacity) {
  const char *value = getenv(name);
  (void)snprintf(out, capacity, "%s", value ? value : "");
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
  if (!named && asked[0] != 0) named = 2;
  Py_BEGIN_ALLOW_THREADS;
  if (named == 2) chosen = atoll_named(asked);
  if (!named) chosen = atoll_first();
  if (chosen >= 0) (void)atoll_open(chosen);
  Py_END_ALLOW_THREADS;
  if (chosen == ATOLL_UNKNOWN) return atoll_refuse(state, "ATOLL_DEVICE names no root and no device: ", asked);
  if (chosen < 0) return atoll_refuse(state, "no root can run here", "");
  if (!atoll_opened_roots[chosen].state.available)
    return atoll_not_available(state, chosen);
  if (!named && strcmp(required, "1") == 0 && atoll_is_host(&atoll_opened_roots[chosen]))
    return atoll_refuse(state, "ATOLL_REQUIRE_DEVICE is set and only the processor is left", "");
  return chosen;
}

/* ---- arguments ---- */

/* Set an error that names function and argument; returns -1. */
static int atoll_wrong(PyObject *type, const atoll_entry *entry, const atoll_parameter *parameter, const char *format,
                       ...) {
  va_list arguments;
  PyObject *text;
  va_start(arguments, format);
  text = PyUnicode_FromFormatV(format, arguments);
  va_end(arguments);
  if (text != NULL) PyErr_Format(type, "%s: argument `%s` %U", entry->name, parameter->python, text);
  Py_XDECREF(text);
  return -1;
}

static const char *atoll_word(char kind) {
  switch (kind) {
    case 'i': return "int";
    case 'u': return "uint";
    case 'f': return "float";
    case 'b': return "bool";
    case 'z': return "complex";
    default: return "char";
  }
}

static PyObject *atoll_type_name(PyObject *value) { return PyType_GetName(Py_TYPE(value)); }

static int atoll_not_a(const atoll_entry *entry, const atoll_parameter *parameter, PyObject *value, const char *what) {
  PyObject *name = atoll_type_name(value);
  if (name != NULL) (void)atoll_wrong(PyExc_TypeError, entry, parameter, "must be %s, not %U", what, name);
  Py_XDECREF(name);
  return -1;
}

static int atoll_integer(const atoll_entry *entry, const atoll_parameter *parameter, PyObject *value,
                         atoll_slot *slot) {
  unsigned bits = (unsigned)parameter->size * 8u;
  int overflow = 0, bad;
  PyObject *number = PyNumber_Index(value);
  if (number == NULL) {
    if (PyErr_ExceptionMatches(PyExc_TypeError)) {
      PyErr_Clear();
      return atoll_not_a(entry, parameter, value, "an integer");
    }
    return -1;
  }
  if (parameter->kind == 'i') {
    slot->i = PyLong_AsLongLongAndOverflow(number, &overflow);
    bad = overflow != 0 || (bits < 64 && (slot->i < -(1LL << (bits - 1)) || slot->i >= 1LL << (bits - 1)));
  } else {
    slot->u = PyLong_AsUnsignedLongLong(number);
    bad = PyErr_Occurred() != NULL || (bits < 64 && slot->u >> bits != 0);
    PyErr_Clear();
  }
  if (bad) (void)atoll_wrong(PyExc_OverflowError, entry, parameter, "is %S, which does not fit %s", number, parameter->ctype);
  Py_DECREF(number);
  return bad ? -1 : 0;
}

static int atoll_scalar(const atoll_entry *entry, const atoll_parameter *parameter, PyObject *value,
                        atoll_slot *slot) {
  if (parameter->kind == 'b') {
    if (value != Py_True && value != Py_False) return atoll_not_a(entry, parameter, value, "a bool");
    slot->u = value == Py_True;
    return 0;
  }
  if (parameter->kind != 'f') return atoll_integer(entry, parameter, value, slot);
  slot->f = PyFloat_AsDouble(value);
  if (slot->f == -1.0 && PyErr_Occurred()) {
    if (!PyErr_ExceptionMatches(PyExc_TypeError)) return -1;
    PyErr_Clear();
    return atoll_not_a(entry, parameter, value, "a number");
  }
  if (parameter->size == sizeof(float) && isfinite(slot->f) && !isfinite((float)slot->f))
    return atoll_wrong(PyExc_OverflowError, entry, parameter, "is %S, which does not fit %s", value, parameter->ctype);
  return 0;
}

/* The kind of an array's elements from its format; 0 where it is no plain number of this machine's order. */
static char atoll_format_kind(const char *format) {
  const uint16_t one = 1;
  const int little = *(const unsigned char *)&one == 1;
  if (format == NULL) return 'u';
  if (*format == '@' || *format == '=' || *format == (little ? '<' : '>')) format++;
  else if (*format == '<' || *format == '>' || *format == '!') return 0;
  if (*format == 'Z') return 'z';
  if (format[0] == 0 || format[1] != 0) return 0;
  if (strchr("bhilqn", *format)) return 'i';
  if (strchr("BHILQN", *format)) return 'u';
  if (strchr("efdg", *format)) return 'f';
  return *format == '?' ? 'b' : *format == 'c' ? 'c' : 0;
}

/* DLPack, the part of its ABI that is stable since version 0: https://dmlc.github.io/dlpack/latest/c_api.html */
typedef struct atoll_tensor {
  void *data;
  int32_t device_type;
  int32_t device_id;
  int32_t rank;
  uint8_t code;
  uint8_t bits;
  uint16_t lanes;
  int64_t *shape;
  int64_t *strides;
  uint64_t byte_offset;
  void *manager;
  void (*deleter)(struct atoll_tensor *);
} atoll_tensor;

static int atoll_on_device(const atoll_entry *entry, const atoll_parameter *parameter, long type) {
  return atoll_wrong(PyExc_TypeError, entry, parameter,
                     "lies on a device (DLPack device type %ld), and the function takes host memory", type);
}

static int atoll_tensor_place(const atoll_entry *entry, const atoll_parameter *parameter, PyObject *value) {
  PyObject *place = PyObject_CallMethod(value, "__dlpack_device__", NULL);
  PyObject *type = place == NULL ? NULL : PySequence_GetItem(place, 0);
  PyObject *number = type == NULL ? NULL : PyNumber_Index(type);
  long code = number == NULL ? -1 : PyLong_AsLong(number);
  Py_XDECREF(place);
  Py_XDECREF(type);
  Py_XDECREF(number);
  if (PyErr_Occurred()) return -1;
  return code == 1 ? 0 : atoll_on_device(entry, parameter, code);
}

static int atoll_take_tensor(const atoll_entry *entry, const atoll_parameter *parameter, PyObject *value,
                             atoll_array *array) {
  PyObject *capsule;
  atoll_tensor *tensor;
  int64_t expected = 1;
  if (atoll_tensor_place(entry, parameter, value) != 0) return -1;
  capsule = PyObject_CallMethod(value, "__dlpack__", NULL);
  if (capsule == NULL) return -1;
  tensor = PyCapsule_GetPointer(capsule, "dltensor");
  if (tensor == NULL || PyCapsule_SetName(capsule, "used_dltensor") != 0) {
    Py_DECREF(capsule);
    return -1;
  }
  Py_DECREF(capsule);
  array->tensor = tensor;
  if (tensor->device_type != 1) return atoll_on_device(entry, parameter, tensor->device_type);
  array->kind = tensor->lanes != 1 || tensor->bits % 8 != 0 ? 0
                : tensor->code == 0                         ? 'i'
                : tensor->code == 1                         ? 'u'
                : tensor->code == 2                         ? 'f'
                : tensor->code == 5                         ? 'z'
                : tensor->code == 6                         ? 'b'
                                                            : 0;
  array->size = tensor->bits / 8;
  array->data = (char *)tensor->data + tensor->byte_offset;
  array->rank = tensor->rank;
  for (int k = tensor->rank - 1; k >= 0; k--) {
    if (k < ATOLL_MOST_RANK) array->shape[k] = (Py_ssize_t)tensor->shape[k];
    if (tensor->strides != NULL && tensor->shape[k] > 1 && tensor->strides[k] != expected)
      return atoll_wrong(PyExc_ValueError, entry, parameter, "is not contiguous in row-major order");
    expected *= tensor->shape[k];
  }
  return 0;
}

static int atoll_take_buffer(const atoll_entry *entry, const atoll_parameter *parameter, PyObject *value,
                             atoll_array *array) {
  if (PyObject_GetBuffer(value, &array->view, PyBUF_RECORDS_RO) != 0) {
    if (PyErr_ExceptionMatches(PyExc_MemoryError)) return -1;
    PyErr_Clear();
    return atoll_wrong(PyExc_TypeError, entry, parameter, "gives no view of its elements");
  }
  array->viewed = 1;
  array->format = array->view.format;
  array->kind = atoll_format_kind(array->view.format);
  array->size = array->view.itemsize;
  array->data = array->view.buf;
  array->readonly = array->view.readonly;
  array->rank = array->view.ndim;
  for (int k = 0; k < array->rank && k < ATOLL_MOST_RANK; k++) array->shape[k] = array->view.shape[k];
  if (!PyBuffer_IsContiguous(&array->view, 'C'))
    return atoll_wrong(PyExc_ValueError, entry, parameter, "is not contiguous in row-major order");
  return 0;
}

static int atoll_check_array(const atoll_entry *entry, const atoll_parameter *parameter, const atoll_array *array) {
  int text = parameter->kind == 'c' && array->size == 1 && strchr("iuc", array->kind) != NULL && array->kind != 0;
  int bits = (int)array->size * 8, wanted = (int)parameter->size * 8;
  if (!text && (array->kind != parameter->kind || (size_t)array->size != parameter->size)) {
    if (array->kind == 0)
      return atoll_wrong(PyExc_TypeError, entry, parameter, "has elements `%s` where %s%d is taken",
                         array->format ? array->format : "of an unknown type", atoll_word(parameter->kind), wanted);
    return atoll_wrong(PyExc_TypeError, entry, parameter, "has elements %s%d where %s%d is taken",
                       atoll_word(array->kind), bits, atoll_word(parameter->kind), wanted);
  }
  if (array->rank != parameter->rank)
    return atoll_wrong(PyExc_ValueError, entry, parameter, "has %d dimensions where %d are taken", array->rank,
                       parameter->rank);
  if (parameter->writes && array->readonly)
    return atoll_wrong(PyExc_ValueError, entry, parameter, "is read-only, and the function writes it");
  if ((uintptr_t)array->data % parameter->align != 0)
    return atoll_wrong(PyExc_ValueError, entry, parameter, "is not aligned to %d bytes", (int)parameter->align);
  return 0;
}

static int atoll_take(const atoll_entry *entry, const atoll_parameter *parameter, PyObject *value, atoll_array *array,
                      atoll_slot *slot) {
  char wanted[64];
  int taken;
  if (PyObject_CheckBuffer(value)) {
    taken = atoll_take_buffer(entry, parameter, value, array);
  } else if (PyObject_HasAttrString(value, "__dlpack__") && PyObject_HasAttrString(value, "__dlpack_device__")) {
    taken = atoll_take_tensor(entry, parameter, value, array);
  } else {
    (void)snprintf(wanted, sizeof wanted, "an array of %s%d", atoll_word(parameter->kind), (int)parameter->size * 8);
    taken = atoll_not_a(entry, parameter, value, wanted);
  }
  if (taken != 0 || atoll_check_array(entry, parameter, array) != 0) return -1;
  slot->p = array->data;
  return 0;
}

/* ---- lengths: from the arrays, equal in all of them ---- */

static int atoll_one_length(const atoll_entry *entry, unsigned array_index, int dimension, Py_ssize_t have,
                            atoll_slot *slots, int *sources) {
  const atoll_parameter *array = &entry->parameters[array_index];
  long long fixed = array->dimensions[dimension];
  const atoll_parameter *length;
  unsigned bits;
  if (fixed > 0) {
    if (have == fixed) return 0;
    return atoll_wrong(PyExc_ValueError, entry, array, "has %zd elements in dimension %d where %lld are taken", have,
                       dimension, fixed);
  }
  length = &entry->parameters[-fixed - 1];
  if (sources[-fixed - 1] >= 0) {
    const atoll_parameter *other = &entry->parameters[sources[-fixed - 1]];
    if (slots[-fixed - 1].u == (unsigned long long)have) return 0;
    return atoll_wrong(PyExc_ValueError, entry, array, "has %zd elements in dimension %d where `%s` has %llu (both are `%s`)",
                       have, dimension, other->python, slots[-fixed - 1].u, length->name);
  }
  bits = (unsigned)length->size * 8u - (length->kind == 'i');
  if (bits < 64 && (unsigned long long)have >> bits != 0)
    return atoll_wrong(PyExc_OverflowError, entry, array, "has %zd elements in dimension %d, which does not fit %s %s",
                       have, dimension, length->ctype, length->name);
  slots[-fixed - 1].u = (unsigned long long)have;
  sources[-fixed - 1] = (int)array_index;
  return 0;
}

static int atoll_lengths(const atoll_entry *entry, const atoll_array *arrays, atoll_slot *slots) {
  int sources[ATOLL_MOST_PARAMETERS];
  for (int k = 0; k < ATOLL_MOST_PARAMETERS; k++) sources[k] = -1;
  for (unsigned k = 0; k < entry->count; k++) {
    const atoll_parameter *parameter = &entry->parameters[k];
    if (parameter->role != ATOLL_ARRAY) continue;
    for (int d = 0; d < parameter->rank; d++)
      if (atoll_one_length(entry, k, d, arrays[k].shape[d], slots, sources) != 0) return -1;
  }
  return 0;
}

/* ---- results that Python allocates ---- */

static PyObject *atoll_plain_array(const atoll_parameter *parameter, PyObject *shape, Py_ssize_t count) {
  static const char *const signed_formats[] = {"", "b", "h", "", "i", "", "", "", "q"};
  static const char *const unsigned_formats[] = {"", "B", "H", "", "I", "", "", "", "Q"};
  const char *format = parameter->kind == 'f'   ? (parameter->size == 4 ? "f" : "d")
                       : parameter->kind == 'b' ? "?"
                       : parameter->kind == 'u' ? unsigned_formats[parameter->size]
                                                : signed_formats[parameter->size];
  PyObject *bytes, *view, *cast = NULL;
  if (count > PY_SSIZE_T_MAX / (Py_ssize_t)parameter->size) return PyErr_NoMemory();
  bytes = PyByteArray_FromStringAndSize(NULL, count * (Py_ssize_t)parameter->size);
  view = bytes == NULL ? NULL : PyMemoryView_FromObject(bytes);
  Py_XDECREF(bytes);
  if (view == NULL) return NULL;
  cast = count == 0 || parameter->rank == 1 ? PyObject_CallMethod(view, "cast", "s", format)
                                            : PyObject_CallMethod(view, "cast", "sO", format, shape);
  Py_DECREF(view);
  return cast;
}

/* numpy.empty where NumPy can be imported, else a memoryview of zeros. */
static PyObject *atoll_new_array(const atoll_parameter *parameter, const atoll_slot *slots) {
  char dtype[8];
  Py_ssize_t count = 1;
  PyObject *numpy, *array = NULL, *shape = PyTuple_New(parameter->rank);
  for (int d = 0; shape != NULL && d < parameter->rank; d++) {
    long long fixed = parameter->dimensions[d];
    unsigned long long size = fixed > 0 ? (unsigned long long)fixed : slots[-fixed - 1].u;
    PyObject *number = PyLong_FromUnsignedLongLong(size);
    if (number == NULL || PyTuple_SetItem(shape, d, number) != 0) Py_CLEAR(shape);
    if (size != 0 && (unsigned long long)count > (unsigned long long)PY_SSIZE_T_MAX / size) {
      Py_CLEAR(shape);
      return PyErr_NoMemory();
    }
    count *= (Py_ssize_t)size;
  }
  if (shape == NULL) return NULL;
  numpy = PyImport_ImportModule("numpy");
  if (numpy != NULL) {
    (void)snprintf(dtype, sizeof dtype, "%c%u", parameter->kind == 'c' ? 'i' : parameter->kind, (unsigned)parameter->size);
    array = PyObject_CallMethod(numpy, "empty", "Os", shape, dtype);
    Py_DECREF(numpy);
  } else if (PyErr_ExceptionMatches(PyExc_ImportError)) {
    PyErr_Clear();
    array = atoll_plain_array(parameter, shape, count);
  }
  Py_DECREF(shape);
  return array;
}

/* ---- one call ---- */

typedef struct atoll_frame {
  PyObject *given[ATOLL_MOST_PARAMETERS]; /* borrowed, by parameter */
  PyObject *over;                         /* borrowed */
  atoll_slot slots[ATOLL_MOST_PARAMETERS];
  atoll_array arrays[ATOLL_MOST_PARAMETERS];
  PyObject *made[ATOLL_MOST_PARAMETERS]; /* owned: results */
} atoll_frame;

static int atoll_keyword(const atoll_entry *entry, atoll_frame *frame, PyObject *name, PyObject *value) {
  for (unsigned k = 0; k < entry->argument_count; k++) {
    unsigned index = entry->arguments[k];
    if (PyUnicode_CompareWithASCIIString(name, entry->parameters[index].python) != 0) continue;
    if (frame->given[index] != NULL)
      return atoll_wrong(PyExc_TypeError, entry, &entry->parameters[index], "is given twice");
    frame->given[index] = value;
    return 0;
  }
  if (entry->grid > 0 && PyUnicode_CompareWithASCIIString(name, "over") == 0) {
    frame->over = value;
    return 0;
  }
  PyErr_Format(PyExc_TypeError, "%s: there is no argument `%U`", entry->name, name);
  return -1;
}

static int atoll_gather(const atoll_entry *entry, atoll_frame *frame, PyObject *const *args, Py_ssize_t count,
                        PyObject *names) {
  Py_ssize_t named = names == NULL ? 0 : PyTuple_Size(names);
  if (count > (Py_ssize_t)entry->argument_count) {
    PyErr_Format(PyExc_TypeError, "%s: takes %u arguments, and %zd are given", entry->name, entry->argument_count, count);
    return -1;
  }
  for (Py_ssize_t k = 0; k < count; k++) frame->given[entry->arguments[k]] = args[k];
  for (Py_ssize_t k = 0; k < named; k++)
    if (atoll_keyword(entry, frame, PyTuple_GetItem(names, k), args[count + k]) != 0) return -1;
  for (unsigned k = 0; k < entry->argument_count; k++)
    if (frame->given[entry->arguments[k]] == NULL)
      return atoll_wrong(PyExc_TypeError, entry, &entry->parameters[entry->arguments[k]], "is missing");
  return 0;
}

static int atoll_grid(const atoll_entry *entry, atoll_frame *frame) {
  PyObject *over = frame->over;
  int tuple = over != NULL && PyTuple_Check(over);
  if (entry->grid == 0) return 0;
  if (over == NULL) {
    PyErr_Format(PyExc_TypeError, "%s: `over=` is missing: the number of work-items, %u of them", entry->name,
                 entry->grid);
    return -1;
  }
  if ((tuple ? PyTuple_Size(over) : 1) != (Py_ssize_t)entry->grid) {
    PyErr_Format(PyExc_TypeError, "%s: `over=` has %zd dimensions where %u are taken", entry->name,
                 tuple ? PyTuple_Size(over) : (Py_ssize_t)1, entry->grid);
    return -1;
  }
  for (unsigned k = 0; k < entry->grid; k++) {
    PyObject *value = tuple ? PyTuple_GetItem(over, (Py_ssize_t)k) : over;
    if (atoll_integer(entry, &entry->parameters[k], value, &frame->slots[k]) != 0) return -1;
    if (frame->slots[k].u > 0x7fffffffu)
      return atoll_wrong(PyExc_OverflowError, entry, &entry->parameters[k], "is %llu, more than 2147483647",
                         frame->slots[k].u);
  }
  return 0;
}

static int atoll_prepare(const atoll_entry *entry, atoll_frame *frame) {
  if (atoll_grid(entry, frame) != 0) return -1;
  for (unsigned k = 0; k < entry->count; k++) {
    const atoll_parameter *parameter = &entry->parameters[k];
    if (parameter->role == ATOLL_SCALAR &&
        atoll_scalar(entry, parameter, frame->given[k], &frame->slots[k]) != 0)
      return -1;
    if (parameter->role == ATOLL_ARRAY &&
        atoll_take(entry, parameter, frame->given[k], &frame->arrays[k], &frame->slots[k]) != 0)
      return -1;
  }
  if (atoll_lengths(entry, frame->arrays, frame->slots) != 0) return -1;
  for (unsigned k = 0; k < entry->count; k++) {
    const atoll_parameter *parameter = &entry->parameters[k];
    if (parameter->role != ATOLL_RESULT) continue;
    frame->made[k] = atoll_new_array(parameter, frame->slots);
    if (frame->made[k] == NULL || atoll_take_buffer(entry, parameter, frame->made[k], &frame->arrays[k]) != 0)
      return -1;
    frame->slots[k].p = frame->arrays[k].data;
  }
  return 0;
}

static int atoll_go(atoll_state *state, int index, atoll_frame *frame, atoll_slot *result) {
  const atoll_entry *entry = &atoll_entries[index];
  int chosen = atoll_select(state);
  const atoll_opened *root;
  void (*function)(void);
  if (chosen < 0) return -1;
  root = &atoll_opened_roots[chosen];
  function = root->functions[index];
  if (function == NULL) {
    if (root->other[index] != NULL)
      PyErr_Format(state->unavailable_error, "the root `%s` has another `%s`:\n  asked   %s\n  carried %s",
                   atoll_root_names[chosen], entry->name, entry->declaration, root->other[index]);
    else
      PyErr_Format(state->unavailable_error, "the root `%s` has no `%s`", atoll_root_names[chosen], entry->name);
    return -1;
  }
  atoll_last = chosen;
  Py_BEGIN_ALLOW_THREADS;
  root->table->begin();
  entry->invoke(function, frame->slots, result);
  Py_END_ALLOW_THREADS;
  return 0;
}

static PyObject *atoll_failed(atoll_state *state, const atoll_entry *entry, long long code) {
  const char *root = atoll_root_names[atoll_last];
  const char *said = atoll_opened_roots[atoll_last].table->last_error();
  PyObject *number = PyLong_FromLongLong(code), *name = PyUnicode_FromString(root), *error = NULL;
  PyObject *reason = PyUnicode_DecodeUTF8(said, (Py_ssize_t)strlen(said), "replace");
  PyObject *text = reason == NULL ? NULL
                                  : PyUnicode_FromFormat("%s on `%s` returned %lld%s%U", entry->name, root, code,
                                                         said[0] ? ": " : "", reason);
  if (text != NULL) error = PyObject_CallFunctionObjArgs(state->island_error, text, NULL);
  if (error != NULL && number != NULL && name != NULL && PyObject_SetAttrString(error, "code", number) == 0 &&
      PyObject_SetAttrString(error, "root", name) == 0)
    PyErr_SetObject(state->island_error, error);
  Py_XDECREF(number);
  Py_XDECREF(name);
  Py_XDECREF(reason);
  Py_XDECREF(text);
  Py_XDECREF(error);
  return NULL;
}

static PyObject *atoll_plain_result(const atoll_entry *entry, const atoll_slot *result) {
  switch (entry->result) {
    case 'i': return PyLong_FromLongLong(result->i);
    case 'u': return PyLong_FromUnsignedLongLong(result->u);
    case 'f': return PyFloat_FromDouble(result->f);
    case 'b': return PyBool_FromLong(result->u != 0);
    default: return NULL;
  }
}

/* None, one value, or a tuple: the function's own result first, then the arrays in order. */
static PyObject *atoll_answer(const atoll_entry *entry, atoll_frame *frame, const atoll_slot *result) {
  PyObject *first = atoll_plain_result(entry, result), *all;
  Py_ssize_t count = first != NULL, at = 0;
  if (PyErr_Occurred()) return NULL;
  for (unsigned k = 0; k < entry->count; k++) count += frame->made[k] != NULL;
  if (count == 0) return Py_NewRef(Py_None);
  all = PyTuple_New(count);
  if (all == NULL) {
    Py_XDECREF(first);
    return NULL;
  }
  if (first != NULL) (void)PyTuple_SetItem(all, at++, first);
  for (unsigned k = 0; k < entry->count; k++)
    if (frame->made[k] != NULL) (void)PyTuple_SetItem(all, at++, Py_NewRef(frame->made[k]));
  if (count > 1) return all;
  first = Py_NewRef(PyTuple_GetItem(all, 0));
  Py_DECREF(all);
  return first;
}

static void atoll_release(const atoll_entry *entry, atoll_frame *frame) {
  for (unsigned k = 0; k < entry->count; k++) {
    if (frame->arrays[k].viewed) PyBuffer_Release(&frame->arrays[k].view);
    if (frame->arrays[k].tensor != NULL && frame->arrays[k].tensor->deleter != NULL)
      frame->arrays[k].tensor->deleter(frame->arrays[k].tensor);
    Py_XDECREF(frame->made[k]);
  }
}

static PyObject *atoll_call(PyObject *module, int index, PyObject *const *args, Py_ssize_t count, PyObject *names) {
  const atoll_entry *entry = &atoll_entries[index];
  atoll_state *state = PyModule_GetState(module);
  atoll_frame frame;
  atoll_slot result = {0};
  PyObject *answer = NULL;
  memset(&frame, 0, sizeof frame);
  atoll_last = ATOLL_NONE;
  if (state != NULL && atoll_gather(entry, &frame, args, count, names) == 0 && atoll_prepare(entry, &frame) == 0 &&
      atoll_go(state, index, &frame, &result) == 0)
    answer = entry->status && result.i != 0 ? atoll_failed(state, entry, result.i) : atoll_answer(entry, &frame, &result);
  atoll_release(entry, &frame);
  return answer;
}

/* ---- the module ---- */

static PyObject *atoll_device_name_py(PyObject *module, PyObject *unused) {
  const char *name = atoll_last < 0 ? "" : atoll_opened_roots[atoll_last].table->device_name();
  (void)module;
  (void)unused;
  return PyUnicode_DecodeUTF8(name, (Py_ssize_t)strlen(name), "replace");
}

static PyObject *atoll_use_py(PyObject *module, PyObject *name) {
  PyObject *text;
  const char *bytes;
  Py_ssize_t length;
  int chosen;
  if (name == Py_None) {
    atomic_store(&atoll_used, ATOLL_NONE);
    return Py_NewRef(Py_None);
  }
  if (!PyUnicode_Check(name)) {
    PyErr_SetString(PyExc_TypeError, "use: the root is named by a str, or None for the first available");
    return NULL;
  }
  bytes = PyUnicode_AsUTF8AndSize(name, &length);
  if (bytes == NULL) return NULL;
  chosen = atoll_by_name(bytes, (size_t)length);
  if (chosen < 0) {
    text = PyUnicode_FromString(ATOLL_ROOT_LIST);
    if (text != NULL) PyErr_Format(PyExc_ValueError, "%s has no root %R; its roots are %U", ATOLL_MODULE, name, text);
    Py_XDECREF(text);
    return NULL;
  }
  Py_BEGIN_ALLOW_THREADS;
  (void)atoll_open(chosen);
  Py_END_ALLOW_THREADS;
  if (!atoll_opened_roots[chosen].state.available) {
    (void)atoll_not_available(PyModule_GetState(module), chosen);
    return NULL;
  }
  atomic_store(&atoll_used, chosen);
  return Py_NewRef(Py_None);
}

static PyObject *atoll_devices_py(PyObject *module, PyObject *unused) {
  PyObject *rows = PyDict_New();
  (void)module;
  (void)unused;
  for (int k = 0; rows != NULL && k < ATOLL_ROOT_COUNT; k++) {
    const char *said = atoll_opened_roots[k].state.reason;
    PyObject *reason;
    Py_BEGIN_ALLOW_THREADS;
    (void)atoll_open(k);
    Py_END_ALLOW_THREADS;
    reason = PyUnicode_DecodeUTF8(said, (Py_ssize_t)strlen(said), "replace");
    if (reason == NULL || PyDict_SetItemString(rows, atoll_root_names[k], reason) != 0) Py_CLEAR(rows);
    Py_XDECREF(reason);
  }
  return rows;
}

static PyMethodDef atoll_own[] = {
    {"device_name", atoll_device_name_py, METH_NOARGS,
     "device_name()\n--\n\nReturn the device that this thread's last call reported; empty where it reported none."},
    {"use", atoll_use_py, METH_O,
     "use(root, /)\n--\n\nSend every later call of the process to a root; None for the first available one."},
    {"devices", atoll_devices_py, METH_NOARGS,
     "devices()\n--\n\nReturn each root with the reason why it cannot be used here, empty where it can; in the order of choice."},
};

static void atoll_find_folder(void) {
  Dl_info found;
  char here[2048] = "";
  char *slash;
  if (dladdr((const void *)&atoll_folder, &found) == 0 || found.dli_fname == NULL) return;
  if (found.dli_fname[0] != '/' && getcwd(here, sizeof here) != NULL)
    (void)snprintf(atoll_folder, sizeof atoll_folder, "%s/%s", here, found.dli_fname);
  else
    (void)snprintf(atoll_folder, sizeof atoll_folder, "%s", found.dli_fname);
  slash = strrchr(atoll_folder, '/');
  if (slash != NULL) *slash = 0;
}

/* The module of a namespace: made once, an attribute of the one above it, importable by its dotted name. */
static PyObject *atoll_submodule(PyObject *above, const char *name) {
  PyObject *base = PyModule_GetNameObject(above);
  PyObject *full = base == NULL ? NULL : PyUnicode_FromFormat("%U.%s", base, name);
  PyObject *made = full == NULL ? NULL : PyModule_NewObject(full);
  if (made != NULL &&
      (PyModule_AddObjectRef(above, name, made) != 0 || PyObject_SetItem(PyImport_GetModuleDict(), full, made) != 0))
    Py_CLEAR(made);
  Py_XDECREF(base);
  Py_XDECREF(full);
  return made;
}

static int atoll_add(PyObject *module, PyObject *place, PyMethodDef *method) {
  PyObject *name = PyModule_GetNameObject(place);
  PyObject *function = name == NULL ? NULL : PyCFunction_NewEx(method, module, name);
  int added = function == NULL ? -1 : PyModule_AddObjectRef(place, method->ml_name, function);
  Py_XDECREF(name);
  Py_XDECREF(function);
  return added;
}

static int atoll_exec(PyObject *module) {
  atoll_state *state = PyModule_GetState(module);
  PyObject *places[ATOLL_NAMESPACE_COUNT + 1] = {0};
  int failed = 0;
  places[0] = Py_NewRef(module);
  (void)pthread_mutex_lock(&atoll_opening);
  atoll_find_folder();
  (void)pthread_mutex_unlock(&atoll_opening);
  state->island_error = PyErr_NewExceptionWithDoc(ATOLL_MODULE ".IslandError",
                                                  "A function returned a failure. `code` and `root` say which.",
                                                  PyExc_RuntimeError, NULL);
  state->unavailable_error = PyErr_NewExceptionWithDoc(
      ATOLL_MODULE ".RootUnavailableError", "No root, or not the one that was named, can run the call here.",
      PyExc_RuntimeError, NULL);
  if (state->island_error == NULL || state->unavailable_error == NULL ||
      PyModule_AddObjectRef(module, "IslandError", state->island_error) != 0 ||
      PyModule_AddObjectRef(module, "RootUnavailableError", state->unavailable_error) != 0)
    failed = 1;
  for (size_t k = 0; !failed && k < sizeof atoll_own / sizeof *atoll_own; k++)
    failed = atoll_add(module, module, &atoll_own[k]) != 0;
  for (int k = 0; !failed && k < ATOLL_NAMESPACE_COUNT; k++) {
    places[k + 1] = atoll_submodule(places[atoll_namespaces[k].above], atoll_namespaces[k].name);
    failed = places[k + 1] == NULL;
  }
  for (size_t k = 0; !failed && k < sizeof atoll_methods / sizeof *atoll_methods; k++)
    failed = atoll_add(module, places[atoll_method_places[k]], &atoll_methods[k]) != 0;
  for (int k = 0; k <= ATOLL_NAMESPACE_COUNT; k++) Py_XDECREF(places[k]);
  return failed ? -1 : 0;
}

static int atoll_traverse(PyObject *module, visitproc visit, void *arg) {
  atoll_state *state = PyModule_GetState(module);
  if (state != NULL) {
    Py_VISIT(state->island_error);
    Py_VISIT(state->unavailable_error);
  }
  return 0;
}

static int atoll_clear(PyObject *module) {
  atoll_state *state = PyModule_GetState(module);
  if (state != NULL) {
    Py_CLEAR(state->island_error);
    Py_CLEAR(state->unavailable_error);
  }
  return 0;
}

/* PEP 489 keeps slots as void pointers; a union carries the function there without a cast that C forbids. */
static PyModuleDef_Slot atoll_slots[2];

static PyModuleDef atoll_module = {
    PyModuleDef_HEAD_INIT, ATOLL_MODULE,   ATOLL_MODULE_DOC, sizeof(atoll_state), NULL, atoll_slots,
    atoll_traverse,        atoll_clear,    NULL};

PyMODINIT_FUNC ATOLL_INIT(void) {
  union {
    int (*function)(PyObject *);
    void *object;
  } exec = {atoll_exec};
  atoll_slots[0].slot = Py_mod_exec;
  atoll_slots[0].value = exec.object;
  return PyModuleDef_Init(&atoll_module);
}
