/* The program of one shard: zb_shard_rewrite of passes/graph/shard_parts.h.
 *
 * Ops are changed in place: their operands, the attributes that name shapes, and their types. Where an op wants a value
 * elsewhere than it is, ops are put before it, once for all later readers. What every shard has and an op reads that
 * computes a part goes through zb.shared, once for all such readers, so that its gradient is one sum over shards. */
#include "passes/graph/shard_parts.h"
#include "passes/tables.h"

#include "runtime/base/text.h"

#include <inttypes.h>
#include <mlir-c/BuiltinAttributes.h>
#include <string.h>

typedef struct rewriting {
  zb_shard *s;
  MlirValue *now, *whole, *shared; /* of values: as it is placed; REPLICATED; for readers that compute a part */
  MlirValue coordinate;
  ZB_LIST(MlirOperation) dead;
} rewriting;

/* ---- From place to place ---- */

static MlirValue integers(zb_builder *b, int64_t count, double start, double step) {
  const zb_shape shape = {.dtype = ZB_I64, .rank = 1, .dims = {count}};
  return zb_build_iota(b, &shape, 0, start, step);
}

/* The elements of a dimension that the shard has, as indices: those of its part of every run. */
static MlirValue own_indices(rewriting *it, zb_builder *b, const zb_place *to, int64_t size) {
  const int64_t shards = it->s->shards;
  const int runs = to->segment_count ? to->segment_count : 1;
  MlirValue parts[ZB_SEGMENTS_MAX];
  int64_t begin = 0;
  for (int i = 0; i < runs; ++i) {
    const int64_t run = to->segment_count ? to->segments[i] : size, part = (run + shards - 1) / shards;
    MlirValue first = zb_build2(b, "mul", it->coordinate, zb_build_scalar(b, ZB_I64, (double)part));
    parts[i] = zb_build2(b, "add", integers(b, part, (double)begin, 1), first);
    begin += run;
  }
  MlirValue all = zb_build_concat(b, parts, runs, 0);
  return to->padded ? zb_build2(b, "min", all, zb_build_scalar(b, ZB_I64, (double)(size - 1))) : all;
}

/* The part of a shard of what all have. */
static MlirValue take_part(rewriting *it, zb_builder *b, MlirValue x, const zb_place *to, int64_t size) {
  const zb_attr axis = zb_int("axis", to->dim);
  return zb_build(b, "gather", (MlirValue[]){x, own_indices(it, b, to, size)}, 2, &axis, 1);
}

/* x [.., part, ..] as [.., shards, part, ..], zeros but for the own part, summed over shards. */
static MlirValue sum_of_parts(rewriting *it, zb_builder *b, MlirValue x, const zb_shape *part, int dim) {
  const int64_t shards = it->s->shards;
  int64_t dims[ZB_DIMS_MAX + 1], mask[ZB_DIMS_MAX + 1];
  const int rank = part->rank - dim + 1; /* from the new dimension on */
  for (int i = 0; i < part->rank; ++i)
    dims[i + (i >= dim)] = part->dims[i];
  dims[dim] = 1;
  mask[0] = shards;
  for (int i = 1; i < rank; ++i)
    mask[i] = 1;
  MlirValue own = zb_build2(b, "equal", integers(b, shards, 0, 1), it->coordinate);
  MlirValue choice[] = {zb_build_reshape(b, own, mask, rank), zb_build_reshape(b, x, dims, part->rank + 1),
                        zb_build_scalar(b, part->dtype, 0)};
  return zb_build_all_reduce(b, zb_build(b, "where", choice, 3, NULL, 0), shards, "sum");
}

