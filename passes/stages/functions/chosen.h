/* Where choices (passes/choice/choice.h) and programs meet: the only place that knows which op a number of a choice is.
 */
#pragma once

#include "passes/choice/choice.h"
#include "passes/pipeline.h"
#include "passes/stages/functions/recompute_choice.h"
#include "passes/stages/functions/w_groups.h"

/* The choice that has this decision (ZB_CHOICE_CUTS, ..), to be obeyed; NULL: the pass decides. That of the whole
 * compile, or of the program (zb.choice); lent for the run of the pass. Reports a wrong one. */
zb_result zb_chosen(zb_pass *pass, unsigned decision, const zb_choice **out);
/* Where the pass notes what it decided, or obeyed; NULL: nobody asks. */
zb_choice *zb_chosen_notes(const zb_pass *pass);

/* Of a program of level split: names of ops, what they read, shapes of what they make, names of parameters. */
uint64_t zb_program_digest(const zb_graph *graph);
/* INVALID where a choice was made for another program. */
zb_status zb_chosen_check(const zb_choice *choice, uint64_t program) ZB_MUST_USE;
/* Whether an op is a place. */
static inline bool zb_flow_is_place(unsigned flags) {
  return (flags & ZB_FLOW_FORWARD) && !(flags & (ZB_FLOW_LOAD | ZB_FLOW_CHAIN));
}

/* What is computed again, between zb_recompute_build and zb_recompute_apply. INVALID for what cannot be. */
zb_status zb_chosen_again(const zb_choice *choice, zb_recompute *r) ZB_MUST_USE;
zb_status zb_chosen_put_again(const zb_recompute *r, zb_choice *made) ZB_MUST_USE;

/* Gradients in B: those of groups, all others are in W. INVALID where a group would be in both. */
zb_status zb_chosen_in_b(const zb_choice *choice, zb_w_groups *w) ZB_MUST_USE;
zb_status zb_chosen_put_in_b(const zb_w_groups *w, zb_choice *made) ZB_MUST_USE;

/* Gradients of parameters by number. parameter: MLIR's, or NULL. */
typedef struct zb_w_gradient {
  int group, stage;
  const char *parameter;
} zb_w_gradient;
/* All of a program: they live in the arena. NULL: out of memory. */
zb_w_gradient *zb_chosen_gradients(const zb_w_groups *w, zb_arena *arena, int *out_count);
