/* Problems as JSON: strict reading, exact writing. The format: passes/schedule/README.md.
 *
 * Every object has a table of its keys (runtime/formats/json_fields.h), in the order in which they are read: what sizes
 * arrays comes first. Tests: test/passes/schedule/problem_json_test.c.
 */
#include <limits.h>
#include <string.h>

#include "passes/schedule/model.h"
#include "runtime/base/file.h"
#include "runtime/base/text.h"
#include "runtime/formats/json_fields.h"

enum { COUNT_MAX = 1000000 /* ranks, chunks, micro-batches */ };
static const double PS_PER_SECOND = 1e12;

/* What sizes the arrays, read before there is a problem; and the problem, whose link classes later keys name. */
typedef struct sizes {
  int ranks, micro_batches, chunks;
  const zb_problem *problem;
} sizes;

static const sizes *sizes_of(const zb_json_place *at) { return at->source->context; }

/* A number that may be left out, and one that may not. */
#define NUMBER(type, member, json_kind, ...)                                                                           \
  {.kind = json_kind, .offset = offsetof(type, member), .high = ZB_JSON_MOST, __VA_ARGS__}
#define COUNT(type, member, key, ...)                                                                                  \
  {.name = key, .kind = ZB_JSON_INT, .offset = offsetof(type, member), .high = INT_MAX, __VA_ARGS__}
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
    NUMBER(zb_stage_cost, optimizer_ps, ZB_JSON_MS, .name = "optimizer_ms", .values = ZB_OPTIMIZER_PHASES),
    NUMBER(zb_stage_cost, optimizer_ps, ZB_JSON_WHOLE, .name = "optimizer_ps", .values = ZB_OPTIMIZER_PHASES,
           .instead_of = "optimizer_ms"),
    {.name = "b_accumulates", .kind = ZB_JSON_FLAG, .offset = offsetof(zb_stage_cost, b_accumulates)},
    {.name = "f_updates", .kind = ZB_JSON_FLAG, .offset = offsetof(zb_stage_cost, f_updates)},
    {0},
};
enum { STAGE_ROWS = sizeof stage_fields / sizeof *stage_fields };

/* A time has two keys, of which one must be there. */
static zb_status check_time(const json_t *value, const zb_json_place *at, const char *hint) {
  if (json_object_get(value, "time_ms") || json_object_get(value, "time_ps")) return NULL;
  return zb_status_hint(zb_json_error(at, "expected time_ms or time_ps, both are missing"), "%s", hint);
}

