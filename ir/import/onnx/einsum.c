/* Einsum: any number of operands, '...', repeated letters, an implied result. Each operand loses what it repeats and
 * what nobody else has; products of two are matmuls. Tests: test/ir/import/import_test.c, test/e2e/onnx_nodes.py. */
#include "ir/import/onnx/onnx.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

enum { OPERANDS_MAX = 8, LETTERS = 128 };
/* The letter of the last dimension that '...' stands for; those before it count up from there. */
enum { DOTS = '0' };

typedef struct term {
  char letters[ZB_DIMS_MAX + 1];
  MlirValue x;
} term;

typedef struct einsum {
  char equation[128];
  term operands[OPERANDS_MAX];
  int count;
  char out[ZB_DIMS_MAX + 1];
  int dots;              /* dimensions that '...' stands for in the result */
  int64_t size[LETTERS]; /* by letter */
} einsum;

static zb_result refuse(zb_import_node *n, const einsum *e, const char *why) {
  return zb_import_refuse(n, "write it as permute, reshape and matmul", "equation '%s': %s", e->equation, why);
}

static bool is_letter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); }

/* The letters of text[0 .. length), where '...' stands for `dots` dimensions. False: they are none. */
static bool read_letters(const char *text, int length, int dots, char out[ZB_DIMS_MAX + 1]) {
  int count = 0;
  bool seen = false;
  for (int i = 0; i < length; ++i) {
    if (text[i] == ' ') continue;
    if (is_letter(text[i])) {
      if (count == ZB_DIMS_MAX) return false;
      out[count++] = text[i];
      continue;
    }
    if (seen || length - i < 3 || strncmp(text + i, "...", 3) != 0 || dots < 0 || count + dots > ZB_DIMS_MAX)
      return false;
    seen = true;
    for (int d = dots; d-- > 0;)
      out[count++] = (char)(DOTS + d);
    i += 2;
  }
  out[count] = '\0';
  return true;
}

static int count_letters(const char *text, int length) {
  int count = 0;
  for (int i = 0; i < length; ++i)
    count += is_letter(text[i]);
  return count;
}

static zb_result read_operand(zb_import_node *n, einsum *e, const char *text, int length) {
  zb_shape shape;
  const int index = e->count;
  if (index == OPERANDS_MAX || index >= n->input_count) return refuse(n, e, "it has not one term an operand");
  if (!zb_import_shape(n, index, &shape)) return ZB_FAIL;
  term *t = &e->operands[e->count++];
  const int dots = shape.rank - count_letters(text, length);
  if (!read_letters(text, length, dots, t->letters) || (int)strlen(t->letters) != shape.rank)
    return zb_import_refuse(n, NULL, "operand %d has %d dimensions, not those of '%s'", index, shape.rank, e->equation);
  if (memchr(t->letters, DOTS, strlen(t->letters)) && dots > e->dots) e->dots = dots;
  for (int i = 0; i < shape.rank; ++i) {
    int64_t *size = &e->size[(int)t->letters[i]];
    if (*size && *size != shape.dims[i])
      return zb_import_refuse(n, NULL, "'%c' is %" PRId64 " and %" PRId64, t->letters[i], *size, shape.dims[i]);
    *size = shape.dims[i];
  }
  t->x = zb_import_ir(n, index);
  return t->x.ptr ? ZB_OK : ZB_FAIL;
}

/* Without "->": what '...' stands for, then letters that occur once, in the order of the alphabet. */
static bool imply_result(einsum *e) {
  int count = 0;
  for (int d = e->dots; d-- > 0;)
    e->out[count++] = (char)(DOTS + d);
  for (char c = 'A'; c <= 'z'; ++c) {
    int seen = 0;
    for (int i = 0; i < e->count; ++i)
      for (const char *at = e->operands[i].letters; *at; ++at)
        seen += *at == c;
    if (seen == 1 && count == ZB_DIMS_MAX) return false;
    if (seen == 1) e->out[count++] = c;
  }
  e->out[count] = '\0';
  return true;
}

