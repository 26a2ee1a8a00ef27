/* Problems as JSON: strict reading, exact writing. The format: passes/schedule/README.md.
 *
 * Every object has a table of its keys, in the order in which they are read (what sizes arrays comes first); unknown
 * keys, missing keys and the list in the hint follow from it. An error names the file and the path in it.
 * Tests: test/passes/schedule/problem_json_test.c.
 */
#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "passes/schedule/model.h"
#include "runtime/base/file.h"
#include "runtime/base/json.h"
#include "runtime/base/text.h"
#include "runtime/base/words.h"

enum {
  PATH_BYTES = 128,   /* of a path in the file */
  SHOWN_BYTES = 48,   /* of a wrong value in a message */
  KEYS_MAX = 16,      /* of an object */
  COUNT_MAX = 1000000 /* ranks, chunks, micro-batches */
};
/* Most that one time in ps or one number of bytes can be: zb_problem_check bounds the sums by the same. */
static const int64_t VALUE_MAX = INT64_C(1) << 62;
static const double PS_PER_MS = 1e9, PS_PER_SECOND = 1e12;

/* What is being read: the whole, and the part that the key belongs to. */
typedef struct reader {
  const char *name; /* of the file */
  const json_t *root;
  zb_problem_data *out;
  int ranks, chunks, micro_batches;
  zb_stage_cost *cost;     /* of the stage that is read */
  zb_edge *edge;           /* of the edge that is read */
  bool has_time, has_back; /* of either */
} reader;

typedef struct key {
  const char *name;
  bool needed;
  zb_status (*read)(reader *r, const json_t *value, const char *path);
} key;

/* ---- Errors ---- */

/* The value as it stands in the file, shortened. */
static const char *shown(const json_t *value, char text[SHOWN_BYTES]) {
  if (json_is_object(value)) return json_object_size(value) ? "an object" : "an empty object";
  if (json_is_array(value)) {
    snprintf(text, SHOWN_BYTES, "a list of %zu", json_array_size(value));
    return text;
  }
  zb_text dump;
  zb_text_init(&dump);
  zb_status status = zb_json_print(value, JSON_ENCODE_ANY | JSON_ENSURE_ASCII | JSON_REAL_PRECISION(12), &dump);
  const bool fits = dump.length < SHOWN_BYTES, good = !status && dump.data;
  if (good)
    snprintf(text, SHOWN_BYTES, "%.*s%s", fits ? SHOWN_BYTES - 1 : SHOWN_BYTES - 4, dump.data, fits ? "" : "...");
  zb_status_free(status);
  zb_text_deinit(&dump);
  return good ? text : "something else";
}

static zb_status wrong(const reader *r, const json_t *value, const char *path, const char *expected) {
  char text[SHOWN_BYTES];
  return ZB_ERROR(INVALID, "%s: %s: expected %s, got %s", r->name, path, expected, shown(value, text));
}

static const char *join(char out[PATH_BYTES], const char *path, const char *name) {
  snprintf(out, PATH_BYTES, "%s%s%s", path, *path ? "." : "", name);
  return out;
}

/* ---- Numbers ---- */

static zb_status read_count(const reader *r, const json_t *value, const char *path, int *out) {
  char expected[64];
  snprintf(expected, sizeof expected, "a whole number of 1 to %d", COUNT_MAX);
  if (!json_is_integer(value)) return wrong(r, value, path, expected);
  const json_int_t number = json_integer_value(value);
  if (number < 1 || number > COUNT_MAX) return wrong(r, value, path, expected);
  *out = (int)number;
  return NULL;
}

static zb_status read_index(const reader *r, const json_t *value, const char *path, int below, int *out) {
  char expected[64];
  snprintf(expected, sizeof expected, "a whole number of 0 to %d", below - 1);
  if (!json_is_integer(value)) return wrong(r, value, path, expected);
  const json_int_t number = json_integer_value(value);
  if (number < 0 || number >= below) return wrong(r, value, path, expected);
  *out = (int)number;
  return NULL;
}

