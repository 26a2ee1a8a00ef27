/* The cases of test/kernels/cases, read and made ready to run, and comparison of results: what all conformance tests
 * share.
 *
 * make_cases.py describes the files. A program includes this once.
 */
#ifndef ZB_TEST_KERNELS_CASES_H
#define ZB_TEST_KERNELS_CASES_H

#include <CUnit/Basic.h>
#include <jansson.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "kernels/cpu/ref/ref.h"
#include "runtime/base/digest.h"
#include "runtime/formats/safetensors.h"
#include "runtime/base/text.h"
#include "zb/kernel.h"

enum {
  OPERANDS_MAX = 8,
  RESULTS_MAX = 4,
  ATTRS_MAX = 16,
  INTS_MAX = 16,
  OWNED_MAX = 24,
  GUARD_BYTES = 64,
  WORKSPACE_BYTES = 1 << 20
};

/* ---- The ops ---- */

#define NAME_KERNEL(text) text,
#define NAME_VIEW(text)
#define NAME_COMPOSITE(text)
#define NAME_STRUCTURE(text)
#define ZB_OP(name, CLASS) NAME_##CLASS(#name)
#define ZB_GRAD(name, CLASS) NAME_##CLASS(#name "_grad")
static const char *const op_names[] = {
#include "zb/ops.def"
};
#undef ZB_OP
#undef ZB_GRAD
enum { OP_COUNT = sizeof op_names / sizeof op_names[0] };

/* ---- One file of cases ---- */

typedef struct bounds {
  double relative, scaled, absolute;
} bounds;

typedef struct case_file {
  const char *op;
  zb_store *store;
  json_t *cases;
  bounds reference, fast;
} case_file;

static bool read_bounds(json_t *tolerance, const char *key, bounds *out) {
  json_t *row = json_object_get(tolerance, key);
  if (json_array_size(row) != 3) return false;
  *out = (bounds){json_number_value(json_array_get(row, 0)), json_number_value(json_array_get(row, 1)),
                  json_number_value(json_array_get(row, 2))};
  return true;
}

static void close_file(case_file *file) {
  json_decref(file->cases);
  zb_store_destroy(file->store);
  *file = (case_file){0};
}

static bool open_file(const char *op, case_file *file) {
  *file = (case_file){.op = op};
  zb_text path = {0};
  const char *source = getenv("ZB_TEST_SOURCE"); /* where this program was built elsewhere (test/gpu) */
  zb_text_add(&path, "%s/test/kernels/cases/%s.safetensors", source ? source : ZB_SOURCE_DIR, op);
  zb_status status = path.failed ? ZB_OUT_OF_MEMORY() : zb_store_open(path.data, &file->store);
  zb_text_deinit(&path);
  if (status) {
    fprintf(stderr, "%s has no readable cases: %s", op, zb_status_text(status));
    zb_status_free(status);
    return false;
  }
  const char *cases = zb_store_metadata(file->store, "cases"), *tolerance = zb_store_metadata(file->store, "tolerance");
  file->cases = cases ? json_loads(cases, 0, NULL) : NULL;
  json_t *pairs = tolerance ? json_loads(tolerance, 0, NULL) : NULL;
  bool good = json_array_size(file->cases) > 0 && read_bounds(pairs, "reference", &file->reference) &&
              read_bounds(pairs, "fast", &file->fast);
  json_decref(pairs);
  if (good) return true;
  fprintf(stderr, "%s: the metadata of its cases is incomplete\n", op);
  close_file(file);
  return false;
}

/* ---- One case, made ready to run ---- */

typedef struct prepared {
  zb_tensor inputs[OPERANDS_MAX], outputs[RESULTS_MAX];
  zb_attr attrs[ATTRS_MAX];
  int64_t ints[ATTRS_MAX][INTS_MAX];
  zb_kernel_call call;
  void *owned[OWNED_MAX];
  int owned_count;
} prepared;

static bool prepare(const case_file *file, json_t *row, prepared *out);

static void release(prepared *p) {
  for (int i = 0; i < p->owned_count; ++i)
    zb_free(p->owned[i]);
  p->owned_count = 0;
}

static void *own(prepared *p, size_t bytes) {
  void *memory = zb_alloc_aligned(bytes + GUARD_BYTES, 64);
  if (!memory || p->owned_count == OWNED_MAX) abort();
  memset((char *)memory + bytes, 0x5a, GUARD_BYTES);
  p->owned[p->owned_count++] = memory;
  return memory;
}

static int64_t elements_of(const zb_tensor *tensor) {
  int64_t count = 1;
  for (int i = 0; i < tensor->rank; ++i)
    count *= tensor->shape[i];
  return count;
}

static size_t bytes_of(const zb_tensor *tensor) {
  return tensor->rank < 0 ? 0 : (size_t)elements_of(tensor) * zb_dtype_bytes(tensor->dtype);
}

