/* Measured costs as a file: see include/zb/costs.h, where the format is shown.
 *
 * Every member of the file is a row of a table here: reading, writing, range checks and freeing go by the rows. Reading
 * is strict, so that after it every number is in its range, every index inside what it refers to, and every time can be
 * added up a million times.
 *
 * Tests: test/runtime/base/costs_test.c
 */
#include "zb/costs.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "runtime/base/file.h"
#include "runtime/base/json.h"
#include "runtime/base/map.h"
#include "runtime/base/text.h"
#include "runtime/base/words.h"

static const int64_t time_most = INT64_C(10000000000000000); /* 10,000 s */
static const int64_t bytes_most = INT64_C(1) << 50, count_most = INT64_C(1) << 40;
enum { RANKS_MOST = 65536, STAGES_MOST = 1 << 20, TEXT_MOST = 4096, FILE_MOST = 1 << 28 };

typedef enum field_kind { INTEGER, REAL, FLAG, TEXT, KEY } field_kind;

typedef struct field {
  const char *name;
  field_kind kind;
  size_t offset;
  int64_t low;
  const int64_t *high; /* INTEGER and REAL */
} field;

typedef enum presence { ALWAYS, WITH_PROGRAM, OPTIONAL } presence;

/* A member of the file: an object, or a list of objects where count_offset is not 0. */
typedef struct section {
  const char *name;
  presence presence;
  const field *fields;
  size_t offset, count_offset, item_bytes;
} section;

static const int64_t ranks_most = RANKS_MOST, rank_last = RANKS_MOST - 1, stage_last = STAGES_MOST - 1;

#define F_INTEGER(type, name, low, high) {#name, INTEGER, offsetof(type, name), low, &(high)}
#define F_REAL(type, name, high) {#name, REAL, offsetof(type, name), 0, &(high)}
#define F_FLAG(type, name) {#name, FLAG, offsetof(type, name), 0, NULL}
#define F_TEXT(type, name) {#name, TEXT, offsetof(type, name), 0, NULL}
#define F_KEY(type, name) {#name, KEY, offsetof(type, name), 0, NULL}

