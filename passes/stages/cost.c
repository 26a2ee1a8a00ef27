/* What an op takes, from a file of costs or from its row and types. Tests: test/passes/partition.mlir,
 * test/passes/costs.mlir. */

#include "passes/stages/cost.h"

#include "passes/function.h"
#include "passes/graph.h"
#include "passes/tables.h"
#include "runtime/base/digest.h"
#include "runtime/plan/file/plan.h"
#include "runtime/plan/mesh/mesh.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

static const double product_flops_per_ps = 0.1, bytes_per_ps = 0.01, start_ps = 500000.0;
static const int64_t link_latency_ps = 5000000;
static const double link_ps_per_byte = 100.0;

/* Bytes of all operands and results, for ops nobody described too. */
static double moved_bytes(MlirOperation op) {
  double bytes = 0;
  for (intptr_t i = 0; i < mlirOperationGetNumOperands(op); ++i)
    bytes += (double)zb_type_bytes(mlirValueGetType(mlirOperationGetOperand(op, i)));
  for (intptr_t i = 0; i < mlirOperationGetNumResults(op); ++i)
    bytes += (double)zb_type_bytes(mlirValueGetType(mlirOperationGetResult(op, i)));
  return bytes;
}

static zb_cost described_cost(MlirOperation op) {
  zb_cost cost = {0};
  zb_op_view view;
  static _Thread_local zb_op_view_storage storage;
  zb_shape results[ZB_VIEW_OPERANDS];
  intptr_t count = mlirOperationGetNumResults(op);
  if (count > ZB_VIEW_OPERANDS || !zb_op_view_get(op, &view, &storage)) return cost;
  for (intptr_t i = 0; i < count; ++i)
    if (!zb_value_shape(mlirOperationGetResult(op, i), &results[i])) return cost;
  return zb_op_view_cost(&view, results);
}

/* ---- Names of ops in files of costs ---- */

/* An accumulate that no product took over is an instruction of its own. Its sum is an operand only from zb-memory on:
 * the shape is the result's. */
static bool accumulate_text(MlirOperation op, char text[ZB_COST_TEXT_BYTES]) {
  zb_shape shape;
  char shape_text[96];
  if (zb_has_attribute(op, ZB_ATTR_IN_PRODUCT)) return false;
  if (!zb_value_shape(mlirOperationGetResult(op, 0), &shape)) return false;
  snprintf(text, ZB_COST_TEXT_BYTES, "accumulate %s", zb_shape_text(&shape, shape_text));
  return true;
}

static bool append(char *text, size_t *length, const char *word) {
  size_t count = strlen(word);
  if (*length + count + 1 > ZB_COST_TEXT_BYTES) return false;
  memcpy(text + *length, word, count + 1);
  *length += count;
  return true;
}

/* Real numbers (a learning rate), and which of the random ops it is, do not change what an op takes. */
static bool append_attr(char *text, size_t *length, const zb_attr *attr) {
  char word[160];
  if (attr->kind == ZB_ATTR_FLOAT || strcmp(attr->name, "op") == 0) return true;
  snprintf(word, sizeof word, " %s=", attr->name);
  if (!append(text, length, word)) return false;
  if (attr->kind == ZB_ATTR_STRING) return append(text, length, attr->s);
  if (attr->kind != ZB_ATTR_INTS) {
    snprintf(word, sizeof word, "%" PRId64, attr->i);
    return append(text, length, word);
  }
  for (int i = 0; i < attr->count; ++i) {
    snprintf(word, sizeof word, "%s%" PRId64, i ? "," : "", attr->ints[i]);
    if (!append(text, length, word)) return false;
  }
  return true;
}

bool zb_cost_text(MlirOperation op, const zb_op_def *def, char text[ZB_COST_TEXT_BYTES]) {
  zb_op_view view;
  static _Thread_local zb_op_view_storage storage;
  char shape[96];
  size_t length = 0;
  if (zb_op_is(op, "zb.accumulate")) return accumulate_text(op, text);
  if (!def || def->op_class != ZB_CLASS_KERNEL || !zb_op_view_get(op, &view, &storage)) return false;
  if (!append(text, &length, def->name)) return false;
  int operands = view.operand_count; /* absent ones at the end are no part of the name: a row may get a new one */
  while (operands > 0 && view.operands[operands - 1].rank < 0)
    --operands;
  for (int i = 0; i < operands; ++i) {
    const char *word = view.operands[i].rank < 0 ? "-" : zb_shape_text(&view.operands[i], shape);
    if (!append(text, &length, " ") || !append(text, &length, word)) return false;
  }
  for (int i = 0; i < view.attrs.count; ++i)
    if (!append_attr(text, &length, &view.attrs.items[i])) return false;
  return true;
}

/* ---- Times ---- */

static double modelled_ps(const zb_costs *costs, double product_flops, double bytes) {
  if (!costs || !costs->has_rates) return start_ps + product_flops / product_flops_per_ps + bytes / bytes_per_ps;
  int64_t product = product_flops > 0 ? zb_costs_product(costs, product_flops) : 0;
  double products = product >= 0 ? (double)product : product_flops / product_flops_per_ps;
  double moving = bytes * costs->rates.ps_per_byte;
  return (double)costs->rates.op_ps + (products > moving ? products : moving);
}

