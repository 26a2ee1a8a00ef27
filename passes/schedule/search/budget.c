/* How much a search may do: orders that are built or timed for each level of memory. See searcher.h. */
#include <math.h>

#include "passes/schedule/search/searcher.h"

/* evaluation_cost of more jobs than ZB_SEARCH_MEDIUM_JOBS, and of more than FEW_JOBS. */
enum { WAITING_COST = 4, FEW_WAITING_COST = 2, FEW_JOBS = 800 };
/* Jobs of all evaluations of a level of a large problem, with one chunk a rank and with several. */
enum { LARGE_BUDGET = 4000000, LARGE_BUDGET_CHUNKS = 1000000 };
/* Problems larger than every published setting (32 ranks, 256 micro-batches, 4 chunks), on looped and wave placement:
 * evaluations of a level, and the jobs of all of them at most. So many find most of what there is to find (64 ranks,
 * 512 micro-batches, 1.37 times the memory of 1F1B: 1.8 % above the bound with five of them, 0.6 % with 64). */
enum { HUGE_JOBS = 100000, HUGE_EVALUATIONS = 64, HUGE_BUDGET = 14000000 };
/* The default budget is spent for as long as it pays: up to this multiple of what the last better order came after. */
enum { PATIENCE = 10 };
/* A budget that is given is at least BUDGET_LEAST, or the default one: what takes a moment is done for any. It counts
 * orders of BUDGET_JOBS jobs: of larger ones there are as many as take that long, but no fewer than by default. */
enum { BUDGET_LEAST = 64, BUDGET_JOBS = 1200 };
/* With many chunks no schedule of the table fits most limits, so some rules at least are tried. */
enum { RULES_LEAST = 5 };

bool zb_searcher_is_huge(const zb_problem *problem) {
  const int64_t jobs = (int64_t)problem->stages * problem->micro_batches * ZB_KIND_COUNT;
  return jobs > HUGE_JOBS && problem->stages > problem->ranks && !zb_is_placed_as_v(problem);
}

/* Such that the time of a search hardly depends on the size of the problem. Most is worth spending on the V placement:
 * there the best orders lie far from every rule. On the others with several chunks, local search of large problems
 * finds little, the less the more chunks there are. Large problems share it among the placements that are searched. */
static int64_t default_budget(const zb_problem *problem, int placements) {
  const int64_t jobs = (int64_t)problem->stages * problem->micro_batches * ZB_KIND_COUNT;
  if (jobs <= ZB_SEARCH_SMALL_JOBS) return 12 * jobs;
  const int chunks = problem->stages / problem->ranks;
  const bool is_v = zb_is_placed_as_v(problem), is_plain = chunks == 1;
  int64_t budget = (is_v ? (jobs > ZB_SEARCH_MEDIUM_JOBS ? 100000000 : 180000000) : 12000000) / (jobs + 1);
  const int64_t most = is_v ? (jobs < 1150 ? 140 * jobs : 160000) : is_plain ? 3000 : 8000;
  if (!is_v && !is_plain)
    budget = (int64_t)(8000.0 / chunks / chunks * (1152.0 / (double)jobs) * sqrt(1152.0 / (double)jobs));
  /* Evaluations of large problems miss the caches, and come with several levels of memory. */
  if (jobs > 40000 && (is_v || is_plain)) budget = budget * 40000 / jobs / placements;
  if (jobs > ZB_JOBS_LARGE) budget = (is_plain ? LARGE_BUDGET : LARGE_BUDGET_CHUNKS) / jobs / placements;
  if (zb_searcher_is_huge(problem))
    budget = (HUGE_BUDGET / jobs < HUGE_EVALUATIONS ? HUGE_BUDGET / jobs : HUGE_EVALUATIONS) / placements;
  const int64_t least = chunks > 2 && jobs <= ZB_JOBS_LARGE ? RULES_LEAST : 1;
  return budget < least ? least : budget > most ? most : budget;
}

/* Rises with the budget that is given, and is the default one, or more, where that is as much. */
static int64_t given_budget(const zb_problem *problem, int64_t given, int64_t by_default) {
  const int64_t jobs = (int64_t)problem->stages * problem->micro_batches * ZB_KIND_COUNT;
  const int64_t as_long = jobs > BUDGET_JOBS ? given / jobs * BUDGET_JOBS + given % jobs * BUDGET_JOBS / jobs : given;
  const int64_t most_by_default = given < by_default ? given : by_default;
  const int64_t least = by_default < BUDGET_LEAST ? by_default : BUDGET_LEAST;
  return zb_max64(as_long, zb_max64(most_by_default, least));
}

/* Below the memory of 1F1B many levels are searched, most of them for little; the first evaluations are worth most. Far
 * above it (1.25 times) orders by the first rules are near the bound, and of a huge problem a level takes a second. */
int64_t zb_searcher_budget(const zb_searcher *s, int64_t bytes) {
  if (!s->is_default_budget || s->run.is_exact) return s->budget;
  const int64_t of_1f1b = zb_level_of_1f1b(&s->w);
  const int64_t least = s->budget < BUDGET_LEAST ? s->budget : BUDGET_LEAST;
  if (zb_searcher_is_huge(s->problem) && bytes / 5 > of_1f1b / 4 + 1) return s->budget / ZB_SEARCH_LESS_BUDGET + 1;
  return bytes < of_1f1b ? zb_max64(s->budget / ZB_SEARCH_LESS_BUDGET + 1, least) : s->budget;
}

/* What an evaluation of local search takes where messages wait for their channel, in evaluations where none does, at
 * most: messages are timed with the jobs there, and again where a change is taken back (retime.h). Counted for V alone,
 * and not for few jobs: other searches are short without it. */
int zb_searcher_evaluation_cost(const zb_searcher *s) {
  if (!s->run.improver.times.channels_wait || !zb_is_placed_as_v(s->problem) || s->w.jobs <= FEW_JOBS) return 1;
  return s->w.jobs > ZB_SEARCH_MEDIUM_JOBS ? WAITING_COST : FEW_WAITING_COST;
}

void zb_searcher_set_budget(zb_searcher *s, const zb_search_params *params, zb_search_shares of) {
  const zb_problem *problem = s->problem;
  const bool has_budget = params && params->budget > 0;
  s->is_default_budget = !has_budget;
  const int64_t by_default =
      zb_max64(default_budget(problem, of.placements) / zb_searcher_evaluation_cost(s) / of.metrics, 1);
  s->budget = has_budget ? given_budget(problem, params->budget, by_default) : by_default;
  s->patience = has_budget || s->w.jobs <= ZB_SEARCH_SMALL_JOBS || !zb_is_placed_as_v(problem) ? 0 : PATIENCE;
}