static const field machine_fields[] = {
    F_TEXT(zb_cost_machine, device),
    F_TEXT(zb_cost_machine, instruction_set),
    F_INTEGER(zb_cost_machine, cores, 1, ranks_most),
    F_INTEGER(zb_cost_machine, threads, 1, ranks_most),
    F_FLAG(zb_cost_machine, virtual_clock),
    {0},
};
static const field program_fields[] = {
    F_TEXT(zb_cost_program, model),
    F_TEXT(zb_cost_program, schedule),
    F_INTEGER(zb_cost_program, ranks, 1, ranks_most),
    F_INTEGER(zb_cost_program, micro_batches, 1, ranks_most),
    F_INTEGER(zb_cost_program, steps, 1, count_most),
    {0},
};
static const field stage_fields[] = {
    F_INTEGER(zb_cost_stage, stage, 0, stage_last),    F_INTEGER(zb_cost_stage, rank, 0, rank_last),
    F_INTEGER(zb_cost_stage, fb_bytes, 0, bytes_most), F_INTEGER(zb_cost_stage, fw_bytes, 0, bytes_most),
    F_INTEGER(zb_cost_stage, bw_bytes, 0, bytes_most), {0},
};
static const field rank_fields[] = {
    F_INTEGER(zb_cost_rank, rank, 0, rank_last),
    F_INTEGER(zb_cost_rank, base_bytes, 0, bytes_most),
    {0},
};
static const field edge_fields[] = {
    F_INTEGER(zb_cost_edge, source, 0, stage_last),
    F_INTEGER(zb_cost_edge, destination, 0, stage_last),
    F_INTEGER(zb_cost_edge, forward_bytes, 0, bytes_most),
    F_INTEGER(zb_cost_edge, backward_bytes, 0, bytes_most),
    {0},
};
static const field subprogram_fields[] = {
    F_TEXT(zb_cost_subprogram, name),
    F_INTEGER(zb_cost_subprogram, rank, 0, rank_last),
    F_INTEGER(zb_cost_subprogram, stage, -1, stage_last),
    F_TEXT(zb_cost_subprogram, kind),
    F_KEY(zb_cost_subprogram, key),
    F_INTEGER(zb_cost_subprogram, first_ps, 0, time_most),
    F_INTEGER(zb_cost_subprogram, time_ps, 0, time_most),
    F_INTEGER(zb_cost_subprogram, runs, 1, count_most),
    {0},
};
static const field op_fields[] = {
    F_TEXT(zb_cost_op, op),
    F_INTEGER(zb_cost_op, time_ps, 0, time_most),
    F_INTEGER(zb_cost_op, runs, 1, count_most),
    {0},
};
static const field message_fields[] = {
    F_INTEGER(zb_cost_message, source, 0, rank_last), F_INTEGER(zb_cost_message, destination, 0, rank_last),
    F_INTEGER(zb_cost_message, bytes, 0, bytes_most), F_INTEGER(zb_cost_message, time_ps, 0, time_most),
    F_INTEGER(zb_cost_message, runs, 1, count_most),  {0},
};
static const field link_fields[] = {
    F_INTEGER(zb_cost_link, latency_ps, 0, time_most),
    F_REAL(zb_cost_link, ps_per_byte, time_most),
    F_FLAG(zb_cost_link, copies),
    F_INTEGER(zb_cost_link, wake_ps, 0, time_most),
    {0},
};
static const field overhead_fields[] = {
    F_INTEGER(zb_cost_overheads, job_ps, 0, time_most),
    F_INTEGER(zb_cost_overheads, read_ps, 0, time_most),
    F_INTEGER(zb_cost_overheads, step_ps, 0, time_most),
    {0},
};
static const field rate_fields[] = {
    F_INTEGER(zb_cost_rates, op_ps, 0, time_most),
    F_REAL(zb_cost_rates, ps_per_byte, time_most),
    {0},
};
static const field product_fields[] = {
    F_INTEGER(zb_cost_product, flops, 1, bytes_most),
    F_INTEGER(zb_cost_product, time_ps, 1, time_most),
    {0},
};

