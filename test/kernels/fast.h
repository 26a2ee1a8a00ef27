/* What the tests of the fast CPU kernels share: operands of made-up values, and one check: the fast kernel must be the
 * one that is chosen, agree with the reference on every instruction set of the machine, and give the same bits on one
 * thread and on several. */
#ifndef ZB_TEST_KERNELS_FAST_H
#define ZB_TEST_KERNELS_FAST_H

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "kernels/cpu/isa.h"
#include "test/suite.h"
#include "zb/kernel.h"

enum { FAST_OPERANDS = 8, FAST_RESULTS = 4 };

typedef struct fast_call {
  const char *op;
  zb_tensor inputs[FAST_OPERANDS];
  int input_count;
  zb_tensor outputs[FAST_RESULTS]; /* data holds the values before the call (for accumulate) */
  int output_count;
  zb_attr attrs[8];
  int attr_count;
  bool accumulate;
} fast_call;

static uint64_t fast_state = 1;

/* Uniform in low..high, a fixed sequence. */
static inline float fast_random(float low, float high) {
  fast_state = fast_state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
  return low + (high - low) * (float)(fast_state >> 40) / 16777216.0f;
}

static inline int64_t fast_elements(const zb_tensor *x) {
  int64_t n = 1;
  for (int i = 0; i < x->rank; ++i)
    n *= x->shape[i];
  return n;
}

/* A contiguous tensor of zeros; `shape` ends at rank entries. */
static inline zb_tensor fast_tensor(zb_dtype dtype, int rank, const int64_t *shape) {
  zb_tensor x = {.dtype = dtype, .rank = rank};
  int64_t stride = 1;
  for (int i = rank - 1; i >= 0; --i) {
    x.shape[i] = shape[i];
    x.strides[i] = stride;
    stride *= shape[i];
  }
  x.data = calloc((size_t)stride + 16, zb_dtype_bytes(dtype));
  if (!x.data) abort();
  return x;
}

#define FAST_SHAPE(...)                                                                                                \
  (int)(sizeof((int64_t[]){__VA_ARGS__}) / sizeof(int64_t)), (int64_t[]) { __VA_ARGS__ }

static inline zb_tensor fast_uniform(float low, float high, int rank, const int64_t *shape) {
  zb_tensor x = fast_tensor(ZB_F32, rank, shape);
  int64_t n = fast_elements(&x);
  for (int64_t i = 0; i < n; ++i)
    ((float *)x.data)[i] = fast_random(low, high);
  return x;
}

/* What the session sets for an update: a rate and a weight decay. */
static inline zb_tensor fast_settings(double rate, double weight_decay) {
  zb_tensor x = fast_tensor(ZB_F64, FAST_SHAPE(2));
  ((double *)x.data)[0] = rate;
  ((double *)x.data)[1] = weight_decay;
  return x;
}

/* The view with two dimensions swapped; it shares memory. */
static inline zb_tensor fast_swap(zb_tensor x, int a, int b) {
  int64_t shape = x.shape[a], stride = x.strides[a];
  x.shape[a] = x.shape[b];
  x.strides[a] = x.strides[b];
  x.shape[b] = shape;
  x.strides[b] = stride;
  return x;
}

static inline zb_tensor fast_absent(void) { return (zb_tensor){.rank = -1}; }
static inline void fast_input(fast_call *c, zb_tensor x) { c->inputs[c->input_count++] = x; }
static inline void fast_output(fast_call *c, zb_tensor x) { c->outputs[c->output_count++] = x; }
static inline void fast_int(fast_call *c, const char *name, int64_t value) {
  c->attrs[c->attr_count++] = (zb_attr){.name = name, .kind = ZB_ATTR_INT, .i = value};
}
static inline void fast_bool(fast_call *c, const char *name, bool value) {
  c->attrs[c->attr_count++] = (zb_attr){.name = name, .kind = ZB_ATTR_BOOL, .i = value};
}
static inline void fast_float(fast_call *c, const char *name, double value) {
  c->attrs[c->attr_count++] = (zb_attr){.name = name, .kind = ZB_ATTR_FLOAT, .f = value};
}
static inline void fast_string(fast_call *c, const char *name, const char *value) {
  c->attrs[c->attr_count++] = (zb_attr){.name = name, .kind = ZB_ATTR_STRING, .s = value};
}
static inline void fast_ints(fast_call *c, const char *name, int count, const int64_t *values) {
  c->attrs[c->attr_count++] = (zb_attr){.name = name, .kind = ZB_ATTR_INTS, .ints = values, .count = count};
}

/* Frees operands and results. Views must share the memory of no other operand that is freed; pass those as `borrowed`
 * bits of inputs. */
static inline void fast_free(fast_call *c, unsigned borrowed) {
  for (int i = 0; i < c->input_count; ++i)
    if (!(borrowed >> i & 1)) free(c->inputs[i].data);
  for (int i = 0; i < c->output_count; ++i)
    free(c->outputs[i].data);
}

/* Results of one run, in their own memory. */
typedef struct fast_results {
  zb_tensor tensor[FAST_RESULTS];
  const char *error;
} fast_results;

static inline size_t fast_bytes(const zb_tensor *x) { return (size_t)fast_elements(x) * zb_dtype_bytes(x->dtype); }

