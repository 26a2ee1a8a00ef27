/* What a session writes to the region `step` before each step: rule "settings" of the verifier (README.md). It is
 * proven that
 *   - the number of the step and the settings lie in the region, apart from each other;
 *   - an instruction that reads there reads one of them, whole; that none writes there is the rule "ranges";
 *   - a setting of a parameter is of one that the rank trains, which has one of the kind;
 *   - ranks that have the same setting agree on what it is where a run says nothing else.
 * That an update reads the settings of its own parameter is the rule "owners".
 *
 * Tests: test/runtime/plan/proof/verifier_test.c */
#include <inttypes.h>

#include "runtime/base/map.h"
#include "runtime/plan/proof/rules.h"

bool zb_setting_places(const zb_plan_rank *rank, zb_intervals *out) {
  for (int i = 0; i < rank->setting_count; ++i) {
    const zb_plan_setting *setting = &rank->settings[i];
    zb_intervals_assign(out, setting->offset, setting->offset + (uint64_t)setting->default_count * sizeof(double), i);
  }
  return !out->failed;
}

/* ---- One rank ---- */

enum { STEP_NUMBER = -1 };

static zb_status place_all(const zb_plan_rank *rank, zb_intervals *out) {
  const zb_plan_range step = rank->regions[ZB_REGION_STEP];
  char text[ZB_SETTING_TEXT_BYTES];
  zb_intervals_assign(out, step.offset, step.offset + sizeof(int64_t), STEP_NUMBER);
  for (int i = 0; i < rank->setting_count; ++i) {
    const zb_plan_setting *setting = &rank->settings[i];
    const uint64_t bytes = (uint64_t)setting->default_count * sizeof(double);
    if (zb_plan_region_of(rank, setting->offset, bytes) != ZB_REGION_STEP)
      return ZB_RULE(settings, "rank %d: the setting %s at %" PRIu64 " does not lie in the region step", rank->rank,
                     zb_setting_text(setting, text), setting->offset);
    if (zb_intervals_overlap(out, setting->offset, setting->offset + bytes))
      return ZB_RULE(settings,
                     "rank %d: the setting %s at %" PRIu64 " overlaps the number of the step or another setting",
                     rank->rank, zb_setting_text(setting, text), setting->offset);
    zb_intervals_assign(out, setting->offset, setting->offset + bytes, i);
  }
  return out->failed ? ZB_OUT_OF_MEMORY() : NULL;
}

/* Whether an operand in the region step is one of the places there, whole. */
static bool is_whole(const zb_intervals *places, const zb_plan_operand *x) {
  const uint64_t end = x->offset + (uint64_t)zb_operand_extent(x);
  const size_t at = zb_intervals_find(places, x->offset);
  return at < places->count && places->items[at].begin == x->offset && places->items[at].end == end;
}

static zb_status verify_reads(const zb_plan_rank *rank, const zb_intervals *places) {
  for (int s = 0; s < rank->subprogram_count; ++s) {
    const zb_plan_subprogram *subprogram = &rank->subprograms[s];
    for (int i = 0; i < subprogram->instruction_count; ++i) {
      const zb_plan_instruction *instruction = &subprogram->instructions[i];
      for (int k = 0; k < instruction->input_count; ++k) {
        const zb_plan_operand *x = &instruction->inputs[k];
        const int64_t bytes = zb_operand_extent(x);
        if (x->rank < 0 || x->base != 0 || bytes == 0) continue;
        if (zb_plan_region_of(rank, x->offset, (uint64_t)bytes) != ZB_REGION_STEP || is_whole(places, x)) continue;
        return ZB_RULE(
            settings,
            "rank %d, subprogram %s, instruction %d (%s): operand %d lies in the region step, and is neither "
            "the number of the step nor one setting",
            rank->rank, subprogram->name, i, instruction->op, k);
      }
    }
  }
  return NULL;
}

static zb_status verify_parameters(const zb_plan_rank *rank) {
  zb_status status = NULL;
  char text[ZB_SETTING_TEXT_BYTES];
  zb_map *trained = zb_map_create();
  if (!trained) return ZB_OUT_OF_MEMORY();
  for (int i = 0; i < rank->parameter_count; ++i)
    if (rank->parameters[i].trained && !zb_map_set(trained, rank->parameters[i].tensor.name, i))
      ZB_TRY_GOTO(ZB_OUT_OF_MEMORY());
  for (int i = 0; i < rank->setting_count; ++i) {
    const zb_plan_setting *setting = &rank->settings[i];
    const bool known = zb_setting_find(setting->kind)->of_parameter ? zb_map_get(trained, setting->name, NULL)
                                                                    : *setting->name == '\0';
    if (!known)
      ZB_TRY_GOTO(ZB_RULE(settings, "rank %d: the setting %s is of no parameter that the rank trains", rank->rank,
                          zb_setting_text(setting, text)));
  }
cleanup:
  zb_map_destroy(trained);
  return status;
}

static zb_status verify_rank(const zb_plan_rank *rank) {
  zb_intervals places = {0};
  zb_status status = place_all(rank, &places);
  if (!status) status = verify_reads(rank, &places);
  if (!status) status = verify_parameters(rank);
  zb_intervals_deinit(&places);
  return status;
}

/* ---- All ranks ---- */

static bool same_defaults(const zb_plan_setting *a, const zb_plan_setting *b) {
  if (a->own != b->own) return false;
  for (int i = 0; i < a->default_count; ++i)
    if (a->defaults[i] != b->defaults[i]) return false;
  return true;
}

/* first: name -> the rank that has it first, and its index there. */
static zb_status compare_rank(const zb_plan *plan, int r, zb_setting_kind kind, zb_map *first) {
  char text[ZB_SETTING_TEXT_BYTES];
  for (int i = 0; i < plan->ranks[r].setting_count; ++i) {
    const zb_plan_setting *setting = &plan->ranks[r].settings[i];
    int64_t met = 0;
    if (setting->kind != kind) continue;
    if (!zb_map_get(first, setting->name, &met)) {
      if (!zb_map_set(first, setting->name, (int64_t)r << 32 | i)) return ZB_OUT_OF_MEMORY();
      continue;
    }
    const int other = (int)(met >> 32);
    if (other == r) return ZB_RULE(settings, "rank %d has the setting %s twice", r, zb_setting_text(setting, text));
    if (!same_defaults(setting, &plan->ranks[other].settings[(uint32_t)met]))
      return ZB_RULE(settings, "the setting %s has other values on rank %d than on rank %d",
                     zb_setting_text(setting, text), r, other);
  }
  return NULL;
}

zb_status zb_verify_settings(const zb_plan *plan) {
  for (int r = 0; r < plan->rank_count; ++r)
    ZB_TRY(verify_rank(&plan->ranks[r]));
  for (int kind = 0; kind < ZB_SETTING_COUNT; ++kind) {
    zb_status status = NULL;
    zb_map *first = zb_map_create();
    if (!first) return ZB_OUT_OF_MEMORY();
    for (int r = 0; r < plan->rank_count && !status; ++r)
      status = compare_rank(plan, r, (zb_setting_kind)kind, first);
    zb_map_destroy(first);
    ZB_TRY(status);
  }
  return NULL;
}