/* Of a collective of shards. */
static int64_t sum_ps(MlirOperation op, zb_collective_kind kind, const zb_costs *costs) {
  const zb_link_costs link = zb_link_costs_of(costs);
  const zb_sum_costs sum = {link.latency_ps, link.wake_ps, link.job_ps, link.ps_per_byte};
  zb_shape x, out;
  if (!zb_value_shape(mlirOperationGetOperand(op, 0), &x) || !zb_value_shape(mlirOperationGetResult(op, 0), &out))
    return 0;
  const int64_t taken = zb_shape_elements(&x), given = zb_shape_elements(&out);
  return zb_sum_over_shards_ps(&sum, kind, taken > given ? taken : given, (int64_t)zb_dtype_bytes(x.dtype),
                               zb_get_i64(op, "members", 2));
}

zb_op_cost zb_cost_of(MlirOperation op, const zb_op_def *def, const zb_costs *costs) {
  char text[ZB_COST_TEXT_BYTES];
  int64_t measured = costs && zb_cost_text(op, def, text) ? zb_costs_op(costs, text) : -1;
  bool none = def && (def->op_class == ZB_CLASS_VIEW || def->op_class == ZB_CLASS_STRUCTURE);
  if (none) return (zb_op_cost){.time_ps = measured > 0 ? measured : 0};
  zb_cost cost = def ? described_cost(op) : (zb_cost){0};
  double bytes = cost.bytes > 0 ? cost.bytes : moved_bytes(op);
  const zb_collective_kind collective = def ? zb_collective_of_op(def->name) : ZB_COLLECTIVE_COUNT;
  if (collective != ZB_COLLECTIVE_COUNT) {
    const int64_t sum = sum_ps(op, collective, costs);
    return (zb_op_cost){.time_ps = sum, .sums_ps = sum, .flops = cost.flops};
  }
  int64_t ps = measured >= 0 ? measured : (int64_t)modelled_ps(costs, cost.product_flops, bytes);
  return (zb_op_cost){.time_ps = ps, .flops = cost.flops, .product_flops = cost.product_flops};
}

uint64_t zb_cost_key(const char *text) { return zb_fnv1a(ZB_FNV_START, text, strlen(text)); }

zb_op_cost zb_cost_of_block(MlirBlock block, const zb_costs *costs, uint64_t *out_key) {
  zb_op_cost total = {0};
  uint64_t key = 0;
  char text[ZB_COST_TEXT_BYTES];
  ZB_FOR_EACH_OP(op, block) {
    const zb_op_def *def = zb_op_find(op);
    if (zb_op_is(op, "func.return")) continue;
    zb_op_cost cost = zb_cost_of(op, def, costs);
    total.time_ps += cost.time_ps;
    total.sums_ps += cost.sums_ps;
    total.flops += cost.flops;
    total.product_flops += cost.product_flops;
    if (out_key && zb_cost_text(op, def, text)) key += zb_cost_key(text);
  }
  if (out_key) *out_key = key;
  return total;
}

zb_status zb_pass_costs(const zb_pass *pass, zb_costs **out) {
  const char *path = zb_pass_option(pass, "costs");
  *out = NULL;
  return *path ? zb_costs_read(path, out) : NULL;
}

/* ---- Messages, jobs, steps ---- */

static const double mebibyte = 1048576.0;

zb_link_costs zb_link_costs_of(const zb_costs *costs) {
  const double byte_ps = costs && costs->has_rates ? costs->rates.ps_per_byte : 1 / bytes_per_ps;
  const double copy_ps = 2 * byte_ps; /* it is read and written */
  if (!costs)
    return (zb_link_costs){.latency_ps = link_latency_ps, .ps_per_byte = link_ps_per_byte, .copy_ps_per_byte = copy_ps};
  return (zb_link_costs){.latency_ps = costs->link.latency_ps,
                         .ps_per_byte = costs->link.ps_per_byte,
                         .copies = costs->link.copies,
                         .wake_ps = costs->link.wake_ps,
                         .job_ps = costs->overheads.job_ps,
                         .read_ps = costs->overheads.read_ps,
                         .step_ps = costs->overheads.step_ps,
                         .copy_ps_per_byte = copy_ps};
}

static int64_t of_mebibyte(double ps_per_byte) {
  const double scaled = ps_per_byte * mebibyte;
  return scaled < 9e18 ? (int64_t)(scaled + 0.5) : INT64_MAX;
}

void zb_link_costs_set(MlirOperation module, const zb_link_costs *costs) {
  const zb_costs_row row = {.latency_ps = costs->latency_ps,
                            .ps_per_mebibyte = of_mebibyte(costs->ps_per_byte),
                            .copies = costs->copies,
                            .wake_ps = costs->wake_ps,
                            .job_ps = costs->job_ps,
                            .read_ps = costs->read_ps,
                            .step_ps = costs->step_ps,
                            .copy_ps_per_mebibyte = of_mebibyte(costs->copy_ps_per_byte)};
  zb_costs_set(module, &row, 1);
}

zb_link_costs zb_link_costs_get(MlirOperation module) {
  zb_table table = zb_costs_get(module);
  if (!table.count) return zb_link_costs_of(NULL);
  const zb_costs_row row = zb_costs_at(table, 0);
  return (zb_link_costs){.latency_ps = row.latency_ps,
                         .ps_per_byte = (double)row.ps_per_mebibyte / mebibyte,
                         .copies = row.copies != 0,
                         .wake_ps = row.wake_ps,
                         .job_ps = row.job_ps,
                         .read_ps = row.read_ps,
                         .step_ps = row.step_ps,
                         .copy_ps_per_byte = (double)row.copy_ps_per_mebibyte / mebibyte};
}
