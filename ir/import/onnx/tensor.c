/* Reads TensorProto: its shape, and its data from wherever the format may keep it: raw bytes, typed fields, or a file
 * next to the model. Sizes are checked before memory is taken; a path that leaves the model's folder is refused. Tests:
 * test/ir/import/import_test.c. */
#include "ir/import/onnx/onnx.h"

#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

/* Names of all element types of the format, for messages; those of zbc are rows of zb/dtypes.def. */
static const char *const type_names[] = {
    "undefined", "float32",    "uint8",      "int8",         "uint16",         "int16",      "int32",
    "int64",     "string",     "bool",       "float16",      "double",         "uint32",     "uint64",
    "complex64", "complex128", "bfloat16",   "float8e4m3fn", "float8e4m3fnuz", "float8e5m2", "float8e5m2fnuz",
    "uint4",     "int4",       "float4e2m1", "float8e8m0",   "uint2",          "int2"};

bool zb_onnx_dtype(int64_t number, zb_dtype *out) {
  switch (number) {
#define ZB_DTYPE(ID, name, bytes, safetensors, onnx)                                                                   \
  case onnx:                                                                                                           \
    *out = ZB_##ID;                                                                                                    \
    return true;
#include "zb/dtypes.def"
#undef ZB_DTYPE
  default:
    return false;
  }
}

const char *zb_onnx_dtype_text(int64_t number) {
  if (number < 0 || number >= (int64_t)(sizeof type_names / sizeof *type_names)) return "unknown";
  return type_names[number];
}

/* A tensor that is read; errors say "WHAT 'NAME'". */
typedef struct reading {
  zb_onnx *im;
  const Onnx__TensorProto *tensor;
  MlirLocation location;
  const char *what;
} reading;

static ZB_PRINTF(3, 4) zb_result refuse(const reading *r, const char *hint, const char *format, ...) {
  char text[768];
  va_list arguments;
  va_start(arguments, format);
  vsnprintf(text, sizeof text, format, arguments);
  va_end(arguments);
  return zb_location_error(r->location, hint, "%s '%s'%s", r->what, r->tensor->name, text);
}

static zb_result read_shape(const reading *r, zb_shape *shape) {
  const Onnx__TensorProto *tensor = r->tensor;
  zb_dtype dtype;
  const bool is_known = zb_onnx_dtype(tensor->data_type, &dtype);
  if (!is_known || (zb_dtype_is_narrow(dtype) && !r->im->core.params->inference))
    return refuse(r, ZB_ONNX_TYPES_HINT, " has the element type %s (%d), which is not supported",
                  zb_onnx_dtype_text(tensor->data_type), tensor->data_type);
  if (tensor->n_dims > ZB_DIMS_MAX)
    return refuse(r, NULL, " has %zu dimensions; at most %d are supported", tensor->n_dims, ZB_DIMS_MAX);
  *shape = (zb_shape){.dtype = dtype, .rank = (int)tensor->n_dims};
  for (int i = 0; i < shape->rank; ++i) {
    if (tensor->dims[i] < 0) return refuse(r, NULL, " has the negative dimension %" PRId64, tensor->dims[i]);
    shape->dims[i] = tensor->dims[i];
  }
  if (zb_shape_bytes(shape) < 0) return refuse(r, NULL, " is too large: its size overflows");
  return ZB_OK;
}

const char *zb_onnx_entry(Onnx__StringStringEntryProto *const *entries, size_t count, const char *key) {
  for (size_t i = 0; i < count; ++i)
    if (entries[i]->key && strcmp(entries[i]->key, key) == 0) return entries[i]->value;
  return NULL;
}

static const char *external_value(const Onnx__TensorProto *tensor, const char *key) {
  return zb_onnx_entry(tensor->external_data, tensor->n_external_data, key);
}

