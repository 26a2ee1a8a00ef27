/* What holds of each table of tables.h that a pass hands to the next: where it does not, the pass that wrote it has a
 * bug, which would show as a wrong plan, or as an error of the proof far from where it came from. What holds of several
 * tables together stands where they are written. Test: test/passes/hold_test.c. */

#include "passes/tables.h"

#include "runtime/base/assert.h"

#define FOR_EACH_ROW(row, rows, count) for (__typeof__(rows) row = (rows); row < (rows) + (count); ++row)

void zb_messages_hold(const zb_messages_row *rows, int count) {
  FOR_EACH_ROW(it, rows, count) {
    ZB_ASSERT((it->source < 0) == (it->destination < 0)); /* both: a collective */
    ZB_ASSERT(it->source < 0 || it->source != it->destination);
    ZB_ASSERT(it->bytes >= 0 && it->complete_ps >= 0);
  }
}

/* zb_members_of looks them up by halves. */
void zb_members_hold(const zb_members_row *rows, int count) {
  FOR_EACH_ROW(it, rows, count) {
    ZB_ASSERT(it == rows || it[-1].message <= it->message);
    ZB_ASSERT(it->message >= 0 && it->rank >= 0);
    ZB_ASSERT(it->values >= 0 && it->bytes >= 0 && it->parts >= -1);
  }
}

void zb_parts_hold(const zb_parts_row *rows, int count) {
  FOR_EACH_ROW(it, rows, count)
  ZB_ASSERT(it->offset >= 0 && it->bytes >= 0 && it->into >= -1 && it->pool >= -1);
}

void zb_gathers_hold(const zb_gathers_row *rows, int count) {
  FOR_EACH_ROW(it, rows, count)
  ZB_ASSERT(it->pool >= 0 && it->offset >= 0 && it->bytes > 0 && it->into >= 0);
}

void zb_posts_hold(const zb_posts_row *rows, int count) {
  FOR_EACH_ROW(it, rows, count)
  ZB_ASSERT(it->message >= 0);
}

void zb_times_hold(const zb_times_row *rows, int count) {
  FOR_EACH_ROW(it, rows, count)
  ZB_ASSERT(it->start_ps >= 0 && it->start_ps <= it->end_ps);
}

void zb_addresses_hold(const zb_addresses_row *rows, int count) {
  FOR_EACH_ROW(it, rows, count)
  ZB_ASSERT(it->number >= 0);
}

/* Who reads them goes through ops and waits at once. */
void zb_waits_hold(const zb_waits_row *rows, int count) {
  FOR_EACH_ROW(it, rows, count)
  ZB_ASSERT(it->message >= 0 && it->op >= (it == rows ? 0 : it[-1].op));
}

/* One behind the other, as they lie in the arena. */
void zb_regions_hold(const zb_regions_row *rows, int count) {
  FOR_EACH_ROW(it, rows, count)
  ZB_ASSERT(it->bytes >= 0 && it->offset >= (it == rows ? 0 : it[-1].offset + it[-1].bytes));
}

void zb_evaluation_regions_hold(const zb_evaluation_regions_row *rows, int count) {
  FOR_EACH_ROW(it, rows, count)
  ZB_ASSERT(it->bytes >= 0 && it->offset >= (it == rows ? 0 : it[-1].offset + it[-1].bytes));
}

void zb_stage_rank_hold(const zb_stage_rank_row *rows, int count) {
  FOR_EACH_ROW(it, rows, count)
  ZB_ASSERT(it->rank >= 0);
}

void zb_costs_hold(const zb_costs_row *rows, int count) {
  FOR_EACH_ROW(it, rows, count) {
    ZB_ASSERT(it->latency_ps >= 0 && it->ps_per_mebibyte >= 0 && it->copies >= 0 && it->copy_ps_per_mebibyte >= 0);
    ZB_ASSERT(it->wake_ps >= 0 && it->job_ps >= 0 && it->read_ps >= 0 && it->step_ps >= 0);
  }
}

void zb_bases_hold(const zb_bases_row *rows, int count) {
  FOR_EACH_ROW(it, rows, count)
  ZB_ASSERT(it->position >= 0);
}

void zb_at_hold(const zb_at_row *rows, int count) {
  FOR_EACH_ROW(it, rows, count)
  ZB_ASSERT(it->number >= 0);
}
