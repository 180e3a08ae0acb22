/* ---- one call ---- */

typedef struct atoll_frame {
  PyObject *given[ATOLL_MOST_PARAMETERS]; /* borrowed, by parameter */
  PyObject *over;                         /* borrowed */
  atoll_slot slots[ATOLL_MOST_PARAMETERS];
  atoll_array arrays[ATOLL_MOST_PARAMETERS];
  PyObject *made[ATOLL_MOST_PARAMETERS]; /* owned: results */
  int chosen;                            /* the root, where it is known before the arguments are read */
  uint64_t answer[ATOLL_MOST_FIELDS];
  uint64_t structs[ATOLL_MOST_PARAMETERS][ATOLL_MOST_FIELDS]; /* by value; no field is over 8 bytes */
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

/* Tell each array where it may lie: device memory is that of the root that the call goes to. */
static int atoll_places(atoll_state *state, const atoll_entry *entry, atoll_frame *frame) {
  unsigned long long stream = 0;
  for (unsigned k = 0; k < entry->count; k++)
    if (entry->parameters[k].role == ATOLL_STREAM) {
      if (atoll_stream(entry, &entry->parameters[k], frame->given[k], &frame->slots[k]) != 0) return -1;
      stream = frame->slots[k].u;
    }
  if (!entry->device) return 0;
  frame->chosen = atoll_select(state);
  if (frame->chosen < 0) return -1;
  for (unsigned k = 0; k < entry->count; k++) {
    frame->arrays[k].memory = atoll_memories[frame->chosen];
    frame->arrays[k].root = frame->chosen;
    frame->arrays[k].stream = stream;
  }
  return 0;
}

/* Every array of a call on device memory lies on one device. */
static int atoll_one_device(const atoll_entry *entry, const atoll_frame *frame) {
  const atoll_array *first = NULL;
  for (unsigned k = 0; entry->device && k < entry->count; k++) {
    const atoll_array *array = &frame->arrays[k];
    if (entry->parameters[k].role != ATOLL_ARRAY) continue;
    if (first == NULL) first = array;
    if (array->device_type != first->device_type || array->device_id != first->device_id)
      return atoll_wrong(PyExc_ValueError, entry, &entry->parameters[k],
                         "lies on another device (type %ld, number %ld) than the first array (type %ld, number %ld)",
                         array->device_type, array->device_id, first->device_type, first->device_id);
  }
  return 0;
}

static int atoll_prepare(atoll_state *state, const atoll_entry *entry, atoll_frame *frame) {
  if (atoll_grid(entry, frame) != 0 || atoll_places(state, entry, frame) != 0) return -1;
  for (unsigned k = 0; k < entry->count; k++) {
    const atoll_parameter *parameter = &entry->parameters[k];
    if (parameter->role == ATOLL_SCALAR && parameter->kind == 's') {
      if (atoll_take_struct(entry, parameter, frame->given[k], (char *)frame->structs[k]) != 0) return -1;
      frame->slots[k].p = frame->structs[k];
    } else if (parameter->role == ATOLL_SCALAR &&
        atoll_scalar(entry, parameter, frame->given[k], &frame->slots[k]) != 0)
      return -1;
    if (parameter->role == ATOLL_ARRAY &&
        atoll_take(entry, parameter, frame->given[k], &frame->arrays[k], &frame->slots[k]) != 0)
      return -1;
  }
  if (atoll_one_device(entry, frame) != 0 || atoll_lengths(entry, frame->arrays, frame->slots) != 0) return -1;
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
  int chosen = entry->device ? frame->chosen : atoll_select(state);
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

/* A number of `size` bytes. */
static PyObject *atoll_field_value(const atoll_field *field, const char *from) {
  const int is_signed = field->kind == 'i' || (field->kind == 'c' && CHAR_MIN < 0);
  unsigned long long whole = 0;
  float narrow;
  double wide;
  if (field->kind == 'f' && field->size == sizeof narrow) {
    memcpy(&narrow, from, sizeof narrow);
    return PyFloat_FromDouble((double)narrow);
  }
  if (field->kind == 'f') {
    memcpy(&wide, from, sizeof wide);
    return PyFloat_FromDouble(wide);
  }
  for (size_t k = 0; k < field->size; k++) {
    const uint16_t one = 1;
    const size_t at = *(const unsigned char *)&one == 1 ? k : field->size - 1 - k;
    whole |= (unsigned long long)(unsigned char)from[at] << (8 * k);
  }
  if (field->kind == 'b') return PyBool_FromLong(whole != 0);
  if (!is_signed) return PyLong_FromUnsignedLongLong(whole);
  if (field->size < 8 && whole >> (8 * field->size - 1)) whole |= ~0ULL << (8 * field->size);
  return PyLong_FromLongLong((long long)whole);
}

/* A struct by value: a types.SimpleNamespace of its fields, which a parameter takes as it is. */
static PyObject *atoll_struct_result(const atoll_entry *entry, const char *from) {
  PyObject *types = PyImport_ImportModule("types"), *names = PyDict_New(), *none = PyTuple_New(0), *made = NULL;
  PyObject *kind = types == NULL ? NULL : PyObject_GetAttrString(types, "SimpleNamespace");
  int failed = kind == NULL || names == NULL || none == NULL;
  for (unsigned k = 0; !failed && k < entry->field_count; k++) {
    PyObject *value = atoll_field_value(&entry->fields[k], from + entry->fields[k].offset);
    failed = value == NULL || PyDict_SetItemString(names, entry->fields[k].name, value) != 0;
    Py_XDECREF(value);
  }
  if (!failed) made = PyObject_Call(kind, none, names);
  Py_XDECREF(types);
  Py_XDECREF(names);
  Py_XDECREF(none);
  Py_XDECREF(kind);
  return made;
}

static PyObject *atoll_plain_result(const atoll_entry *entry, const atoll_slot *result) {
  switch (entry->result) {
    case 's': return atoll_struct_result(entry, result->p);
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

/* Lets go of what a call holds. An error that is pending stays: what deletes a tensor may be Python, which cannot run
   with one. */
static void atoll_release(const atoll_entry *entry, atoll_frame *frame) {
  PyObject *type, *error, *trace;
  PyErr_Fetch(&type, &error, &trace);
  for (unsigned k = 0; k < entry->count; k++) {
    if (frame->arrays[k].viewed) PyBuffer_Release(&frame->arrays[k].view);
    if (frame->arrays[k].tensor != NULL && frame->arrays[k].tensor->deleter != NULL)
      frame->arrays[k].tensor->deleter(frame->arrays[k].tensor);
    Py_XDECREF(frame->made[k]);
  }
  PyErr_Restore(type, error, trace);
}

static PyObject *atoll_call(PyObject *module, int index, PyObject *const *args, Py_ssize_t count, PyObject *names) {
  const atoll_entry *entry = &atoll_entries[index];
  atoll_state *state = PyModule_GetState(module);
  atoll_frame frame;
  atoll_slot result = {0};
  PyObject *answer = NULL;
  memset(&frame, 0, sizeof frame);
  atoll_last = ATOLL_NONE;
  if (entry->result == 's') result.p = frame.answer;
  if (state != NULL && atoll_gather(entry, &frame, args, count, names) == 0 && atoll_prepare(state, entry, &frame) == 0 &&
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