/* A decimal number without sign; false for anything else. */
static bool parse_size(const char *text, uint64_t *out) {
  if (!text || *text < '0' || *text > '9') return false;
  char *end;
  errno = 0;
  *out = strtoull(text, &end, 10);
  return errno == 0 && *end == '\0';
}

/* Whether a relative path stays in its folder by its spelling. */
static bool stays_inside(const char *path) {
  if (!*path || *path == '/' || strchr(path, '\\')) return false;
  for (const char *part = path; part; part = strchr(part, '/')) {
    while (*part == '/')
      ++part;
    if (part[0] == '.' && part[1] == '.' && (part[2] == '/' || part[2] == '\0')) return false;
  }
  return true;
}

/* Full name of LOCATION in the model's folder, links resolved; false if it is not there or lies elsewhere. */
static bool resolve_external(const char *model, const char *name, char *out) {
  char folder[PATH_MAX], joined[PATH_MAX], root[PATH_MAX];
  const char *slash = strrchr(model, '/');
  int length = slash ? (int)(slash - model) : 0;
  int written = snprintf(folder, sizeof folder, "%.*s", length, model);
  if (written < 0 || written >= (int)sizeof folder) return false;
  const char *base = slash ? (length ? folder : "/") : ".";
  written = snprintf(joined, sizeof joined, "%s/%s", base, name);
  if (written < 0 || written >= (int)sizeof joined) return false;
  if (!realpath(base, root) || !realpath(joined, out)) return false;
  size_t bytes = strlen(root);
  return strncmp(root, out, bytes) == 0 && (out[bytes] == '/' || strcmp(root, "/") == 0);
}

uint64_t zb_onnx_model_bytes(const zb_onnx *im) {
  uint64_t bytes = im->file.map.bytes;
  zb_map *seen = zb_map_create();
  bool good = seen != NULL;
  for (size_t i = 0; good && i < im->graph->n_initializer; ++i) {
    const Onnx__TensorProto *tensor = im->graph->initializer[i];
    const char *name = tensor->data_location == 1 ? external_value(tensor, "location") : NULL;
    char path[PATH_MAX];
    struct stat info;
    if (!name || zb_map_get(seen, name, NULL)) continue;
    good = zb_map_set(seen, name, 1);
    if (stays_inside(name) && resolve_external(im->core.params->path, name, path) && stat(path, &info) == 0 &&
        S_ISREG(info.st_mode))
      bytes += (uint64_t)info.st_size;
  }
  zb_map_destroy(seen);
  return good ? bytes : UINT64_MAX;
}

static const zb_import_source *open_external(const reading *r, const char *name, const char *path) {
  zb_onnx *im = r->im;
  for (size_t i = 0; i < im->external_count; ++i) {
    if (strcmp(im->externals[i].name, name) == 0) return &im->externals[i];
  }
  if (!zb_grow((void **)&im->externals, &im->external_capacity, im->external_count + 1, sizeof *im->externals)) {
    zb_import_memory(&im->core);
    return NULL;
  }
  zb_status status = zb_import_source_open(path, name, &im->externals[im->external_count]);
  if (status) {
    zb_location_error(r->location, NULL, "%s", zb_status_message(status));
    zb_status_free(status);
    return NULL;
  }
  return &im->externals[im->external_count++];
}

static zb_result read_external(const reading *r, uint64_t bytes, const void **data) {
  const char *file = external_value(r->tensor, "location"), *text = external_value(r->tensor, "offset");
  const char *hint = "keep the data files that the exporter wrote in the folder of the model";
  uint64_t offset = 0, length = bytes;
  char path[PATH_MAX];
  if (!file || !stays_inside(file))
    return refuse(r, hint, ": external data in '%s': expected a relative path inside the folder of the model",
                  file ? file : "");
  if (text && !parse_size(text, &offset)) return refuse(r, NULL, ": offset '%s' is no number", text);
  text = external_value(r->tensor, "length");
  if (text && !parse_size(text, &length)) return refuse(r, NULL, ": length '%s' is no number", text);
  if (length != bytes)
    return refuse(r, NULL, ": its external data has %" PRIu64 " bytes, its shape needs %" PRIu64, length, bytes);
  if (!resolve_external(r->im->core.params->path, file, path))
    return refuse(r, hint, ": external data file '%s' is not in the folder of the model", file);
  const zb_import_source *map = open_external(r, file, path);
  if (!map) return ZB_FAIL;
  if (offset > map->bytes || bytes > map->bytes - offset)
    return refuse(r, "was the data file copied completely?",
                  ": bytes %" PRIu64 " to %" PRIu64 " of external data file '%s', which has %zu", offset,
                  offset + bytes, file, map->bytes);
  *data = map->bytes ? map->data + offset : (const void *)"";
  return ZB_OK;
}

