/* The proof of post-validation: rule "validation" of the verifier (README.md).
 *
 * Between its SNAPSHOT and its VERDICT of the next step a rank runs, of the list that is proven already, UPDATE, and
 * the jobs before the VERDICT. Two things can follow. Nothing was clipped: then it ran what it would have run, with the
 * same values, if the numbers of the norm stayed as they were (they are kept, nobody else writes there) and if nothing
 * wrote to the gradients, which CLIP still has to judge. Or it is undone: then everything that was written and is read
 * again must be in the snapshot, and both sides of every message must be posted equally often. That is what a closed
 * cut says: what is received before a verdict was sent before one. What was sent before a verdict and is received
 * behind one (it crosses) is taken by the receiver before it runs its jobs again, and the ranks are run once more in
 * this way to see that none waits for ever. Gathers of parameters for jobs before the verdict are messages like others:
 * the parts that are sent were restored and updated before they are sent again. What other replicas bring to what is
 * kept (buffers) is there when it is copied.
 *
 * Tests: test/runtime/plan/compiled/validation_test.c, sharding_validation_test.c and gathers_validation_test.c there
 */
#include <string.h>

#include "runtime/plan/proof/rules.h"
#include "runtime/plan/mesh/mesh.h"

/* The jobs of a rank that the rule is about; -1: there is none. */
typedef struct marks {
  int verdict, snapshot, clip;
} marks;

typedef struct validation {
  const zb_plan *plan;
  int index; /* of the rank at hand: */
  const zb_plan_rank *rank;
  marks at;
  zb_access *accesses;
  zb_intervals kept, saved; /* parts of VERDICT; parts of SNAPSHOT */
} validation;

static zb_status broken(const validation *it, int job, const char *what) {
  char text[ZB_JOB_TEXT_BYTES];
  return ZB_RULE(validation, "%s %s", zb_plan_job_text(it->plan, it->index, job, text), what);
}

static bool carries_parameters(const zb_plan *plan, const zb_plan_job *job) {
  return job->message >= 0 && plan->messages[job->message].payload == ZB_PAYLOAD_PARAMETERS;
}

/* Brings the parts of parameters that other replicas have updated: made again with the updates. Replicas that have
 * parts alone bring them to the slots, for jobs, as what F and B send each other. */
static bool brings_updates(const zb_plan *plan, const zb_plan_job *job) {
  return carries_parameters(plan, job) && !zb_sharding_of_parameters(plan->sharding);
}

static bool carries_norms(const zb_plan *plan, const zb_plan_job *job) {
  return job->message >= 0 && zb_plan_brings_norms(plan, &plan->messages[job->message]);
}

/* ---- Which jobs there are, and in which order ---- */

static zb_status find_marks(const zb_plan *plan, int index, marks *out) {
  const zb_plan_rank *rank = &plan->ranks[index];
  int verdicts = 0, snapshots = 0;
  *out = (marks){zb_plan_find_job(rank, ZB_JOB_VERDICT), zb_plan_find_job(rank, ZB_JOB_SNAPSHOT),
                 zb_plan_find_job(rank, ZB_JOB_CLIP)};
  for (int i = 0; i < rank->job_count; ++i) {
    verdicts += rank->jobs[i].kind == ZB_JOB_VERDICT;
    snapshots += rank->jobs[i].kind == ZB_JOB_SNAPSHOT;
  }
  if (verdicts > 1 || verdicts != snapshots)
    return ZB_RULE(validation, "rank %d has %d VERDICT and %d SNAPSHOT: expected one of each, or none", index, verdicts,
                   snapshots);
  return NULL;
}

/* Copies the own parts of what is gathered for a job to their place. */
static bool places_parts(const zb_plan_rank *rank, const zb_plan_job *job) {
  return job->subprogram >= 0 && rank->subprograms[job->subprogram].derived.places > 0;
}

/* Before the verdict nothing but F and what moves its values; after the snapshot nothing but CLIP, its report, UPDATE,
 * and where replicas update parts what brings those to all, and RENEW. */
