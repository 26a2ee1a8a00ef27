/* Problems as JSON: strict reading, exact writing. The format: passes/schedule/README.md.
 *
 * Every object has a table of its keys (runtime/formats/json_fields.h), in the order in which they are read: what sizes
 * arrays comes first. Tests: test/passes/schedule/problem_json_test.c.
 */
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "passes/schedule/model.h"
#include "runtime/base/file.h"
#include "runtime/base/json.h"
#include "runtime/base/text.h"
#include "runtime/base/words.h"
#include "runtime/formats/json_fields.h"

enum { COUNT_MAX = 1000000 /* ranks, chunks, micro-batches */ };
static const double PS_PER_SECOND = 1e12;

/* What sizes the arrays, read before there is a problem. */
typedef struct sizes {
  int ranks, micro_batches, chunks;
} sizes;

static const sizes *sizes_of(const zb_json_place *at) { return at->source->context; }

/* A number that may be left out, and one that may not. */
#define NUMBER(type, member, json_kind, ...)                                                                           \
  {.kind = json_kind, .offset = offsetof(type, member), .high = ZB_JSON_MOST, __VA_ARGS__}
#define SIZE(member, must)                                                                                             \
  {.name = #member,                                                                                                    \
   .kind = ZB_JSON_INT,                                                                                                \
   .offset = offsetof(sizes, member),                                                                                  \
   .low = 1,                                                                                                           \
   .high = COUNT_MAX,                                                                                                  \
   .required = must}

static const zb_json_field size_fields[] = {SIZE(ranks, true), SIZE(micro_batches, true), SIZE(chunks, false), {0}};

/* ---- A stage ---- */

static const zb_json_field stage_fields[] = {
    NUMBER(zb_stage_cost, time_ps, ZB_JSON_MS, .name = "time_ms", .values = ZB_KIND_COUNT),
    NUMBER(zb_stage_cost, time_ps, ZB_JSON_WHOLE, .name = "time_ps", .values = ZB_KIND_COUNT, .instead_of = "time_ms"),
    NUMBER(zb_stage_cost, keep_bytes, ZB_JSON_WHOLE, .name = "keep_bytes", .values = ZB_KIND_COUNT),
    NUMBER(zb_stage_cost, free_bytes, ZB_JSON_WHOLE, .name = "free_bytes", .values = ZB_KIND_COUNT),
    {0},
};

static zb_status read_stage(const json_t *value, const zb_json_place *at, zb_stage_cost *out) {
  ZB_TRY(zb_json_read_object(value, at, stage_fields, out));
  if (json_object_get(value, "time_ms") || json_object_get(value, "time_ps")) return NULL;
  return zb_status_hint(zb_json_error(at, "expected time_ms or time_ps, both are missing"),
                        "times of F, B and W of one micro-batch: \"time_ms\": [2, 2, 1]");
}

/* A list of stages, or one object for all. */
static zb_status read_stages(const json_t *value, const zb_json_place *at, void *item) {
  zb_problem_data *out = item;
  const size_t stages = (size_t)out->problem.stages;
  if (json_is_object(value)) {
    ZB_TRY(read_stage(value, at, &out->costs[0]));
    for (size_t i = 1; i < stages; ++i)
      out->costs[i] = out->costs[0];
    return NULL;
  }
  if (!json_is_array(value) || json_array_size(value) != stages)
    return zb_json_wrong(at, value, "an object for all, or a list of %zu stages (%d ranks x %d chunks)", stages,
                         sizes_of(at)->ranks, sizes_of(at)->chunks);
  for (size_t i = 0; i < stages; ++i) {
    const zb_json_place place = {at->source, at, NULL, i};
    ZB_TRY(read_stage(json_array_get(value, i), &place, &out->costs[i]));
  }
  return NULL;
}

/* ---- Edges and links ---- */

/* The last two are those of a chain. */
static const zb_json_field edge_fields[] = {
    {.name = "source", .kind = ZB_JSON_INT, .offset = offsetof(zb_edge, source), .required = true},
    {.name = "destination", .kind = ZB_JSON_INT, .offset = offsetof(zb_edge, destination), .required = true},
    NUMBER(zb_edge, forward_bytes, ZB_JSON_WHOLE, .name = "forward_bytes", .required = true),
    NUMBER(zb_edge, backward_bytes, ZB_JSON_WHOLE, .name = "backward_bytes"),
    {0},
};
enum { EDGE_ROWS = sizeof edge_fields / sizeof *edge_fields, ENDS = 2 };

