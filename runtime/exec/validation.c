/* Post-validation: a step that begins before it is known whether the one before was clipped.
 *
 * Such a step is run by the same list. At its end, in the place of CLIP, a rank writes the factor 1, and the numbers of
 * the norm may still be on their way (pending); what its UPDATE overwrites is in the snapshot. In the next step it
 * comes to its VERDICT: there it runs CLIP on the numbers, which nobody touched. Where the factor is 1 the update was
 * right, and it goes on. Else all ranks find the same factor, and each takes back what it did: it takes what was sent
 * to it already, so that every message is complete on both sides, restores the snapshot, updates with the factor (where
 * replicas update parts, they gather those and renew what is made of whole parameters, too), and runs its list from the
 * beginning again. What a step writes before its first B is cleared, reported or checked only once the verdict is
 * known. DECISIONS.md has the reasons, runtime/plan/proof/validation.c the proof.
 *
 * Tests: test/e2e/validation.py.
 */
#include "runtime/exec/executor_parts.h"
#include "runtime/plan/clock/simulator.h"
#include "runtime/plan/mesh/mesh.h"

#include <string.h>

void zb_validation_init(zb_executor *e) {
  e->verdict = zb_plan_find_job(e->program, ZB_JOB_VERDICT);
  e->snapshot = zb_plan_find_job(e->program, ZB_JOB_SNAPSHOT);
  e->clip = zb_plan_find_job(e->program, ZB_JOB_CLIP);
}

static bool is_norm_report(const zb_plan_job *job) { return job->kind == ZB_JOB_REPORT && job->micro_batch < 0; }

bool zb_validation_skips(const zb_executor *e, const zb_plan_job *job) {
  return e->speculates && e->list == ZB_LIST_STEP && (job->kind == ZB_JOB_CLIP || is_norm_report(job));
}

static bool carries_norms(const zb_executor *e, const zb_plan_job *job) {
  return zb_job_is_post(job->kind) && zb_plan_brings_norms(e->params.plan, &e->params.plan->messages[job->message]);
}

static bool carries_parameters(const zb_executor *e, const zb_plan_job *job) {
  return zb_job_is_post(job->kind) && e->params.plan->messages[job->message].payload == ZB_PAYLOAD_PARAMETERS;
}

bool zb_validation_defers(const zb_executor *e, int message) {
  const zb_plan_message *it = &e->params.plan->messages[message];
  return e->speculates && e->list == ZB_LIST_STEP && zb_plan_brings_norms(e->params.plan, it);
}

/* ---- Keeping and restoring ---- */

/* All that a step overwrites before its verdict is known: zb-allocate lists it, the rule "validation" proves it. */
static void copy_snapshot(zb_executor *e, bool restores) {
  const zb_plan_job *job = &e->program->jobs[e->snapshot];
  uint64_t at = zb_plan_snapshot_place(e->program, job, 0);
  e->virtual_ps = zb_plan_snapshot_ps(e->params.plan, e->params.rank);
  for (uint32_t i = 0; i < job->parts.count && !e->params.device_params.no_kernels; ++i) {
    const zb_plan_range part = e->program->pool_ranges[job->parts.begin + i];
    unsigned char *used = e->arena + part.offset, *kept = e->arena + at;
    memcpy(restores ? used : kept, restores ? kept : used, part.bytes);
    at += zb_align(part.bytes);
  }
}

/* Where CLIP leaves the number of the step and the factor, for the updates. */
static unsigned char *factor_of(const zb_executor *e) {
  return e->arena + e->program->pool_ranges[e->program->jobs[e->verdict].parts.begin].offset;
}

static zb_status write_no_clipping(zb_executor *e) {
  const double scaled_step[2] = {(double)(e->updates + 1), 1};
  return e->params.device->upload(e->device, factor_of(e), scaled_step, sizeof scaled_step);
}

zb_status zb_validation_run(zb_executor *e, const zb_plan_job *job) {
  e->virtual_ps = 0;
  if (job->kind == ZB_JOB_SNAPSHOT && e->speculates) copy_snapshot(e, false);
  return job->kind == ZB_JOB_CLIP ? write_no_clipping(e) : NULL;
}

