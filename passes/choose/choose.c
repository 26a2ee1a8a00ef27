/* zb-choose: decides all that is left open, before a program is cut.
 *
 *   before                          after (recompute=auto, memory-limit=40M)
 *     module attributes {..}          module attributes {.., zb.choice = "zbc-choice 1\0Aprogram 52f1..\0A.."}
 *
 * Open are: what is computed again (recompute=auto), what stays in B (split=auto), the order of a schedule that looks
 * for one, and for such a schedule the cuts and the placement too, as `search` says. The options are those of the
 * passes behind it, which obey what was chosen. A whole compile hands it on as a value, without the attribute. Where
 * nothing is open, or a choice is given, nothing changes.
 *
 * Tests: test/passes/choose.mlir, test/e2e/choice.py. */

#include "passes/choose/choose.h"

#include "passes/choose/search.h"
#include "passes/function.h"
#include "passes/stages/jobs/schedule_file.h"
#include "passes/stages/jobs/step_time.h"

#include <string.h>

/* What `search` leaves open. */
static zb_result read_search(zb_pass *pass, MlirOperation top, zb_asked *out) {
  const char *search = zb_pass_option(pass, "search");
  out->placement_is_open = strcmp(search, "placement") == 0;
  out->cuts_are_open = out->placement_is_open || strcmp(search, "cuts") == 0;
  if (out->cuts_are_open || strcmp(search, "order") == 0) {
    /* Who says where stages end leaves placements open at most. */
    out->cuts_are_open &= out->ranks > 1 && !*zb_pass_option(pass, "cuts") && !*zb_pass_option(pass, "layout");
    return ZB_OK;
  }
  return zb_pass_option_error(pass, top, "search", "placement: with cuts and order",
                              "expected order, cuts or placement, "
                              "got '%s'",
                              search);
}

static zb_result read_options(zb_pass *pass, MlirOperation top, zb_asked *out) {
  uint64_t limit;
  *out = (zb_asked){.pass = pass,
                    .split = zb_pass_option(pass, "split"),
                    .recompute = zb_pass_option(pass, "recompute"),
                    .schedule = zb_pass_option(pass, "schedule"),
                    .cut_trials = (int)zb_pass_option_int(pass, "cut-trials", 0),
                    .ranks = (int)zb_pass_option_int(pass, "ranks", 1),
                    .micro_batches = (int)zb_pass_option_int(pass, "micro-batches", 1)};
  if (!zb_pass_option_bytes(pass, "memory-limit", &limit)) return ZB_FAIL;
  if (!zb_pass_option_metric(pass, top, &out->metric)) return ZB_FAIL;
  out->limit = (int64_t)limit;
  out->is_file = zb_schedule_is_file(out->schedule);
  if (!out->is_file) {
    ZB_PASS_TRY(pass, zb_schedule_to_train(out->schedule, &out->rule));
    out->searches = out->rule.schedule->searches;
    out->keeps_limit = out->rule.schedule->keeps_limit;
  }
  return read_search(pass, top, out);
}

static bool is_open(const zb_asked *asked) {
  return strcmp(asked->recompute, "auto") == 0 || strcmp(asked->split, "auto") == 0 || asked->searches ||
         (asked->keeps_limit && asked->limit);
}

/* For passes that run alone. */
static zb_status write_choice(MlirOperation top, const zb_choice *choice) {
  char *text = zb_choice_text(choice);
  if (!text) return ZB_OUT_OF_MEMORY();
  zb_set_string(top, ZB_ATTR_CHOICE, text);
  zb_free(text);
  return NULL;
}

static zb_result run(zb_pass *pass, MlirModule module) {
  const MlirOperation top = mlirModuleGetOperation(module);
  zb_compile_state *state = pass->state;
  zb_choice own = {0}, *found = state && state->found ? state->found : &own;
  zb_asked asked;
  if (zb_has_attribute(top, ZB_ATTR_INFERENCE) || (state && state->choice)) return ZB_OK;
  if (!read_options(pass, top, &asked)) return ZB_FAIL;
  if (!is_open(&asked)) return ZB_OK;
  if (strcmp(asked.recompute, "auto") == 0 && !asked.limit)
    return zb_pass_option_error(pass, top, "recompute", ZB_RECOMPUTE_AUTO_HINT, ZB_RECOMPUTE_AUTO_ALONE);
  zb_status status = zb_choose(&asked, found, state ? state->summary : NULL);
  if (status && zb_status_told(status)) {
    pass->failure = zb_status_code(status);
    zb_status_free(status);
    return ZB_FAIL;
  }
  ZB_PASS_TRY(pass, status);
  ++pass->changes;
  if (found != &own) {
    state->choice = found;
    return ZB_OK;
  }
  status = write_choice(top, &own);
  zb_choice_deinit(&own);
  ZB_PASS_TRY(pass, status);
  return ZB_OK;
}

static const zb_option_def options[] = {
    {"search", "order", "what a schedule that searches decides: order, cuts too, or placement too"},
    {"chunks", "1", "as of zb-partition"},
    {"gathers", "", "as of zb-classify"},
    {0},
};

const zb_pass_def zb_pass_choose = {
    .name = "zb-choose",
    .summary = "Decide what is open: placement, cuts, what is computed again, what stays in B, the order.",
    .options = options,
    .requires_level = "split",
    .run = run,
};
