/* The rule "beside" of the verifier: collectives that run on the second clock of a rank (expand.h).
 *
 * The other rules take the jobs of a rank one after the other. Here a collective that adds is under way from its place
 * in the list to the first job that has waited for all its posts, whatever runs between, so nothing between may touch
 * what it reads or writes: its buffers and the room where parts of others land. And what it has waited for, the others
 * have not: where it waited for a SEND, no other job may write to what that sends before it has waited as well.
 *
 * An ADD behind the last post of its collective is known to be done only where something behind it on the second clock
 * is: with the collective whose posts follow it.
 *
 * Tests: test/runtime/plan/compiled/beside_test.c, test/runtime/plan/compiled/buckets_test.c */
#include <inttypes.h>

#include "runtime/plan/file/intervals.h"
#include "runtime/plan/proof/rules.h"

typedef struct beside {
  const zb_plan *plan;
  const zb_plan_rank *rank;
  const zb_access *accesses;
  zb_intervals under_way; /* bytes; writer: the collective */
  int *open;              /* [collective] posts that no other job has waited for */
  bool *held;             /* [collective] its ADD stands behind its posts: it is over with what follows */
  int *ahead;             /* [collective] 1 + the one that is over when this one is; 0: none */
  int adding;             /* the collective whose ADD was the last job on the second clock; -1: it was a post */
  bool *waited;           /* [job] of posts: some other job has waited for it */
  zb_intervals sent;      /* bytes of SENDs that a collective alone has waited for; writer: the job */
} beside;

static void hold(beside *it, uint64_t offset, uint64_t bytes, int collective) {
  if (bytes > 0) zb_intervals_assign(&it->under_way, offset, offset + bytes, collective);
}

static void forget(zb_intervals *list, int writer) {
  size_t kept = 0;
  for (size_t i = 0; i < list->count; ++i)
    if (list->items[i].writer != writer) list->items[kept++] = list->items[i];
  list->count = kept;
}

/* SENDs that it waits for, and no other job did. */
static void note_sends(beside *it, const zb_plan_job *job) {
  for (uint32_t w = 0; w < job->waits.count; ++w) {
    const uint32_t at = it->rank->pool_u32[job->waits.begin + w];
    const zb_plan_job *post = &it->rank->jobs[at];
    for (uint32_t p = 0; p < post->parts.count && !post->derived.beside && post->kind == ZB_JOB_SEND && !it->waited[at];
         ++p) {
      const zb_plan_range part = it->rank->pool_ranges[post->parts.begin + p];
      if (part.bytes > 0) zb_intervals_assign(&it->sent, part.offset, part.offset + part.bytes, (int32_t)at);
    }
  }
}

/* What stands behind an ADD is done after it: its own posts, or another collective. */
static void follow(beside *it, const zb_plan_job *job, int collective) {
  const bool own = it->adding == collective;
  if (own) it->held[collective] = false;
  if (it->adding >= 0 && !own) {
    int last = collective;
    while (it->ahead[last])
      last = it->ahead[last] - 1;
    it->ahead[last] = 1 + it->adding;
  }
  it->adding = zb_job_is_post(job->kind) ? -1 : collective;
  it->held[collective] |= it->adding >= 0;
}

/* A job on the second clock: what it uses is the collective's. */
static void begin(beside *it, const zb_plan_job *job, int collective) {
  note_sends(it, job);
  follow(it, job, collective);
  it->open[collective] += zb_job_is_post(job->kind);
  for (uint32_t p = 0; p < job->parts.count; ++p) {
    const zb_plan_range part = it->rank->pool_ranges[job->parts.begin + p];
    hold(it, part.offset, part.bytes, collective);
  }
  for (uint32_t b = 0; b < job->bases.count; ++b)
    hold(it, it->rank->pool_u64[job->bases.begin + b], it->rank->subprograms[job->subprogram].base_bytes[b],
         collective);
  const zb_intervals *sums = job->subprogram >= 0 ? &it->accesses[job->subprogram].writes[0] : NULL;
  for (size_t i = 0; sums && i < sums->count; ++i)
    hold(it, sums->items[i].begin, sums->items[i].end - sums->items[i].begin, collective);
}

/* All posts of a collective are complete, and so is what stands in front of them on the second clock; not an ADD behind
 * them. */
static void finish(beside *it, int collective) {
  if (!it->held[collective]) forget(&it->under_way, collective);
  for (int before = it->ahead[collective] - 1; before >= 0; before = it->ahead[before] - 1) {
    it->held[before] = false;
    forget(&it->under_way, before);
  }
  it->ahead[collective] = 0;
}

