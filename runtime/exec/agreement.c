/* What must be the same in all processes: see agreement.h. */
#include "runtime/exec/agreement.h"

#include "runtime/base/module.h"
#include "runtime/exec/session_parts.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

enum { VALUE_BYTES = 4200 };

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
  zb_text all = {0};
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