static void read_attrs(json_t *object, prepared *p) {
  const char *name;
  json_t *value;
  int count = 0;
  json_object_foreach(object, name, value) {
    zb_attr *attr = &p->attrs[count];
    *attr = (zb_attr){.name = name};
    if (json_is_boolean(value))
      attr->kind = ZB_ATTR_BOOL, attr->i = json_is_true(value);
    else if (json_is_integer(value))
      attr->kind = ZB_ATTR_INT, attr->i = json_integer_value(value);
    else if (json_is_real(value))
      attr->kind = ZB_ATTR_FLOAT, attr->f = json_real_value(value);
    else if (json_is_string(value))
      attr->kind = ZB_ATTR_STRING, attr->s = json_string_value(value);
    else {
      attr->kind = ZB_ATTR_INTS;
      attr->count = (int)json_array_size(value);
      for (int i = 0; i < attr->count; ++i)
        p->ints[count][i] = json_integer_value(json_array_get(value, (size_t)i));
      attr->ints = p->ints[count];
    }
    ++count;
  }
  p->call.attrs = (zb_attrs){p->attrs, count};
}

static void read_dims(json_t *array, int64_t *out) {
  for (size_t i = 0; i < json_array_size(array); ++i)
    out[i] = json_integer_value(json_array_get(array, i));
}

static void make_contiguous(zb_tensor *tensor) {
  int64_t stride = 1;
  for (int i = tensor->rank - 1; i >= 0; --i) {
    tensor->strides[i] = stride;
    stride *= tensor->shape[i];
  }
}

/* The next number of a fixed sequence (splitmix64). */
static uint64_t next_random(uint64_t *state) {
  uint64_t z = (*state += UINT64_C(0x9e3779b97f4a7c15));
  z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
  z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
  return z ^ (z >> 31);
}

static void fill_random(json_t *operand, uint64_t seed, zb_tensor *tensor, int64_t count) {
  double low = json_number_value(json_object_get(operand, "low"));
  double high = json_number_value(json_object_get(operand, "high"));
  bool mask = strcmp(json_string_value(json_object_get(operand, "fill")), "mask") == 0;
  for (int64_t i = 0; i < count; ++i) {
    double share = (double)(next_random(&seed) >> 11) * 0x1p-53, value = low + (high - low) * share;
    bool hidden = mask && next_random(&seed) % 3 == 0;
    switch (tensor->dtype) {
    case ZB_F32:
      ((float *)tensor->data)[i] = hidden ? -INFINITY : (float)value;
      break;
    case ZB_F64:
      ((double *)tensor->data)[i] = value;
      break;
    case ZB_BF16:
      ((uint16_t *)tensor->data)[i] = zb_ref_to_bf16(value);
      break;
    case ZB_I64:
      ((int64_t *)tensor->data)[i] = (int64_t)floor(value);
      break;
    case ZB_I32:
      ((int32_t *)tensor->data)[i] = (int32_t)floor(value);
      break;
    default:
      ((uint8_t *)tensor->data)[i] = (uint8_t)floor(value);
      break;
    }
  }
}

/* An operand that is a result of another op's reference kernel on operands of this case. */
static bool compute_operand(json_t *operand, prepared *p, zb_tensor *out) {
  const zb_kernel *kernel = zb_kernel_reference(json_string_value(json_object_get(operand, "result_of")));
  json_t *from = json_object_get(operand, "from");
  zb_tensor inputs[OPERANDS_MAX], outputs[RESULTS_MAX];
  int count = (int)json_array_size(from), wanted = (int)json_integer_value(json_object_get(operand, "output"));
  for (int i = 0; i < count; ++i)
    inputs[i] = p->inputs[json_integer_value(json_array_get(from, (size_t)i))];
  const zb_tensor *first = &inputs[0];
  bool attention =
      first->rank == 4 && count >= 3; /* (out like q, lse [batch, heads, tq]); else (loss, lse like labels) */
  outputs[0] = outputs[1] = attention ? *first : inputs[1];
  outputs[0].dtype = attention ? first->dtype : ZB_F32;
  outputs[1].dtype = ZB_F32;
  if (attention) {
    outputs[1].rank = 3;
    outputs[1].shape[1] = first->shape[2];
    outputs[1].shape[2] = first->shape[1];
  } else if (strcmp(zb_attr_string(&p->call.attrs, "reduction", "mean"), "none") != 0) {
    outputs[0].rank = 0;
  }
  prepared scratch = {0};
  for (int i = 0; i < 2; ++i) {
    make_contiguous(&outputs[i]);
    outputs[i].data = own(i == wanted ? p : &scratch, bytes_of(&outputs[i]));
  }
  zb_kernel_call call = {
      .inputs = inputs, .input_count = count, .outputs = outputs, .output_count = 2, .attrs = p->call.attrs};
  const char *error = kernel->run(&call);
  if (error) fprintf(stderr, "an operand cannot be computed: %s\n", error);
  release(&scratch);
  *out = outputs[wanted];
  return !error;
}