static zb_status read_edge(const json_t *value, const zb_json_place *at, const zb_json_field *fields, zb_edge *out) {
  ZB_TRY(zb_json_read_object(value, at, fields, out));
  if (json_object_get(value, "backward_bytes")) return NULL;
  out->backward_bytes = out->forward_bytes; /* a gradient is as large as its value */
  if (out->forward_bytes > 0) return NULL;
  return zb_status_hint(zb_json_error(at, "expected backward_bytes beside forward_bytes of 0, it is missing"),
                        "backward_bytes 0: no gradient returns; 1 or more: one does");
}

static zb_status read_edges(const json_t *value, const zb_json_place *at, void *item) {
  zb_problem_data *out = item;
  zb_json_field fields[EDGE_ROWS];
  if (json_is_object(value)) {
    zb_edge all = {0};
    ZB_TRY(zb_problem_data_edges(out, out->problem.stages - 1));
    ZB_TRY(read_edge(value, at, &edge_fields[ENDS], &all));
    for (int i = 0; i < out->problem.edge_count; ++i)
      out->edges[i] = (zb_edge){i, i + 1, all.forward_bytes, all.backward_bytes};
    return NULL;
  }
  if (!json_is_array(value) || json_array_size(value) > INT_MAX / 2)
    return zb_json_wrong(at, value, "a list of edges, or an object for a chain of them");
  memcpy(fields, edge_fields, sizeof fields);
  fields[0].high = fields[1].high = out->problem.stages - 1;
  ZB_TRY(zb_problem_data_edges(out, (int)json_array_size(value)));
  for (int i = 0; i < out->problem.edge_count; ++i) {
    const zb_json_place place = {at->source, at, NULL, (size_t)i};
    zb_edge *edge = &out->edges[i];
    ZB_TRY(read_edge(json_array_get(value, (size_t)i), &place, fields, edge));
    if (edge->source >= edge->destination)
      return zb_json_error(&place, "expected source < destination, got %d and %d", edge->source, edge->destination);
  }
  return NULL;
}

static zb_status read_bandwidth(const json_t *value, const zb_json_place *at, void *item) {
  const double number = json_is_number(value) ? json_number_value(value) : -1;
  if (!(number > 0)) return zb_json_wrong(at, value, "a number above 0 (bytes a second)");
  ((zb_problem *)item)->link_ps_per_byte = PS_PER_SECOND / number;
  return NULL;
}

static const zb_json_field link_fields[] = {
    NUMBER(zb_problem, link_latency_ps, ZB_JSON_MS, .name = "latency_ms"),
    NUMBER(zb_problem, link_latency_ps, ZB_JSON_WHOLE, .name = "latency_ps", .instead_of = "latency_ms"),
    {.name = "bytes_per_second", .kind = ZB_JSON_OTHER, .read = read_bandwidth},
    {.name = "ps_per_byte",
     .kind = ZB_JSON_REAL,
     .offset = offsetof(zb_problem, link_ps_per_byte),
     .instead_of = "bytes_per_second"},
    {0},
};

/* ---- Ranks and the whole ---- */

static zb_status read_placement(const json_t *value, const zb_json_place *at, void *item) {
  zb_problem_data *out = item;
  const size_t stages = (size_t)out->problem.stages;
  const zb_json_field rank = {.kind = ZB_JSON_INT, .high = sizes_of(at)->ranks - 1};
  if (json_is_string(value)) {
    zb_status found =
        zb_placement(json_string_value(value), sizes_of(at)->ranks, sizes_of(at)->chunks, out->stage_rank);
    if (!found) return NULL;
    const char *hint = zb_status_hint_text(found);
    zb_status status = zb_json_error(at, "%s", zb_status_message(found));
    status = zb_status_hint(status, "%s", hint ? hint : "see zb-sched --list");
    zb_status_free(found);
    return status;
  }
  if (!json_is_array(value) || json_array_size(value) != stages)
    return zb_json_wrong(at, value, "a name, or a list of the rank of each of the %zu stages", stages);
  for (size_t i = 0; i < stages; ++i) {
    const zb_json_place place = {at->source, at, NULL, i};
    ZB_TRY(zb_json_read_value(json_array_get(value, i), &place, &rank, &out->stage_rank[i]));
  }
  return NULL;
}