static zb_status verify_kinds(const validation *it) {
  const zb_plan_rank *rank = it->rank;
  for (int i = rank->load_count; i < rank->job_count; ++i) {
    const zb_plan_job *job = &rank->jobs[i];
    const bool updates = job->kind == ZB_JOB_CLIP || job->kind == ZB_JOB_UPDATE || job->kind == ZB_JOB_RENEW ||
                         (job->kind == ZB_JOB_REPORT && job->micro_batch < 0) || brings_updates(it->plan, job);
    const bool forward = job->kind == ZB_JOB_F || job->kind == ZB_JOB_READ || job->kind == ZB_JOB_REPORT ||
                         zb_job_is_post(job->kind) || places_parts(rank, job);
    if (i < it->at.verdict && (!forward || updates || carries_norms(it->plan, job)))
      return broken(it, i, "stands before the VERDICT, where only F and what moves its values may stand");
    if (i > it->at.snapshot && !updates)
      return broken(it, i, "stands behind the SNAPSHOT, where only CLIP, its REPORT and updates may stand");
    if (i < it->at.snapshot && updates) return broken(it, i, "stands before the SNAPSHOT");
    for (uint32_t w = 0; w < job->waits.count && job->kind != ZB_JOB_CLIP; ++w)
      if (carries_norms(it->plan, &rank->jobs[rank->pool_u32[job->waits.begin + w]]))
        return broken(it, i, "waits for numbers of the norm, which only CLIP may do");
  }
  return NULL;
}

/* ---- What is kept until the verdict ---- */

static uint64_t base_of(const validation *it, const zb_plan_job *job, int base) {
  return it->rank->pool_u64[job->bases.begin + (uint32_t)base - 1];
}

static bool parts_fit(zb_intervals *to, const zb_plan_rank *rank, zb_plan_slice parts, unsigned regions) {
  for (uint32_t i = 0; i < parts.count; ++i) {
    const zb_plan_range part = rank->pool_ranges[parts.begin + i];
    const uint64_t end = part.offset + part.bytes;
    const zb_region_kind region = zb_plan_region_of(rank, part.offset, part.bytes);
    if (part.bytes == 0 || region == ZB_REGION_COUNT || !(regions >> region & 1)) return false;
    if (zb_intervals_overlap(to, part.offset, end)) return false;
    zb_intervals_assign(to, part.offset, end, 0);
  }
  return true;
}

/* Whether ranges of a base, which lies at an address, are all in the list; or whether none is. */
static bool are_within(const zb_intervals *list, const zb_intervals *ranges, uint64_t address) {
  for (size_t i = 0; i < ranges->count; ++i)
    if (!zb_intervals_cover(list, address + ranges->items[i].begin, address + ranges->items[i].end)) return false;
  return true;
}

static bool are_outside(const zb_intervals *list, const zb_intervals *ranges, uint64_t address) {
  for (size_t i = 0; i < ranges->count; ++i)
    if (zb_intervals_overlap(list, address + ranges->items[i].begin, address + ranges->items[i].end)) return false;
  return true;
}

/* CLIP runs where other shards of the rank may be elsewhere: it sums nothing over them. */
static zb_status verify_clip(const validation *it) {
  const zb_plan_subprogram *clip = &it->rank->subprograms[it->rank->jobs[it->at.clip].subprogram];
  for (int i = 0; i < clip->instruction_count; ++i)
    if (zb_collective_of_op(clip->instructions[i].op) != ZB_COLLECTIVE_COUNT)
      return broken(it, it->at.clip, "waits for other shards, which a verdict may not do");
  return NULL;
}

/* What CLIP reads and makes, and the numbers that travel, are kept. */
static zb_status verify_kept(const validation *it) {
  const zb_plan_rank *rank = it->rank;
  const zb_plan_job *clip = &rank->jobs[it->at.clip];
  const zb_access *access = &it->accesses[clip->subprogram];
  for (int b = 1; b < access->base_count; ++b)
    if (!are_within(&it->kept, &access->reads[b], base_of(it, clip, b)) ||
        !are_within(&it->kept, &access->writes[b], base_of(it, clip, b)))
      return broken(it, it->at.clip, "uses slots that are no parts of the VERDICT");
  for (int i = it->at.verdict; i < it->at.snapshot; ++i) {
    const zb_plan_job *job = &rank->jobs[i];
    for (uint32_t p = 0; p < job->parts.count && carries_norms(it->plan, job); ++p) {
      const zb_plan_range part = rank->pool_ranges[job->parts.begin + p];
      if (part.bytes > 0 && !zb_intervals_cover(&it->kept, part.offset, part.offset + part.bytes))
        return broken(it, i, "carries numbers of the norm that are no parts of the VERDICT");
    }
  }
  return NULL;
}

