/* Names of kinds, from their tables. Tests: test/runtime/plan/file/plan_test.c */
#include "runtime/plan/file/kinds.h"

#include <string.h>

/* One row of zb/jobs.def. */
static const struct job_row {
  const char *mnemonic;
  const char *letter;
  zb_job_class class;
  zb_parts_flow flow;
} job_rows[] = {
#define ZB_JOB(ID, mnemonic, letter, class, flow, help) {mnemonic, letter, ZB_CLASS_##class, ZB_PARTS_##flow},
#include "zb/jobs.def"
#undef ZB_JOB
    {"invalid", "", ZB_CLASS_HOST, ZB_PARTS_NONE}};

static const struct job_row *row_of(zb_job_kind kind) {
  return &job_rows[(unsigned)kind < ZB_JOB_KIND_COUNT ? kind : ZB_JOB_KIND_COUNT];
}

const char *zb_job_mnemonic(zb_job_kind kind) { return row_of(kind)->mnemonic; }
char zb_job_letter(zb_job_kind kind) { return row_of(kind)->letter[0]; }
zb_job_class zb_job_class_of(zb_job_kind kind) { return row_of(kind)->class; }
zb_parts_flow zb_job_flow(zb_job_kind kind) { return row_of(kind)->flow; }

/* One row of transfers.def. */
static const struct collective_row {
  const char *name;
  bool adds, gathers;
  const char *op;
} collective_rows[] = {
#define ZB_COLLECTIVE(ID, name, adds, gathers, op, help) {name, adds, gathers, op},
#include "runtime/plan/file/transfers.def"
};

const char *zb_collective_name(zb_collective_kind kind) {
  return (unsigned)kind < ZB_COLLECTIVE_COUNT ? collective_rows[kind].name : "invalid";
}
bool zb_collective_adds(zb_collective_kind kind) { return collective_rows[kind].adds; }
bool zb_collective_gathers(zb_collective_kind kind) { return collective_rows[kind].gathers; }
zb_collective_kind zb_collective_of_op(const char *op) {
  int kind = 0;
  while (kind < ZB_COLLECTIVE_COUNT && strcmp(collective_rows[kind].op, op) != 0)
    ++kind;
  return (zb_collective_kind)kind;
}

char zb_payload_letter(zb_payload payload) {
  static const char letters[] = {
#define ZB_PAYLOAD(ID, letter, help) letter,
#include "runtime/plan/file/transfers.def"
  };
  return (unsigned)payload < ZB_PAYLOAD_COUNT ? letters[payload] : '?';
}

zb_payload zb_payload_of(char letter) {
  int payload = 0;
  while (payload < ZB_PAYLOAD_COUNT && zb_payload_letter((zb_payload)payload) != letter)
    ++payload;
  return (zb_payload)payload;
}

static const char *const sharding_names[] = {
#define ZB_SHARDING(ID, name, scatters, each, parameters, help) name,
#include "zb/shardings.def"
#undef ZB_SHARDING
};

const char *zb_sharding_name(zb_sharding sharding) {
  return (unsigned)sharding < ZB_SHARDING_COUNT ? sharding_names[sharding] : "invalid";
}

const char *zb_sharding_names(void) {
#define ZB_SHARDING(ID, name, scatters, each, parameters, help) ", " name
  static const char names[] =
#include "zb/shardings.def"
      ;
#undef ZB_SHARDING
  return names + 2;
}

zb_sharding zb_sharding_of(const char *name) {
  int sharding = 0;
  while (sharding < ZB_SHARDING_COUNT && strcmp(sharding_names[sharding], name) != 0)
    ++sharding;
  return (zb_sharding)sharding;
}

static const struct {
  bool scatters, each, parameters;
} sharding_rows[] = {
#define ZB_SHARDING(ID, name, scatters, each, parameters, help) {scatters, each, parameters},
#include "zb/shardings.def"
#undef ZB_SHARDING
    {false, false, false}, /* of no name */
};

bool zb_sharding_scatters(zb_sharding sharding) { return sharding_rows[sharding].scatters; }
bool zb_sharding_sums_each(zb_sharding sharding) { return sharding_rows[sharding].each; }
bool zb_sharding_of_parameters(zb_sharding sharding) { return sharding_rows[sharding].parameters; }

const char *zb_region_name(zb_region_kind kind) {
  static const char *const names[ZB_REGION_COUNT] = {
      [ZB_REGION_PARAMETERS] = "parameters", [ZB_REGION_BUFFERS] = "buffers",     [ZB_REGION_STATE] = "state",
      [ZB_REGION_GRADIENTS] = "gradients",   [ZB_REGION_CONSTANTS] = "constants", [ZB_REGION_STEP] = "step",
      [ZB_REGION_SNAPSHOT] = "snapshot",     [ZB_REGION_SLOTS] = "slots",         [ZB_REGION_WORKSPACE] = "workspace"};
  return (unsigned)kind < ZB_REGION_COUNT ? names[kind] : "invalid";
}

const zb_setting_def *zb_setting_find(zb_setting_kind kind) {
  enum { RUN, PARAMETER };
  static const zb_setting_def rows[] = {
#define ZB_SETTING(ID, name, values, of, help) {name, values, of == PARAMETER},
#include "zb/settings.def"
  };
  return (unsigned)kind < ZB_SETTING_COUNT ? &rows[kind] : NULL;
}

bool zb_setting_split(const char *text, zb_setting_kind *out_kind, size_t *out_length) {
  const size_t length = strlen(text);
  for (int kind = 0; kind < ZB_SETTING_COUNT; ++kind) {
    const zb_setting_def *def = zb_setting_find((zb_setting_kind)kind);
    const size_t own = strlen(def->name) + def->of_parameter; /* with the dot */
    *out_kind = (zb_setting_kind)kind;
    *out_length = length - own;
    if (length < own || (length == own) == def->of_parameter) continue;
    if (strcmp(text + length - strlen(def->name), def->name) != 0) continue;
    if (!def->of_parameter || text[*out_length] == '.') return true;
  }
  return false;
}
