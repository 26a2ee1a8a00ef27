/* What must be the same in all processes: see agreement.h. */
#include "runtime/exec/agreement.h"

#include "runtime/base/digest.h"
#include "runtime/base/module.h"
#include "runtime/exec/session_group.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

enum { SHOWN_BYTES = 160, TENSORS = 1024, TENSOR_BYTES = 4 << 10, VALUE_BYTES = 4200 };

static const char hint_options[] = "start all processes with the same options";
static const char hint_build[] = "give all processes the same zb-run";
static const char hint_save[] =
    "all processes write to one folder: give them the same, on a file system that all of them see";
static const char hint_reference[] =
    "start all processes with the same options: the two kinds of kernels differ in the last bits";

/* Parameters, by the names that zb-run gives them: ROW(name, format, value, hint). Not here: random_seed, which may be
 * left to the checkpoint, threads (results do not
 * depend on it), bootstrap (its differences are the point), input (not to be compared), save (see add_save), and
 * directory, data, resume, of which what they lead to is compared. */
#define PARAMETERS(ROW)                                                                                                \
  ROW("--shuffle", "%" PRId64, params->shuffle, hint_options)                                                          \
  ROW("--device", "%s", session->device->name, hint_options)                                                           \
  ROW("--launch", "%s", session->transport_def->name, hint_options)                                                    \
  ROW("--seed", "%" PRIu64, params->seed, hint_options)                                                                \
  ROW("--delays", "%" PRIu64, params->delays, hint_options)                                                            \
  ROW("--no-kernels", "%s", on_or_off(params->no_kernels), hint_options)                                               \
  ROW("--reference", "%s", on_or_off(params->reference), hint_reference)                                               \
  ROW("--tf32", "%s", on_or_off(params->tf32), hint_options)                                                           \
  ROW("--eval-steps", "%" PRId64, params->evaluation_batches, hint_options)                                            \
  ROW("--weights-partial", "%s", on_or_off(params->weights_partial), hint_options)                                     \
  ROW("--barrier", "%s", on_or_off(params->barrier), hint_options)                                                     \
  ROW("--clip-norm", "%.17g", params->clip_norm, hint_options)                                                         \
  ROW("--non-finite", "%s", params->non_finite ? params->non_finite : "stop", hint_options)                            \
  ROW("a timeline or trace", "%s", on_or_off(params->trace), hint_options)                                             \
  ROW("--explain", "%s", on_or_off(params->explain), hint_options)                                                     \
  ROW("--profile-ops", "%s", on_or_off(params->profile), hint_options)                                                 \
  ROW("--profile", "%s", on_or_off(params->costs), hint_options)                                                       \
  ROW("--timeout", "%" PRId64 " ms", session->timeout_ms, hint_options)

/* What a build computes with: the program or library that this code is in, and where they are others the modules of its
 * device and its transport. */
static void add_build(zb_facts *facts, const zb_session *session) {
  static const char here = 0;
  const void *const parts[] = {&here, session->device, session->transport_def};
  char value[sizeof ZB_VERSION + sizeof parts / sizeof parts[0] * (ZB_OBJECT_ID_BYTES + 1)] = ZB_VERSION,
                                                                                        id[ZB_OBJECT_ID_BYTES];
  for (size_t i = 0; i < sizeof parts / sizeof parts[0]; ++i) {
    zb_object_id(parts[i], id);
    size_t used = strlen(value);
    if (!strstr(value, id)) snprintf(value + used, sizeof value - used, " %s", id);
  }
  zb_facts_add(facts, "the build", value, hint_build);
}

static const char *on_or_off(bool on) { return on ? "on" : "off"; }

/* A record is three texts, each with its NUL: name, value, hint. */
void zb_facts_add(zb_facts *facts, const char *name, const char *value, const char *hint) {
  const char *const texts[] = {name, value ? value : "not given", hint};
  for (size_t i = 0; i < sizeof texts / sizeof texts[0]; ++i)
    zb_text_add_bytes(&facts->records, texts[i], strlen(texts[i]) + 1);
}

void zb_facts_deinit(zb_facts *facts) {
  zb_text_deinit(&facts->records);
  *facts = (zb_facts){0};
}

/* /ck and /ck/ are one folder. Other spellings of one are told apart: links of one machine need not be those of
 * another. */
static void add_save(zb_facts *facts, const char *save) {
  char value[VALUE_BYTES];
  size_t length = save ? strlen(save) : 0;
  while (length > 1 && save[length - 1] == '/')
    --length;
  snprintf(value, sizeof value, "%.*s", (int)length, save ? save : "");
  zb_facts_add(facts, "--save", save ? value : NULL, hint_save);
}