/* ---- What is overwritten before the verdict ---- */

/* Whether a job before the verdict may move it: values in the slots, and what replicas send of their parameters and of
 * copies of them, where it lies. That is sent again where it was restored and updated. */
static bool may_move(const validation *it, const zb_plan_job *job, zb_plan_range part) {
  const zb_region_kind region = zb_plan_region_of(it->rank, part.offset, part.bytes);
  if (part.bytes == 0 || region == ZB_REGION_SLOTS) return true;
  return job->kind == ZB_JOB_SEND && carries_parameters(it->plan, job) &&
         (region == ZB_REGION_PARAMETERS || region == ZB_REGION_CONSTANTS);
}

static zb_status verify_forward_job(const validation *it, int index) {
  const zb_plan_rank *rank = it->rank;
  const zb_plan_job *job = &rank->jobs[index];
  const zb_plan_range *gradients = &rank->regions[ZB_REGION_GRADIENTS], *step = &rank->regions[ZB_REGION_STEP];
  for (uint32_t p = 0; p < job->parts.count; ++p) {
    const zb_plan_range part = rank->pool_ranges[job->parts.begin + p];
    if (!may_move(it, job, part)) return broken(it, index, "moves values outside of the slots before the VERDICT");
    if (zb_intervals_overlap(&it->kept, part.offset, part.offset + part.bytes))
      return broken(it, index, "uses what is kept for the VERDICT");
  }
  if (job->subprogram < 0) return NULL;
  const zb_access *access = &it->accesses[job->subprogram];
  if (!are_within(&it->saved, &access->writes[0], 0))
    return broken(it, index, "writes before the VERDICT what is not in the snapshot");
  if (zb_intervals_overlap(&access->reads[0], gradients->offset, gradients->offset + gradients->bytes) ||
      zb_intervals_overlap(&access->reads[0], step->offset, step->offset + step->bytes))
    return broken(it, index, "reads gradients or settings, which are those of the step before, before the VERDICT");
  for (int b = 1; b < access->base_count; ++b)
    if (!are_outside(&it->kept, &access->writes[b], base_of(it, job, b)))
      return broken(it, index, "uses what is kept for the VERDICT");
  return NULL;
}

/* It takes the factor from the first part of the VERDICT, which is written for it. */
static zb_status verify_update(const validation *it, int index) {
  const zb_plan_job *job = &it->rank->jobs[index];
  const zb_access *access = &it->accesses[job->subprogram];
  const zb_plan_range factor = it->rank->pool_ranges[it->rank->jobs[it->at.verdict].parts.begin];
  if (!are_within(&it->saved, &access->writes[0], 0))
    return broken(it, index, "overwrites what is not in the snapshot");
  for (int b = 1; b < access->base_count; ++b) {
    if (access->writes[b].count > 0) return broken(it, index, "writes to the slots");
    if (access->reads[b].count > 0 && base_of(it, job, b) != factor.offset)
      return broken(it, index, "reads slots that are not the first part of the VERDICT");
  }
  return NULL;
}

/* Parts of parameters that come from other replicas, which are what they were once all is restored. */
static zb_status verify_parts(const validation *it, int index) {
  const zb_plan_job *job = &it->rank->jobs[index];
  for (uint32_t p = 0; p < job->parts.count; ++p) {
    const zb_plan_range part = it->rank->pool_ranges[job->parts.begin + p];
    if (part.bytes > 0 && !zb_intervals_cover(&it->saved, part.offset, part.offset + part.bytes))
      return broken(it, index, "moves parts of parameters that are not in the snapshot");
  }
  return NULL;
}