/* What is cut, whole on every shard. */
static MlirValue put_together(rewriting *it, zb_builder *b, MlirValue x, const zb_place *from, const zb_shape *whole) {
  const int64_t shards = it->s->shards;
  const int runs = from->segment_count ? from->segment_count : 1, dim = from->dim;
  const bool is_float = zb_dtype_is_float(whole->dtype);
  zb_shape part = zb_part_shape(whole, from, shards);
  MlirValue parts[ZB_SEGMENTS_MAX];
  if (!is_float) x = zb_build_cast(b, x, part.dtype = ZB_F64); /* exact for what indices are */
  MlirValue all = sum_of_parts(it, b, x, &part, dim);
  zb_shape blocks = part;
  for (int i = part.rank; i > dim; --i)
    blocks.dims[i] = part.dims[i - 1];
  blocks.dims[dim] = shards;
  blocks.rank = part.rank + 1;
  int64_t starts[ZB_DIMS_MAX] = {0}, sizes[ZB_DIMS_MAX];
  for (int i = 0; i < runs; ++i) {
    zb_shape joined = part;
    memcpy(sizes, blocks.dims, sizeof sizes);
    if (from->segment_count) sizes[dim + 1] = from->segments[i] / shards;
    joined.dims[dim] = shards * sizes[dim + 1];
    MlirValue run = runs == 1 ? all : zb_build_slice(b, all, starts, sizes, NULL, blocks.rank);
    parts[i] = zb_build_reshape(b, run, joined.dims, joined.rank);
    starts[dim + 1] += sizes[dim + 1];
  }
  MlirValue out = zb_build_concat(b, parts, runs, dim);
  if (from->padded) {
    starts[dim + 1] = 0;
    out = zb_build_slice(b, out, starts, whole->dims, NULL, whole->rank);
  }
  return zb_build_cast(b, out, whole->dtype);
}

static bool is_float(const rewriting *it, int value) { return zb_dtype_is_float(it->s->shapes[value].dtype); }

/* Whether parts of tokens go to and fro by collectives of their own. */
static bool is_by_tokens(const rewriting *it, int value, const zb_place *place) {
  return zb_is_cut(place) && place->sequence && !place->padded && is_float(it, value);
}

static MlirValue make_whole(rewriting *it, zb_builder *b, int value) {
  const zb_place *from = &it->s->places[value];
  const zb_shape *shape = &it->s->shapes[value];
  if (!mlirValueIsNull(it->whole[value])) return it->whole[value];
  MlirValue x = it->now[value];
  if (from->spread == ZB_PARTIAL) x = zb_build_all_reduce(b, x, it->s->shards, "sum");
  if (is_by_tokens(it, value, from))
    x = zb_build_gather(b, x, shape, from, it->s->shards, false);
  else if (zb_is_cut(from))
    x = put_together(it, b, x, from, shape);
  return it->whole[value] = x;
}

static MlirValue make_shared(rewriting *it, zb_builder *b, int value);

/* A view of tokens that are put together for it: the view of what is shared. Null: it is none. */
static MlirValue share_before(rewriting *it, zb_builder *b, int value) {
  const zb_node *node = zb_maker(&it->s->graph, value);
  if (!node || !node->def || node->def->op_class != ZB_CLASS_VIEW || node->operand_count != 1) return (MlirValue){NULL};
  const int x = zb_operand(&it->s->graph, node, 0);
  if (!is_by_tokens(it, x, &it->s->places[x]) || it->s->places[value].spread != ZB_REPLICATED) return (MlirValue){NULL};
  MlirValue shared = make_shared(it, b, x);
  MlirOperation view = mlirOperationClone(node->op);
  mlirOperationSetOperand(view, 0, shared);
  mlirBlockInsertOwnedOperationBefore(it->s->graph.block, b->before, view);
  return mlirOperationGetResult(view, value - node->result_begin);
}

/* For readers that compute a part: a value that leads back to a trained parameter has a gradient, which is summed. */
static MlirValue make_shared(rewriting *it, zb_builder *b, int value) {
  const zb_place *from = &it->s->places[value];
  if (!is_float(it, value) || !(it->s->depends[value] & ZB_DEPENDS_TRAINED)) return make_whole(it, b, value);
  if (!mlirValueIsNull(it->shared[value])) return it->shared[value];
  MlirValue x = is_by_tokens(it, value, from) && mlirValueIsNull(it->whole[value])
                    ? zb_build_gather(b, it->now[value], &it->s->shapes[value], from, it->s->shards, true)
                    : share_before(it, b, value);
  if (mlirValueIsNull(x) && !b->failed)
    x = ZB_BUILD(b, "shared", make_whole(it, b, value), zb_int("members", it->s->shards));
  return it->shared[value] = x;
}

/* What is cut by tokens from now on: the sum of parts, or of what all have. */
static MlirValue cut_tokens(rewriting *it, zb_builder *b, int value, const zb_place *to) {
  const zb_shape *shape = &it->s->shapes[value];
  if (it->s->places[value].spread == ZB_PARTIAL)
    return it->now[value] = zb_build_scatter(b, it->now[value], shape, to, it->s->shards);
  return zb_build_own(b, make_whole(it, b, value), shape, to, it->s->shards);
}