static void add_outputs(zb_facts *facts, const zb_session_params *params) {
  zb_text all;
  zb_text_init(&all);
  for (int i = 0; i < params->output_count; ++i)
    zb_text_add(&all, "%s%s", i ? " " : "", params->outputs[i]);
  facts->records.failed |= all.failed;
  zb_facts_add(facts, "--output", all.data, hint_options);
  zb_text_deinit(&all);
}

void zb_facts_add_params(zb_facts *facts, const zb_session *session, const zb_session_params *params) {
  char value[VALUE_BYTES];
  add_build(facts, session);
  for (int i = 0; i < params->setting_count; ++i)
    zb_facts_add(facts, params->settings[i].name, params->settings[i].value, hint_options);
  add_save(facts, params->save);
  add_outputs(facts, params);
  snprintf(value, sizeof value, "%" PRId64, params->random_seed);
  zb_facts_add(facts, "--random-seed", params->random_seed ? value : NULL, hint_options);
#define ROW(name, format, given, hint)                                                                                 \
  snprintf(value, sizeof value, format, (given));                                                                      \
  zb_facts_add(facts, name, value, hint);
  PARAMETERS(ROW)
#undef ROW
}

/* ---- Process 0 ---- */

/* The next text of a record in [*at, end); NULL if there is none. */
static const char *next_text(const char **at, const char *end) {
  const char *text = *at, *stop = text < end ? memchr(text, '\0', (size_t)(end - text)) : NULL;
  if (!stop) return NULL;
  *at = stop + 1;
  return text;
}

static zb_status other_program(int process) {
  return zb_status_hint(
      ZB_ERROR(USAGE, "process %d compares other options than process 0: it runs another program", process),
      "give all processes the same zb-run");
}

/* The records of one other process against those of process 0. */
static zb_status compare_one(const zb_facts *mine, int process, const char *theirs, const char *end) {
  const char *at = mine->records.data, *stop = at + mine->records.length;
  for (const char *name; (name = next_text(&at, stop));) {
    const char *value = next_text(&at, stop), *hint = next_text(&at, stop);
    const char *other_name = next_text(&theirs, end), *other = next_text(&theirs, end),
               *other_hint = next_text(&theirs, end);
    if (!other_hint || strcmp(name, other_name) != 0) return other_program(process);
    if (strcmp(value, other) == 0) continue;
    return zb_status_hint(ZB_ERROR(USAGE,
                                   "the processes do not agree: %s is '%.*s' in process 0 and '%.*s' in process %d",
                                   name, SHOWN_BYTES, value, SHOWN_BYTES, other, process),
                          "%s", hint);
  }
  return theirs == end ? NULL : other_program(process);
}

/* all: of every process, in order, the length of its records and the records. */
static zb_status compare_all(const zb_facts *mine, int processes, const char *all, size_t bytes) {
  const char *end = all + bytes;
  for (int i = 0; i < processes; ++i) {
    uint64_t length = 0;
    if ((size_t)(end - all) < sizeof length) return other_program(i);
    memcpy(&length, all, sizeof length);
    all += sizeof length;
    if (length > (uint64_t)(end - all)) return other_program(i);
    if (i > 0) ZB_TRY(compare_one(mine, i, all, all + length));
    all += length;
  }
  return NULL;
}

zb_status zb_facts_compare(zb_session *session, const zb_facts *facts) {
  if (!session->group) return NULL;
  void *all = NULL;
  size_t bytes = 0;
  uint64_t length = facts->records.length;
  zb_text mine;
  zb_text_init(&mine);
  zb_text_add_bytes(&mine, (const char *)&length, sizeof length);
  zb_text_add_bytes(&mine, facts->records.data, facts->records.length);
  zb_status status = zb_session_agree(session, mine.failed || facts->records.failed ? ZB_OUT_OF_MEMORY() : NULL);
  if (!status) status = zb_session_gather(session, mine.data, mine.length, &all, &bytes);
  if (!status) status = zb_session_agree(session, all ? compare_all(facts, session->processes, all, bytes) : NULL);
  zb_text_deinit(&mine);
  zb_free(all);
  return status;
}

/* ---- Contents ---- */

uint64_t zb_sample_store(const zb_store *store) {
  uint64_t sum = 0; /* of any order: a copy may be cut into other files */
  int count = zb_store_count(store);
  uint64_t distance = (uint64_t)count / TENSORS + 1;
  for (int i = 0; i < count; ++i) {
    const zb_stored_tensor *t = zb_store_at(store, i);
    char shape[96];
    zb_shape_text(&t->shape, shape);
    uint64_t digest = zb_fnv1a(ZB_FNV_START, t->name, strlen(t->name) + 1);
    bool sampled = digest % distance == 0;
    digest = zb_fnv1a(digest, shape, strlen(shape) + 1);
    if (sampled) digest = zb_fnv1a(digest, t->data, t->bytes < TENSOR_BYTES ? (size_t)t->bytes : TENSOR_BYTES);
    sum += digest;
  }
  return sum;
}
