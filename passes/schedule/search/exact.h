/* The best of all orders, for problems small enough to try them. */
#pragma once

#include "passes/schedule/rules/build.h"

/* Whether a problem has so few jobs that the states of a step can be numbered. */
bool zb_exact_is_possible(const zb_scheduler *scheduler);

typedef struct zb_exact_params {
  const int64_t *limit; /* [ranks] bytes */
  int64_t known_ps;     /* only what is faster is looked for */
  int64_t states;       /* the search stops after this number of them */
} zb_exact_params;

typedef struct zb_exact_result {
  int64_t best_ps;  /* known_ps where nothing faster was found */
  int64_t states;   /* visited */
  int64_t work;     /* states, and comparisons of them that take as long as one */
  bool is_complete; /* no order within the limits whose classes rise is faster than best_ps; for the barrier metric none
                       at all */
} zb_exact_result;

/* The fastest order whose classes rise, by the metric of the problem, into sequence[jobs], which stays as it is where
 * nothing faster is found. */
zb_status zb_exact_search(zb_scheduler *scheduler, const zb_exact_params *params, zb_slot *sequence,
                          zb_exact_result *out) ZB_MUST_USE;
