/* Measured costs as a file: see include/zb/costs.h, where the format is shown.
 *
 * Every member of the file is a row of a table here: reading, writing, range checks and freeing go by the rows
 * (json_fields.h). Reading is strict, so that after it every number is in its range, every index inside what it refers
 * to, and every time can be added up a million times.
 *
 * Tests: test/runtime/base/costs_test.c
 */
#include "zb/costs.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>
#include <sys/stat.h>

#include "runtime/base/file.h"
#include "runtime/base/json.h"
#include "runtime/base/map.h"
#include "runtime/base/text.h"
#include "runtime/formats/json_fields.h"

#define TIME_MOST INT64_C(10000000000000000) /* 10,000 s */
#define BYTES_MOST (INT64_C(1) << 50)
#define COUNT_MOST (INT64_C(1) << 40)
enum { RANKS_MOST = 65536, STAGES_MOST = 1 << 20, FILE_MOST = 1 << 28 };
static const char measure_again[] = "measure again: zb-run DIR --data ... --steps 20 --profile FILE.json";

/* Rows of a struct TYPE; every member must be there. */
#define ROW(member, type, json_kind, least, most)                                                                      \
  {.name = #member, .kind = json_kind, .offset = offsetof(type, member), .low = least, .high = most, .required = true}
#define NUMBER(type, member, least, most) ROW(member, type, ZB_JSON_WHOLE, least, most)
#define RANK(type, member) NUMBER(type, member, 0, RANKS_MOST - 1)
#define STAGE(type, member) NUMBER(type, member, 0, STAGES_MOST - 1)
#define BYTES(type, member) NUMBER(type, member, 0, BYTES_MOST)
#define TIME(type, member) NUMBER(type, member, 0, TIME_MOST)
#define COUNT(type, member) NUMBER(type, member, 1, COUNT_MOST)
#define REAL(type, member) ROW(member, type, ZB_JSON_REAL, 0, TIME_MOST)
#define TEXT(type, member) ROW(member, type, ZB_JSON_TEXT, 0, 0)
#define FLAG(type, member) ROW(member, type, ZB_JSON_FLAG, 0, 0)

static const zb_json_field machine_fields[] = {
    TEXT(zb_cost_machine, device),
    TEXT(zb_cost_machine, instruction_set),
    NUMBER(zb_cost_machine, cores, 1, RANKS_MOST),
    NUMBER(zb_cost_machine, threads, 1, RANKS_MOST),
    FLAG(zb_cost_machine, virtual_clock),
    {0},
};
static const zb_json_field program_fields[] = {
    TEXT(zb_cost_program, model),
    TEXT(zb_cost_program, schedule),
    NUMBER(zb_cost_program, ranks, 1, RANKS_MOST),
    NUMBER(zb_cost_program, micro_batches, 1, RANKS_MOST),
    COUNT(zb_cost_program, steps),
    {0},
};
static const zb_json_field stage_fields[] = {
    STAGE(zb_cost_stage, stage),    RANK(zb_cost_stage, rank),      BYTES(zb_cost_stage, fb_bytes),
    BYTES(zb_cost_stage, fw_bytes), BYTES(zb_cost_stage, bw_bytes), {0},
};
static const zb_json_field rank_fields[] = {
    RANK(zb_cost_rank, rank),
    BYTES(zb_cost_rank, base_bytes),
    {0},
};
static const zb_json_field edge_fields[] = {
    STAGE(zb_cost_edge, source),
    STAGE(zb_cost_edge, destination),
    BYTES(zb_cost_edge, forward_bytes),
    BYTES(zb_cost_edge, backward_bytes),
    {0},
};
static const zb_json_field subprogram_fields[] = {
    TEXT(zb_cost_subprogram, name),
    RANK(zb_cost_subprogram, rank),
    NUMBER(zb_cost_subprogram, stage, -1, STAGES_MOST - 1),
    TEXT(zb_cost_subprogram, kind),
    ROW(key, zb_cost_subprogram, ZB_JSON_HEX, 0, 0),
    TIME(zb_cost_subprogram, first_ps),
    TIME(zb_cost_subprogram, time_ps),
    COUNT(zb_cost_subprogram, runs),
    {0},
};
static const zb_json_field op_fields[] = {
    TEXT(zb_cost_op, op),
    TIME(zb_cost_op, time_ps),
    COUNT(zb_cost_op, runs),
    {0},
};
static const zb_json_field message_fields[] = {
    RANK(zb_cost_message, source),  RANK(zb_cost_message, destination), BYTES(zb_cost_message, bytes),
    TIME(zb_cost_message, time_ps), COUNT(zb_cost_message, runs),       {0},
};
static const zb_json_field link_fields[] = {
    TIME(zb_cost_link, latency_ps),
    REAL(zb_cost_link, ps_per_byte),
    FLAG(zb_cost_link, copies),
    TIME(zb_cost_link, wake_ps),
    {0},
};
static const zb_json_field overhead_fields[] = {
    TIME(zb_cost_overheads, job_ps),
    TIME(zb_cost_overheads, read_ps),
    TIME(zb_cost_overheads, step_ps),
    {0},
};
static const zb_json_field rate_fields[] = {
    TIME(zb_cost_rates, op_ps),
    REAL(zb_cost_rates, ps_per_byte),
    {0},
};
static const zb_json_field product_fields[] = {
    NUMBER(zb_cost_product, flops, 1, BYTES_MOST),
    NUMBER(zb_cost_product, time_ps, 1, TIME_MOST),
    {0},
};

#define OBJECT(member, table, must)                                                                                    \
  {.name = #member, .kind = ZB_JSON_OBJECT, .offset = offsetof(zb_costs, member), .fields = table, .required = must}
#define LIST(member, table, type, count, together)                                                                     \
  {.name = #member,                                                                                                    \
   .kind = ZB_JSON_OBJECTS,                                                                                            \
   .offset = offsetof(zb_costs, member),                                                                               \
   .fields = table,                                                                                                    \
   .count_offset = offsetof(zb_costs, count),                                                                          \
   .item_bytes = sizeof(type),                                                                                         \
   .with = together}

/* Lists of what was run are there with a program, and only then. */
static const zb_json_field file_fields[] = {
    {.name = "format", .kind = ZB_JSON_OTHER}, /* read first */
    {.name = "version", .kind = ZB_JSON_OTHER},
    OBJECT(machine, machine_fields, true),
    OBJECT(program, program_fields, false),
    LIST(stages, stage_fields, zb_cost_stage, stage_count, "program"),
    LIST(ranks, rank_fields, zb_cost_rank, rank_count, "program"),
    LIST(edges, edge_fields, zb_cost_edge, edge_count, "program"),
    LIST(subprograms, subprogram_fields, zb_cost_subprogram, subprogram_count, "program"),
    LIST(ops, op_fields, zb_cost_op, op_count, "program"),
    LIST(messages, message_fields, zb_cost_message, message_count, "program"),
    OBJECT(link, link_fields, true),
    OBJECT(overheads, overhead_fields, true),
    OBJECT(rates, rate_fields, false),
    LIST(products, product_fields, zb_cost_product, product_count, NULL),
    {0},
};

void zb_costs_destroy(zb_costs *costs) {
  if (!costs) return;
  zb_json_release(file_fields, costs);
  if (costs->op_index) zb_map_destroy(costs->op_index);
  zb_free(costs);
}

/* ---- What rows say about each other ---- */

static zb_status foreign(const char *file) {
  return zb_status_hint(
      ZB_ERROR(INVALID, "%s: expected a file of costs (\"format\": \"zb-costs\")", file),
      "zb-run DIR --data ... --steps 20 --profile FILE.json writes one, zb-run --calibrate FILE.json another");
}

static zb_status inconsistent(const char *file, const char *format, int64_t a, int64_t b) {
  char text[160];
  snprintf(text, sizeof text, format, a, b);
  return zb_status_hint(ZB_ERROR(INVALID, "%s: %s", file, text),
                        "the file was changed or cut: measure again with zb-run --profile");
}

static zb_status check_stages(const zb_costs *c, const char *file) {
  int64_t stages = c->stage_count;
  if (c->rank_count != c->program.ranks)
    return inconsistent(file, "expected %" PRId64 " entries in ranks, got %" PRId64, c->program.ranks, c->rank_count);
  if (stages < 1 || stages % c->program.ranks)
    return inconsistent(file, "expected a multiple of %" PRId64 " stages, got %" PRId64, c->program.ranks, stages);
  for (int64_t i = 0; i < c->rank_count; ++i)
    if (c->ranks[i].rank != i)
      return inconsistent(file, "expected rank %" PRId64 " in ranks, got %" PRId64, i, c->ranks[i].rank);
  for (int64_t i = 0; i < stages; ++i) {
    if (c->stages[i].stage != i)
      return inconsistent(file, "expected stage %" PRId64 " in stages, got %" PRId64, i, c->stages[i].stage);
    if (c->stages[i].rank >= c->program.ranks)
      return inconsistent(file, "stage %" PRId64 " is on rank %" PRId64 ", which is none", i, c->stages[i].rank);
  }
  for (int64_t i = 0; i < c->edge_count; ++i)
    if (c->edges[i].source >= c->edges[i].destination || c->edges[i].destination >= stages)
      return inconsistent(file, "an edge leads from stage %" PRId64 " to stage %" PRId64, c->edges[i].source,
                          c->edges[i].destination);
  for (int64_t i = 0; i < c->message_count; ++i)
    if (c->messages[i].source >= c->program.ranks || c->messages[i].destination >= c->program.ranks)
      return inconsistent(file, "a message goes from rank %" PRId64 " to rank %" PRId64, c->messages[i].source,
                          c->messages[i].destination);
  return NULL;
}

/* F, B and W are of one stage. */
static const char *const kinds[] = {
#define ZB_KIND(name, summary) #name,
#include "zb/kinds.def"
#undef ZB_KIND
#define ZB_PHASE(name, summary) #name,
#define ZB_COMMON_PHASE ZB_PHASE
#include "zb/phases.def"
#undef ZB_PHASE
    "LOAD", "ADD", "FOLD"};
enum { KIND_COUNT = sizeof kinds / sizeof kinds[0], STAGE_KINDS = ZB_KIND_COUNT };

/* Files from before the optimizer had phases call it OPT. */
static zb_status rename_optimizers(zb_costs *c) {
  for (int64_t i = 0; i < c->subprogram_count; ++i) {
    char **kind = &c->subprograms[i].kind;
    if (strcmp(*kind, "OPT") != 0) continue;
    zb_free(*kind);
    *kind = zb_strdup("UPDATE");
    if (!*kind) return ZB_OUT_OF_MEMORY();
  }
  return NULL;
}

bool zb_cost_is_optimizer(const zb_cost_subprogram *subprogram) {
#define ZB_PHASE(name, summary)                                                                                        \
  if (strcmp(subprogram->kind, #name) == 0) return true;
#define ZB_COMMON_PHASE ZB_PHASE
#include "zb/phases.def"
#undef ZB_PHASE
  return false;
}

/* F, B and W of every stage once. */
static zb_status check_subprograms(const zb_costs *c, const char *file) {
  zb_status status = NULL;
  unsigned char *seen = zb_alloc((size_t)c->stage_count * STAGE_KINDS + 1);
  if (!seen) return ZB_OUT_OF_MEMORY();
  for (int64_t i = 0; i < c->subprogram_count; ++i) {
    const zb_cost_subprogram *s = &c->subprograms[i];
    int kind = 0;
    while (kind < KIND_COUNT && strcmp(kinds[kind], s->kind) != 0)
      ++kind;
    if (kind == KIND_COUNT) {
      status = ZB_ERROR(INVALID,
                        "%s: subprograms[%" PRId64
                        "].kind: expected F, B, W, SUM, NORM, UPDATE, LOAD, ADD or FOLD, got %.80s",
                        file, i, s->kind);
      status = zb_status_hint(status, "%s", measure_again);
      goto cleanup;
    }
    if (s->rank >= c->program.ranks || s->stage >= c->stage_count || (kind < STAGE_KINDS && s->stage < 0))
      ZB_TRY_GOTO(inconsistent(file, "a subprogram is of stage %" PRId64 " on rank %" PRId64 ", which is none",
                               s->stage, s->rank));
    if (kind < STAGE_KINDS && seen[s->stage * STAGE_KINDS + kind]++)
      ZB_TRY_GOTO(inconsistent(file, "F, B or W of stage %" PRId64 " is there twice (entry %" PRId64 " of subprograms)",
                               s->stage, i));
  }
  for (int64_t i = 0; i < c->stage_count * STAGE_KINDS; ++i)
    if (!seen[i])
      ZB_TRY_GOTO(inconsistent(file, "F, B or W of stage %" PRId64 " is missing (%" PRId64 " subprograms)",
                               i / STAGE_KINDS, c->subprogram_count));
cleanup:
  zb_free(seen);
  return status;
}

static zb_status check_products(const zb_costs *c, const char *file) {
  for (int64_t i = 1; i < c->product_count; ++i)
    if (c->products[i].flops <= c->products[i - 1].flops)
      return inconsistent(file, "products must have rising flops: %" PRId64 " follows %" PRId64, c->products[i].flops,
                          c->products[i - 1].flops);
  return NULL;
}

static zb_status index_ops(zb_costs *c, const char *file) {
  c->op_index = zb_map_create();
  if (!c->op_index) return ZB_OUT_OF_MEMORY();
  for (int64_t i = 0; i < c->op_count; ++i) {
    int64_t other = 0;
    if (zb_map_get(c->op_index, c->ops[i].op, &other))
      return inconsistent(file, "ops[%" PRId64 "] is the same op as ops[%" PRId64 "]", i, other);
    if (!zb_map_set(c->op_index, c->ops[i].op, i)) return ZB_OUT_OF_MEMORY();
  }
  return NULL;
}

static zb_status read_all(const zb_json_source *source, const json_t *root, zb_costs *out) {
  const zb_json_place whole = {.source = source}, at = {.source = source, .within = &whole, .key = "version"};
  const char *file = source->name;
  const json_t *version = json_object_get(root, "version");
  const char *format = json_string_value(json_object_get(root, "format"));
  if (!format || strcmp(format, "zb-costs") != 0) return foreign(file);
  if (!json_is_integer(version) || json_integer_value(version) != ZB_COSTS_VERSION)
    return zb_json_wrong(&at, version, "%d", ZB_COSTS_VERSION);
  ZB_TRY(zb_json_read_object(root, &whole, file_fields, out));
  out->has_rates = json_object_get(root, "rates") != NULL;
  if (out->program.ranks) {
    ZB_TRY(check_stages(out, file));
    ZB_TRY(rename_optimizers(out));
    ZB_TRY(check_subprograms(out, file));
  } else if (!out->has_rates) {
    return inconsistent(file, "it has no program and no rates%.0" PRId64 "%.0" PRId64, 0, 0);
  }
  ZB_TRY(check_products(out, file));
  return index_ops(out, file);
}

zb_status zb_costs_parse(const char *text, size_t bytes, const char *name, zb_costs **out) {
  static const char hint[] = "a file of costs is JSON that zb-run --profile wrote; measure again if it was cut";
  *out = NULL;
  json_t *root = NULL;
  ZB_TRY(zb_json_open(text, bytes, name, hint, &root));
  zb_costs *costs = zb_alloc(sizeof *costs);
  const zb_json_source source = {.name = name, .hint = measure_again, .text = text, .bytes = bytes};
  zb_status status = costs ? read_all(&source, root, costs) : ZB_OUT_OF_MEMORY();
  json_decref(root);
  if (status)
    zb_costs_destroy(costs);
  else
    *out = costs;
  return status;
}

zb_status zb_costs_read(const char *path, zb_costs **out) {
  char *text = NULL;
  size_t bytes = 0;
  *out = NULL;
  ZB_TRY(zb_file_read(path, FILE_MOST, &text, &bytes));
  zb_status status = zb_costs_parse(text, bytes, path, out);
  zb_free(text);
  return status;
}

bool zb_costs_is(const char *path) {
  char *text = NULL;
  size_t bytes = 0;
  json_t *root = NULL;
  json_error_t error;
  struct stat about;
  if (stat(path, &about) == 0 && !S_ISREG(about.st_mode)) return false; /* looking would take what a pipe holds */
  zb_status status = zb_file_read(path, FILE_MOST, &text, &bytes);
  if (!status) status = zb_json_parse(text, bytes, 0, &root, &error);
  const char *format = json_string_value(json_object_get(root, "format"));
  bool is = format && strcmp(format, "zb-costs") == 0;
  json_decref(root);
  zb_free(text);
  zb_status_free(status);
  return is;
}

/* ---- Writing ---- */

static bool is_there(const zb_costs *costs, const zb_json_field *field) {
  if (field->kind == ZB_JSON_OTHER) return false;
  if (field->fields == program_fields || field->with) return costs->program.ranks != 0;
  return field->fields == rate_fields ? costs->has_rates : field->fields != product_fields || costs->product_count;
}

zb_status zb_costs_write(const zb_costs *costs, const char *path) {
  zb_text out = {0};
  zb_text_add(&out, "{\"format\": \"zb-costs\", \"version\": %d", ZB_COSTS_VERSION);
  for (const zb_json_field *field = file_fields; field->name; ++field) {
    if (!is_there(costs, field)) continue;
    zb_text_add(&out, ",\n");
    zb_json_add_field(&out, field, costs);
  }
  zb_text_add(&out, "}\n");
  zb_status status = out.failed ? ZB_OUT_OF_MEMORY() : zb_file_write_atomic(path, out.data, out.length);
  zb_text_deinit(&out);
  return status;
}

/* ---- Questions ---- */

int64_t zb_costs_op(const zb_costs *costs, const char *op) {
  int64_t index = costs->op_index ? zb_map_get_or(costs->op_index, op, -1) : -1;
  return index < 0 ? -1 : costs->ops[index].time_ps;
}

const zb_cost_subprogram *zb_costs_subprogram(const zb_costs *costs, const char *kind, int64_t stage, uint64_t key) {
  const zb_cost_subprogram *other = NULL;
  for (int64_t i = 0; i < costs->subprogram_count; ++i) {
    const zb_cost_subprogram *s = &costs->subprograms[i];
    if (s->key != key || strcmp(s->kind, kind) != 0) continue;
    if (s->stage == stage) return s;
    if (!other) other = s;
  }
  return other;
}

int64_t zb_costs_product(const zb_costs *costs, double flops) {
  int64_t count = costs->product_count, i = 0;
  if (count == 0) return -1;
  while (i + 1 < count && (double)costs->products[i + 1].flops < flops)
    ++i;
  const zb_cost_product *low = &costs->products[i], *high = i + 1 < count ? low + 1 : low;
  double x = (double)low->flops, y = (double)low->time_ps;
  if (flops <= x || high == low) return (int64_t)(y * flops / x); /* outside: the rate of the nearest */
  if (flops >= (double)high->flops) return (int64_t)((double)high->time_ps * flops / (double)high->flops);
  double part = (flops - x) / ((double)high->flops - x);
  return (int64_t)(y + part * ((double)high->time_ps - y));
}