static zb_status read_stage(const json_t *value, const zb_json_place *at, zb_stage_cost *out) {
  ZB_TRY(zb_json_read_object(value, at, stage_fields, out));
  return check_time(value, at, "times of F, B and W of one micro-batch: \"time_ms\": [2, 2, 1]");
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

/* ---- Lists of what a problem may be without ---- */

/* Reads an entry of a list in place. */
typedef zb_status (*read_entry)(const json_t *value, const zb_json_place *at, void *entry);

static zb_status read_entries(const json_t *value, const zb_json_place *at, void *entries, size_t bytes,
                              read_entry read) {
  for (size_t i = 0; i < json_array_size(value); ++i) {
    const zb_json_place place = {at->source, at, NULL, i};
    ZB_TRY(read(json_array_get(value, i), &place, (char *)entries + i * bytes));
  }
  return NULL;
}

/* Defines `name`, which reads a list of what a problem may be without. */
#define READ_LIST(name, array, read, what)                                                                             \
  static zb_status name(const json_t *value, const zb_json_place *at, void *item) {                                    \
    zb_problem_data *out = item;                                                                                       \
    const size_t count = json_array_size(value);                                                                       \
    if (!json_is_array(value) || count > INT_MAX / 2) return zb_json_wrong(at, value, "a list of " what);              \
    ZB_TRY(zb_problem_data_##array(out, (int)count));                                                                  \
    return read_entries(value, at, out->array, sizeof *out->array, read);                                              \
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

static zb_status read_bytes(const json_t *value, const zb_json_place *at, const zb_json_field *fields, zb_edge *out) {
  ZB_TRY(zb_json_read_object(value, at, fields, out));
  if (json_object_get(value, "backward_bytes")) return NULL;
  out->backward_bytes = out->forward_bytes; /* a gradient is as large as its value */
  if (out->forward_bytes > 0) return NULL;
  return zb_status_hint(zb_json_error(at, "expected backward_bytes beside forward_bytes of 0, it is missing"),
                        "backward_bytes 0: no gradient returns; 1 or more: one does");
}

static zb_status read_edge(const json_t *value, const zb_json_place *at, void *entry) {
  zb_json_field fields[EDGE_ROWS];
  zb_edge *edge = entry;
  memcpy(fields, edge_fields, sizeof fields);
  fields[0].high = fields[1].high = sizes_of(at)->ranks * sizes_of(at)->chunks - 1;
  ZB_TRY(read_bytes(value, at, fields, edge));
  if (edge->source < edge->destination) return NULL;
  return zb_json_error(at, "expected source < destination, got %d and %d", edge->source, edge->destination);
}

READ_LIST(read_edge_list, edges, read_edge, "edges, or an object for a chain of them")

static zb_status read_edges(const json_t *value, const zb_json_place *at, void *item) {
  zb_problem_data *out = item;
  if (json_is_object(value)) {
    zb_edge all = {0};
    ZB_TRY(zb_problem_data_edges(out, out->problem.stages - 1));
    ZB_TRY(read_bytes(value, at, &edge_fields[ENDS], &all));
    for (int i = 0; i < out->problem.edge_count; ++i)
      out->edges[i] = (zb_edge){i, i + 1, all.forward_bytes, all.backward_bytes};
    return NULL;
  }
  return read_edge_list(value, at, item);
}

static zb_status read_bandwidth(const json_t *value, const zb_json_place *at, void *item) {
  const double number = json_is_number(value) ? json_number_value(value) : -1;
  if (!(number > 0)) return zb_json_wrong(at, value, "a number above 0 (bytes a second)");
  ((zb_link_class *)item)->ps_per_byte = PS_PER_SECOND / number;
  return NULL;
}

static zb_status read_name(const json_t *value, const zb_json_place *at, void *item) {
  zb_link_class *class = item;
  if (!json_is_string(value) || json_string_length(value) >= sizeof class->name)
    return zb_json_wrong(at, value, "a name of 1 to %d characters", ZB_LINK_NAME_BYTES - 1);
  memcpy(class->name, json_string_value(value), json_string_length(value));
  return NULL;
}

/* A class; all but the name are those of a link. */
static const zb_json_field class_fields[] = {
    {.name = "name", .kind = ZB_JSON_OTHER, .read = read_name, .required = true},
    NUMBER(zb_link_class, latency_ps, ZB_JSON_MS, .name = "latency_ms"),
    NUMBER(zb_link_class, latency_ps, ZB_JSON_WHOLE, .name = "latency_ps", .instead_of = "latency_ms"),
    {.name = "bytes_per_second", .kind = ZB_JSON_OTHER, .read = read_bandwidth},
    {.name = "ps_per_byte",
     .kind = ZB_JSON_REAL,
     .offset = offsetof(zb_link_class, ps_per_byte),
     .instead_of = "bytes_per_second"},
    {0},
};

static zb_status read_link(const json_t *value, const zb_json_place *at, void *item) {
  zb_problem *p = &((zb_problem_data *)item)->problem;
  zb_link_class link = {0};
  ZB_TRY(zb_json_read_object(value, at, &class_fields[1], &link));
  p->link_latency_ps = link.latency_ps;
  p->link_ps_per_byte = link.ps_per_byte;
  return NULL;
}

static zb_status read_class(const json_t *value, const zb_json_place *at, void *entry) {
  return zb_json_read_object(value, at, class_fields, entry);
}

READ_LIST(read_classes, link_classes, read_class, "link classes")

/* The class that a member of an object names. */
static zb_status find_class(const json_t *object, const zb_json_place *at, const char *key, int *out) {
  const zb_problem *p = sizes_of(at)->problem;
  const zb_json_place place = {at->source, at, key, 0};
  const json_t *name = json_object_get(object, key);
  for (*out = 0; *out < p->link_class_count; ++*out)
    if (json_is_string(name) && !strcmp(json_string_value(name), p->link_classes[*out].name)) return NULL;
  return zb_status_hint(zb_json_wrong(&place, name, "the name of one of the %d link classes", p->link_class_count),
                        "link_classes lists them: {\"name\": \"between nodes\", \"bytes_per_second\": 25e9}");
}

static const zb_json_field node_fields[] = {
    COUNT(zb_problem, node_ranks, "ranks", .low = 1, .required = true),
    {.name = "inside", .kind = ZB_JSON_OTHER, .required = true},
    {.name = "between", .kind = ZB_JSON_OTHER, .required = true},
    {0},
};

static zb_status read_nodes(const json_t *value, const zb_json_place *at, void *item) {
  zb_problem *p = &((zb_problem_data *)item)->problem;
  ZB_TRY(zb_json_read_object(value, at, node_fields, p));
  ZB_TRY(find_class(value, at, "inside", &p->inside_class));
  return find_class(value, at, "between", &p->between_class);
}

static const zb_json_field channel_fields[] = {
    COUNT(zb_channel, source, "source", .required = true),
    COUNT(zb_channel, destination, "destination", .required = true),
    {.name = "class", .kind = ZB_JSON_OTHER, .required = true},
    {0},
};

static zb_status read_channel(const json_t *value, const zb_json_place *at, void *entry) {
  ZB_TRY(zb_json_read_object(value, at, channel_fields, entry));
  return find_class(value, at, "class", &((zb_channel *)entry)->link_class);
}

READ_LIST(read_channels, channels, read_channel, "channels")

/* ---- Reductions ---- */

static const zb_json_field reduction_fields[] = {
    COUNT(zb_reduction, stage, "stage", .required = true),
    COUNT(zb_reduction, after, "after", .low = 0),
    NUMBER(zb_reduction, bytes, ZB_JSON_WHOLE, .name = "bytes"),
    NUMBER(zb_reduction, time_ps, ZB_JSON_MS, .name = "time_ms"),
    NUMBER(zb_reduction, time_ps, ZB_JSON_WHOLE, .name = "time_ps", .instead_of = "time_ms"),
    NUMBER(zb_reduction, lead_ps, ZB_JSON_WHOLE, .name = "lead_ps"),
    {0},
};

static zb_status read_reduction(const json_t *value, const zb_json_place *at, void *entry) {
  zb_reduction *reduction = entry;
  reduction->after = sizes_of(at)->micro_batches - 1;
  ZB_TRY(zb_json_read_object(value, at, reduction_fields, reduction));
  return check_time(value, at, "what the collective takes: \"time_ms\": 1.5");
}

READ_LIST(read_reductions, reductions, read_reduction, "reductions")

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
  zb_status status = zb_metric_parse(name, &((zb_problem_data *)item)->problem.metric);
  if (!status) return NULL;
  zb_status_free(status);
  return zb_json_wrong(at, value, "\"barrier\", \"stage\" or \"period\"");
}

static const zb_json_field problem_fields[] = {
    {.name = "ranks", .kind = ZB_JSON_OTHER}, /* these three are size_fields */
    {.name = "micro_batches", .kind = ZB_JSON_OTHER},
    {.name = "chunks", .kind = ZB_JSON_OTHER},
    {.name = "placement", .kind = ZB_JSON_OTHER, .read = read_placement},
    {.name = "stages", .kind = ZB_JSON_OTHER, .read = read_stages, .required = true},
    {.name = "edges", .kind = ZB_JSON_OTHER, .read = read_edges},
    {.name = "link", .kind = ZB_JSON_OTHER, .read = read_link},
    {.name = "link_classes", .kind = ZB_JSON_OTHER, .read = read_classes},
    {.name = "nodes", .kind = ZB_JSON_OTHER, .read = read_nodes, .instead_of = "link"},
    {.name = "channels", .kind = ZB_JSON_OTHER, .read = read_channels},
    EACH(base_bytes, ZB_JSON_WHOLE, .name = "base_bytes"),
    EACH(optimizer_ps, ZB_JSON_MS, .name = "optimizer_ms"),
    EACH(optimizer_ps, ZB_JSON_WHOLE, .name = "optimizer_ps", .instead_of = "optimizer_ms"),
    {.name = "reductions", .kind = ZB_JSON_OTHER, .read = read_reductions},
    {.name = "overlap_slowdown",
     .kind = ZB_JSON_REAL,
     .offset = offsetof(zb_problem_data, problem.overlap_slowdown),
     .low = 1},
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

static zb_status read_problem(zb_json_source source, const json_t *root, zb_problem_data *out) {
  sizes size = {0};
  source.context = &size;
  const zb_json_place whole = {.source = &source};
  if (!json_is_object(root)) return zb_json_wrong(&whole, root, "an object");
  ZB_TRY(zb_json_check_keys(root, &whole, problem_fields));
  ZB_TRY(zb_json_read_fields(root, &whole, size_fields, &size));
  if (!size.chunks) size.chunks = default_chunks(root, size.ranks);
  source.each = size.ranks;
  ZB_TRY(zb_status_note(zb_problem_data_init(out, size.ranks, size.chunks, size.micro_batches), "in %s", source.name));
  size.problem = &out->problem;
  ZB_TRY(zb_json_read_fields(root, &whole, problem_fields, out));
  return zb_status_note(zb_problem_check(&out->problem), "in %s", source.name);
}

zb_status zb_problem_parse(const char *text, size_t bytes, const char *name, zb_problem_data *out) {
  *out = (zb_problem_data){0};
  json_t *root = NULL;
  ZB_TRY(zb_json_open(text, bytes, name, NULL, &root));
  zb_status status = read_problem((zb_json_source){.name = name, .text = text, .bytes = bytes}, root, out);
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

static bool is_alike(const zb_stage_cost *x, const zb_stage_cost *y) {
  return memcmp(x->time_ps, y->time_ps, sizeof x->time_ps) == 0 &&
         memcmp(x->keep_bytes, y->keep_bytes, sizeof x->keep_bytes) == 0 &&
         memcmp(x->free_bytes, y->free_bytes, sizeof x->free_bytes) == 0 &&
         memcmp(x->optimizer_ps, y->optimizer_ps, sizeof x->optimizer_ps) == 0 &&
         x->b_accumulates == y->b_accumulates && x->f_updates == y->f_updates;
}

static void add_stages(zb_text *out, const zb_problem *p) {
  zb_json_field fields[STAGE_ROWS] = {0};
  bool has_optimizer = false, accumulates = false, updates = false;
  int alike = 1, count = 0;
  for (int i = 0; i < p->stages * ZB_OPTIMIZER_PHASES; ++i)
    has_optimizer |= p->costs[i / ZB_OPTIMIZER_PHASES].optimizer_ps[i % ZB_OPTIMIZER_PHASES] > 0;
  for (int i = 0; i < p->stages; ++i)
    accumulates |= p->costs[i].b_accumulates, updates |= p->costs[i].f_updates;
  for (const zb_json_field *field = stage_fields; field->name; ++field) {
    if (field->offset == offsetof(zb_stage_cost, optimizer_ps) && !has_optimizer) continue;
    if (field->offset == offsetof(zb_stage_cost, b_accumulates) && !accumulates) continue;
    if (field->offset == offsetof(zb_stage_cost, f_updates) && !updates) continue;
    fields[count++] = *field;
  }
  while (alike < p->stages && is_alike(&p->costs[alike], &p->costs[0]))
    ++alike;
  if (alike < p->stages) {
    add_items(out, "stages", fields, p->costs, p->stages, sizeof *p->costs);
    return;
  }
  zb_text_add(out, "  \"stages\": ");
  zb_json_add_object(out, fields, &p->costs[0]);
  zb_text_add(out, ",\n");
}

/* The end of an object: what a message takes on such a link. */
static void add_link(zb_text *out, int64_t latency_ps, double ps_per_byte) {
  zb_text_add(out, "\"latency_ps\": %lld, \"ps_per_byte\": ", (long long)latency_ps);
  zb_json_add_real(out, ps_per_byte);
  zb_text_add(out, "}");
}

/* What may differ between links, and the second clock. */
static void add_classes(zb_text *out, const zb_problem *p) {
  for (int i = 0; i < p->link_class_count; ++i) {
    const zb_link_class *class = &p->link_classes[i];
    zb_text_add(out, "%s\n    {\"name\": \"%s\", ", i ? "," : "  \"link_classes\": [", class->name);
    add_link(out, class->latency_ps, class->ps_per_byte);
  }
  if (p->link_class_count) zb_text_add(out, "\n  ],\n");
  if (p->node_ranks)
    zb_text_add(out, "  \"nodes\": {\"ranks\": %d, \"inside\": \"%s\", \"between\": \"%s\"},\n", p->node_ranks,
                p->link_classes[p->inside_class].name, p->link_classes[p->between_class].name);
  for (int i = 0; i < p->channel_count; ++i)
    zb_text_add(out, "%s\n    {\"source\": %d, \"destination\": %d, \"class\": \"%s\"}", i ? "," : "  \"channels\": [",
                p->channels[i].source, p->channels[i].destination, p->link_classes[p->channels[i].link_class].name);
  if (p->channel_count) zb_text_add(out, "\n  ],\n");
}

char *zb_problem_json(const zb_problem *problem) {
  const zb_problem *p = problem;
  zb_text out = {0};
  zb_text_add(&out, "{\n  \"ranks\": %d,\n  \"micro_batches\": %d,\n  \"chunks\": %d,\n  \"placement\": [", p->ranks,
              p->micro_batches, p->stages / p->ranks);
  for (int i = 0; i < p->stages; ++i)
    zb_text_add(&out, "%s%d", i ? ", " : "", p->stage_rank[i]);
  zb_text_add(&out, "],\n");
  add_stages(&out, p);
  if (p->edges) add_items(&out, "edges", edge_fields, p->edges, p->edge_count, sizeof *p->edges);
  if (!p->node_ranks) {
    zb_text_add(&out, "  \"link\": {");
    add_link(&out, p->link_latency_ps, p->link_ps_per_byte);
    zb_text_add(&out, ",\n");
  }
  add_classes(&out, p);
  add_ranks(&out, "base_bytes", p->base_bytes, p->ranks);
  add_ranks(&out, "optimizer_ps", p->optimizer_ps, p->ranks);
  if (p->reduction_count)
    add_items(&out, "reductions", reduction_fields, p->reductions, p->reduction_count, sizeof *p->reductions);
  if (p->overlap_slowdown > 0) {
    zb_text_add(&out, "  \"overlap_slowdown\": ");
    zb_json_add_real(&out, p->overlap_slowdown);
    zb_text_add(&out, ",\n");
  }
  if (p->rank_limit_bytes)
    add_list(&out, "memory_limit_bytes", p->rank_limit_bytes, p->ranks);
  else if (p->memory_limit_bytes)
    zb_text_add(&out, "  \"memory_limit_bytes\": %lld,\n", (long long)p->memory_limit_bytes);
  zb_text_add(&out, "  \"metric\": \"%s\",\n  \"whole_backward\": %s\n}\n", zb_metric_name(p->metric),
              p->whole_backward ? "true" : "false");
  return zb_text_take(&out);
}

zb_status zb_problem_write(const zb_problem *problem, const char *path) {
  char *text = zb_problem_json(problem);
  if (!text) return ZB_OUT_OF_MEMORY();
  zb_status status = zb_file_write_atomic(path, text, strlen(text));
  zb_free(text);
  return status;
}
