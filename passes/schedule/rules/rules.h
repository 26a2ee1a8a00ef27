/* Priority rules and memory levels, for the zb schedules and the search.
 *
 * A priority rule says which job a rank prefers, and how many micro-batches a stage may have in flight. It is made from
 * a few numbers: some fixed ones are good for every problem, and the search draws others at random.
 *
 * A memory level is one of a fixed row of limits that searching schedules try, so that more memory adds levels and
 * takes none away.
 */
#pragma once

#include "passes/schedule/rules/build.h"

/* One way to build an order forwards, in numbers. */
typedef struct zb_rule_numbers {
  /* Which job goes first: 0: B, then F, of a later chunk first; 1: the same, but B of the first chunk of a rank after
   * F; more: F and B of all chunks in an order that this number stands for. W is always last. */
  uint64_t order;
  int slope; /* in quarters, of more than two chunks a rank in quarters for all of them: how many micro-batches more a
                stage may have in flight than the next one; 0: only memory counts */
  int shift; /* in halves: how many more every stage may have than what fills the memory */
  int patience;    /* zb_build_rule.patience */
  int64_t idle_ps; /* zb_build_rule.idle; -1: none */
  int extra;       /* zb_build_rule.extra */
  bool share_idle; /* zb_build_rule.share_idle */
} zb_rule_numbers;

/* The tables of rules for one scheduler. */
typedef struct zb_priority_rules {
  zb_scheduler *scheduler;
  int64_t *priority[3]; /* [jobs] by order */
  uint64_t drawn;       /* the order that priority[2] has */
  int *urgency;         /* [2 * chunks] scratch */
  int32_t *cap;         /* [stages] */
} zb_priority_rules;

/* Its memory is the scheduler's. */
zb_status zb_priority_rules_init(zb_scheduler *scheduler, zb_priority_rules *out) ZB_MUST_USE;

/* The rule of these numbers for limits[ranks]; it points into the rules, until the next call. */
zb_build_rule zb_rule_make(zb_priority_rules *rules, const zb_rule_numbers *numbers, const int64_t *limit);

/* The rules of the zb schedules: the same for every problem, few and good. idle_ps: what the lower bound of the problem
 * leaves a rank idle that works for work_ps. */
enum { ZB_RULES_FIXED = 8 };
zb_rule_numbers zb_rule_fixed(int index, int64_t idle_ps, int64_t work_ps);

/* One micro-batch after the other: all F, all B, and W where the peak is least (beyond 6 chunks right behind B).
 * peak[ranks] gets what it takes: mostly no order needs less. */
void zb_sequence_least(const zb_scheduler *scheduler, zb_slot *sequence, int64_t *peak);

/* No order needs less than least[ranks]. In a chain of stages of up to 6 chunks a rank that is what zb_sequence_least
 * takes. Else it is what the largest stage needs alone: B of one stage may come before F of a later one, where no
 * gradient returns from there. sequence[jobs] gets the order of zb_sequence_least. */
void zb_least_bytes(const zb_scheduler *scheduler, zb_slot *sequence, int64_t *least);

/* Two chunks a rank, down the ranks and up again, whatever their names. */
bool zb_is_placed_as_v(const zb_problem *problem);

/* Problems with more jobs are searched by fewer levels and with less. */
enum { ZB_JOBS_LARGE = 90000 };
/* Those with fewer of several chunks by more. */
enum { ZB_JOBS_SMALL = 1000 };
/* Memory limits that searching schedules try, rising from level 1 on, in eighths of what 1F1B needs (p micro-batches of
 * the rank with the largest), of several chunks up to all of it in chunks that are held (more than 16 in sixteenths),
 * coarser beyond its double, and last what everything takes; of several chunks not placed as V beyond it in quarters up
 * to the double; of large problems in quarters up to 1.5, then its doubles.
 * Fixed for a problem whatever its limit is, so that more memory adds levels and takes none away. */
int64_t zb_level_bytes(const zb_scheduler *scheduler, int level);
/* The level that follows downwards; `coarse`: every second one, where they lie close. */
int zb_level_below(const zb_scheduler *scheduler, int level, bool coarse);
/* What 1F1B needs. */
int64_t zb_level_of_1f1b(const zb_scheduler *scheduler);
/* The most that any rank can ever hold. */
int64_t zb_level_most(const zb_scheduler *scheduler);
/* limits[ranks] of the problem; where there is none, the most that any rank can ever hold. */
void zb_level_rank_limits(const zb_scheduler *scheduler, int64_t *limits);
/* Whether only the schedules that go by memory are asked at a level: half way between two of the V placement, up to
 * three quarters of what 1F1B needs, where there may be room for another building block because B frees a part of what
 * a chunk keeps. */
bool zb_level_is_half(const zb_scheduler *scheduler, int level);
/* The last level within a limit (0: no limit), 0 if there is none. */
int zb_level_within(const zb_scheduler *scheduler, int64_t limit);
/* The bytes of the lowest level that is not below; at most the highest. */
int64_t zb_level_above(const zb_scheduler *scheduler, int64_t bytes);
/* The fine levels, for schedules that are fast: parts of a micro-batch, as many as the size of the problem allows. The
 * highest up to a limit, or the lowest from it on; `bytes` themselves where there is none below. */
int64_t zb_level_fine(const zb_scheduler *scheduler, int64_t bytes, bool above);
/* What follows `level` downwards of the levels above a limit whose orders may keep it nevertheless: what everything
 * takes, and the fine ones up to two micro-batches above. slack: levels that are lower by no more say the same. Not
 * above the limit: there is none left. Fixed for a problem but for where it begins and ends, so a higher limit leaves
 * none out that is not within it. */
int64_t zb_level_next_above(const zb_scheduler *scheduler, int64_t limit, int64_t level, int64_t slack);
/* limits[ranks] of a memory of `percent` of what 1F1B needs, whatever those of the problem are. */
void zb_level_percent(const zb_scheduler *scheduler, int64_t percent, int64_t *limits);