/* A copy of a stored tensor, as it is. */
static bool copy_stored(const case_file *file, const char *name, prepared *p, zb_tensor *out) {
  const zb_stored_tensor *stored = name ? zb_store_find(file->store, name) : NULL;
  if (!stored) return false;
  *out = (zb_tensor){.dtype = stored->shape.dtype, .rank = stored->shape.rank};
  memcpy(out->shape, stored->shape.dims, sizeof out->shape);
  make_contiguous(out);
  out->data = own(p, (size_t)stored->bytes);
  if (stored->bytes) memcpy(out->data, stored->data, (size_t)stored->bytes);
  return true;
}

static bool read_operand(const case_file *file, json_t *operand, uint64_t seed, prepared *p, zb_tensor *out) {
  *out = (zb_tensor){.rank = -1};
  if (json_is_null(operand)) return true;
  if (json_is_string(operand)) return copy_stored(file, json_string_value(operand), p, out);
  if (json_object_get(operand, "result_of")) return compute_operand(operand, p, out);
  json_t *shape = json_object_get(operand, "shape");
  *out = (zb_tensor){.rank = (int)json_array_size(shape)};
  read_dims(shape, out->shape);
  read_dims(json_object_get(operand, "strides"), out->strides);
  int64_t offset = json_integer_value(json_object_get(operand, "offset"));
  json_t *stored = json_object_get(operand, "tensor");
  if (stored) {
    zb_tensor base;
    if (!copy_stored(file, json_string_value(stored), p, &base)) return false;
    out->dtype = base.dtype;
    out->data = (char *)base.data + offset * (int64_t)zb_dtype_bytes(out->dtype);
    return true;
  }
  int64_t span = 1;
  for (int i = 0; i < out->rank; ++i)
    span += out->strides[i] * (out->shape[i] - 1);
  if (!zb_dtype_parse(json_string_value(json_object_get(operand, "dtype")), &out->dtype)) return false;
  out->data = own(p, (size_t)span * zb_dtype_bytes(out->dtype));
  fill_random(operand, seed, out, span);
  return true;
}

/* Shape and type of a result: those of the expected tensor, or as the case says. */
static bool read_result_type(const case_file *file, json_t *result, zb_tensor *out) {
  json_t *shape = json_object_get(result, "shape");
  *out = (zb_tensor){.rank = (int)json_array_size(shape)};
  read_dims(shape, out->shape);
  if (json_is_string(result)) {
    const zb_stored_tensor *expected = zb_store_find(file->store, json_string_value(result));
    if (!expected) return false;
    *out = (zb_tensor){.dtype = expected->shape.dtype, .rank = expected->shape.rank};
    memcpy(out->shape, expected->shape.dims, sizeof out->shape);
  } else if (!zb_dtype_parse(json_string_value(json_object_get(result, "dtype")), &out->dtype)) {
    return false;
  }
  make_contiguous(out);
  return true;
}

static bool read_result(const case_file *file, json_t *row, json_t *result, int index, uint64_t seed, prepared *p) {
  zb_tensor *out = &p->outputs[index];
  if (!read_result_type(file, result, out)) return false;
  json_t *alias = json_array_get(json_object_get(row, "alias"), (size_t)index);
  if (alias) {
    out->data = p->inputs[json_integer_value(alias)].data;
    return true;
  }
  out->data = own(p, bytes_of(out));
  memset(out->data, 0xff, bytes_of(out)); /* NaN, or a wrong integer, where a kernel forgets an element */
  json_t *before = json_object_get(row, "accumulate");
  if (!before || index != 0) return true;
  p->call.accumulate = true;
  json_t *uniform = json_pack("{s:f, s:f, s:s}", "low", -1.0, "high", 1.0, "fill", "uniform");
  if (!json_is_string(before)) fill_random(uniform, seed, out, elements_of(out));
  json_decref(uniform);
  if (!json_is_string(before)) return true;
  zb_tensor start;
  if (!copy_stored(file, json_string_value(before), p, &start) || bytes_of(&start) != bytes_of(out)) return false;
  memcpy(out->data, start.data, bytes_of(out));
  return true;
}