void zb_validation_poison_slots(const zb_executor *e) {
  const zb_plan_range slots = zb_plan_rank_in(e->program, e->list).regions[ZB_REGION_SLOTS];
  const zb_plan_slice kept = e->pending ? e->program->jobs[e->verdict].parts : (zb_plan_slice){0, 0};
  for (uint64_t at = slots.offset; at < slots.offset + slots.bytes;) {
    uint64_t end = slots.offset + slots.bytes, next = end;
    for (uint32_t i = 0; i < kept.count; ++i) {
      const zb_plan_range part = e->program->pool_ranges[kept.begin + i];
      if (part.offset + part.bytes > at && part.offset < end) {
        end = part.offset > at ? part.offset : at;
        next = part.offset + part.bytes;
      }
    }
    memset(e->arena + at, ZB_POISON_BYTE, end - at);
    at = next;
  }
}

/* ---- The verdict ---- */

/* Waits, in the order of the list, for what of jobs `next` to `end` is asked for. */
static zb_status wait_for(zb_executor *e, int end, bool (*asked)(const zb_executor *e, const zb_plan_job *job),
                          bool *out_done) {
  *out_done = true;
  for (; e->next < end; ++e->next) {
    const zb_plan_job *job = &e->program->jobs[e->next];
    if (!asked(e, job)) continue;
    ZB_TRY(zb_executor_complete(e, job->message, out_done));
    if (!*out_done) return NULL;
  }
  return NULL;
}

static bool is_clipped(const zb_executor *e, zb_status *out_status) {
  double scaled_step[2] = {0, 1};
  if (!e->params.device_params.no_kernels)
    *out_status = e->params.device->download(e->device, scaled_step, factor_of(e), sizeof scaled_step);
  return scaled_step[1] != 1;
}

/* The losses that were reported before the verdict are those of the step. */
static zb_status check_losses(const zb_executor *e) {
  const int kept = e->params.losses_kept > 1 ? e->params.losses_kept : 1;
  for (int i = e->first; i < e->verdict; ++i) {
    const zb_plan_job *job = &e->program->jobs[i];
    if (job->kind != ZB_JOB_REPORT) continue;
    const double loss = e->params.micro_losses[e->step % kept * e->params.plan->micro_batches + job->micro_batch];
    zb_status status = zb_executor_check_loss(e, e->step, job->micro_batch, (float)loss);
    if (status) return zb_executor_name_job(e, i, status);
  }
  return NULL;
}

/* CLIP of the step before. */
static zb_status judge(zb_executor *e) {
  zb_status status = NULL;
  const int64_t before_ps = e->compute_ps;
  e->last = e->clip;
  status = zb_executor_compute(e, &e->program->jobs[e->clip]);
  if (status) return zb_executor_name_job(e, e->clip, status);
  const bool clipped = is_clipped(e, &status);
  ZB_TRY(status);
  e->phase = clipped ? ZB_VERDICT_DRAIN : ZB_VERDICT_KNOWN;
  e->records[zb_executor_step(e) % ZB_STEPS_IN_FLIGHT].clipped_late = clipped;
  e->kept_compute_ps = clipped ? e->compute_ps - before_ps : e->compute_ps; /* what is undone counts as waste */
  e->next = clipped && !e->settles ? e->verdict : e->end;
  e->posted = !clipped || e->settles;
  return NULL;
}

/* ---- Taking a step back ---- */

static bool crosses(const zb_executor *e, const zb_plan_job *job) {
  return job->kind == ZB_JOB_RECV && e->params.plan->messages[job->message].crosses;
}

/* Posted before the verdict, or to take what crosses. */
static bool is_on_its_way(const zb_executor *e, const zb_plan_job *job) {
  return zb_job_is_post(job->kind) && (job < &e->program->jobs[e->verdict] || crosses(e, job));
}

/* Posts the next of what crosses; false: there is none. */
static zb_status post_crossing(zb_executor *e, bool *out_posted) {
  for (; e->next < e->end; ++e->next) {
    const zb_plan_job *job = &e->program->jobs[e->next];
    if (!crosses(e, job)) continue;
    e->last = e->next++;
    *out_posted = true;
    zb_status status = zb_executor_post(e, job);
    return status ? zb_executor_name_job(e, e->last, status) : NULL;
  }
  e->posted = true;
  e->next = e->first;
  return NULL;
}

static void restore(zb_executor *e) {
  copy_snapshot(e, true);
  e->last = e->snapshot;
  e->phase = ZB_VERDICT_UPDATE;
  e->next = e->snapshot;
}

