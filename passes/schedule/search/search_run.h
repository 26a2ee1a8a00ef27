/* One run of the search: the best orders for one set of limits.
 *
 * Incumbents are the best orders that the run knows; it keeps a few, with different times. An allowance says how many
 * evaluations, orders built or timed, the run may spend.
 */
#pragma once

#include "passes/schedule/search/improve.h"
#include "passes/schedule/rules/rules.h"

/* Incumbents, which local search works on in turn. */
enum { ZB_RUN_INCUMBENTS = 4 };

/* What runs need, and the orders of the current one. */
typedef struct zb_run {
  zb_scheduler *w;
  zb_improver improver;
  zb_priority_rules rules;
  int64_t *level;    /* [ranks] limits of the run */
  bool is_exact;     /* nothing but a test of a limit may depend on the limits (search_span.c) */
  bool is_perturbed; /* it perturbs orders: for placements whose best orders lie far from every rule */
  int64_t idle_ps;   /* what the lower bound leaves a rank idle; for exact levels the bound without limits */
  int64_t bound_ps;  /* of the limits: nothing is better */
  zb_allowance allowance;
  int64_t perturbations;        /* how many there may still be; the run then ends */
  int64_t refinements;          /* how many orders may still be built again to refine one */
  uint64_t random, goal_random; /* goals have their own numbers: all else goes as it would without them */
  zb_slot *incumbent[ZB_RUN_INCUMBENTS];
  int64_t incumbent_ps[ZB_RUN_INCUMBENTS]; /* rising, all different, INT64_MAX: none */
  zb_slot *sequence;                       /* [jobs] where orders are made */
  zb_slot *origin, *current;               /* [jobs] the best start; the order that is perturbed */
  int64_t origin_ps;
  zb_slot *probed; /* [jobs] what the probe found: taken at the end, so that the rounds go as they would without it */
  int64_t probed_ps;
  /* scratch */
  int64_t *shape, *release;  /* [ranks] */
  int64_t *start, *priority; /* [jobs] */
} zb_run;

/* Its memory is the scheduler's. */
zb_status zb_run_init(zb_scheduler *scheduler, zb_run *out) ZB_MUST_USE;

/* Forgets the orders of the run before; level, is_exact, idle_ps, bound_ps and random are set by then. budget: the most
 * evaluations; patience: 0, or stop before that as zb_allowance says. Any number of perturbations and refinements. */
void zb_run_begin(zb_run *run, int64_t budget, int patience);
/* Makes an order that keeps the limits an incumbent if it is one of the best. */
void zb_run_take(zb_run *run, const zb_slot *sequence, int64_t time);
/* Times run->sequence and takes it. INT64_MAX: it cannot finish. */
int64_t zb_run_evaluate(zb_run *run);
/* Whether the allowance is used up, or its perturbations, or the best order is as fast as the bound; or the watch of
 * the problem ends it. */
bool zb_run_is_over(const zb_run *run);
/* The rules of the zb schedules. */
void zb_run_fixed_rules(zb_run *run);
/* Local search of the best order: so many evaluations, and on for as long as it pays. */
void zb_run_polish(zb_run *run, int64_t probe);
/* Local search of the best order that the allowance does not pay for. */
void zb_run_settle(zb_run *run, int64_t moves);
/* How far the best order is from the bound, as a share of its time. */
double zb_run_gap(const zb_run *run);
/* Rounds of random rules, local search and perturbations until the run is over or nothing gets better. */
void zb_run_rounds(zb_run *run);