/* Bytes, or picoseconds; 2e9 is fine. */
static zb_status read_whole(const reader *r, const json_t *value, const char *path, int64_t *out) {
  static const char expected[] = "a whole number of 0 to 4.6e18";
  if (json_is_integer(value)) {
    const json_int_t number = json_integer_value(value);
    if (number < 0 || number > VALUE_MAX) return wrong(r, value, path, expected);
    *out = number;
    return NULL;
  }
  if (!json_is_real(value)) return wrong(r, value, path, expected);
  const double number = json_real_value(value);
  if (!(number >= 0 && number <= (double)VALUE_MAX) || floor(number) < number) return wrong(r, value, path, expected);
  *out = (int64_t)number;
  return NULL;
}

static zb_status read_ms(const reader *r, const json_t *value, const char *path, int64_t *out) {
  const double number = json_is_number(value) ? json_number_value(value) : -1;
  if (!(number >= 0 && number * PS_PER_MS <= (double)VALUE_MAX))
    return wrong(r, value, path, "a number of 0 to 4.6e9 (ms)");
  *out = llround(number * PS_PER_MS);
  return NULL;
}

typedef zb_status (*number_reader)(const reader *r, const json_t *value, const char *path, int64_t *out);

/* A list of `count` numbers; where `all` is set, one number for all of them too. */
static zb_status read_list(const reader *r, const json_t *value, const char *path, int count, bool all,
                           number_reader read, int64_t *out) {
  if (all && json_is_number(value)) {
    ZB_TRY(read(r, value, path, &out[0]));
    for (int i = 1; i < count; ++i)
      out[i] = out[0];
    return NULL;
  }
  if (!json_is_array(value) || json_array_size(value) != (size_t)count) {
    char expected[64];
    snprintf(expected, sizeof expected, "%sa list of %d numbers", all ? "a number or " : "", count);
    return wrong(r, value, path, expected);
  }
  for (int i = 0; i < count; ++i) {
    char place[PATH_BYTES];
    snprintf(place, sizeof place, "%s[%d]", path, i);
    ZB_TRY(read(r, json_array_get(value, (size_t)i), place, &out[i]));
  }
  return NULL;
}

/* ---- Objects ---- */

static zb_status unknown_key(const reader *r, const char *path, const char *name, const key *keys) {
  const char *names[KEYS_MAX];
  zb_text list;
  zb_text_init(&list);
  int count = 0;
  for (; keys[count].name; ++count) {
    names[count] = keys[count].name;
    zb_text_add(&list, "%s%s", count ? ", " : "", names[count]);
  }
  const char *nearest = zb_nearest(name, names, count);
  zb_status status = ZB_ERROR(INVALID, "%s: %s%sunknown key '%.60s'%s%s%s", r->name, path, *path ? ": " : "", name,
                              nearest ? ", did you mean '" : "", nearest ? nearest : "", nearest ? "'?" : "");
  status = zb_status_hint(status, "keys are %s", list.data ? list.data : "");
  zb_text_deinit(&list);
  return status;
}

static zb_status check_keys(const reader *r, const json_t *value, const char *path, const key *keys) {
  const char *name;
  json_t *member;
  json_object_foreach((json_t *)(uintptr_t)value, name, member) {
    int i = 0;
    while (keys[i].name && strcmp(keys[i].name, name) != 0)
      ++i;
    if (!keys[i].name) return unknown_key(r, path, name, keys);
  }
  return NULL;
}

static zb_status read_object(reader *r, const json_t *value, const char *path, const key *keys) {
  if (!json_is_object(value)) return wrong(r, value, path, "an object");
  ZB_TRY(check_keys(r, value, path, keys));
  for (int i = 0; keys[i].name; ++i) {
    char place[PATH_BYTES];
    const json_t *member = json_object_get(value, keys[i].name);
    if (!member && keys[i].needed)
      return ZB_ERROR(INVALID, "%s: %s: expected this key, it is missing", r->name, join(place, path, keys[i].name));
    if (member && keys[i].read) ZB_TRY(keys[i].read(r, member, join(place, path, keys[i].name)));
  }
  return NULL;
}

/* ---- A stage ---- */

static zb_status twice(const reader *r, const char *path) {
  return ZB_ERROR(INVALID, "%s: %s: expected one of the units ms and ps, got both", r->name, path);
}