static MlirValue convert(rewriting *it, zb_builder *b, int value, const zb_place *to, bool computes_part) {
  const zb_place *from = &it->s->places[value];
  if (from->spread != ZB_REPLICATED && zb_same_placement(from, to)) return it->now[value];
  if (is_by_tokens(it, value, to)) return cut_tokens(it, b, value, to);
  if (zb_is_cut(to)) return take_part(it, b, make_shared(it, b, value), to, it->s->shapes[value].dims[to->dim]);
  return computes_part ? make_shared(it, b, value) : make_whole(it, b, value);
}

/* ---- Ops ---- */

static bool computes_part(const zb_placing *placing) {
  bool part = placing->build != NULL;
  for (int k = 0; k < placing->op->operand_count; ++k)
    part |= zb_is_cut(&placing->operands[k]);
  for (int r = 0; r < placing->op->result_count; ++r)
    part |= placing->out[r].spread != ZB_REPLICATED;
  return part;
}

/* Each shard draws its own numbers: another seed. */
static MlirValue own_counter(rewriting *it, zb_builder *b, MlirValue counter) {
  MlirValue is_seed =
      zb_build_cast(b, zb_build2(b, "equal", integers(b, 4, 0, 1), zb_build_scalar(b, ZB_I64, 0)), ZB_I64);
  MlirValue step = zb_build2(b, "mul", it->coordinate, zb_build_scalar(b, ZB_I64, 1000003));
  return zb_build2(b, "add", counter, zb_build2(b, "mul", is_seed, step));
}

static void take_results(rewriting *it, const zb_node *node, const zb_placing *placing) {
  MlirContext context = mlirOperationGetContext(node->op);
  for (int r = 0; r < node->result_count; ++r) {
    const int value = node->result_begin + r;
    const zb_shape part = zb_part_shape(&it->s->shapes[value], &placing->out[r], it->s->shards);
    it->now[value] = mlirOperationGetResult(node->op, r);
    if (it->s->known[value]) mlirValueSetType(it->now[value], zb_shape_type(context, &part));
    it->s->places[value] = placing->out[r];
    if (placing->out[r].spread == ZB_REPLICATED) it->whole[value] = it->now[value];
  }
}

static bool build_results(rewriting *it, zb_builder *b, const zb_node *node, const zb_op_view *view,
                          const zb_placing *placing, const MlirValue *operands) {
  zb_shard_build sharding = {.b = b, .op = view, .placing = placing, .coordinate = it->coordinate};
  memcpy(sharding.operands, operands, sizeof sharding.operands);
  placing->build(&sharding);
  for (int r = 0; r < node->result_count && !b->failed; ++r) {
    const int value = node->result_begin + r;
    it->now[value] = sharding.results[r];
    if (mlirValueIsNull(it->now[value])) continue;
    if (placing->out[r].spread == ZB_REPLICATED) it->whole[value] = it->now[value];
  }
  return ZB_PUSH(&it->s->pass->arena, &it->dead, node->op);
}

/* An op that nobody described takes and gives everything whole. */
static void rewrite_unknown(rewriting *it, zb_builder *b, const zb_node *node) {
  for (int i = 0; i < node->operand_count; ++i) {
    const int value = zb_operand(&it->s->graph, node, i);
    MlirValue x = it->s->known[value] ? make_whole(it, b, value) : it->now[value];
    if (!b->failed) zb_graph_set_operand(&it->s->graph, node->op, i, value, x);
  }
  ZB_FOR_EACH_RESULT(value, node)
    it->whole[value] = it->now[value] = it->s->graph.values[value].value;
}

static zb_result rewrite_op(rewriting *it, const zb_node *node) {
  zb_op_view_storage storage;
  zb_op_view view;
  zb_placing placing;
  MlirValue operands[ZB_VIEW_OPERANDS] = {{NULL}};
  zb_builder builder = zb_builder_before(node->op);
  if (!zb_shard_view(it->s, node, &view, &storage)) {
    rewrite_unknown(it, &builder, node);
    return builder.failed ? ZB_FAIL : ZB_OK;
  }
  zb_shard_place(it->s, node, &view, &placing);
  const bool part = computes_part(&placing);
  for (int i = 0; i < node->operand_count && !builder.failed; ++i) {
    const int k = zb_shard_named(&view, i);
    const bool shares = part && !(placing.whole >> k & 1);
    const int value = zb_operand(&it->s->graph, node, i);
    operands[k] = convert(it, &builder, value, &placing.operands[k], shares);
    zb_shard_sum_once(it->s, value, &placing.operands[k]);
    const bool counter = (node->def->traits & ZB_TRAIT_RANDOM) && i == node->operand_count - 1;
    if (counter && part) operands[k] = own_counter(it, &builder, operands[k]);
    if (!builder.failed && !placing.build) mlirOperationSetOperand(node->op, i, operands[k]);
  }
  if (builder.failed) return ZB_FAIL;
  it->s->pass->changes += part;
  if (placing.build) {
    if (!build_results(it, &builder, node, &view, &placing, operands))
      return zb_pass_fail(it->s->pass, ZB_OUT_OF_MEMORY());
    ZB_FOR_EACH_RESULT(value, node)
      it->s->places[value] = placing.out[value - node->result_begin];
    return builder.failed ? ZB_FAIL : ZB_OK;
  }
  for (int i = 0; i < placing.changed_count; ++i)
    zb_set_ints(node->op, placing.changed[i].name, placing.changed[i].ints, placing.changed[i].count);
  take_results(it, node, &placing);
  return ZB_OK;
}

