/* Why ranks idle: the idle time of each rank of a step, split into causes that add up to it.
 *
 * The causes are taken away one after the other, in the order of zb/causes.def, and the step is simulated again each
 * time: messages that take no time, every stage as long as the mean of all, and so on. What a rank idles less than with
 * all causes before is the part of that cause; the last one, dependency, is what is left when all others are gone. Some
 * cause may even shorten the wait of a rank (the longest stage waits less because the others are shorter): its part is
 * then 0, and what the rank idles counts for what is behind it. So no part is negative, and the parts of a rank add up
 * to its idle time to the picosecond.
 *
 * zb_schedule_explain (zb/schedule.h) explains an order, zb_session_explain (zb/runtime.h) a step of a run.
 */
#ifndef ZB_EXPLAIN_H
#define ZB_EXPLAIN_H

#include "zb/status.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef enum zb_cause {
#define ZB_CAUSE(ID, name, help, remedy) ZB_CAUSE_##ID,
#include "zb/causes.def"
#undef ZB_CAUSE
  ZB_CAUSE_COUNT
} zb_cause;

typedef struct zb_explanation {
  int ranks;
  int64_t time_ps;                    /* of the step, by the metric of what is explained */
  int64_t *idle_ps;                   /* [ranks] time_ps less the time in which the rank computes */
  int64_t (*part_ps)[ZB_CAUSE_COUNT]; /* [ranks] none is negative; those of a rank add up to its idle_ps */
  bool has[ZB_CAUSE_COUNT];           /* whether a cause can have a part here: orders have no interpreter */
  /* How much shorter the step is if this cause alone is taken away: at most; of ORDER and MEMORY about, by the best of
   * a few rules and for messages that never wait for their link. */
  int64_t saved_ps[ZB_CAUSE_COUNT];
} zb_explanation;

/* "messages", its meaning in one line, and what would make it less ("faster links"). */
ZB_API const char *zb_cause_name(zb_cause cause);
ZB_API const char *zb_cause_help(zb_cause cause);
ZB_API const char *zb_cause_remedy(zb_cause cause);

/* The cause that saves most if it is taken away alone; the first of equal ones, DEPENDENCY if none saves anything. */
ZB_API zb_cause zb_explanation_most(const zb_explanation *explanation);
/* The table: a row a rank, one for all of them, their shares of the time of all ranks, and how much shorter the step
 * would be without each cause alone; its last line says what would help most. Owned by the caller (zb_free); NULL when
 * out of memory. */
ZB_API char *zb_explanation_text(const zb_explanation *explanation) ZB_MUST_USE;
/* The same as one JSON object, times in whole picoseconds: {"time_ps":, "most":, "saved_ps": {"messages":, ...},
 * "ranks": [{"idle_ps":, "messages_ps":, ...}, ...]}. Owned by the caller; NULL when out of memory. */
ZB_API char *zb_explanation_json(const zb_explanation *explanation) ZB_MUST_USE;
ZB_API void zb_explanation_deinit(zb_explanation *explanation);

#ifdef __cplusplus
}
#endif
#endif