static zb_status drain(zb_executor *e, zb_executor_state *out_state) {
  bool done = false;
  *out_state = ZB_EXECUTOR_RAN;
  if (!e->posted) ZB_TRY(post_crossing(e, &done));
  if (done) return NULL;
  ZB_TRY(wait_for(e, e->end, is_on_its_way, &done));
  if (done)
    restore(e);
  else
    *out_state = ZB_EXECUTOR_BLOCKED;
  return NULL;
}

/* A job that is run again with the factor: an update, or, where replicas update parts, what brings those to all and
 * what is made of whole parameters. */
static bool is_update(const zb_executor *e, const zb_plan_job *job) {
  return job->kind == ZB_JOB_UPDATE || job->kind == ZB_JOB_RENEW || carries_parameters(e, job);
}

/* Whether all parts of parameters that were posted before job `index` have come. */
static zb_status wait_for_parts(zb_executor *e, int index, bool *out_done) {
  *out_done = true;
  for (int i = e->snapshot; i < index && *out_done; ++i)
    if (carries_parameters(e, &e->program->jobs[i]))
      ZB_TRY(zb_executor_complete(e, e->program->jobs[i].message, out_done));
  return NULL;
}

/* The next update, with the factor. */
static zb_status update(zb_executor *e, zb_executor_state *out_state) {
  const int end = zb_plan_list_end(e->program, ZB_LIST_STEP);
  bool done = true;
  while (e->next < end && !is_update(e, &e->program->jobs[e->next]))
    ++e->next;
  const bool renews = e->next < end && e->program->jobs[e->next].kind == ZB_JOB_RENEW;
  if (renews || e->next >= end) ZB_TRY(wait_for_parts(e, e->next, &done));
  *out_state = done ? ZB_EXECUTOR_RAN : ZB_EXECUTOR_BLOCKED;
  if (!done) return NULL;
  if (e->next >= end) {
    e->phase = ZB_VERDICT_KNOWN;
    return zb_validation_advance(e, out_state);
  }
  e->last = e->next++;
  const zb_plan_job *job = &e->program->jobs[e->last];
  zb_status status = job->message >= 0 ? zb_executor_post(e, job) : zb_executor_compute(e, job);
  return status ? zb_executor_name_job(e, e->last, status) : NULL;
}

/* ---- Going on ---- */

static zb_status read_norm(const zb_executor *e, float *out) {
  for (int i = e->snapshot; i < zb_plan_list_end(e->program, ZB_LIST_STEP); ++i) {
    const zb_plan_job *job = &e->program->jobs[i];
    if (is_norm_report(job))
      return e->params.device->download(e->device, out, e->arena + e->program->pool_ranges[job->parts.begin].offset,
                                        sizeof *out);
  }
  return NULL;
}

/* The step before is over. What runs before the verdict is right, or runs again. */
static zb_status go_on(zb_executor *e, bool again) {
  zb_status deferred = e->deferred;
  e->deferred = NULL;
  if (again) {
    zb_status_free(deferred);
    zb_executor_go_to(e, e->first);
    e->wait = 0;
  } else {
    ZB_TRY(deferred);
    ZB_TRY(check_losses(e));
  }
  if (again && e->params.poison) zb_validation_poison_slots(e);
  return zb_executor_prepare_step(e);
}

static zb_status end_step_before(zb_executor *e) {
  const int64_t step = zb_executor_step(e);
  zb_run_record *record = &e->records[step % ZB_STEPS_IN_FLIGHT];
  ZB_TRY(read_norm(e, &record->norm));
  record->has_norm = true;
  ZB_TRY(zb_executor_check_norm(e, step, record->norm));
  e->updates += zb_executor_changed(e, true, record->norm);
  e->compute_ps = e->kept_compute_ps;
  e->pending = false;
  e->phase = ZB_VERDICT_NONE;
  return e->settles ? NULL : go_on(e, record->clipped_late);
}

zb_status zb_validation_advance(zb_executor *e, zb_executor_state *out_state) {
  bool done = true;
  switch (e->phase) {
  case ZB_VERDICT_NORMS:
    ZB_TRY(wait_for(e, zb_plan_list_end(e->program, ZB_LIST_STEP), carries_norms, &done));
    *out_state = done ? ZB_EXECUTOR_RAN : ZB_EXECUTOR_BLOCKED;
    return done ? judge(e) : NULL;
  case ZB_VERDICT_DRAIN:
    return drain(e, out_state);
  case ZB_VERDICT_UPDATE:
    return update(e, out_state);
  default:
    *out_state = ZB_EXECUTOR_VALIDATED;
    return end_step_before(e);
  }
}