/* ---- The function ---- */

/* "1:128,128,128": the dimension, and the runs that it consists of. */
static const char *text_of(zb_arena *arena, const zb_place *place, const zb_shape *whole) {
  zb_text text = {0};
  zb_text_add(&text, "%d:", place->dim);
  if (place->segment_count == 0) zb_text_add(&text, "%" PRId64, whole->dims[place->dim]);
  for (int i = 0; i < place->segment_count; ++i)
    zb_text_add(&text, "%s%" PRId64, i ? "," : "", place->segments[i]);
  const char *copy = text.failed ? NULL : zb_arena_strdup(arena, text.data);
  zb_text_deinit(&text);
  return copy;
}

static zb_status mark_arguments(rewriting *it, zb_function_builder *f) {
  zb_shard *s = it->s;
  for (int a = 0; a < s->graph.argument_count; ++a) {
    const zb_place *place = &s->places[a];
    it->now[a] = s->graph.values[a].value;
    if (!zb_is_cut(place)) {
      it->whole[a] = it->now[a];
      continue;
    }
    const zb_shape part = zb_part_shape(&s->shapes[a], place, s->shards);
    zb_port port = zb_port_get(f->argument_attributes.items[a]);
    port.shard = text_of(&s->pass->arena, place, &s->shapes[a]);
    if (!port.shard) return ZB_OUT_OF_MEMORY();
    f->argument_attributes.items[a] = zb_port_set(f->context, &port);
    mlirValueSetType(it->now[a], zb_shape_type(f->context, &part));
    ++s->pass->changes;
  }
  return NULL;
}

static zb_result rewrite_body(rewriting *it, zb_function_builder *f) {
  zb_shard *s = it->s;
  MlirOperation first = mlirBlockGetFirstOperation(s->graph.block);
  zb_builder builder = zb_builder_before(first);
  it->coordinate = zb_build(&builder, "coordinate", NULL, 0, NULL, 0);
  if (builder.failed) return ZB_FAIL;
  ZB_FOR_EACH_NODE(node, &s->graph)
    if (!rewrite_op(it, node)) return ZB_FAIL;
  builder = zb_builder_before(s->graph.terminator);
  for (int i = 0; i < s->graph.returned_count; ++i) {
    const int value = s->graph.returned[i];
    MlirValue x = s->known[value] ? make_whole(it, &builder, value) : it->now[value];
    if (builder.failed) return ZB_FAIL;
    f->results.items[i] = x;
  }
  return ZB_OK;
}

zb_result zb_shard_rewrite(zb_shard *s) {
  zb_arena *arena = &s->pass->arena;
  rewriting it = {.s = s};
  zb_function_builder f;
  int64_t erased;
  it.now = ZB_NEW(arena, MlirValue, s->graph.value_count);
  it.whole = ZB_NEW(arena, MlirValue, s->graph.value_count);
  it.shared = ZB_NEW(arena, MlirValue, s->graph.value_count);
  ZB_PASS_TRY(s->pass, zb_arena_status(arena));
  zb_function_open(&f, s->graph.function);
  zb_status status = mark_arguments(&it, &f);
  zb_result result = status ? zb_pass_fail(s->pass, status) : rewrite_body(&it, &f);
  ZB_PASS_TRY(s->pass, zb_function_close(&f, s->graph.function));
  for (size_t i = it.dead.count; result && i-- > 0;)
    zb_erase_op(it.dead.items[i]);
  if (result) ZB_PASS_TRY(s->pass, zb_erase_dead(arena, s->graph.function, &erased));
  return result;
}