static zb_result read_equation(zb_import_node *n, einsum *e) {
  zb_onnx_string(n, "equation", "", e->equation, sizeof e->equation);
  const char *arrow = strstr(e->equation, "->"), *text = e->equation;
  const char *end = arrow ? arrow : text + strlen(text);
  while (true) {
    const char *comma = memchr(text, ',', (size_t)(end - text)), *stop = comma ? comma : end;
    if (!read_operand(n, e, text, (int)(stop - text))) return ZB_FAIL;
    if (!comma) break;
    text = comma + 1;
  }
  if (e->count != n->input_count) return refuse(n, e, "it has not one term an operand");
  if (!(arrow ? read_letters(arrow + 2, (int)strlen(arrow + 2), e->dots, e->out) : imply_result(e)))
    return refuse(n, e, "its result is not understood");
  for (const char *c = e->out; *c; ++c)
    if (!e->size[(int)*c] || strchr(c + 1, *c))
      return refuse(n, e, "each letter of its result is one of the operands'");
  return ZB_OK;
}

static bool needed_beside(const einsum *e, int operand, char letter) {
  if (strchr(e->out, letter)) return true;
  for (int i = 0; i < e->count; ++i)
    if (i != operand && e->operands[i].x.ptr && strchr(e->operands[i].letters, letter)) return true;
  return false;
}

static void arrange_letters(zb_import_node *n, term *t, const char *order) {
  int64_t permutation[ZB_DIMS_MAX];
  for (int i = 0; order[i]; ++i)
    permutation[i] = strchr(t->letters, order[i]) - t->letters;
  t->x = zb_import_transposed(n->b, t->x, permutation);
  memmove(t->letters, order, strlen(order) + 1);
}

/* Every second one of a letter goes: the diagonal of the two dimensions, each s + 1 elements of their s * s. */
static void take_diagonals(zb_import_node *n, const einsum *e, term *t) {
  for (int i = 0; t->letters[i]; ++i) {
    const char *second = strchr(t->letters + i + 1, t->letters[i]);
    const int rank = (int)strlen(t->letters);
    if (!second) continue;
    int64_t permutation[ZB_DIMS_MAX], dims[ZB_DIMS_MAX], starts[ZB_DIMS_MAX] = {0}, steps[ZB_DIMS_MAX];
    char left[ZB_DIMS_MAX + 1];
    const int other = (int)(second - t->letters);
    int count = 0;
    for (int k = 0; k < rank; ++k)
      if (k != i && k != other) left[count] = t->letters[k], permutation[count++] = k;
    permutation[count] = i;
    permutation[count + 1] = other;
    const int64_t size = e->size[(int)t->letters[i]];
    for (int k = 0; k < count; ++k)
      dims[k] = e->size[(int)left[k]], steps[k] = 1;
    left[count] = t->letters[i];
    left[count + 1] = '\0';
    dims[count] = size * size;
    steps[count] = size + 1;
    MlirValue flat = zb_import_reshaped(n->b, zb_import_transposed(n->b, t->x, permutation), dims, count + 1);
    dims[count] = size;
    if (n->b->failed) return;
    t->x = zb_build_slice(n->b, flat, starts, dims, steps, count + 1);
    memcpy(t->letters, left, sizeof left);
    i = -1;
  }
}

/* Sums over letters that neither the result nor another operand has. */
static void sum_own(zb_import_node *n, einsum *e, int operand) {
  term *t = &e->operands[operand];
  int64_t axes[ZB_DIMS_MAX];
  int count = 0, kept = 0;
  char left[ZB_DIMS_MAX + 1];
  for (int i = 0; t->letters[i]; ++i) {
    if (needed_beside(e, operand, t->letters[i]))
      left[kept++] = t->letters[i];
    else
      axes[count++] = i;
  }
  left[kept] = '\0';
  if (count == 0 || n->b->failed) return;
  t->x = ZB_BUILD(n->b, "reduce_sum", t->x, zb_ints("axes", axes, count), zb_bool("keepdims", false));
  memcpy(t->letters, left, sizeof left);
}

/* Letters of `order` that are in `with` and not in `without`. */
static void pick(char *out, const char *order, const char *with, const char *without) {
  int count = 0;
  for (const char *c = order; *c; ++c)
    if (strchr(with, *c) && !strchr(without, *c)) out[count++] = *c;
  out[count] = '\0';
}

