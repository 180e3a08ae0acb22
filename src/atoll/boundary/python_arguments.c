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
    case 's': return "struct";
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

/* A stream is an integer, as frameworks give it; None is the default one. */
static int atoll_stream(const atoll_entry *entry, const atoll_parameter *parameter, PyObject *value, atoll_slot *slot) {
  slot->u = 0;
  return value == Py_None ? 0 : atoll_integer(entry, parameter, value, slot);
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

/* Write a value of a struct's field; the struct starts at `out`. */
static void atoll_put(const atoll_field *field, const atoll_slot *slot, char *out) {
  const float narrow = (float)slot->f;
  const uint8_t byte = (uint8_t)slot->u;
  const uint16_t half = (uint16_t)slot->u;
  const uint32_t word = (uint32_t)slot->u;
  const void *from = field->kind == 'f' ? (field->size == 4 ? (const void *)&narrow : (const void *)&slot->f)
                     : field->size == 1 ? (const void *)&byte
                     : field->size == 2 ? (const void *)&half
                     : field->size == 4 ? (const void *)&word
                                        : (const void *)&slot->u;
  memcpy(out + field->offset, from, field->size);
}

/* A struct by value: anything that has its fields as attributes. */
static int atoll_take_struct(const atoll_entry *entry, const atoll_parameter *parameter, PyObject *value, char *out) {
  for (unsigned k = 0; k < parameter->field_count; k++) {
    const atoll_field *field = &parameter->fields[k];
    char path[256];
    atoll_parameter inner = {.name = path, .python = path, .kind = field->kind, .size = field->size};
    atoll_slot slot;
    PyObject *item = PyObject_GetAttrString(value, field->name);
    int taken;
    if (item == NULL) {
      if (!PyErr_ExceptionMatches(PyExc_AttributeError)) return -1;
      PyErr_Clear();
      return atoll_wrong(PyExc_TypeError, entry, parameter, "is a %s, and has no field `%s`", parameter->ctype,
                         field->name);
    }
    (void)snprintf(path, sizeof path, "%s.%s", parameter->python, field->name);
    inner.ctype = atoll_word(field->kind);
    taken = atoll_scalar(entry, &inner, item, &slot);
    Py_DECREF(item);
    if (taken != 0) return -1;
    atoll_put(field, &slot, out);
  }
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

/* Bytes of a number in a struct's format (the letters of Python's module `struct`); 0 for what is none. */
static size_t atoll_letter_size(char letter, int native) {
  if (strchr("bBc?", letter)) return 1;
  if (strchr("hHe", letter)) return 2;
  if (strchr("iIf", letter)) return 4;
  if (strchr("lL", letter)) return native ? sizeof(long) : 4;
  return strchr("qQd", letter) ? 8 : strchr("nN", letter) ? sizeof(size_t) : 0;
}

/* Whether a format is the struct: `T{f:x:3xi:n:}`, each field by name, type and place. */
static int atoll_is_struct(const atoll_parameter *parameter, const char *format) {
  const uint16_t one = 1;
  const char foreign = *(const unsigned char *)&one == 1 ? '>' : '<';
  size_t at = 0, known = 0;
  int native = 1;
  if (format == NULL || strncmp(format, "T{", 2) != 0) return 0;
  for (format += 2; *format != 0 && *format != '}';) {
    char letter[2] = {0, 0};
    const atoll_field *field = &parameter->fields[known];
    const char *name;
    size_t count = 0, size;
    if (*format == foreign || *format == '!') return 0;
    if (strchr("@=<>", *format)) {
      native = *format++ == '@';
      continue;
    }
    while (*format >= '0' && *format <= '9' && count < 65536) count = count * 10 + (size_t)(*format++ - '0');
    if (*format == 'x') {
      at += count ? count : 1;
      format++;
      continue;
    }
    letter[0] = *format;
    size = *format ? atoll_letter_size(*format, native) : 0;
    if (size == 0 || count > 1 || known == parameter->field_count || format[1] != ':') return 0;
    name = format + 2;
    format = strchr(name, ':');
    if (format == NULL || strlen(field->name) != (size_t)(format - name)) return 0;
    if (strncmp(field->name, name, (size_t)(format - name)) != 0 || field->offset != at || field->size != size ||
        atoll_format_kind(letter) != field->kind)
      return 0;
    at += size;
    known++;
    format++;
  }
  return format[0] == '}' && format[1] == 0 && known == parameter->field_count;
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

static long atoll_item(PyObject *pair, Py_ssize_t index) {
  PyObject *item = PySequence_GetItem(pair, index);
  PyObject *number = item == NULL ? NULL : PyNumber_Index(item);
  long value = number == NULL ? -1 : PyLong_AsLong(number);
  Py_XDECREF(item);
  Py_XDECREF(number);
  return value;
}

/* Say what an array refused with, below the argument's name; an error of memory stays as it is. */
static int atoll_gives_none(const atoll_entry *entry, const atoll_parameter *parameter) {
  PyObject *type, *value, *trace, *text;
  if (PyErr_ExceptionMatches(PyExc_MemoryError)) return -1;
  PyErr_Fetch(&type, &value, &trace);
  text = value == NULL ? NULL : PyObject_Str(value);
  if (text == NULL) PyErr_Clear();
  if (text != NULL)
    (void)atoll_wrong(PyExc_TypeError, entry, parameter, "gives no tensor: %U", text);
  else
    (void)atoll_wrong(PyExc_TypeError, entry, parameter, "gives no tensor");
  Py_XDECREF(text);
  Py_XDECREF(type);
  Py_XDECREF(value);
  Py_XDECREF(trace);
  return -1;
}

/* Whether an array may lie where it does: in host memory, or in that of the root that was chosen. */
static int atoll_check_place(const atoll_entry *entry, const atoll_parameter *parameter, const atoll_array *array) {
  const int *type = array->memory;
  if (type == NULL) return array->device_type == 1 ? 0 : atoll_on_device(entry, parameter, array->device_type);
  while (*type != 0 && *type != array->device_type) type++;
  if (*type != 0) return 0;
  if (array->memory[0] == 0)
    return atoll_wrong(PyExc_TypeError, entry, parameter, "is device memory, and the root `%s` does not say which it takes",
                       atoll_root_names[array->root]);
  return atoll_wrong(PyExc_TypeError, entry, parameter,
                     "lies on a device of DLPack type %ld, and the root `%s` takes memory of type %d", array->device_type,
                     atoll_root_names[array->root], array->memory[0]);
}

static int atoll_tensor_place(const atoll_entry *entry, const atoll_parameter *parameter, PyObject *value,
                              atoll_array *array) {
  PyObject *place = PyObject_CallMethod(value, "__dlpack_device__", NULL);
  if (place != NULL) array->device_type = atoll_item(place, 0);
  if (place != NULL && !PyErr_Occurred()) array->device_id = atoll_item(place, 1);
  Py_XDECREF(place);
  return PyErr_Occurred() ? atoll_gives_none(entry, parameter) : atoll_check_place(entry, parameter, array);
}

/* The capsule of an array; one on a device is told the stream that the call runs on. */
static PyObject *atoll_export(PyObject *value, const atoll_array *array) {
  PyObject *method, *none, *names, *answer = NULL;
  if (array->stream == 0 || array->device_type == 1) return PyObject_CallMethod(value, "__dlpack__", NULL);
  method = PyObject_GetAttrString(value, "__dlpack__");
  none = PyTuple_New(0);
  names = Py_BuildValue("{sK}", "stream", array->stream);
  if (method != NULL && none != NULL && names != NULL) answer = PyObject_Call(method, none, names);
  Py_XDECREF(method);
  Py_XDECREF(none);
  Py_XDECREF(names);
  return answer;
}

static int atoll_take_tensor(const atoll_entry *entry, const atoll_parameter *parameter, PyObject *value,
                             atoll_array *array) {
  PyObject *capsule;
  atoll_tensor *tensor;
  int64_t expected = 1;
  if (atoll_tensor_place(entry, parameter, value, array) != 0) return -1;
  capsule = atoll_export(value, array);
  if (capsule == NULL) return atoll_gives_none(entry, parameter);
  tensor = PyCapsule_GetPointer(capsule, "dltensor");
  if (tensor == NULL || PyCapsule_SetName(capsule, "used_dltensor") != 0) {
    Py_DECREF(capsule);
    return atoll_gives_none(entry, parameter);
  }
  Py_DECREF(capsule);
  array->tensor = tensor;
  array->device_type = tensor->device_type;
  array->device_id = tensor->device_id;
  if (atoll_check_place(entry, parameter, array) != 0) return -1;
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
  array->device_type = 1;
  array->device_id = 0;
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

static int atoll_is_empty(const atoll_array *array) {
  for (int k = 0; k < array->rank; k++)
    if (array->shape[k] == 0) return 1;
  return 0;
}

static int atoll_check_array(const atoll_entry *entry, const atoll_parameter *parameter, const atoll_array *array) {
  int text = parameter->kind == 'c' && array->size == 1 && strchr("iuc", array->kind) != NULL && array->kind != 0;
  int bits = (int)array->size * 8, wanted = (int)parameter->size * 8;
  if (parameter->kind == 's') {
    if ((size_t)array->size != parameter->size || !atoll_is_struct(parameter, array->format))
      return atoll_wrong(PyExc_TypeError, entry, parameter, "has elements `%s` of %d bytes where %s is taken",
                         array->format ? array->format : "of numbers", (int)array->size, parameter->ctype);
  } else if (!text && (array->kind != parameter->kind || (size_t)array->size != parameter->size)) {
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
  /* Without elements the address means nothing; that of Python's empty `array` is odd. */
  if (!atoll_is_empty(array) && (uintptr_t)array->data % parameter->align != 0)
    return atoll_wrong(PyExc_ValueError, entry, parameter, "is not aligned to %d bytes", (int)parameter->align);
  return 0;
}

static int atoll_take(const atoll_entry *entry, const atoll_parameter *parameter, PyObject *value, atoll_array *array,
                      atoll_slot *slot) {
  char wanted[64];
  int taken;
  if (PyObject_CheckBuffer(value)) {
    array->device_type = 1;
    taken = atoll_check_place(entry, parameter, array) != 0 ? -1 : atoll_take_buffer(entry, parameter, value, array);
  } else if (PyObject_HasAttrString(value, "__dlpack__") && PyObject_HasAttrString(value, "__dlpack_device__")) {
    taken = atoll_take_tensor(entry, parameter, value, array);
  } else {
    if (parameter->kind == 's')
      (void)snprintf(wanted, sizeof wanted, "an array of structs");
    else
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