/* Data in typed fields. */
static zb_result read_typed(const reading *r, const zb_shape *shape, const void **data) {
  const Onnx__TensorProto *tensor = r->tensor;
  const struct {
    zb_dtype dtype;
    size_t count;
    const void *data;
  } fields[] = {
      {ZB_F32, tensor->n_float_data, tensor->float_data}, {ZB_F64, tensor->n_double_data, tensor->double_data},
      {ZB_I64, tensor->n_int64_data, tensor->int64_data}, {ZB_I32, tensor->n_int32_data, tensor->int32_data},
      {ZB_I1, tensor->n_int32_data, tensor->int32_data},  {ZB_F16, tensor->n_int32_data, tensor->int32_data},
      {ZB_BF16, tensor->n_int32_data, tensor->int32_data}};
  int64_t elements = zb_shape_elements(shape);
  for (size_t i = 0; i < sizeof fields / sizeof *fields; ++i) {
    if (fields[i].dtype != shape->dtype) continue;
    if ((uint64_t)fields[i].count != (uint64_t)elements) {
      char text[96];
      return refuse(r, NULL, ": its shape %s needs %" PRId64 " elements, its data has %zu", zb_shape_text(shape, text),
                    elements, fields[i].count);
    }
    *data = elements ? fields[i].data : "";
    const bool is_narrow = zb_dtype_is_narrow(shape->dtype);
    if (shape->dtype != ZB_I1 && !is_narrow) return ZB_OK;
    zb_known *c = zb_known_new(&r->im->core, shape);
    if (!c) return ZB_FAIL;
    for (int64_t k = 0; k < elements; ++k) {
      if (is_narrow)
        ((uint16_t *)c->data)[k] = (uint16_t)tensor->int32_data[k];
      else
        ((uint8_t *)c->data)[k] = tensor->int32_data[k] != 0;
    }
    *data = c->data;
    return ZB_OK;
  }
  return refuse(r, NULL, " has no data");
}

zb_result zb_onnx_tensor_read(zb_onnx *im, const Onnx__TensorProto *tensor, const zb_onnx_extent *raw,
                              MlirLocation location, const char *what, zb_shape *shape, const void **data) {
  const reading reading_of = {im, tensor, location, what}, *r = &reading_of;
  if (!read_shape(r, shape)) return ZB_FAIL;
  if (tensor->segment.len || tensor->n_string_data)
    return refuse(r, NULL, " is stored in segments or strings, which are not supported");
  uint64_t bytes = (uint64_t)zb_shape_bytes(shape);
  if (tensor->data_location == 1) return read_external(r, bytes, data);
  bool in_map = raw && raw->present, in_message = tensor->has_raw_data;
  if (!in_map && !in_message) return read_typed(r, shape, data);
  size_t have = in_map ? raw->bytes : tensor->raw_data.len;
  if (have != bytes) {
    char text[96];
    return refuse(r, NULL, ": its shape %s needs %" PRIu64 " bytes, its data has %zu", zb_shape_text(shape, text),
                  bytes, have);
  }
  *data = in_map ? im->file.map.data + raw->offset : (bytes ? tensor->raw_data.data : (const void *)"");
  return ZB_OK;
}