/* Makes operands and results of a case; the same bytes every time. */
static bool prepare(const case_file *file, json_t *row, prepared *p) {
  *p = (prepared){0};
  json_t *inputs = json_object_get(row, "inputs"), *outputs = json_object_get(row, "outputs");
  if (json_array_size(inputs) > OPERANDS_MAX || json_array_size(outputs) > RESULTS_MAX) return false;
  const char *name = json_string_value(json_object_get(row, "name"));
  uint64_t seed = zb_fnv1a(zb_fnv1a(ZB_FNV_START, file->op, strlen(file->op)), name, strlen(name));
  p->call.inputs = p->inputs;
  p->call.input_count = (int)json_array_size(inputs);
  p->call.outputs = p->outputs;
  p->call.output_count = (int)json_array_size(outputs);
  read_attrs(json_object_get(row, "attrs"), p);
  p->call.workspace = own(p, WORKSPACE_BYTES);
  bool good = true;
  for (int i = 0; good && i < p->call.input_count; ++i)
    good = read_operand(file, json_array_get(inputs, (size_t)i), seed + (uint64_t)i, p, &p->inputs[i]);
  for (int i = 0; good && i < p->call.output_count; ++i)
    good = read_result(file, row, json_array_get(outputs, (size_t)i), i, seed + 100, p);
  return good;
}

/* Whether the bytes after every buffer are as they were. Buffers end with GUARD_BYTES of 0x5a, see own(). */
static inline bool guards_hold(const prepared *p) {
  for (int i = 0; i < p->call.output_count; ++i) {
    const unsigned char *end = (const unsigned char *)p->outputs[i].data + bytes_of(&p->outputs[i]);
    for (int k = 0; k < GUARD_BYTES; ++k)
      if (end[k] != 0x5a) return false;
  }
  return true;
}

/* ---- Comparison ---- */

static double element(const zb_tensor *tensor, int64_t i) {
  switch (tensor->dtype) {
  case ZB_F32:
    return (double)((const float *)tensor->data)[i];
  case ZB_F64:
    return ((const double *)tensor->data)[i];
  case ZB_BF16:
    return zb_ref_from_bf16(((const uint16_t *)tensor->data)[i]);
  case ZB_F16:
    return zb_ref_from_f16(((const uint16_t *)tensor->data)[i]);
  default:
    return NAN;
  }
}

/* The first element that is not within the bounds, or -1. Integers and i1 must have equal bits. A result in bf16 or f16
 * may lie on the other side of a tie, one unit in the last place away, where the bounds allow any error at all. */
static int64_t first_difference(const zb_tensor *got, const zb_tensor *want, bounds allowed) {
  int64_t count = elements_of(want);
  size_t size = zb_dtype_bytes(want->dtype);
  bool real = zb_dtype_is_float(want->dtype),
       exact = allowed.relative <= 0 && allowed.scaled <= 0 && allowed.absolute <= 0;
  double unit = exact ? 0 : want->dtype == ZB_BF16 ? 0x1p-7 : want->dtype == ZB_F16 ? 0x1p-10 : 0, largest = 0;
  for (int64_t i = 0; real && i < count; ++i)
    if (isfinite(element(want, i))) largest = fmax(largest, fabs(element(want, i)));
  for (int64_t i = 0; i < count; ++i) {
    if (!real) {
      if (memcmp((const char *)got->data + i * (int64_t)size, (const char *)want->data + i * (int64_t)size, size))
        return i;
      continue;
    }
    double x = element(got, i), y = element(want, i);
    if (x == y || (isnan(x) && isnan(y))) continue;
    /* Below the normal numbers of f32 a kernel may flush to zero. */
    double error = fabs(x - y);
    if (!(error <= (allowed.relative + unit) * fabs(y) + allowed.scaled * largest + allowed.absolute + 1.2e-38))
      return i;
  }
  return -1;
}

static int failures;

static void report(const case_file *file, json_t *row, const char *what, const char *text) {
  CU_FAIL("see standard error");
  if (++failures > 40) return;
  fprintf(stderr, "%s, case '%s', %s: %s\n", file->op, json_string_value(json_object_get(row, "name")), what, text);
}

static void check_tensor(const case_file *file, json_t *row, const char *what, int index, const zb_tensor *got,
                         const zb_tensor *want, bounds allowed) {
  int64_t place = first_difference(got, want, allowed);
  if (place < 0) return;
  char text[128];
  snprintf(text, sizeof text, "result %d, element %lld is %.9g, expected %.9g", index, (long long)place,
           element(got, place), element(want, place));
  report(file, row, what, text);
}

/* ---- The tests ---- */

/* Calls visit for every case of every op; a missing file fails. */
static void for_each_case(void (*visit)(const case_file *file, json_t *row)) {
  failures = 0;
  for (int i = 0; i < OP_COUNT; ++i) {
    case_file file;
    if (!open_file(op_names[i], &file)) {
      CU_FAIL("an op of class KERNEL has no cases");
      continue;
    }
    size_t index;
    json_t *row;
    json_array_foreach(file.cases, index, row) visit(&file, row);
    close_file(&file);
  }
}

#endif
