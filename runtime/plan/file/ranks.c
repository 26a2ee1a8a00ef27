/* What people are told of ranks, with their places in a mesh, and of messages. Tests: test/e2e/processes_faults.py */
#include "runtime/plan/file/ranks.h"

#include "runtime/plan/file/collective.h"

#include <stdio.h>

/* "pp1-dp0-tp3", as far as there are replicas and shards. */
static void write_coordinates(int replicas, int shards, int rank, char *text, size_t size) {
  int length = snprintf(text, size, "pp%d", rank / shards / replicas);
  if (replicas > 1) length += snprintf(text + length, size - (size_t)length, "-dp%d", rank / shards % replicas);
  if (shards > 1) snprintf(text + length, size - (size_t)length, "-tp%d", rank % shards);
}

const char *zb_plan_ranks_text(int replicas, int shards, int first, int count, char *text) {
  const int last = first + count - 1;
  char from[40] = "", to[40] = "";
  const bool is_mesh = replicas > 1 || shards > 1;
  if (is_mesh) write_coordinates(replicas, shards, first, from, sizeof from);
  if (is_mesh) write_coordinates(replicas, shards, last, to, sizeof to);
  if (count == 1)
    snprintf(text, ZB_RANK_TEXT_BYTES, "rank %d%s%s%s", first, is_mesh ? " (" : "", from, is_mesh ? ")" : "");
  else if (is_mesh)
    snprintf(text, ZB_RANK_TEXT_BYTES, "ranks %d to %d (%s to %s)", first, last, from, to);
  else
    snprintf(text, ZB_RANK_TEXT_BYTES, "ranks %d to %d", first, last);
  return text;
}

const char *zb_plan_message_text(const zb_plan *plan, int message, char *text) {
  const zb_plan_message *m = &plan->messages[message];
  const zb_plan_collective *whole = zb_plan_carried(plan, m);
  char ranks[ZB_RANK_TEXT_BYTES];
  if (m->micro_batch >= 0) {
    snprintf(text, ZB_MESSAGE_TEXT_BYTES, "micro-batch %d", m->micro_batch);
  } else if (!whole) {
    snprintf(text, ZB_MESSAGE_TEXT_BYTES, "accumulators");
  } else {
    const uint64_t *members = &plan->pool_u64[whole->members.begin];
    const int count = (int)whole->members.count, first = (int)members[0], span = (int)members[count - 1] - first + 1;
    zb_plan_ranks_text(zb_plan_mesh(plan), zb_plan_shard_mesh(plan), first, span, ranks);
    const char *what = whole->counts.count ? "gathering from" : "sum over";
    if (span == count)
      snprintf(text, ZB_MESSAGE_TEXT_BYTES, "%s %s", what, ranks);
    else
      snprintf(text, ZB_MESSAGE_TEXT_BYTES, "%s %d of %s", what, count, ranks);
  }
  return text;
}