static zb_status stage_time_ms(reader *r, const json_t *value, const char *path) {
  r->has_time = true;
  return read_list(r, value, path, ZB_KIND_COUNT, false, read_ms, r->cost->time_ps);
}
static zb_status stage_time_ps(reader *r, const json_t *value, const char *path) {
  if (r->has_time) return twice(r, path);
  r->has_time = true;
  return read_list(r, value, path, ZB_KIND_COUNT, false, read_whole, r->cost->time_ps);
}
static zb_status stage_keep(reader *r, const json_t *value, const char *path) {
  return read_list(r, value, path, ZB_KIND_COUNT, false, read_whole, r->cost->keep_bytes);
}
static zb_status stage_free(reader *r, const json_t *value, const char *path) {
  return read_list(r, value, path, ZB_KIND_COUNT, false, read_whole, r->cost->free_bytes);
}

static const key stage_keys[] = {
    {"time_ms", false, stage_time_ms},
    {"time_ps", false, stage_time_ps},
    {"keep_bytes", false, stage_keep},
    {"free_bytes", false, stage_free},
    {NULL, false, NULL},
};

static zb_status read_stage(reader *r, const json_t *value, const char *path, zb_stage_cost *out) {
  r->cost = out;
  r->has_time = false;
  ZB_TRY(read_object(r, value, path, stage_keys));
  if (r->has_time) return NULL;
  return zb_status_hint(ZB_ERROR(INVALID, "%s: %s: expected time_ms or time_ps, both are missing", r->name, path),
                        "times of F, B and W of one micro-batch: \"time_ms\": [2, 2, 1]");
}

/* A list of stages, or one object for all. */
static zb_status read_stages(reader *r, const json_t *value, const char *path) {
  const int stages = r->out->problem.stages;
  if (json_is_object(value)) {
    ZB_TRY(read_stage(r, value, path, &r->out->costs[0]));
    for (int i = 1; i < stages; ++i)
      r->out->costs[i] = r->out->costs[0];
    return NULL;
  }
  if (!json_is_array(value) || json_array_size(value) != (size_t)stages) {
    char expected[96];
    snprintf(expected, sizeof expected, "an object for all, or a list of %d stages (%d ranks x %d chunks)", stages,
             r->ranks, r->chunks);
    return wrong(r, value, path, expected);
  }
  for (int i = 0; i < stages; ++i) {
    char place[PATH_BYTES];
    snprintf(place, sizeof place, "%s[%d]", path, i);
    ZB_TRY(read_stage(r, json_array_get(value, (size_t)i), place, &r->out->costs[i]));
  }
  return NULL;
}

/* ---- Edges and links ---- */

static zb_status edge_source(reader *r, const json_t *value, const char *path) {
  return read_index(r, value, path, r->out->problem.stages, &r->edge->source);
}
static zb_status edge_destination(reader *r, const json_t *value, const char *path) {
  return read_index(r, value, path, r->out->problem.stages, &r->edge->destination);
}
static zb_status edge_forward(reader *r, const json_t *value, const char *path) {
  return read_whole(r, value, path, &r->edge->forward_bytes);
}
static zb_status edge_backward(reader *r, const json_t *value, const char *path) {
  r->has_back = true;
  return read_whole(r, value, path, &r->edge->backward_bytes);
}

static const key edge_keys[] = {
    {"source", true, edge_source},
    {"destination", true, edge_destination},
    {"forward_bytes", true, edge_forward},
    {"backward_bytes", false, edge_backward},
    {NULL, false, NULL},
};
/* One object for a chain. */
static const key chain_keys[] = {
    {"forward_bytes", true, edge_forward},
    {"backward_bytes", false, edge_backward},
    {NULL, false, NULL},
};

static zb_status read_edge(reader *r, const json_t *value, const char *path, const key *keys, zb_edge *out) {
  r->edge = out;
  r->has_back = false;
  ZB_TRY(read_object(r, value, path, keys));
  if (r->has_back) return NULL;
  out->backward_bytes = out->forward_bytes; /* a gradient is as large as its value */
  if (out->forward_bytes > 0) return NULL;
  return zb_status_hint(
      ZB_ERROR(INVALID, "%s: %s: expected backward_bytes beside forward_bytes of 0, it is missing", r->name, path),
      "backward_bytes 0: no gradient returns; 1 or more: one does");
}