#define EACH(member, json_kind, ...) NUMBER(zb_problem_data, member, json_kind, .values = ZB_JSON_EACH, __VA_ARGS__)

/* One number is a limit of all ranks alike, a list one for each. */
static zb_status read_limit(const json_t *value, const zb_json_place *at, void *item) {
  static const zb_json_field all = NUMBER(zb_problem_data, problem.memory_limit_bytes, ZB_JSON_WHOLE, .low = 0);
  static const zb_json_field each = EACH(rank_limit_bytes, ZB_JSON_WHOLE, .low = 0);
  if (json_is_number(value)) return zb_json_read_member(value, at, &all, item);
  ZB_TRY(zb_problem_data_limits(item));
  return zb_json_read_member(value, at, &each, item);
}

static zb_status read_metric(const json_t *value, const zb_json_place *at, void *item) {
  const char *name = json_is_string(value) ? json_string_value(value) : "";
  const bool stage = !strcmp(name, "stage");
  if (!stage && strcmp(name, "barrier")) return zb_json_wrong(at, value, "\"barrier\" or \"stage\"");
  ((zb_problem_data *)item)->problem.metric = stage ? ZB_METRIC_STAGE : ZB_METRIC_BARRIER;
  return NULL;
}

static const zb_json_field problem_fields[] = {
    {.name = "ranks", .kind = ZB_JSON_OTHER}, /* these three are size_fields */
    {.name = "micro_batches", .kind = ZB_JSON_OTHER},
    {.name = "chunks", .kind = ZB_JSON_OTHER},
    {.name = "placement", .kind = ZB_JSON_OTHER, .read = read_placement},
    {.name = "stages", .kind = ZB_JSON_OTHER, .read = read_stages, .required = true},
    {.name = "edges", .kind = ZB_JSON_OTHER, .read = read_edges},
    {.name = "link", .kind = ZB_JSON_OBJECT, .offset = offsetof(zb_problem_data, problem), .fields = link_fields},
    EACH(base_bytes, ZB_JSON_WHOLE, .name = "base_bytes"),
    EACH(optimizer_ps, ZB_JSON_MS, .name = "optimizer_ms"),
    EACH(optimizer_ps, ZB_JSON_WHOLE, .name = "optimizer_ps", .instead_of = "optimizer_ms"),
    {.name = "memory_limit_bytes", .kind = ZB_JSON_OTHER, .read = read_limit},
    {.name = "metric", .kind = ZB_JSON_OTHER, .read = read_metric},
    {.name = "whole_backward", .kind = ZB_JSON_FLAG, .offset = offsetof(zb_problem_data, problem.whole_backward)},
    {0},
};

/* Where chunks are not given they follow from the lists, or from what the placement needs. */
static int default_chunks(const json_t *root, int ranks) {
  const json_t *lists[] = {json_object_get(root, "stages"), json_object_get(root, "placement")};
  for (int i = 0; i < 2; ++i)
    if (json_is_array(lists[i])) {
      const size_t chunks = json_array_size(lists[i]) / (size_t)ranks;
      return chunks < 1 ? 1 : chunks > COUNT_MAX ? COUNT_MAX : (int)chunks;
    }
  for (int i = 0; json_is_string(lists[1]) && i < zb_placement_count(); ++i)
    if (!strcmp(zb_placement_at(i)->name, json_string_value(lists[1]))) return zb_placement_at(i)->chunks_min;
  return 1;
}

static zb_status read_problem(const char *name, const json_t *root, zb_problem_data *out) {
  sizes size = {0};
  zb_json_source source = {.name = name, .root = root, .context = &size};
  const zb_json_place whole = {.source = &source};
  if (!json_is_object(root)) return zb_json_wrong(&whole, root, "an object");
  ZB_TRY(zb_json_check_keys(root, &whole, problem_fields));
  ZB_TRY(zb_json_read_fields(root, &whole, size_fields, &size));
  if (!size.chunks) size.chunks = default_chunks(root, size.ranks);
  source.each = size.ranks;
  ZB_TRY(zb_status_note(zb_problem_data_init(out, size.ranks, size.chunks, size.micro_batches), "in %s", name));
  ZB_TRY(zb_json_read_fields(root, &whole, problem_fields, out));
  return zb_status_note(zb_problem_check(&out->problem), "in %s", name);
}