/* What comes to what is kept (buffers of replicas) has come when the copy is made. */
static zb_status verify_arrived(const validation *it) {
  const zb_plan_rank *rank = it->rank;
  zb_status status = NULL;
  bool *waited = zb_alloc((size_t)rank->job_count * sizeof *waited);
  if (!waited) return ZB_OUT_OF_MEMORY();
  for (int i = rank->load_count; i <= it->at.snapshot; ++i)
    for (uint32_t w = 0; w < rank->jobs[i].waits.count; ++w)
      waited[rank->pool_u32[rank->jobs[i].waits.begin + w]] = true;
  for (int i = rank->load_count; i < it->at.snapshot && !status; ++i) {
    const zb_plan_job *job = &rank->jobs[i];
    for (uint32_t p = 0; p < job->parts.count && job->kind == ZB_JOB_RECV && !waited[i] && !status; ++p) {
      const zb_plan_range part = rank->pool_ranges[job->parts.begin + p];
      if (zb_intervals_overlap(&it->saved, part.offset, part.offset + part.bytes))
        status = broken(it, i, "brings what is in the snapshot, which does not wait for it");
    }
  }
  zb_free(waited);
  return status;
}

static zb_status verify_marked_rank(validation *it) {
  const zb_plan_rank *rank = it->rank;
  const unsigned slots = 1u << ZB_REGION_SLOTS, overwritten = 1u << ZB_REGION_PARAMETERS | 1u << ZB_REGION_BUFFERS |
                                                              1u << ZB_REGION_STATE | 1u << ZB_REGION_CONSTANTS;
  if (it->at.clip < 0)
    return ZB_RULE(validation, "rank %d has a VERDICT and no CLIP: it cannot know the norm", it->index);
  ZB_TRY(verify_kinds(it));
  if (!parts_fit(&it->kept, rank, rank->jobs[it->at.verdict].parts, slots))
    return broken(it, it->at.verdict, "keeps what is no part of the slots, or twice");
  if (!parts_fit(&it->saved, rank, rank->jobs[it->at.snapshot].parts, overwritten))
    return broken(it, it->at.snapshot, "keeps what is no parameter, buffer, state or constant, or twice");
  if (it->kept.failed || it->saved.failed) return ZB_OUT_OF_MEMORY();
  ZB_TRY(verify_clip(it));
  ZB_TRY(verify_kept(it));
  ZB_TRY(verify_arrived(it));
  for (int i = rank->load_count; i < it->at.verdict; ++i)
    ZB_TRY(verify_forward_job(it, i));
  for (int i = it->at.snapshot; i < rank->job_count; ++i) {
    if (rank->jobs[i].kind == ZB_JOB_UPDATE || rank->jobs[i].kind == ZB_JOB_RENEW) ZB_TRY(verify_update(it, i));
    if (brings_updates(it->plan, &rank->jobs[i])) ZB_TRY(verify_parts(it, i));
  }
  return NULL;
}

static zb_status verify_rank(const zb_plan *plan, int index, marks at) {
  validation it = {.plan = plan, .index = index, .rank = &plan->ranks[index], .at = at};
  ZB_TRY(zb_access_create_all(it.rank, &it.accesses));
  zb_status status = verify_marked_rank(&it);
  zb_access_destroy_all(it.accesses, it.rank->subprogram_count);
  zb_intervals_deinit(&it.kept);
  zb_intervals_deinit(&it.saved);
  return status;
}

/* ---- The cut ---- */

/* Bits of a message: which of its sides stand before a VERDICT. */
enum { SENT_BEFORE = 1, RECEIVED_BEFORE = 2 };

static zb_status verify_cut(const zb_plan *plan, const marks *at) {
  unsigned char *sides = zb_alloc((size_t)plan->message_count + 1);
  zb_status status = NULL;
  if (!sides) return ZB_OUT_OF_MEMORY();
  for (int r = 0; r < plan->rank_count; ++r)
    for (int i = 0; i < at[r].verdict; ++i) {
      const zb_plan_job *job = &plan->ranks[r].jobs[i];
      if (job->message >= 0) sides[job->message] |= job->kind == ZB_JOB_SEND ? SENT_BEFORE : RECEIVED_BEFORE;
    }
  for (int m = 0; m < plan->message_count && !status; ++m)
    if (sides[m] == RECEIVED_BEFORE)
      status =
          ZB_RULE(validation, "message #%d is received before the VERDICT of rank %d and sent behind that of rank %d",
                  m, plan->messages[m].destination, plan->messages[m].source);
  for (int m = 0; m < plan->message_count && !status; ++m)
    if (plan->messages[m].crosses != (sides[m] == SENT_BEFORE))
      status = ZB_RULE(validation, "message #%d %s, but is marked otherwise", m,
                       sides[m] == SENT_BEFORE ? "crosses the verdicts" : "does not cross the verdicts");
  zb_free(sides);
  return status;
}