static zb_status read_edges(reader *r, const json_t *value, const char *path) {
  zb_problem_data *out = r->out;
  if (json_is_object(value)) {
    ZB_TRY(zb_problem_data_edges(out, out->problem.stages - 1));
    zb_edge all = {0};
    ZB_TRY(read_edge(r, value, path, chain_keys, &all));
    for (int i = 0; i < out->problem.edge_count; ++i)
      out->edges[i] = (zb_edge){i, i + 1, all.forward_bytes, all.backward_bytes};
    return NULL;
  }
  if (!json_is_array(value) || json_array_size(value) > INT_MAX / 2)
    return wrong(r, value, path, "a list of edges, or an object for a chain of them");
  ZB_TRY(zb_problem_data_edges(out, (int)json_array_size(value)));
  for (int i = 0; i < out->problem.edge_count; ++i) {
    char place[PATH_BYTES];
    snprintf(place, sizeof place, "%s[%d]", path, i);
    const json_t *edge = json_array_get(value, (size_t)i);
    ZB_TRY(read_edge(r, edge, place, edge_keys, &out->edges[i]));
    if (out->edges[i].source >= out->edges[i].destination)
      return ZB_ERROR(INVALID, "%s: %s: expected source < destination, got %d and %d", r->name, place,
                      out->edges[i].source, out->edges[i].destination);
  }
  return NULL;
}

static zb_status link_latency_ms(reader *r, const json_t *value, const char *path) {
  return read_ms(r, value, path, &r->out->problem.link_latency_ps);
}
static zb_status link_latency_ps(reader *r, const json_t *value, const char *path) {
  if (json_object_get(json_object_get(r->root, "link"), "latency_ms")) return twice(r, path);
  return read_whole(r, value, path, &r->out->problem.link_latency_ps);
}
static zb_status link_bandwidth(reader *r, const json_t *value, const char *path) {
  const double number = json_is_number(value) ? json_number_value(value) : -1;
  if (!(number > 0)) return wrong(r, value, path, "a number above 0 (bytes a second)");
  r->out->problem.link_ps_per_byte = PS_PER_SECOND / number;
  return NULL;
}
static zb_status link_ps_per_byte(reader *r, const json_t *value, const char *path) {
  if (json_object_get(json_object_get(r->root, "link"), "bytes_per_second"))
    return ZB_ERROR(INVALID, "%s: %s: expected this or bytes_per_second, got both", r->name, path);
  const double number = json_is_number(value) ? json_number_value(value) : -1;
  if (!(number >= 0)) return wrong(r, value, path, "a number of 0 or more (ps a byte)");
  r->out->problem.link_ps_per_byte = number;
  return NULL;
}

static const key link_keys[] = {
    {"latency_ms", false, link_latency_ms},
    {"latency_ps", false, link_latency_ps},
    {"bytes_per_second", false, link_bandwidth},
    {"ps_per_byte", false, link_ps_per_byte},
    {NULL, false, NULL},
};

static zb_status read_link(reader *r, const json_t *value, const char *path) {
  return read_object(r, value, path, link_keys);
}

/* ---- Ranks and the whole ---- */

static zb_status read_placement(reader *r, const json_t *value, const char *path) {
  zb_problem_data *out = r->out;
  if (json_is_string(value)) {
    zb_status found = zb_placement(json_string_value(value), r->ranks, r->chunks, out->stage_rank);
    if (!found) return NULL;
    zb_status status = ZB_ERROR(INVALID, "%s: %s: %s", r->name, path, zb_status_message(found));
    status =
        zb_status_hint(status, "%s", zb_status_hint_text(found) ? zb_status_hint_text(found) : "see zb-sched --list");
    zb_status_free(found);
    return status;
  }
  const size_t stages = (size_t)out->problem.stages;
  if (!json_is_array(value) || json_array_size(value) != stages) {
    char expected[96];
    snprintf(expected, sizeof expected, "a name, or a list of the rank of each of the %zu stages", stages);
    return wrong(r, value, path, expected);
  }
  for (size_t i = 0; i < stages; ++i) {
    char place[PATH_BYTES];
    snprintf(place, sizeof place, "%s[%zu]", path, i);
    ZB_TRY(read_index(r, json_array_get(value, i), place, r->ranks, &out->stage_rank[i]));
  }
  return NULL;
}