#define OBJECT(name, presence, fields) {#name, presence, fields, offsetof(zb_costs, name), 0, 0}
#define LIST(name, presence, fields, count, type)                                                                      \
  {#name, presence, fields, offsetof(zb_costs, name), offsetof(zb_costs, count), sizeof(type)}

static const section sections[] = {
    OBJECT(machine, ALWAYS, machine_fields),
    OBJECT(program, OPTIONAL, program_fields),
    LIST(stages, WITH_PROGRAM, stage_fields, stage_count, zb_cost_stage),
    LIST(ranks, WITH_PROGRAM, rank_fields, rank_count, zb_cost_rank),
    LIST(edges, WITH_PROGRAM, edge_fields, edge_count, zb_cost_edge),
    LIST(subprograms, WITH_PROGRAM, subprogram_fields, subprogram_count, zb_cost_subprogram),
    LIST(ops, WITH_PROGRAM, op_fields, op_count, zb_cost_op),
    LIST(messages, WITH_PROGRAM, message_fields, message_count, zb_cost_message),
    OBJECT(link, ALWAYS, link_fields),
    OBJECT(overheads, ALWAYS, overhead_fields),
    OBJECT(rates, OPTIONAL, rate_fields),
    LIST(products, OPTIONAL, product_fields, product_count, zb_cost_product),
};
enum { SECTION_COUNT = sizeof sections / sizeof sections[0] };

static int64_t *count_of(const zb_costs *costs, const section *s) {
  return (int64_t *)(void *)((char *)(uintptr_t)costs + s->count_offset);
}

static char *items_of(const zb_costs *costs, const section *s) {
  char *at = (char *)(uintptr_t)costs + s->offset;
  return s->count_offset ? *(char **)(void *)at : at;
}

static int64_t item_count(const zb_costs *costs, const section *s) { return s->count_offset ? *count_of(costs, s) : 1; }

void zb_costs_destroy(zb_costs *costs) {
  if (!costs) return;
  for (int i = 0; i < SECTION_COUNT; ++i) {
    const section *s = &sections[i];
    char *items = items_of(costs, s);
    for (int64_t k = 0; items && k < item_count(costs, s); ++k)
      for (const field *f = s->fields; f->name; ++f)
        if (f->kind == TEXT) zb_free(*(char **)(void *)(items + (size_t)k * s->item_bytes + f->offset));
    if (s->count_offset) zb_free(items);
  }
  if (costs->op_index) zb_map_destroy(costs->op_index);
  zb_free(costs);
}

/* ---- Reading ---- */

/* Where in the file: "subprograms[3].time_ps". */
typedef struct place {
  const char *file, *section, *member;
  size_t index;
  bool listed;
} place;

static const char *place_text(const place *at, char text[160]) {
  char index[32] = "";
  if (at->listed) snprintf(index, sizeof index, "[%zu]", at->index);
  snprintf(text, 160, "%s%s%s%s", at->section, index, at->member ? "." : "", at->member ? at->member : "");
  return text;
}

static zb_status wrong(const place *at, const char *expected, const char *got) {
  char text[160];
  return zb_status_hint(
      ZB_ERROR(INVALID, "%s: %s: expected %s, got %.80s", at->file, place_text(at, text), expected, got),
      "measure again: zb-run DIR --data ... --steps 20 --profile FILE.json");
}

static const char *value_text(const json_t *value, char text[96]) {
  switch (json_typeof(value)) {
  case JSON_INTEGER:
    snprintf(text, 96, "%" JSON_INTEGER_FORMAT, json_integer_value(value));
    break;
  case JSON_REAL:
    snprintf(text, 96, "%g", json_real_value(value));
    break;
  case JSON_STRING:
    snprintf(text, 96, "the text '%.60s'", json_string_value(value));
    break;
  case JSON_OBJECT:
    snprintf(text, 96, "an object");
    break;
  case JSON_ARRAY:
    snprintf(text, 96, "a list");
    break;
  case JSON_NULL:
    snprintf(text, 96, "null");
    break;
  default:
    snprintf(text, 96, json_is_true(value) ? "true" : "false");
    break;
  }
  return text;
}

static bool parse_key(const char *text, uint64_t *out) {
  if (strlen(text) != 16 || strspn(text, "0123456789abcdef") != 16) return false;
  *out = strtoull(text, NULL, 16);
  return true;
}

static zb_status read_field(const json_t *value, const field *f, const place *at, char *item) {
  char got[96], expected[96];
  void *to = item + f->offset;
  switch (f->kind) {
  case INTEGER:
    snprintf(expected, sizeof expected, "a whole number from %" PRId64 " to %" PRId64, f->low, *f->high);
    if (!json_is_integer(value) || json_integer_value(value) < f->low || json_integer_value(value) > *f->high)
      return wrong(at, expected, value_text(value, got));
    *(int64_t *)to = json_integer_value(value);
    return NULL;
  case REAL:
    snprintf(expected, sizeof expected, "a number from 0 to %g", (double)*f->high);
    if (!json_is_number(value) || !(json_number_value(value) >= 0) || json_number_value(value) > (double)*f->high)
      return wrong(at, expected, value_text(value, got));
    *(double *)to = json_number_value(value);
    return NULL;
  case FLAG:
    if (!json_is_boolean(value)) return wrong(at, "true or false", value_text(value, got));
    *(bool *)to = json_is_true(value);
    return NULL;
  case TEXT:
    if (!json_is_string(value) || json_string_length(value) > TEXT_MOST)
      return wrong(at, "a text", value_text(value, got));
    *(char **)to = zb_strdup(json_string_value(value));
    return *(char **)to ? NULL : ZB_OUT_OF_MEMORY();
  case KEY:
    if (!json_is_string(value) || !parse_key(json_string_value(value), to))
      return wrong(at, "16 hexadecimal digits", value_text(value, got));
    return NULL;
  }
  return NULL;
}

static zb_status unknown_member(const json_t *object, const place *where, const char *const *names, int count) {
  const char *name = NULL;
  json_t *value = NULL;
  json_object_foreach((json_t *)(uintptr_t)object, name, value) {
    int i = 0;
    while (i < count && strcmp(names[i], name) != 0)
      ++i;
    if (i < count) continue;
    char text[160];
    const char *nearest = zb_nearest(name, names, count);
    zb_status status = ZB_ERROR(INVALID, "%s: %s%sunknown member '%.60s'", where->file,
                                where->section ? place_text(where, text) : "", where->section ? ": " : "", name);
    return nearest ? zb_status_hint(status, "did you mean '%s'?", nearest)
                   : zb_status_hint(status, "include/zb/costs.h shows the format");
  }
  return NULL;
}

static zb_status read_item(const json_t *value, const section *s, place at, char *item) {
  char got[96];
  const char *names[16];
  int count = 0;
  if (!json_is_object(value)) return wrong(&at, "an object", value_text(value, got));
  for (const field *f = s->fields; f->name; ++f) {
    const json_t *member = json_object_get(value, f->name);
    names[count++] = at.member = f->name;
    if (!member) return wrong(&at, "a value", "none");
    ZB_TRY(read_field(member, f, &at, item));
  }
  at.member = NULL;
  return unknown_member(value, &at, names, count);
}

static zb_status read_section(const json_t *root, const section *s, const char *file, zb_costs *out) {
  const json_t *value = json_object_get(root, s->name);
  place at = {.file = file, .section = s->name};
  char got[96];
  if (!value) {
    bool needed = s->presence == ALWAYS || (s->presence == WITH_PROGRAM && json_object_get(root, "program"));
    return needed ? wrong(&at, s->count_offset ? "a list" : "an object", "none") : NULL;
  }
  if (s->presence == WITH_PROGRAM && !json_object_get(root, "program"))
    return wrong(&at, "a program beside it", "none");
  if (!s->count_offset) {
    if (s->fields == rate_fields) out->has_rates = true;
    return read_item(value, s, at, (char *)out + s->offset);
  }
  if (!json_is_array(value)) return wrong(&at, "a list", value_text(value, got));
  size_t count = json_array_size(value);
  char *items = zb_alloc((count + 1) * s->item_bytes);
  if (!items) return ZB_OUT_OF_MEMORY();
  *(char **)(void *)((char *)out + s->offset) = items;
  at.listed = true;
  for (size_t i = 0; i < count; ++i) {
    at.index = i;
    *count_of(out, s) = (int64_t)i + 1; /* what it owns so far is freed on failure */
    ZB_TRY(read_item(json_array_get(value, i), s, at, items + i * s->item_bytes));
  }
  return NULL;
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

static const char *const kinds[] = {"F", "B", "W", "OPT", "LOAD"};
enum { KIND_COUNT = sizeof kinds / sizeof kinds[0], STAGE_KINDS = 3 };

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
    place at = {.file = file, .section = "subprograms", .member = "kind", .index = (size_t)i, .listed = true};
    if (kind == KIND_COUNT) ZB_TRY_GOTO(wrong(&at, "F, B, W, OPT or LOAD", s->kind));
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

static zb_status read_all(const json_t *root, const char *file, zb_costs *out) {
  const char *names[SECTION_COUNT + 2] = {"format", "version"};
  const json_t *format = json_object_get(root, "format"), *version = json_object_get(root, "version");
  if (!json_is_object(root) || !json_is_string(format) || strcmp(json_string_value(format), "zb-costs") != 0)
    return foreign(file);
  place at = {.file = file, .section = "version"};
  char got[96], expected[32];
  snprintf(expected, sizeof expected, "%d", ZB_COSTS_VERSION);
  if (!json_is_integer(version) || json_integer_value(version) != ZB_COSTS_VERSION)
    return wrong(&at, expected, version ? value_text(version, got) : "none");
  for (int i = 0; i < SECTION_COUNT; ++i)
    names[i + 2] = sections[i].name;
  ZB_TRY(unknown_member(root, &(place){.file = file}, names, SECTION_COUNT + 2));
  for (int i = 0; i < SECTION_COUNT; ++i)
    ZB_TRY(read_section(root, &sections[i], file, out));
  if (out->program.ranks) {
    ZB_TRY(check_stages(out, file));
    ZB_TRY(check_subprograms(out, file));
  } else if (!out->has_rates) {
    return inconsistent(file, "it has no program and no rates%.0" PRId64 "%.0" PRId64, 0, 0);
  }
  ZB_TRY(check_products(out, file));
  return index_ops(out, file);
}

zb_status zb_costs_parse(const char *text, size_t bytes, const char *name, zb_costs **out) {
  *out = NULL;
  json_error_t error;
  json_t *root = NULL;
  ZB_TRY(zb_json_parse(text, bytes, JSON_REJECT_DUPLICATES, &root, &error));
  if (!root)
    return zb_status_hint(ZB_ERROR(INVALID, "%s:%d:%d: %s", name, error.line > 0 ? error.line : 1,
                                   error.column > 0 ? error.column : 1, error.text),
                          "a file of costs is JSON that zb-run --profile wrote; measure again if it was cut");
  zb_costs *costs = zb_alloc(sizeof *costs);
  zb_status status = costs ? read_all(root, name, costs) : ZB_OUT_OF_MEMORY();
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

static void add_text(zb_text *out, const char *text) {
  zb_text_add(out, "\"");
  for (const unsigned char *c = (const unsigned char *)(text ? text : ""); *c; ++c) {
    if (*c == '"' || *c == '\\')
      zb_text_add(out, "\\%c", *c);
    else if (*c < 0x20)
      zb_text_add(out, "\\u%04x", *c);
    else
      zb_text_add_bytes(out, (const char *)c, 1);
  }
  zb_text_add(out, "\"");
}

static void add_item(zb_text *out, const section *s, const char *item) {
  for (const field *f = s->fields; f->name; ++f) {
    const void *from = item + f->offset;
    zb_text_add(out, "%s\"%s\": ", f == s->fields ? "{" : ", ", f->name);
    switch (f->kind) {
    case INTEGER:
      zb_text_add(out, "%" PRId64, *(const int64_t *)from);
      break;
    case REAL:
      zb_text_add(out, "%.17g", *(const double *)from);
      break;
    case FLAG:
      zb_text_add(out, *(const bool *)from ? "true" : "false");
      break;
    case TEXT:
      add_text(out, *(char *const *)from);
      break;
    case KEY:
      zb_text_add(out, "\"%016" PRIx64 "\"", *(const uint64_t *)from);
      break;
    }
  }
  zb_text_add(out, "}");
}

zb_status zb_costs_write(const zb_costs *costs, const char *path) {
  zb_text out;
  zb_text_init(&out);
  zb_text_add(&out, "{\"format\": \"zb-costs\", \"version\": %d", ZB_COSTS_VERSION);
  for (int i = 0; i < SECTION_COUNT; ++i) {
    const section *s = &sections[i];
    bool program = s->fields == program_fields || s->presence == WITH_PROGRAM;
    if ((program && !costs->program.ranks) || (s->fields == rate_fields && !costs->has_rates)) continue;
    if (s->fields == product_fields && !costs->product_count) continue;
    zb_text_add(&out, ",\n\"%s\": ", s->name);
    const char *items = items_of(costs, s);
    if (s->count_offset) zb_text_add(&out, "[");
    for (int64_t k = 0; k < item_count(costs, s); ++k) {
      if (s->count_offset) zb_text_add(&out, k ? ",\n  " : "\n  ");
      add_item(&out, s, items + (size_t)k * s->item_bytes);
    }
    if (s->count_offset) zb_text_add(&out, "]");
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
