/* RotaryEmbedding (opset 23): pairs of numbers turned by the angles of their positions.
 * Tests: test/ir/import/import_test.c. */
#include "ir/import/onnx/onnx.h"

#include <inttypes.h>

/* x as [batch, tokens, heads, size], of which the first `turned` numbers of each head are turned. */
typedef struct rotary {
  zb_shape given;
  int64_t batch, tokens, heads, size, turned;
  bool interleaved;
} rotary;

static const int64_t swap[] = {0, 2, 1, 3};

static bool read_rotary(zb_import_node *n, rotary *r) {
  if (!zb_import_shape(n, 0, &r->given)) return false;
  const int64_t *dims = r->given.dims;
  r->heads = r->given.rank == 4 ? dims[1] : zb_onnx_int(n, "num_heads", 0);
  if ((r->given.rank != 3 && r->given.rank != 4) || r->heads < 1 || (r->given.rank == 3 && dims[2] % r->heads))
    return zb_import_refuse(n, NULL,
                            "expected [batch, heads, tokens, size], or [batch, tokens, heads*size] with "
                            "num_heads");
  r->batch = dims[0];
  r->tokens = r->given.rank == 4 ? dims[2] : dims[1];
  r->size = r->given.rank == 4 ? dims[3] : dims[2] / r->heads;
  r->turned = zb_onnx_int(n, "rotary_embedding_dim", 0);
  if (r->turned == 0) r->turned = r->size;
  r->interleaved = zb_onnx_int(n, "interleaved", 0) != 0;
  if (r->turned > 0 && r->turned <= r->size && r->turned % 2 == 0) return !n->im->failed;
  return zb_import_refuse(n, NULL, "rotary_embedding_dim %" PRId64 " of a size of %" PRId64, r->turned, r->size);
}

/* A table as [batch, tokens, 1, turned / 2]: of the positions of input 3, else as it is. */
static zb_operand table_of(zb_import_node *n, const rotary *r, int input) {
  const zb_shape wanted = {.rank = 4, .dims = {r->batch, r->tokens, 1, r->turned / 2}};
  zb_shape shape;
  zb_operand table = zb_operand_in(n, input);
  if (zb_import_has(n, 3)) table = zb_operand_gather(n, table, zb_operand_in(n, 3), 0, ZB_FROM_BOTH_ENDS);
  if (!zb_operand_shape(n, table, &shape)) return NULL;
  if (shape.rank == 3 && shape.dims[0] == r->batch && shape.dims[1] == r->tokens && shape.dims[2] == wanted.dims[3])
    return zb_operand_reshape(n, table, &wanted);
  zb_import_refuse(n, NULL, "input %d does not fit [%" PRId64 ", %" PRId64 "] positions of %" PRId64 " angles", input,
                   r->batch, r->tokens, wanted.dims[3]);
  return NULL;
}

/* The first and the second numbers of all pairs, [batch, tokens, heads, turned / 2] each. */
static bool split_pairs(zb_import_node *n, const rotary *r, zb_operand x, zb_operand pair[2]) {
  const int64_t half = r->turned / 2;
  const zb_shape wide = {.rank = 5, .dims = {r->batch, r->tokens, r->heads, half, 2}};
  zb_shape narrow = wide;
  narrow.rank = 4;
  if (!r->interleaved) return zb_meaning_split(n, x, 3, (int64_t[]){half, half}, 2, pair);
  if (!zb_meaning_split(n, zb_operand_reshape(n, x, &wide), 4, (int64_t[]){1, 1}, 2, pair)) return false;
  for (int i = 0; i < 2; ++i)
    pair[i] = zb_operand_reshape(n, pair[i], &narrow);
  return true;
}

static zb_operand join_pairs(zb_import_node *n, const rotary *r, const zb_operand pair[2]) {
  const zb_shape whole = {.rank = 4, .dims = {r->batch, r->tokens, r->heads, r->turned}};
  if (!r->interleaved) return zb_operand_concat(n, pair, 2, 3);
  return zb_operand_reshape(n, zb_meaning_stack(n, pair, 2, 4), &whole);
}

static zb_operand turn(zb_import_node *n, const rotary *r, zb_operand x) {
  zb_operand cosine = table_of(n, r, 1), sine = table_of(n, r, 2), pair[2];
  if (!cosine || !sine || !split_pairs(n, r, x, pair)) return NULL;
  const zb_operand turned[2] = {zb_operand_apply2(n, "sub", zb_operand_apply2(n, "mul", cosine, pair[0]),
                                                  zb_operand_apply2(n, "mul", sine, pair[1])),
                                zb_operand_apply2(n, "add", zb_operand_apply2(n, "mul", sine, pair[0]),
                                                  zb_operand_apply2(n, "mul", cosine, pair[1]))};
  return join_pairs(n, r, turned);
}

zb_result zb_onnx_rotary(zb_import_node *n) {
  rotary r;
  if (!read_rotary(n, &r)) return ZB_FAIL;
  const zb_shape major = {.rank = 4, .dims = {r.batch, r.tokens, r.heads, r.size}};
  zb_operand x = zb_operand_in(n, 0), parts[2];
  x = r.given.rank == 4 ? zb_operand_transpose(n, x, swap) : zb_operand_reshape(n, x, &major);
  if (r.turned == r.size) {
    x = turn(n, &r, x);
  } else {
    if (!zb_meaning_split(n, x, 3, (int64_t[]){r.turned, r.size - r.turned}, 2, parts)) return ZB_FAIL;
    parts[0] = turn(n, &r, parts[0]);
    x = zb_operand_concat(n, parts, 2, 3);
  }
  return zb_operand_give(n, 0,
                         r.given.rank == 4 ? zb_operand_transpose(n, x, swap) : zb_operand_reshape(n, x, &r.given));
}