static void wait_for(beside *it, const zb_plan_job *job) {
  for (uint32_t w = 0; w < job->waits.count; ++w) {
    const uint32_t at = it->rank->pool_u32[job->waits.begin + w];
    const zb_plan_job *post = &it->rank->jobs[at];
    if (it->waited[at]) continue;
    it->waited[at] = true;
    const int collective = it->plan->messages[post->message].derived.part_of - 1;
    if (!post->derived.beside)
      forget(&it->sent, (int)at);
    else if (--it->open[collective] == 0)
      finish(it, collective);
  }
}

static zb_status touches(const beside *it, int index, uint64_t begin, uint64_t end, bool writes) {
  char text[ZB_JOB_TEXT_BYTES];
  if (writes && zb_intervals_overlap(&it->sent, begin, end))
    return ZB_RULE(beside,
                   "%s: it writes to arena bytes %" PRIu64 " to %" PRIu64
                   ", of which some are on their way in a SEND that a collective alone has waited for",
                   zb_plan_job_text(it->plan, it->rank->rank, index, text), begin, end);
  const size_t found = zb_intervals_find(&it->under_way, begin);
  if (begin == end || found >= it->under_way.count || it->under_way.items[found].begin >= end) return NULL;
  const zb_interval *other = &it->under_way.items[found];
  return ZB_RULE(beside, "%s: it uses arena byte %" PRIu64 " while collective %d does, which it has not waited for",
                 zb_plan_job_text(it->plan, it->rank->rank, index, text), other->begin > begin ? other->begin : begin,
                 (int)other->writer);
}

static zb_status list_touches(const beside *it, int index, const zb_intervals *list, uint64_t base, bool writes) {
  for (size_t i = 0; i < list->count; ++i)
    ZB_TRY(touches(it, index, base + list->items[i].begin, base + list->items[i].end, writes));
  return NULL;
}

static zb_status verify_job(const beside *it, int index) {
  const zb_plan_job *job = &it->rank->jobs[index];
  if (it->under_way.count == 0 && it->sent.count == 0) return NULL; /* most jobs: sums come when a step ends */
  for (uint32_t p = 0; p < job->parts.count; ++p) {
    const zb_plan_range part = it->rank->pool_ranges[job->parts.begin + p];
    ZB_TRY(touches(it, index, part.offset, part.offset + part.bytes, zb_job_flow(job->kind) == ZB_PARTS_IN));
  }
  if (job->subprogram < 0) return NULL;
  const zb_access *access = &it->accesses[job->subprogram];
  for (int b = 0; b < access->base_count; ++b) {
    const uint64_t base = b > 0 ? it->rank->pool_u64[job->bases.begin + (uint32_t)b - 1] : 0;
    ZB_TRY(list_touches(it, index, &access->reads[b], base, false));
    ZB_TRY(list_touches(it, index, &access->writes[b], base, true));
  }
  return NULL;
}

/* The collective of a job on the second clock: of an ADD that whose posts it waits for first. */
static int collective_of(const beside *it, const zb_plan_job *job) {
  if (job->message < 0) job = &it->rank->jobs[it->rank->pool_u32[job->waits.begin]];
  return it->plan->messages[job->message].derived.part_of - 1;
}

static zb_status verify_jobs(beside *it) {
  for (int i = 0; i < it->rank->job_count; ++i) {
    const zb_plan_job *job = &it->rank->jobs[i];
    if (job->derived.beside) {
      begin(it, job, collective_of(it, job));
    } else {
      wait_for(it, job);
      ZB_TRY(verify_job(it, i));
    }
    if (it->under_way.failed || it->sent.failed) return ZB_OUT_OF_MEMORY();
  }
  return NULL;
}

zb_status zb_verify_beside(const zb_plan *plan, int rank, const zb_access *accesses) {
  const zb_plan_rank *program = &plan->ranks[rank];
  beside it = {.plan = plan, .rank = program, .accesses = accesses, .adding = -1};
  int collectives = 0;
  for (int i = 0; i < program->job_count; ++i) {
    const zb_plan_job *job = &program->jobs[i];
    if (job->derived.beside && job->message >= 0 && plan->messages[job->message].derived.part_of > collectives)
      collectives = plan->messages[job->message].derived.part_of;
  }
  if (collectives == 0) return NULL;
  it.open = zb_alloc((size_t)collectives * sizeof *it.open);
  it.held = zb_alloc((size_t)collectives * sizeof *it.held);
  it.ahead = zb_alloc((size_t)collectives * sizeof *it.ahead);
  it.waited = zb_alloc((size_t)program->job_count * sizeof *it.waited);
  zb_status status = it.open && it.held && it.ahead && it.waited ? verify_jobs(&it) : ZB_OUT_OF_MEMORY();
  zb_intervals_deinit(&it.under_way);
  zb_intervals_deinit(&it.sent);
  zb_free(it.open);
  zb_free(it.held);
  zb_free(it.ahead);
  zb_free(it.waited);
  return status;
}
