/* Times of the CPU kernels at the shapes of GPT-2 and Llama training: op, shape, threads, ms, GB/s or GFLOP/s.
 *
 *   zb-bench-kernels [THREADS [OP]]
 *
 * Built by hand (target zb-bench-kernels); never a test.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "zb/kernel.h"

enum { OPERANDS = 8, RESULTS = 4 };

typedef struct bench {
  const char *op, *shape;
  zb_tensor inputs[OPERANDS], outputs[RESULTS];
  int input_count, output_count;
  zb_attr attrs[8];
  int attr_count;
  bool accumulate;
  double flops; /* 0: bytes are what counts */
} bench;

static zb_threads *threads;
static const char *only;

static double now(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static int64_t elements(const zb_tensor *x) {
  int64_t n = 1;
  for (int i = 0; i < x->rank; ++i)
    n *= x->shape[i];
  return n;
}

static zb_tensor tensor(zb_dtype dtype, int rank, const int64_t *shape) {
  zb_tensor x = {.dtype = dtype, .rank = rank};
  int64_t n = 1;
  for (int i = rank - 1; i >= 0; --i) {
    x.shape[i] = shape[i];
    x.strides[i] = n;
    n *= shape[i];
  }
  x.data = zb_alloc_aligned((size_t)n * zb_dtype_bytes(dtype), 64);
  if (!x.data) abort();
  for (int64_t i = 0; i < n && dtype == ZB_F32; ++i)
    ((float *)x.data)[i] = (float)((i * 7919) % 1000) / 500.0f - 1.0f;
  for (int64_t i = 0; i < n && dtype == ZB_I64; ++i)
    ((int64_t *)x.data)[i] = (i * 7919) % 50;
  return x;
}
#define SHAPE(...)                                                                                                     \
  (int)(sizeof((int64_t[]){__VA_ARGS__}) / sizeof(int64_t)), (int64_t[]) { __VA_ARGS__ }
#define F32(...) tensor(ZB_F32, SHAPE(__VA_ARGS__))

static void input(bench *b, zb_tensor x) { b->inputs[b->input_count++] = x; }
static void output(bench *b, zb_tensor x) { b->outputs[b->output_count++] = x; }
static void flag(bench *b, const char *name, bool value) {
  b->attrs[b->attr_count++] = (zb_attr){.name = name, .kind = ZB_ATTR_BOOL, .i = value};
}
static void integer(bench *b, const char *name, int64_t value) {
  b->attrs[b->attr_count++] = (zb_attr){.name = name, .kind = ZB_ATTR_INT, .i = value};
}

/* The operand and the attributes of ops that drop. */
static void counter(bench *b) {
  input(b, tensor(ZB_I64, SHAPE(4)));
  integer(b, "op", 1);
  b->attrs[b->attr_count++] = (zb_attr){.name = "rate", .kind = ZB_ATTR_FLOAT, .f = 0.1};
}

/* Median of at least 5 runs and 50 ms. */
static double median_seconds(const zb_kernel *kernel, const zb_kernel_call *call) {
  double times[400], total = 0;
  int count = 0;
  if (kernel->run(call)) return NAN;
  while (count < 400 && (count < 5 || total < 0.05)) {
    double start = now();
    (void)kernel->run(call);
    times[count] = now() - start;
    total += times[count++];
  }
  for (int i = 1; i < count; ++i)
    for (int j = i; j > 0 && times[j] < times[j - 1]; --j) {
      double swap = times[j];
      times[j] = times[j - 1], times[j - 1] = swap;
    }
  return times[count / 2];
}

static void run(bench *b) {
  zb_kernel_call call = {.inputs = b->inputs,
                         .input_count = b->input_count,
                         .outputs = b->outputs,
                         .output_count = b->output_count,
                         .attrs = {b->attrs, b->attr_count},
                         .accumulate = b->accumulate,
                         .threads = threads};
  if (!only || strcmp(only, b->op) == 0) {
    const zb_kernel *kernel = zb_kernel_cpu(b->op, &call);
    double seconds = median_seconds(kernel, &call), bytes = 0;
    for (int i = 0; i < b->input_count; ++i)
      if (b->inputs[i].rank >= 0) bytes += (double)elements(&b->inputs[i]) * (double)zb_dtype_bytes(b->inputs[i].dtype);
    for (int i = 0; i < b->output_count; ++i)
      bytes += (double)elements(&b->outputs[i]) * (double)zb_dtype_bytes(b->outputs[i].dtype);
    printf("%-22s %-26s %9.4f ms %8.1f %s%s\n", b->op, b->shape, seconds * 1e3,
           (b->flops > 0 ? b->flops : bytes) / seconds * 1e-9, b->flops > 0 ? "GFLOP/s" : "GB/s",
           kernel == zb_kernel_reference(b->op) ? " (reference)" : "");
    fflush(stdout);
  }
  for (int i = 0; i < b->input_count; ++i)
    if (b->inputs[i].rank >= 0) zb_free(b->inputs[i].data);
  for (int i = 0; i < b->output_count; ++i)
    zb_free(b->outputs[i].data);
}

static void products(void) {
  static const struct {
    const char *name;
    int64_t batch, m, n, k;
    bool transpose_lhs, transpose_rhs, accumulate;
  } rows[] = {
      {"512x384x128", 0, 512, 384, 128, false, false, false},
      {"512x128x128", 0, 512, 128, 128, false, false, false},
      {"512x128x512", 0, 512, 128, 512, false, false, false},
      {"dX 512x128x512 NT", 0, 512, 128, 512, false, true, false},
      {"dW 128x512x512 TN +=", 0, 128, 512, 512, true, false, true},
      {"dW 512x128x512 TN +=", 0, 512, 128, 512, true, false, true},
      {"512x256x128", 0, 512, 256, 128, false, false, false},
      {"1024x1536x512", 0, 1024, 1536, 512, false, false, false},
      {"dX 1024x512x1536 NT", 0, 1024, 512, 1536, false, true, false},
      {"dW 512x1536x1024 TN +=", 0, 512, 1536, 1024, true, false, true},
      {"512x2048x1024", 0, 512, 2048, 1024, false, false, false},
      {"dW 1024x2048x512 TN +=", 0, 1024, 2048, 512, true, false, true},
      {"2048x3072x768", 0, 2048, 3072, 768, false, false, false},
      {"head 512x50304x128 NT", 0, 512, 50304, 128, false, true, false},
      {"dX 512x128x50304", 0, 512, 128, 50304, false, false, false},
      {"dW 50304x128x512 TN +=", 0, 50304, 128, 512, true, false, true},
      {"48 x 128x128x32 NT", 48, 128, 128, 32, false, true, false},
      {"48 x 128x32x128", 48, 128, 32, 128, false, false, false},
      {"64 x 8x8x8", 64, 8, 8, 8, false, false, false},
  };
  for (size_t i = 0; i < sizeof rows / sizeof rows[0]; ++i) {
    bench b = {.op = "matmul", .shape = rows[i].name, .accumulate = rows[i].accumulate};
    int64_t batch = rows[i].batch, m = rows[i].m, n = rows[i].n, k = rows[i].k;
    int64_t lhs[3] = {batch, rows[i].transpose_lhs ? k : m, rows[i].transpose_lhs ? m : k};
    int64_t rhs[3] = {batch, rows[i].transpose_rhs ? n : k, rows[i].transpose_rhs ? k : n};
    int64_t out[3] = {batch, m, n};
    int skip = batch ? 0 : 1;
    input(&b, tensor(ZB_F32, 3 - skip, lhs + skip));
    input(&b, tensor(ZB_F32, 3 - skip, rhs + skip));
    output(&b, tensor(ZB_F32, 3 - skip, out + skip));
    flag(&b, "transpose_lhs", rows[i].transpose_lhs);
    flag(&b, "transpose_rhs", rows[i].transpose_rhs);
    b.flops = 2.0 * (double)m * (double)n * (double)k * (double)(batch ? batch : 1);
    run(&b);
  }
}

static void attentions(void) {
  static const struct {
    const char *name;
    int64_t batch, t, heads, kv_heads, d;
    bool causal;
  } rows[] = {
      {"4x128x4x32 causal", 4, 128, 4, 4, 32, true},
      {"4x256x8x64 causal", 4, 256, 8, 8, 64, true},
      {"1x1024x12x64 causal", 1, 1024, 12, 12, 64, true},
      {"2x1024x8/2x64 causal", 2, 1024, 8, 2, 64, true},
      {"4x256x8x64", 4, 256, 8, 8, 64, false},
      {"1x2048x8x64 causal", 1, 2048, 8, 8, 64, true},
  };
  static const char *const ops[2][2] = {{"attention", "attention_grad"},
                                        {"attention_dropout", "attention_dropout_grad"}};
  for (size_t i = 0; i < 2 * sizeof rows / sizeof rows[0]; ++i) {
    for (int gradient = 0; gradient < 2; ++gradient) {
      const bool drops = i >= sizeof rows / sizeof rows[0];
      const size_t row = i % (sizeof rows / sizeof rows[0]);
      int64_t batch = rows[row].batch, t = rows[row].t, heads = rows[row].heads, kv = rows[row].kv_heads;
      int64_t d = rows[row].d;
      bench b = {.op = ops[drops][gradient], .shape = rows[row].name};
      input(&b, F32(batch, t, heads, d));
      input(&b, F32(batch, t, kv, d));
      input(&b, F32(batch, t, kv, d));
      input(&b, (zb_tensor){.rank = -1});
      if (drops) counter(&b);
      if (gradient) {
        input(&b, F32(batch, t, heads, d));
        input(&b, F32(batch, heads, t));
        for (int64_t k = 0; k < batch * heads * t; ++k)
          ((float *)b.inputs[b.input_count - 1].data)[k] = 6.0f;
        input(&b, F32(batch, t, heads, d));
      }
      output(&b, F32(batch, t, heads, d));
      if (gradient)
        output(&b, F32(batch, t, kv, d)), output(&b, F32(batch, t, kv, d));
      else
        output(&b, F32(batch, heads, t));
      b.attrs[b.attr_count++] = (zb_attr){.name = "scale", .kind = ZB_ATTR_FLOAT, .f = 0.125};
      flag(&b, "causal", rows[row].causal);
      b.flops = (gradient ? 10.0 : 4.0) * (double)(batch * heads) * (double)(t * t) * (double)d *
                (rows[row].causal ? 0.5 : 1.0);
      run(&b);
    }
  }
}

static void elementwise(void) {
  static const struct {
    const char *op;
    int operands;
    bool tanh_form;
  } rows[] = {{"add", 2, false},     {"mul", 2, false},      {"exp", 1, false},       {"tanh", 1, false},
              {"sigmoid", 1, false}, {"silu", 1, false},     {"silu_grad", 2, false}, {"swiglu", 2, false},
              {"gelu", 1, true},     {"gelu_grad", 2, true}, {"gelu", 1, false},      {"gelu_grad", 2, false},
              {"erf", 1, false},     {"log", 1, false}};
  for (size_t i = 0; i < sizeof rows / sizeof rows[0]; ++i) {
    bench b = {.op = rows[i].op, .shape = rows[i].tanh_form ? "512x2048 (tanh form)" : "512x2048"};
    for (int k = 0; k < rows[i].operands; ++k)
      input(&b, F32(512, 2048));
    output(&b, F32(512, 2048));
    if (rows[i].tanh_form) flag(&b, "tanh", true); /* no other op knows it */
    run(&b);
  }
  bench drop = {.op = "dropout", .shape = "512x2048"};
  input(&drop, F32(512, 2048)), counter(&drop), output(&drop, F32(512, 2048));
  run(&drop);
  bench bias = {.op = "add", .shape = "512x2048 + 2048"}, one = {.op = "mul", .shape = "512x2048 * 1 value"};
  input(&bias, F32(512, 2048)), input(&bias, F32(2048)), output(&bias, F32(512, 2048));
  run(&bias);
  input(&one, F32(512, 2048)), input(&one, F32(1)), output(&one, F32(512, 2048));
  run(&one);
  bench heads = {.op = "mul", .shape = "4x128x8x64 * 128x1x64"};
  input(&heads, F32(4, 128, 8, 64)), input(&heads, F32(128, 1, 64)), output(&heads, F32(4, 128, 8, 64));
  run(&heads);
  bench gate = {.op = "swiglu_grad", .shape = "512x2048"};
  input(&gate, F32(512, 2048)), input(&gate, F32(512, 2048)), input(&gate, F32(512, 2048));
  output(&gate, F32(512, 2048)), output(&gate, F32(512, 2048));
  run(&gate);
  bench turn = {.op = "rotary", .shape = "4x128x8x64, 128x1x64"};
  input(&turn, F32(4, 128, 8, 64)), input(&turn, F32(128, 1, 64)), input(&turn, F32(128, 1, 64)),
      output(&turn, F32(4, 128, 8, 64));
  run(&turn);
  bench small = {.op = "add", .shape = "4x128"};
  input(&small, F32(4, 128)), input(&small, F32(4, 128)), output(&small, F32(4, 128));
  run(&small);
  bench add = {.op = "accumulate_add", .shape = "512x2048", .accumulate = true};
  input(&add, F32(512, 2048)), output(&add, F32(512, 2048));
  run(&add);
}

static void norms(void) {
  for (int64_t width = 128; width <= 1024; width *= 8) {
    const char *shape = width == 128 ? "512x128" : "512x1024";
    bench f = {.op = "layer_norm", .shape = shape}, r = {.op = "rms_norm", .shape = shape};
    input(&f, F32(512, width)), input(&f, F32(width)), input(&f, F32(width));
    output(&f, F32(512, width)), output(&f, F32(512, 1)), output(&f, F32(512, 1));
    integer(&f, "axis", 1);
    run(&f);
    input(&r, F32(512, width)), input(&r, F32(width)), output(&r, F32(512, width)), output(&r, F32(512, 1));
    integer(&r, "axis", 1);
    run(&r);
    bench x = {.op = "layer_norm_grad_x", .shape = shape},
          s = {.op = "layer_norm_grad_scale", .shape = shape, .accumulate = true};
    input(&x, F32(512, width)), input(&x, F32(width)), input(&x, F32(512, 1)), input(&x, F32(512, 1)),
        input(&x, F32(512, width));
    output(&x, F32(512, width));
    integer(&x, "axis", 1);
    run(&x);
    input(&s, F32(512, width)), input(&s, F32(512, 1)), input(&s, F32(512, 1)), input(&s, F32(512, width));
    output(&s, F32(width));
    integer(&s, "axis", 1);
    run(&s);
  }
}

static void reductions(void) {
  static const int64_t leading[] = {0}, last[] = {1};
  bench columns = {.op = "reduce_sum", .shape = "512x2048, columns"},
        rows = {.op = "reduce_sum", .shape = "512x2048, rows"};
  columns.attrs[columns.attr_count++] = (zb_attr){.name = "axes", .kind = ZB_ATTR_INTS, .ints = leading, .count = 1};
  rows.attrs[rows.attr_count++] = (zb_attr){.name = "axes", .kind = ZB_ATTR_INTS, .ints = last, .count = 1};
  input(&columns, F32(512, 2048)), output(&columns, F32(2048));
  run(&columns);
  input(&rows, F32(512, 2048)), output(&rows, F32(512));
  run(&rows);
}

static void losses(void) {
  bench s = {.op = "softmax", .shape = "512x512"};
  input(&s, F32(512, 512)), output(&s, F32(512, 512));
  integer(&s, "axis", 1);
  run(&s);
  bench f = {.op = "cross_entropy", .shape = "512x50304"}, g = {.op = "cross_entropy_grad", .shape = "512x50304"};
  input(&f, F32(512, 50304)), input(&f, tensor(ZB_I64, SHAPE(512))), output(&f, tensor(ZB_F32, 0, NULL)),
      output(&f, F32(512));
  run(&f);
  input(&g, F32(512, 50304)), input(&g, tensor(ZB_I64, SHAPE(512))), input(&g, F32(512)),
      input(&g, tensor(ZB_F32, 0, NULL));
  output(&g, F32(512, 50304));
  run(&g);
}

static void moves(void) {
  bench t = {.op = "contiguous", .shape = "2048x512 transposed"},
        h = {.op = "contiguous", .shape = "4x256x8x64 heads first"};
  zb_tensor x = F32(512, 2048), y = F32(4, 256, 8, 64);
  x.shape[0] = 2048, x.shape[1] = 512, x.strides[0] = 1, x.strides[1] = 2048;
  input(&t, x), output(&t, F32(2048, 512));
  run(&t);
  y.shape[1] = 8, y.strides[1] = 64, y.shape[2] = 256, y.strides[2] = 512;
  input(&h, y), output(&h, F32(4, 8, 256, 64));
  run(&h);
  bench g = {.op = "gather", .shape = "50304x768, 1024"},
        d = {.op = "gather_grad", .shape = "50304x768, 1024", .accumulate = true};
  input(&g, F32(50304, 768)), input(&g, tensor(ZB_I64, SHAPE(1024))), output(&g, F32(1024, 768));
  run(&g);
  input(&d, tensor(ZB_I64, SHAPE(1024))), input(&d, F32(1024, 768)), output(&d, F32(50304, 768));
  run(&d);
}

static void optimizers(void) {
  bench b = {.op = "adamw", .shape = "8M"};
  for (int i = 0; i < 4; ++i)
    input(&b, F32(8 << 20));
  input(&b, tensor(ZB_I64, 0, NULL));
  *(int64_t *)b.inputs[4].data = 10;
  input(&b, tensor(ZB_F64, SHAPE(2)));
  ((double *)b.inputs[5].data)[0] = 1e-3;
  for (int64_t i = 0; i < 8 << 20; ++i)
    ((float *)b.inputs[3].data)[i] = 0.5f;
  for (int i = 0; i < 3; ++i)
    output(&b, b.inputs[i ? i + 1 : 0]);
  zb_kernel_call call = {
      .inputs = b.inputs, .input_count = 6, .outputs = b.outputs, .output_count = 3, .threads = threads};
  if (!only || strcmp(only, "adamw") == 0) {
    double seconds = median_seconds(zb_kernel_cpu("adamw", &call), &call);
    printf("%-22s %-26s %9.4f ms %8.1f GB/s\n", b.op, b.shape, seconds * 1e3,
           7 * 4 * (double)(8 << 20) / seconds * 1e-9);
  }
  for (int i = 0; i < 6; ++i)
    zb_free(b.inputs[i].data);
}

int main(int argc, char **argv) {
  int count = argc > 1 ? atoi(argv[1]) : 1;
  if (count < 1 || argc > 3) return fprintf(stderr, "usage: %s [THREADS [OP]]\n", argv[0]), 2;
  only = argc > 2 ? argv[2] : NULL;
  threads = zb_threads_create(count);
  if (!threads) return 1;
  products();
  attentions();
  elementwise();
  norms();
  reductions();
  losses();
  moves();
  optimizers();
  zb_threads_destroy(threads);
  return 0;
}