static zb_status read_base(reader *r, const json_t *value, const char *path) {
  return read_list(r, value, path, r->ranks, true, read_whole, r->out->base_bytes);
}
static zb_status read_optimizer_ms(reader *r, const json_t *value, const char *path) {
  return read_list(r, value, path, r->ranks, true, read_ms, r->out->optimizer_ps);
}
static zb_status read_optimizer_ps(reader *r, const json_t *value, const char *path) {
  if (json_object_get(r->root, "optimizer_ms")) return twice(r, path);
  return read_list(r, value, path, r->ranks, true, read_whole, r->out->optimizer_ps);
}
static zb_status read_limit(reader *r, const json_t *value, const char *path) {
  if (json_is_number(value)) return read_whole(r, value, path, &r->out->problem.memory_limit_bytes);
  ZB_TRY(zb_problem_data_limits(r->out));
  return read_list(r, value, path, r->ranks, true, read_whole, r->out->rank_limit_bytes);
}
static zb_status read_metric(reader *r, const json_t *value, const char *path) {
  const char *name = json_is_string(value) ? json_string_value(value) : "";
  const bool stage = !strcmp(name, "stage");
  if (!stage && strcmp(name, "barrier")) return wrong(r, value, path, "\"barrier\" or \"stage\"");
  r->out->problem.metric = stage ? ZB_METRIC_STAGE : ZB_METRIC_BARRIER;
  return NULL;
}
static zb_status read_whole_backward(reader *r, const json_t *value, const char *path) {
  if (!json_is_boolean(value)) return wrong(r, value, path, "true or false");
  r->out->problem.whole_backward = json_is_true(value);
  return NULL;
}

/* The first three are read before there is a problem (read_sizes). */
static const key problem_keys[] = {
    {"ranks", true, NULL},
    {"micro_batches", true, NULL},
    {"chunks", false, NULL},
    {"placement", false, read_placement},
    {"stages", true, read_stages},
    {"edges", false, read_edges},
    {"link", false, read_link},
    {"base_bytes", false, read_base},
    {"optimizer_ms", false, read_optimizer_ms},
    {"optimizer_ps", false, read_optimizer_ps},
    {"memory_limit_bytes", false, read_limit},
    {"metric", false, read_metric},
    {"whole_backward", false, read_whole_backward},
    {NULL, false, NULL},
};

/* Where chunks are not given they follow from the lists, or from what the placement needs. */
static int default_chunks(const reader *r) {
  const json_t *lists[] = {json_object_get(r->root, "stages"), json_object_get(r->root, "placement")};
  for (int i = 0; i < 2; ++i)
    if (json_is_array(lists[i])) {
      const size_t chunks = json_array_size(lists[i]) / (size_t)r->ranks;
      return chunks < 1 ? 1 : chunks > COUNT_MAX ? COUNT_MAX : (int)chunks;
    }
  for (int i = 0; json_is_string(lists[1]) && i < zb_placement_count(); ++i)
    if (!strcmp(zb_placement_at(i)->name, json_string_value(lists[1]))) return zb_placement_at(i)->chunks_min;
  return 1;
}

static zb_status read_sizes(reader *r) {
  const json_t *ranks = json_object_get(r->root, "ranks"), *chunks = json_object_get(r->root, "chunks");
  const json_t *micro_batches = json_object_get(r->root, "micro_batches");
  if (ranks) ZB_TRY(read_count(r, ranks, "ranks", &r->ranks));
  if (micro_batches) ZB_TRY(read_count(r, micro_batches, "micro_batches", &r->micro_batches));
  if (!ranks || !micro_batches)
    return ZB_ERROR(INVALID, "%s: %s: expected this key, it is missing", r->name, ranks ? "micro_batches" : "ranks");
  if (chunks) return read_count(r, chunks, "chunks", &r->chunks);
  r->chunks = default_chunks(r);
  return NULL;
}

static zb_status read_problem(reader *r) {
  if (!json_is_object(r->root)) return wrong(r, r->root, "the file", "an object");
  ZB_TRY(check_keys(r, r->root, "", problem_keys));
  ZB_TRY(read_sizes(r));
  ZB_TRY(zb_status_note(zb_problem_data_init(r->out, r->ranks, r->chunks, r->micro_batches), "in %s", r->name));
  ZB_TRY(read_object(r, r->root, "", problem_keys));
  return zb_status_note(zb_problem_check(&r->out->problem), "in %s", r->name);
}