static int64_t product_of(const einsum *e, const char *letters) {
  int64_t product = 1;
  for (const char *c = letters; *c; ++c)
    product *= e->size[(int)*c];
  return product;
}

/* [batch..., rows, columns] */
static MlirValue as_matrices(zb_import_node *n, const einsum *e, term *t, const char *batch, const char *rows,
                             const char *columns) {
  char order[3 * ZB_DIMS_MAX + 1];
  int64_t dims[ZB_DIMS_MAX];
  int rank = 0;
  snprintf(order, sizeof order, "%s%s%s", batch, rows, columns);
  arrange_letters(n, t, order);
  for (const char *c = batch; *c; ++c)
    dims[rank++] = e->size[(int)*c];
  dims[rank++] = product_of(e, rows);
  dims[rank++] = product_of(e, columns);
  return zb_import_reshaped(n->b, t->x, dims, rank);
}

/* The first two operands become one, with the letters that the result or a later operand has. */
static zb_result multiply(zb_import_node *n, einsum *e) {
  term *a = &e->operands[0], *b = &e->operands[1], out = {.x = {NULL}};
  char shared[ZB_DIMS_MAX + 1], kept[ZB_DIMS_MAX + 1], inner[ZB_DIMS_MAX + 1], left[ZB_DIMS_MAX + 1],
      right[ZB_DIMS_MAX + 1], batch[ZB_DIMS_MAX + 1];
  int count = 0;
  sum_own(n, e, 0);
  sum_own(n, e, 1);
  pick(shared, a->letters, b->letters, "");
  for (const char *c = shared; *c; ++c) {
    bool later = strchr(e->out, *c) != NULL;
    for (int i = 2; i < e->count; ++i)
      later = later || strchr(e->operands[i].letters, *c);
    if (later) kept[count++] = *c;
  }
  kept[count] = '\0';
  pick(inner, shared, shared, kept);
  pick(batch, e->out, kept, "");
  pick(batch + strlen(batch), kept, kept, e->out);
  pick(left, a->letters, a->letters, b->letters);
  pick(right, b->letters, b->letters, a->letters);
  if (strlen(batch) + 2 > ZB_DIMS_MAX || strlen(batch) + strlen(left) + strlen(right) > ZB_DIMS_MAX)
    return refuse(n, e, "a product has too many dimensions");
  MlirValue in[2] = {as_matrices(n, e, a, batch, left, inner), as_matrices(n, e, b, batch, inner, right)};
  if (n->b->failed) return ZB_FAIL;
  MlirValue product = zb_build(n->b, "matmul", in, 2, NULL, 0);
  int64_t dims[ZB_DIMS_MAX];
  snprintf(out.letters, sizeof out.letters, "%.*s%.*s%.*s", (int)strlen(batch), batch, (int)strlen(left), left,
           (int)strlen(right), right);
  for (int i = 0; out.letters[i]; ++i)
    dims[i] = e->size[(int)out.letters[i]];
  if (n->b->failed) return ZB_FAIL;
  out.x = zb_build_reshape(n->b, product, dims, (int)strlen(out.letters));
  *a = out;
  memmove(b, b + 1, (size_t)(e->count - 2) * sizeof *b);
  --e->count;
  return n->b->failed ? ZB_FAIL : ZB_OK;
}

zb_result zb_onnx_einsum(zb_import_node *n) {
  einsum e = {.count = 0};
  if (!read_equation(n, &e)) return ZB_FAIL;
  for (int i = 0; i < e.count; ++i)
    take_diagonals(n, &e, &e.operands[i]);
  while (e.count > 1)
    if (!multiply(n, &e)) return ZB_FAIL;
  sum_own(n, &e, 0);
  if (n->b->failed) return ZB_FAIL;
  if (strlen(e.out) != strlen(e.operands[0].letters)) return refuse(n, &e, "its result is not understood");
  arrange_letters(n, &e.operands[0], e.out);
  return zb_import_give(n, 0, e.operands[0].x);
}
