/* A critical path in words: one line a stretch.
 *
 * A stretch is a run of jobs on one rank ("rank 3: B and W of micro-batches 0-7, F of 4-7"), or one micro-batch on its
 * way along the ranks ("ranks 2 to 0: B of micro-batch 7"), with the messages that leave it. Tests:
 * test/passes/schedule/critical_test.c.
 */
#include <stdio.h>
#include <string.h>

#include "passes/schedule/model.h"
#include "runtime/base/memory.h"
#include "runtime/base/text.h"

enum {
  GROUPS_MAX = 6,  /* of jobs of one kind and stage that a line names; beyond, it counts */
  RANGES_MAX = 3,  /* of micro-batches that a group names; beyond, it counts */
  RANGE_BYTES = 64 /* of their text */
};
static const double PS_PER_MS = 1e9;

typedef struct group {
  zb_job first; /* kind and stage */
  char ranges[RANGE_BYTES];
  bool merged; /* into group `into`: same micro-batches and stage, another kind */
  int into;
} group;

static bool same_way(zb_job a, zb_job b) { return a.kind == b.kind && a.micro_batch == b.micro_batch; }

/* ---- Micro-batches ---- */

typedef struct ranges {
  int32_t first[RANGES_MAX], last[RANGES_MAX];
  int count; /* may exceed RANGES_MAX: then only counted */
  int32_t least, most, jobs;
} ranges;

static void add_to_ranges(ranges *r, int32_t micro_batch) {
  if (!r->jobs++) r->least = r->most = micro_batch;
  if (micro_batch < r->least) r->least = micro_batch;
  if (micro_batch > r->most) r->most = micro_batch;
  if (r->count > RANGES_MAX) return;
  if (r->count) {
    int32_t *first = &r->first[r->count - 1], *last = &r->last[r->count - 1];
    const int32_t step = micro_batch - *last, way = *last - *first;
    if ((step == 1 && way >= 0) || (step == -1 && way <= 0)) {
      *last = micro_batch;
      return;
    }
  }
  if (r->count < RANGES_MAX) r->first[r->count] = r->last[r->count] = micro_batch;
  ++r->count;
}

static void print_ranges(const ranges *r, char text[RANGE_BYTES]) {
  if (r->count > RANGES_MAX) {
    snprintf(text, RANGE_BYTES, "%d of %d-%d", r->jobs, r->least, r->most);
    return;
  }
  int length = 0;
  for (int i = 0; i < r->count; ++i) {
    length += snprintf(text + length, (size_t)(RANGE_BYTES - length), "%s%d", i ? ", " : "", r->first[i]);
    if (r->last[i] != r->first[i]) length += snprintf(text + length, (size_t)(RANGE_BYTES - length), "-%d", r->last[i]);
  }
}

/* ---- A stretch on one rank ---- */

static int collect_groups(const zb_path_step *steps, int count, group groups[GROUPS_MAX]) {
  int found = 0;
  for (int i = 0; i < count; ++i) {
    int at = 0;
    while (at < found && (groups[at].first.kind != steps[i].job.kind || groups[at].first.stage != steps[i].job.stage))
      ++at;
    if (at < found) continue;
    if (found == GROUPS_MAX) return GROUPS_MAX + 1;
    groups[found++] = (group){.first = steps[i].job};
  }
  for (int at = 0; at < found; ++at) {
    ranges r = {0};
    for (int i = 0; i < count; ++i)
      if (groups[at].first.kind == steps[i].job.kind && groups[at].first.stage == steps[i].job.stage)
        add_to_ranges(&r, steps[i].job.micro_batch);
    print_ranges(&r, groups[at].ranges);
  }
  return found;
}

static void add_counts(zb_text *out, const zb_path_step *steps, int count) {
  int counts[ZB_KIND_COUNT] = {0};
  ranges r = {0};
  for (int i = 0; i < count; ++i) {
    ++counts[steps[i].job.kind];
    add_to_ranges(&r, steps[i].job.micro_batch);
  }
  const char *between = "";
  for (int kind = 0; kind < ZB_KIND_COUNT; ++kind) {
    if (!counts[kind]) continue;
    zb_text_add(out, "%s%d %c", between, counts[kind], zb_kind_letter((zb_kind)kind));
    between = ", ";
  }
  zb_text_add(out, " of micro-batches %d-%d", r.least, r.most);
}

/* "F, B and W": the kinds of group `at` and of those with the same stage and micro-batches, which are merged into it.
 */
static void add_kinds(zb_text *out, group *groups, int found, int at) {
  int left = 0;
  for (int i = at + 1; i < found; ++i)
    if (!groups[i].merged && groups[i].first.stage == groups[at].first.stage &&
        !strcmp(groups[i].ranges, groups[at].ranges)) {
      groups[i].merged = true;
      groups[i].into = at;
      ++left;
    }
  zb_text_add(out, "%c", zb_kind_letter(groups[at].first.kind));
  for (int i = at + 1; i < found; ++i)
    if (groups[i].merged && groups[i].into == at)
      zb_text_add(out, "%s%c", --left ? ", " : " and ", zb_kind_letter(groups[i].first.kind));
}

static void add_jobs(zb_text *out, const zb_problem *p, const zb_path_step *steps, int count) {
  group groups[GROUPS_MAX];
  const int found = collect_groups(steps, count, groups);
  if (found > GROUPS_MAX) {
    add_counts(out, steps, count);
    return;
  }
  bool named = false;
  for (int i = 0; i < found; ++i) {
    if (groups[i].merged) continue;
    zb_text_add(out, "%s", i ? ", " : "");
    add_kinds(out, groups, found, i);
    const bool several = groups[i].ranges[strspn(groups[i].ranges, "0123456789")] != '\0';
    zb_text_add(out, " of %s%s", named ? "" : several ? "micro-batches " : "micro-batch ", groups[i].ranges);
    if (p->stages > p->ranks) zb_text_add(out, " (stage %d)", groups[i].first.stage);
    named = true;
  }
}