static inline fast_results fast_run(const fast_call *c, bool reference, zb_threads *threads) {
  fast_results r = {.error = NULL};
  zb_kernel_call call = {.inputs = c->inputs,
                         .input_count = c->input_count,
                         .outputs = r.tensor,
                         .output_count = c->output_count,
                         .attrs = {c->attrs, c->attr_count},
                         .accumulate = c->accumulate,
                         .threads = threads};
  for (int i = 0; i < c->output_count; ++i) {
    r.tensor[i] = c->outputs[i];
    if (c->outputs[i].rank < 0) continue;
    r.tensor[i].data = malloc(fast_bytes(&c->outputs[i]) + 64);
    if (!r.tensor[i].data) abort();
    memcpy(r.tensor[i].data, c->outputs[i].data, fast_bytes(&c->outputs[i]));
    memset((char *)r.tensor[i].data + fast_bytes(&c->outputs[i]), 0x5a, 64);
  }
  const zb_kernel *kernel = reference ? zb_kernel_reference(c->op) : zb_kernel_cpu(c->op, &call);
  if (!kernel || (!reference && kernel == zb_kernel_reference(c->op)))
    r.error = "no fast kernel matches";
  else
    r.error = kernel->run(&call);
  for (int i = 0; i < c->output_count && !r.error; ++i)
    for (int k = 0; k < 64 && c->outputs[i].rank >= 0; ++k)
      if (((unsigned char *)r.tensor[i].data)[fast_bytes(&c->outputs[i]) + (size_t)k] != 0x5a)
        r.error = "wrote beyond the result";
  return r;
}

static inline void fast_results_free(fast_results *r) {
  for (int i = 0; i < FAST_RESULTS; ++i)
    free(r->tensor[i].data);
}

/* |got - wanted| <= absolute + relative * |wanted| for f32, equality for other types; NaN equals NaN. Returns what
 * differs, or -1. */
static inline int64_t fast_difference(const zb_tensor *got, const zb_tensor *wanted, float absolute, float relative) {
  if (got->rank < 0) return -1;
  if (got->dtype != ZB_F32) return memcmp(got->data, wanted->data, fast_bytes(got)) == 0 ? -1 : 0;
  const float *x = got->data, *y = wanted->data;
  for (int64_t i = 0; i < fast_elements(got); ++i) {
    if (x[i] == y[i] || (isnan(x[i]) && isnan(y[i]))) continue;
    if (!(fabsf(x[i] - y[i]) <= absolute + relative * fabsf(y[i]))) return i;
  }
  return -1;
}

/* Prints the place of a difference and fails the test. */
static inline void fast_compare(const fast_call *c, const char *what, const fast_results *got,
                                const fast_results *wanted, float absolute, float relative) {
  for (int i = 0; i < c->output_count; ++i) {
    int64_t place = fast_difference(&got->tensor[i], &wanted->tensor[i], absolute, relative);
    if (place < 0) continue;
    double x = 0, y = 0;
    if (got->tensor[i].dtype == ZB_F32) {
      x = (double)((float *)got->tensor[i].data)[place];
      y = (double)((float *)wanted->tensor[i].data)[place];
    }
    fprintf(stderr, "%s (%s, %s): result %d, element %lld is %.9g, expected %.9g\n", c->op, zb_isa_name(), what, i,
            (long long)place, x, y);
    CU_FAIL("results differ");
    return;
  }
}

/* The check described at the top. */
static inline void fast_check(const fast_call *c, float absolute, float relative) {
  static zb_threads *pools[2];
  for (int i = 0; i < 2; ++i)
    if (!pools[i]) pools[i] = zb_threads_create(i + 2);
  fast_results wanted = fast_run(c, true, NULL);
  if (wanted.error) {
    fprintf(stderr, "%s: the reference says: %s\n", c->op, wanted.error);
    CU_FAIL("reference failed");
  }
  for (int level = 0; level < ZB_ISA_COUNT && !wanted.error; ++level) {
    zb_isa_limit((zb_isa_level)level);
    if ((int)zb_isa() != level) continue;
    fast_results one = fast_run(c, false, NULL);
    if (one.error) {
      fprintf(stderr, "%s (%s): %s\n", c->op, zb_isa_name(), one.error);
      CU_FAIL("fast kernel failed");
    } else {
      fast_compare(c, "reference", &one, &wanted, absolute, relative);
      for (int i = 0; i < 2; ++i) {
        fast_results several = fast_run(c, false, pools[i]);
        for (int k = 0; k < c->output_count; ++k)
          if (c->outputs[k].rank >= 0)
            CU_ASSERT(memcmp(several.tensor[k].data, one.tensor[k].data, fast_bytes(&one.tensor[k])) == 0);
        fast_results_free(&several);
      }
    }
    fast_results_free(&one);
  }
  zb_isa_limit(ZB_ISA_AVX512);
  fast_results_free(&wanted);
}

/* Runs the tests of one suite; the program's exit code. */
static inline int fast_main(const char *name, CU_TestInfo *tests) {
  CU_SuiteInfo suites[] = {{name, NULL, NULL, NULL, NULL, tests}, CU_SUITE_INFO_NULL};
  return suite_run(suites);
}

#endif
