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
static MlirValue table_of(zb_import_node *n, const rotary *r, int input) {
  const int64_t dims[4] = {r->batch, r->tokens, 1, r->turned / 2};
  const zb_attr axis = zb_int("axis", 0);
  zb_shape shape;
  MlirValue table = zb_import_ir(n, input);
  if (table.ptr && zb_import_has(n, 3)) {
    MlirValue in[2] = {table, zb_import_ir(n, 3)};
    table = n->b->failed ? in[1] : zb_build(n->b, "gather", in, 2, &axis, 1);
  }
  if (!zb_import_ir_shape(n, table, &shape)) return (MlirValue){NULL};
  if (shape.rank == 3 && shape.dims[0] == r->batch && shape.dims[1] == r->tokens && shape.dims[2] == dims[3])
    return zb_import_reshaped(n->b, table, dims, 4);
  zb_import_refuse(n, NULL, "input %d does not fit [%" PRId64 ", %" PRId64 "] positions of %" PRId64 " angles", input,
                   r->batch, r->tokens, dims[3]);
  n->b->failed = true;
  return (MlirValue){NULL};
}

/* The first and the second numbers of all pairs, [batch, tokens, heads, turned / 2] each. */
static void split_pairs(zb_import_node *n, const rotary *r, MlirValue x, MlirValue pair[2]) {
  const int64_t half = r->turned / 2, wide[5] = {r->batch, r->tokens, r->heads, half, 2};
  if (!r->interleaved) {
    zb_build_split(n->b, x, 3, (int64_t[]){half, half}, 2, pair);
    return;
  }
  x = zb_import_reshaped(n->b, x, wide, 5);
  if (n->b->failed) return;
  zb_build_split(n->b, x, 4, (int64_t[]){1, 1}, 2, pair);
  for (int i = 0; i < 2 && !n->b->failed; ++i)
    pair[i] = zb_import_reshaped(n->b, pair[i], wide, 4);
}

static MlirValue join_pairs(zb_import_node *n, const rotary *r, MlirValue pair[2]) {
  const int64_t half = r->turned / 2, one[5] = {r->batch, r->tokens, r->heads, half, 1};
  const int64_t whole[4] = {r->batch, r->tokens, r->heads, r->turned};
  if (!r->interleaved) return zb_build_concat(n->b, pair, 2, 3);
  for (int i = 0; i < 2; ++i)
    pair[i] = zb_import_reshaped(n->b, pair[i], one, 5);
  if (n->b->failed) return (MlirValue){NULL};
  return zb_import_reshaped(n->b, zb_build_concat(n->b, pair, 2, 4), whole, 4);
}

static MlirValue turn(zb_import_node *n, const rotary *r, MlirValue x) {
  zb_builder *b = n->b;
  MlirValue cosine = table_of(n, r, 1), sine = table_of(n, r, 2), pair[2] = {{NULL}, {NULL}};
  if (b->failed) return (MlirValue){NULL};
  split_pairs(n, r, x, pair);
  if (b->failed) return (MlirValue){NULL};
  MlirValue turned[2] = {zb_build2(b, "sub", zb_build2(b, "mul", cosine, pair[0]), zb_build2(b, "mul", sine, pair[1])),
                         zb_build2(b, "add", zb_build2(b, "mul", sine, pair[0]), zb_build2(b, "mul", cosine, pair[1]))};
  return b->failed ? (MlirValue){NULL} : join_pairs(n, r, turned);
}

zb_result zb_onnx_rotary(zb_import_node *n) {
  rotary r;
  if (!read_rotary(n, &r)) return ZB_FAIL;
  const int64_t major[4] = {r.batch, r.tokens, r.heads, r.size};
  MlirValue x = zb_import_ir(n, 0), parts[2] = {{NULL}, {NULL}};
  x = r.given.rank == 4 ? zb_import_transposed(n->b, x, swap) : zb_import_reshaped(n->b, x, major, 4);
  if (n->b->failed) return ZB_FAIL;
  parts[0] = x;
  if (r.turned < r.size) zb_build_split(n->b, x, 3, (int64_t[]){r.turned, r.size - r.turned}, 2, parts);
  if (n->b->failed) return ZB_FAIL;
  parts[0] = turn(n, &r, parts[0]);
  if (n->b->failed || n->im->failed) return ZB_FAIL;
  x = r.turned < r.size ? zb_build_concat(n->b, parts, 2, 3) : parts[0];
  if (n->b->failed) return ZB_FAIL;
  return zb_import_give(n, 0,
                        r.given.rank == 4 ? zb_import_transposed(n->b, x, swap)
                                          : zb_import_reshaped(n->b, x, r.given.dims, r.given.rank));
}