zb_status zb_problem_parse(const char *text, size_t bytes, const char *name, zb_problem_data *out) {
  *out = (zb_problem_data){0};
  json_error_t error;
  json_t *root = NULL;
  ZB_TRY(zb_json_parse(text, bytes, JSON_REJECT_DUPLICATES, &root, &error));
  if (!root)
    return ZB_ERROR(INVALID, "%s:%d:%d: not JSON: %s", name, error.line > 0 ? error.line : 1,
                    error.column > 0 ? error.column : 1, error.text);
  reader r = {.name = name, .root = root, .out = out};
  zb_status status = read_problem(&r);
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
  zb_text_add(out, "\"%s\": [", name);
  for (int i = 0; i < count; ++i)
    zb_text_add(out, "%s%lld", i ? ", " : "", (long long)values[i]);
  zb_text_add(out, "]");
}

/* One number where all ranks are alike, nothing where it is 0. */
static void add_ranks(zb_text *out, const char *name, const int64_t *values, int count) {
  int alike = 1;
  while (values && alike < count && values[alike] == values[0])
    ++alike;
  if (!values || (alike == count && values[0] == 0)) return;
  zb_text_add(out, "  ");
  if (alike == count)
    zb_text_add(out, "\"%s\": %lld", name, (long long)values[0]);
  else
    add_list(out, name, values, count);
  zb_text_add(out, ",\n");
}

static void add_stage(zb_text *out, const zb_stage_cost *cost) {
  zb_text_add(out, "{");
  add_list(out, "time_ps", cost->time_ps, ZB_KIND_COUNT);
  zb_text_add(out, ", ");
  add_list(out, "keep_bytes", cost->keep_bytes, ZB_KIND_COUNT);
  zb_text_add(out, ", ");
  add_list(out, "free_bytes", cost->free_bytes, ZB_KIND_COUNT);
  zb_text_add(out, "}");
}

static void add_stages(zb_text *out, const zb_problem *p) {
  int alike = 1;
  while (alike < p->stages && !memcmp(&p->costs[alike], &p->costs[0], sizeof *p->costs))
    ++alike;
  zb_text_add(out, "  \"stages\": ");
  if (alike == p->stages) {
    add_stage(out, &p->costs[0]);
    zb_text_add(out, ",\n");
    return;
  }
  for (int i = 0; i < p->stages; ++i) {
    zb_text_add(out, i ? ",\n    " : "[\n    ");
    add_stage(out, &p->costs[i]);
  }
  zb_text_add(out, "\n  ],\n");
}

static void add_edges(zb_text *out, const zb_problem *p) {
  if (!p->edges) return;
  zb_text_add(out, "  \"edges\": [");
  for (int i = 0; i < p->edge_count; ++i) {
    const zb_edge e = p->edges[i];
    zb_text_add(out, "%s\n    {\"source\": %d, \"destination\": %d, \"forward_bytes\": %lld, \"backward_bytes\": %lld}",
                i ? "," : "", e.source, e.destination, (long long)e.forward_bytes, (long long)e.backward_bytes);
  }
  zb_text_add(out, "%s],\n", p->edge_count ? "\n  " : "");
}

/* By jansson, which writes a point in every locale. */
static void add_link(zb_text *out, const zb_problem *p) {
  zb_json_watch();
  json_t *real = json_real(p->link_ps_per_byte);
  zb_text_add(out, "  \"link\": {\"latency_ps\": %lld, \"ps_per_byte\": ", (long long)p->link_latency_ps);
  zb_status status = real ? zb_json_print(real, JSON_ENCODE_ANY, out) : ZB_OUT_OF_MEMORY();
  if (status) out->failed = true;
  zb_status_free(status);
  zb_text_add(out, "},\n");
  json_decref(real);
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
  add_edges(&out, p);
  add_link(&out, p);
  add_ranks(&out, "base_bytes", p->base_bytes, p->ranks);
  add_ranks(&out, "optimizer_ps", p->optimizer_ps, p->ranks);
  if (p->rank_limit_bytes) {
    zb_text_add(&out, "  ");
    add_list(&out, "memory_limit_bytes", p->rank_limit_bytes, p->ranks);
    zb_text_add(&out, ",\n");
  } else if (p->memory_limit_bytes) {
    zb_text_add(&out, "  \"memory_limit_bytes\": %lld,\n", (long long)p->memory_limit_bytes);
  }
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