zb_status zb_problem_parse(const char *text, size_t bytes, const char *name, zb_problem_data *out) {
  *out = (zb_problem_data){0};
  json_t *root = NULL;
  ZB_TRY(zb_json_open(text, bytes, name, NULL, &root));
  zb_status status = read_problem(name, root, out);
  json_decref(root);
  if (status) zb_problem_data_deinit(out);
  return status;
}

zb_status zb_problem_read(const char *path, zb_problem_data *out) {
  *out = (zb_problem_data){0};
  char *text = NULL;
  size_t bytes = 0;
  ZB_TRY(zb_file_read(path, UINT64_C(1) << 30, &text, &bytes));
  zb_status status = zb_problem_parse(text, bytes, path, out);
  zb_free(text);
  return status;
}

/* ---- Writing ---- */

static void add_list(zb_text *out, const char *name, const int64_t *values, int count) {
  zb_text_add(out, "  \"%s\": [", name);
  for (int i = 0; i < count; ++i)
    zb_text_add(out, "%s%lld", i ? ", " : "", (long long)values[i]);
  zb_text_add(out, "],\n");
}

/* One number where all ranks are alike, nothing where it is 0. */
static void add_ranks(zb_text *out, const char *name, const int64_t *values, int count) {
  int alike = 1;
  while (values && alike < count && values[alike] == values[0])
    ++alike;
  if (values && alike < count)
    add_list(out, name, values, count);
  else if (values && values[0] != 0)
    zb_text_add(out, "  \"%s\": %lld,\n", name, (long long)values[0]);
}

/* The items as objects, a line each. */
static void add_items(zb_text *out, const char *name, const zb_json_field *fields, const void *items, int count,
                      size_t item_bytes) {
  zb_text_add(out, "  \"%s\": [", name);
  for (int i = 0; i < count; ++i) {
    zb_text_add(out, i ? ",\n    " : "\n    ");
    zb_json_add_object(out, fields, (const char *)items + (size_t)i * item_bytes);
  }
  zb_text_add(out, "%s],\n", count ? "\n  " : "");
}

static void add_stages(zb_text *out, const zb_problem *p) {
  int alike = 1;
  while (alike < p->stages && !memcmp(&p->costs[alike], &p->costs[0], sizeof *p->costs))
    ++alike;
  if (alike < p->stages) {
    add_items(out, "stages", stage_fields, p->costs, p->stages, sizeof *p->costs);
    return;
  }
  zb_text_add(out, "  \"stages\": ");
  zb_json_add_object(out, stage_fields, &p->costs[0]);
  zb_text_add(out, ",\n");
}

char *zb_problem_json(const zb_problem *problem) {
  const zb_problem *p = problem;
  zb_text out;
  zb_text_init(&out);
  zb_text_add(&out, "{\n  \"ranks\": %d,\n  \"micro_batches\": %d,\n  \"chunks\": %d,\n  \"placement\": [", p->ranks,
              p->micro_batches, p->stages / p->ranks);
  for (int i = 0; i < p->stages; ++i)
    zb_text_add(&out, "%s%d", i ? ", " : "", p->stage_rank[i]);
  zb_text_add(&out, "],\n");
  add_stages(&out, p);
  if (p->edges) add_items(&out, "edges", edge_fields, p->edges, p->edge_count, sizeof *p->edges);
  zb_text_add(&out, "  \"link\": {\"latency_ps\": %lld, \"ps_per_byte\": ", (long long)p->link_latency_ps);
  zb_json_add_real(&out, p->link_ps_per_byte);
  zb_text_add(&out, "},\n");
  add_ranks(&out, "base_bytes", p->base_bytes, p->ranks);
  add_ranks(&out, "optimizer_ps", p->optimizer_ps, p->ranks);
  if (p->rank_limit_bytes)
    add_list(&out, "memory_limit_bytes", p->rank_limit_bytes, p->ranks);
  else if (p->memory_limit_bytes)
    zb_text_add(&out, "  \"memory_limit_bytes\": %lld,\n", (long long)p->memory_limit_bytes);
  zb_text_add(&out, "  \"metric\": \"%s\",\n  \"whole_backward\": %s\n}\n",
              p->metric == ZB_METRIC_STAGE ? "stage" : "barrier", p->whole_backward ? "true" : "false");
  return zb_text_take(&out);
}

zb_status zb_problem_write(const zb_problem *problem, const char *path) {
  char *text = zb_problem_json(problem);
  if (!text) return ZB_OUT_OF_MEMORY();
  zb_status status = zb_file_write_atomic(path, text, strlen(text));
  zb_free(text);
  return status;
}