/* Room for the jobs of a rank before its VERDICT, for what crosses, for the VERDICT, and for what brings parts of
 * parameters behind the updates that follow. */
static bool copy_forward_jobs(zb_plan *to, zb_plan_rank *rank, marks at) {
  const zb_plan_job *jobs = rank->jobs;
  const int count = rank->job_count;
  zb_plan_job *copy = zb_plan_alloc(to, ((size_t)count + 1) * sizeof *copy);
  uint32_t *pool = zb_plan_alloc(to, ((size_t)rank->pool_u32_count + (size_t)count + 1) * sizeof *pool);
  if (!copy || !pool) return false;
  memcpy(copy, jobs, (size_t)at.verdict * sizeof *copy);
  if (rank->pool_u32_count) memcpy(pool, rank->pool_u32, rank->pool_u32_count * sizeof *pool);
  rank->job_count = at.verdict;
  for (int i = at.verdict; i < count; ++i) {
    if (jobs[i].kind != ZB_JOB_RECV || !to->messages[jobs[i].message].crosses) continue;
    copy[rank->job_count] = jobs[i];
    copy[rank->job_count++].waits.count = 0; /* what is there is of no use any more */
  }
  zb_plan_job *verdict = &copy[rank->job_count];
  *verdict = jobs[at.verdict];
  verdict->waits = (zb_plan_slice){rank->pool_u32_count, 0};
  for (int i = rank->load_count; i < rank->job_count; ++i)
    if (copy[i].message >= 0) pool[verdict->waits.begin + verdict->waits.count++] = (uint32_t)i;
  ++rank->job_count;
  for (int i = at.snapshot; i < count; ++i) {
    if (!brings_updates(to, &jobs[i])) continue;
    copy[rank->job_count] = jobs[i];
    copy[rank->job_count++].waits.count = 0;
  }
  rank->jobs = copy;
  rank->pool_u32 = pool;
  return true;
}

/* The ranks come to where they know that they must begin again. */
static zb_status verify_return(const zb_plan *plan, const marks *at) {
  zb_plan *to = zb_plan_create();
  if (!to) return ZB_OUT_OF_MEMORY();
  struct zb_plan_arena *memory = to->arena;
  *to = *plan;
  to->arena = memory;
  to->ranks = zb_plan_alloc(to, (size_t)plan->rank_count * sizeof *to->ranks);
  bool copied = to->ranks != NULL;
  for (int r = 0; r < plan->rank_count && copied; ++r) {
    to->ranks[r] = plan->ranks[r];
    copied = copy_forward_jobs(to, &to->ranks[r], at[r]);
  }
  zb_status status = copied ? zb_verify_progress(to) : ZB_OUT_OF_MEMORY();
  zb_plan_destroy(to);
  return status ? zb_status_note(status, "where a step that was clipped is taken back") : NULL;
}

zb_status zb_verify_validation(const zb_plan *plan) {
  zb_status status = NULL;
  int marked = 0;
  marks *at = zb_alloc((size_t)plan->rank_count * sizeof *at);
  if (!at) return ZB_OUT_OF_MEMORY();
  for (int r = 0; r < plan->rank_count; ++r) {
    ZB_TRY_GOTO(find_marks(plan, r, &at[r]));
    marked += at[r].verdict >= 0;
  }
  if (marked > 0 && marked < plan->rank_count)
    ZB_TRY_GOTO(ZB_RULE(validation, "%d of %d ranks have a VERDICT: all need one, or none", marked, plan->rank_count));
  for (int r = 0; r < plan->rank_count && marked > 0; ++r)
    ZB_TRY_GOTO(verify_rank(plan, r, at[r]));
  ZB_TRY_GOTO(verify_cut(plan, at));
  if (marked > 0) status = verify_return(plan, at);
cleanup:
  zb_free(at);
  return status;
}
