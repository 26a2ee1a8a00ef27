/* The judge: a program of level split and a choice in, what its plan takes out.
 *
 * It runs the passes behind zb-choose on copies of the program, which obey a choice as far as that is decided; what it
 * leaves open they decide themselves, by their options. It is the only place that knows of two plans which is better,
 * and the only one that remembers what was judged before. All that it gives is its own, until it is released. Not
 * thread-safe.
 */
#pragma once

#include "passes/choose/asked.h"
#include "passes/stages/cut/cuts.h"
#include "passes/stages/jobs/problem.h"

/* A choice and what becomes of it. Never changed once it is made. */
typedef struct zb_candidate {
  zb_choice choice;         /* as far as it came: without an order where the schedule has none */
  bool exists;              /* there is a plan */
  int64_t size;             /* jobs and instructions of the plan */
  int64_t step_ps;          /* by the metric */
  int64_t most;             /* bytes of its fullest rank; without a plan what one micro-batch at a time takes; 0: not
                               known */
  zb_status why;            /* without a plan: what says so; the judge's, like all here */
  int64_t *bytes, *busy_ps; /* [ranks] of the plan */
  int64_t *frames;          /* [ranks] of these bytes: frames at most, and what is there anyway */
  int *stage_rank;          /* [stages] */
  zb_stage_cost *costs;     /* [stages] as the order was made for */
} zb_candidate;

/* Within the limit (0: none) before above it; then the faster; above it the smaller; last what has no plan, that which
 * needs least first. Of equal ones neither is better. */
bool zb_candidate_is_better(const zb_candidate *x, const zb_candidate *than, int64_t limit);
/* There is a plan within the limit. */
bool zb_candidate_fits(const zb_candidate *x, int64_t limit);

/* How far a copy has come. */
typedef enum zb_judged_level {
  ZB_JUDGED_STAGED,     /* cut */
  ZB_JUDGED_CLASSIFIED, /* with what is computed again; W does all gradients */
  ZB_JUDGED_FRAMED,     /* with what stays in B; only the order is open */
  ZB_JUDGED_LEVELS
} zb_judged_level;

typedef struct zb_judged {
  zb_module program;
  zb_choice made;        /* what it obeys, or what its passes decided */
  zb_cut_places places;  /* of ZB_JUDGED_STAGED */
  uint64_t key, own_key; /* of the choice that it was made by, and of `made` */
} zb_judged;

typedef struct zb_plan_judge {
  const zb_pass *pass;
  zb_judged *levels[ZB_JUDGED_LEVELS]; /* the last one of each */
  zb_arena arena;
  zb_map *known; /* of what was asked -> its index in candidates */
  ZB_LIST(zb_candidate *) candidates;
  const zb_asked *given;
  const zb_candidate *best; /* of all plans for `given`, whatever row looks for them; NULL: none yet */
  int plans;
  int64_t bound_ps; /* of the order of `best`; not known where nobody is told */
  zb_watch watch;   /* tells how far the search is, and keeps the answer: */
  zb_search_answer answer;
  bool options_of_zbc; /* as of zb_compile_state */
  bool is_loud;        /* what passes say of a copy is heard */
} zb_plan_judge;

/* Lends `given`, and is not moved from then on. */
void zb_plan_judge_init(const zb_asked *given, zb_plan_judge *out);
void zb_plan_judge_deinit(zb_plan_judge *judge);

/* Whether other choices are looked for: not where searches of this compile have taken some ten seconds of work, so that
 * what has been found must do. The work is counted, so it is the same on every machine. */
bool zb_judge_pays(const zb_plan_judge *judge);

/* The program with a choice, up to a level; decisions of later levels do not count. *out is lent until another choice
 * is asked for. The failures of passes: INVALID where no program can have the choice. */
zb_status zb_judge_program(zb_plan_judge *judge, const zb_asked *asked, const zb_choice *choice, zb_judged_level level,
                           const zb_judged **out) ZB_MUST_USE;
/* The plan of a framed program with an order; problem: its own. INTERRUPTED behind it where the search is to end. */
zb_status zb_judge_order(zb_plan_judge *judge, const zb_asked *asked, const zb_judged *framed,
                         const zb_module_problem *problem, const zb_order *order, const zb_candidate **out) ZB_MUST_USE;
/* A choice that has no plan, and needs so many bytes (0: not known). Takes `why`. */
zb_status zb_judge_refuse(zb_plan_judge *judge, const zb_choice *choice, int64_t needed, zb_status why,
                          const zb_candidate **out) ZB_MUST_USE;

/* The same for equal questions: a choice as far as it is decided, and what decides the rest. */
uint64_t zb_asked_digest(const zb_asked *asked, const zb_choice *choice);

/* Whether a failure says something of a choice, and not of the world: there is no such plan. */
bool zb_judge_is_no_plan(zb_status status);