/* ---- A micro-batch along the ranks ---- */

/* Steps in which one kind of one micro-batch goes from rank to rank; a backward that is whole takes its W along. */
typedef struct along {
  int count, messages;
  bool whole;
} along;

static along find_along(const zb_path *path, int at) {
  const zb_job job = path->steps[at].job;
  along out = {.count = 1};
  while (at + out.count < path->count) {
    const zb_path_step *next = &path->steps[at + out.count];
    const bool more = at + out.count + 1 < path->count, message = next->kind == ZB_PATH_MESSAGE && more;
    if (message) ++next;
    const bool w = next->kind == ZB_PATH_JOB && job.kind == ZB_B && next->job.kind == ZB_W && !message &&
                   next->job.micro_batch == job.micro_batch && (out.whole || (more && next[1].kind == ZB_PATH_MESSAGE));
    if (!w && (next->kind != ZB_PATH_JOB || !same_way(next->job, job))) break;
    out.whole |= w;
    out.messages += message;
    out.count += message ? 2 : 1;
  }
  return out;
}

/* "ranks 0 to 3, 2 to 0" */
static void add_ranks(zb_text *out, const zb_path_step *steps, int count) {
  int first = steps[0].rank, last = first;
  zb_text_add(out, "ranks %d", first);
  for (int i = 1; i < count; ++i) {
    if (steps[i].kind != ZB_PATH_MESSAGE) continue;
    const int to = steps[i].to_rank, step = to - last, way = last - first;
    if ((step != 1 || way < 0) && (step != -1 || way > 0)) {
      if (last != first) zb_text_add(out, " to %d", last);
      zb_text_add(out, ", %d", to);
      first = to;
    }
    last = to;
  }
  if (last != first) zb_text_add(out, " to %d", last);
}

/* ---- Lines ---- */

/* The messages of the stretch that take time, if any. */
static void add_messages(zb_text *out, const zb_path_step *steps, int count, bool moves) {
  int messages = 0;
  int64_t time_ps = 0;
  for (int i = 0; i < count; ++i)
    if (steps[i].kind == ZB_PATH_MESSAGE) {
      ++messages;
      time_ps += steps[i].end_ps - steps[i].start_ps;
    }
  if (!time_ps) return;
  if (messages > 1) zb_text_add(out, ", %d messages", messages);
  if (messages == 1) zb_text_add(out, ", message");
  if (!moves) zb_text_add(out, " to rank %d", steps[count - 1].to_rank);
}

/* Adds the line of the stretch that starts at `at`; its number of steps. */
static int add_stretch(zb_text *out, const zb_problem *p, const zb_path *path, int at) {
  const zb_path_step *steps = &path->steps[at];
  zb_text_add(out, "%12.3f ms  ", (double)steps->start_ps / PS_PER_MS);
  if (steps->kind == ZB_PATH_OPTIMIZER) {
    zb_text_add(out, "rank %d: optimizer\n", steps->rank);
    return 1;
  }
  if (steps->kind == ZB_PATH_REDUCTION) {
    zb_text_add(out, "rank %d: reduction of stage %d\n", steps->rank, steps->job.stage);
    return 1;
  }
  const along way = find_along(path, at);
  const bool moves = way.messages > 1;
  int count = 0;
  if (moves) {
    count = way.count;
    add_ranks(out, steps, count);
    zb_text_add(out, ": %c%s of micro-batch %d", zb_kind_letter(steps->job.kind), way.whole ? " and W" : "",
                steps->job.micro_batch);
  } else {
    while (at + count < path->count && steps[count].kind == ZB_PATH_JOB && steps[count].rank == steps->rank)
      ++count;
    zb_text_add(out, "rank %d: ", steps->rank);
    add_jobs(out, p, steps, count);
  }
  while (at + count < path->count && steps[count].kind == ZB_PATH_MESSAGE)
    ++count;
  add_messages(out, steps, count, moves);
  zb_text_add(out, "\n");
  return count;
}

/* Lines are made with their ends noted, so that the middle can be left out. */
char *zb_path_text(const zb_problem *problem, const zb_path *path, int lines) {
  zb_text all = {0}, out = {0};
  size_t *begin = NULL, capacity = 0;
  int count = 0;
  for (int at = 0; at < path->count; ++count) {
    if (!zb_grow((void **)&begin, &capacity, (size_t)count + 2, sizeof *begin)) {
      out.failed = true;
      goto cleanup;
    }
    begin[count] = all.length;
    at += add_stretch(&all, problem, path, at);
    begin[count + 1] = all.length;
  }
  out.failed = all.failed;
  if (all.failed || !count) goto cleanup;
  if (lines <= 0 || count <= lines) {
    zb_text_add_bytes(&out, all.data, all.length);
    goto cleanup;
  }
  const int head = lines / 2, tail = lines - 1 - head;
  zb_text_add_bytes(&out, all.data, begin[head]);
  zb_text_add(&out, "%12s     %d more\n", "...", count - head - tail);
  zb_text_add_bytes(&out, all.data + begin[count - tail], all.length - begin[count - tail]);
cleanup:
  zb_free(begin);
  zb_text_deinit(&all);
  return zb_text_take(&out);
}
