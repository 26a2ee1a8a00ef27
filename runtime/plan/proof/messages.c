/* What the ranks of a plan do together: rules "messages", "reports" and "deadlock" of the verifier (README.md).
 *
 * Freedom from deadlock is shown for zero buffering: a SEND is complete only when its RECV is posted, and the other way
 * round. Ranks are run in their list order as far as they get; whoever waits for a message is woken when its other side
 * is posted. If that stops early, each stopped rank waits for one that is stopped too, so there is a cycle, which is
 * the error message.
 *
 * Tests: test/runtime/plan/proof/verifier_test.c
 */
#include <inttypes.h>

#include "runtime/base/text.h"
#include "runtime/plan/file/ranks.h"
#include "runtime/plan/proof/rules.h"

/* Both sides of a message: the job of each, -1 if there is none. */
typedef struct message_ends {
  int send, recv;
} message_ends;

static zb_status match_sides(const zb_plan *plan, message_ends *ends) {
  char text[ZB_JOB_TEXT_BYTES];
  for (int r = 0; r < plan->rank_count; ++r) {
    const zb_plan_rank *rank = &plan->ranks[r];
    for (int i = 0; i < rank->job_count; ++i) {
      const zb_plan_job *job = &rank->jobs[i];
      if (job->message < 0) continue;
      int *end = job->kind == ZB_JOB_SEND ? &ends[job->message].send : &ends[job->message].recv;
      if (*end >= 0)
        return ZB_RULE(messages, "%s: the same side of the message is posted twice, first by job %d",
                       zb_plan_job_text(plan, r, i, text), *end);
      *end = i;
    }
  }
  return NULL;
}

/* Numbers rise on every channel (ordered pair of ranks) on both sides: then both post in the same order, which is what
 * in-order transports need. Between channels a rank may post in any order: zb_verify_progress shows that nothing hangs.
 */
static zb_status verify_rising(const zb_plan *plan) {
  char text[ZB_JOB_TEXT_BYTES];
  zb_status status = NULL;
  int *last = zb_alloc(((size_t)plan->rank_count * 2 + 1) * sizeof *last); /* [peer * 2 + is RECV] of one rank */
  if (!last) return ZB_OUT_OF_MEMORY();
  for (int r = 0; r < plan->rank_count; ++r) {
    const zb_plan_rank *rank = &plan->ranks[r];
    for (int p = 0; p < plan->rank_count * 2; ++p)
      last[p] = -1;
    for (int i = 0; i < rank->job_count; ++i) {
      const zb_plan_job *job = &rank->jobs[i];
      if (job->message < 0) continue;
      const zb_plan_message *message = &plan->messages[job->message];
      int *before = job->kind == ZB_JOB_SEND ? &last[message->destination * 2] : &last[message->source * 2 + 1];
      if (job->message < *before)
        ZB_TRY_GOTO(ZB_RULE(messages, "%s is posted after message #%d: numbers must rise on every channel",
                            zb_plan_job_text(plan, r, i, text), *before));
      *before = job->message;
    }
  }
cleanup:
  zb_free(last);
  return status;
}

static zb_status compare_sides(const zb_plan *plan, const message_ends *ends) {
  for (int m = 0; m < plan->message_count; ++m) {
    const zb_plan_message *message = &plan->messages[m];
    if (ends[m].send < 0 || ends[m].recv < 0)
      return ZB_RULE(messages, "message #%d from rank %d to rank %d has no %s", m, message->source,
                     message->destination, ends[m].send < 0 ? "SEND" : "RECV");
    const zb_plan_rank *source = &plan->ranks[message->source], *destination = &plan->ranks[message->destination];
    const zb_plan_range *sent = &source->pool_ranges[source->jobs[ends[m].send].parts.begin];
    const zb_plan_range *received = &destination->pool_ranges[destination->jobs[ends[m].recv].parts.begin];
    for (int part = 0; part < message->part_count; ++part)
      if (sent[part].bytes != received[part].bytes)
        return ZB_RULE(messages, "message #%d: part %d is sent as %" PRIu64 " bytes and received as %" PRIu64, m, part,
                       sent[part].bytes, received[part].bytes);
  }
  return NULL;
}

/* At most one F (in an evaluation: E) of a replica gives the loss. *out: whether one does. */
static zb_status find_loss(const zb_plan *plan, bool *out) {
  const char *first = NULL;
  for (int r = 0; r < plan->rank_count; ++r)
    for (int i = 0; i < plan->ranks[r].subprogram_count; ++i) {
      const zb_plan_subprogram *subprogram = &plan->ranks[r].subprograms[i];
      if (!subprogram->loss_base || subprogram->kind == ZB_JOB_CLIP || zb_plan_replica_of(plan, r) > 0) continue;
      if (first)
        return ZB_RULE(reports, "rank %d: subprogram %s gives a loss, and so does %s", r, subprogram->name, first);
      first = subprogram->name;
    }
  *out = first != NULL;
  return NULL;
}

/* A rank reports the norm once for each CLIP, of which it has one at most. */
static zb_status verify_norm_report(const zb_plan_rank *rank, int reports) {
  int clips = 0;
  for (int i = 0; i < rank->subprogram_count; ++i)
    if (rank->subprograms[i].kind == ZB_JOB_CLIP) clips += rank->subprograms[i].loss_base ? 1 : 2;
  return clips < 2 && clips == reports
             ? NULL
             : ZB_RULE(reports, "rank %d: one CLIP gives a norm, which is reported once", rank->rank);
}

/* Every output is left by one E, and reported once for each micro-batch, where it is. */
static zb_status verify_outputs(const zb_plan *plan) {
  zb_status status = NULL;
  char text[ZB_JOB_TEXT_BYTES];
  const size_t all = (size_t)plan->output_count * (size_t)plan->micro_batches;
  bool *seen = zb_alloc((all + 1) * sizeof *seen);
  int *rank_of = zb_alloc(((size_t)plan->output_count + 1) * sizeof *rank_of); /* and one; 0: nobody leaves it */
  size_t reported = 0;
  if (!seen || !rank_of) ZB_TRY_GOTO(ZB_OUT_OF_MEMORY());
  for (int r = 0; r < plan->rank_count; ++r)
    for (int i = 0; i < plan->ranks[r].subprogram_count && zb_plan_replica_of(plan, r) == 0; ++i) {
      const zb_plan_subprogram *subprogram = &plan->ranks[r].subprograms[i];
      for (int k = 0; k < subprogram->output_count; ++k) {
        const int output = subprogram->outputs[k].output;
        if (rank_of[output])
          ZB_TRY_GOTO(ZB_RULE(reports, "rank %d: subprogram %s gives output '%s', and so does another", r,
                              subprogram->name, plan->outputs[output].name));
        rank_of[output] = zb_plan_rank_in_replica(plan, r) + 1;
      }
    }
  for (int r = 0; r < plan->rank_count; ++r)
    for (int i = 0; i < plan->ranks[r].job_count; ++i) {
      const zb_plan_job *job = &plan->ranks[r].jobs[i];
      if (!job->output) continue;
      const size_t at = (size_t)(job->output - 1) * (size_t)plan->micro_batches + (size_t)job->micro_batch;
      if (job->micro_batch < 0 || seen[at] || rank_of[job->output - 1] != zb_plan_rank_in_replica(plan, r) + 1)
        ZB_TRY_GOTO(ZB_RULE(reports, "%s: an output is reported once for each micro-batch, by the rank that has it",
                            zb_plan_job_text(plan, r, i, text)));
      seen[at] = true;
      ++reported;
    }
  if (reported != all) status = ZB_RULE(reports, "%zu of %zu outputs of micro-batches are reported", reported, all);
cleanup:
  zb_free(seen);
  zb_free(rank_of);
  return status;
}

/* The loss of every micro-batch is reported once; a plan without a loss reports none. */
static zb_status verify_reports(const zb_plan *plan) {
  zb_status status = NULL;
  char text[ZB_JOB_TEXT_BYTES];
  int reported = 0;
  bool has_loss = false;
  ZB_TRY(find_loss(plan, &has_loss));
  if (has_loss && plan->inference) return ZB_RULE(reports, "the plan is for inference, but an E gives a loss");
  bool *seen = zb_alloc((size_t)plan->micro_batches * sizeof *seen);
  if (!seen) return ZB_OUT_OF_MEMORY();
  for (int r = 0; r < plan->rank_count; ++r) {
    int norms = 0;
    for (int i = 0; i < plan->ranks[r].job_count; ++i) {
      const zb_plan_job *job = &plan->ranks[r].jobs[i];
      if (job->kind != ZB_JOB_REPORT || job->output) continue;
      if (job->micro_batch < 0) {
        ++norms;
        continue;
      }
      if (seen[job->micro_batch])
        ZB_TRY_GOTO(ZB_RULE(reports, "%s: a report is of one micro-batch, and there is one for each",
                            zb_plan_job_text(plan, r, i, text)));
      seen[job->micro_batch] = true;
      ++reported;
    }
    ZB_TRY_GOTO(verify_norm_report(&plan->ranks[r], norms));
  }
  if (reported != (has_loss ? plan->micro_batches : 0))
    status = ZB_RULE(reports, "%d of %d micro-batches are reported", reported, plan->micro_batches);

cleanup:
  zb_free(seen);
  return status;
}

/* ---- Deadlock ---- */

typedef struct progress {
  const zb_plan *plan;
  int *next;             /* [rank] next job */
  int *blocked_on;       /* [rank] message, -1 when it can run */
  unsigned char *posted; /* [message] number of sides */
  int *ready;            /* stack of ranks that can run */
  int ready_count;
} progress;

/* The first message that the job waits for whose other side is not posted; -1 if there is none. */
static int find_block(const progress *it, const zb_plan_rank *rank, const zb_plan_job *job) {
  for (uint32_t i = 0; i < job->waits.count; ++i) {
    int message = rank->jobs[rank->pool_u32[job->waits.begin + i]].message;
    if (it->posted[message] < 2) return message;
  }
  return -1;
}

static void post(progress *it, int message, int poster) {
  const zb_plan_message *about = &it->plan->messages[message];
  int peer = poster == about->source ? about->destination : about->source;
  ++it->posted[message];
  if (it->blocked_on[peer] != message) return;
  it->blocked_on[peer] = -1;
  it->ready[it->ready_count++] = peer;
}

static void run_until_blocked(progress *it, int r) {
  const zb_plan_rank *rank = &it->plan->ranks[r];
  for (; it->next[r] < rank->job_count; ++it->next[r]) {
    const zb_plan_job *job = &rank->jobs[it->next[r]];
    it->blocked_on[r] = find_block(it, rank, job);
    if (it->blocked_on[r] >= 0) return;
    if (job->message >= 0) post(it, job->message, r);
  }
}

/* Follows who waits for whom from a stopped rank until a rank comes again. */
static zb_status describe_cycle(const progress *it, int start) {
  const zb_plan *plan = it->plan;
  zb_text text = {0};
  int slow = start;
  for (int i = 0; i < plan->rank_count; ++i) { /* after this many steps we are on the cycle */
    const zb_plan_message *message = &plan->messages[it->blocked_on[slow]];
    slow = message->source == slow ? message->destination : message->source;
  }
  int at = slow;
  do {
    char job[ZB_JOB_TEXT_BYTES];
    int waited = it->blocked_on[at];
    const zb_plan_message *message = &plan->messages[waited];
    int peer = message->source == at ? message->destination : message->source;
    zb_text_add(&text, "%s%s waits for message #%d, whose other side rank %d posts later", text.length ? "; " : "",
                zb_plan_job_text(plan, at, it->next[at], job), waited, peer);
    at = peer;
  } while (at != slow);
  zb_status status = text.failed ? ZB_OUT_OF_MEMORY()
                                 : ZB_RULE(deadlock, "without buffering the ranks wait for each other: %s", text.data);
  zb_text_deinit(&text);
  return status;
}

zb_status zb_verify_progress(const zb_plan *plan) {
  zb_status status = NULL;
  size_t ranks = (size_t)plan->rank_count;
  progress it = {.plan = plan};
  it.next = zb_alloc(ranks * sizeof *it.next);
  it.blocked_on = zb_alloc(ranks * sizeof *it.blocked_on);
  it.ready = zb_alloc(ranks * sizeof *it.ready);
  it.posted = zb_alloc((size_t)plan->message_count);
  if (!it.next || !it.blocked_on || !it.ready || !it.posted) {
    status = ZB_OUT_OF_MEMORY();
    goto cleanup;
  }
  for (int r = plan->rank_count - 1; r >= 0; --r) {
    it.blocked_on[r] = -1;
    it.ready[it.ready_count++] = r;
  }
  while (it.ready_count > 0)
    run_until_blocked(&it, it.ready[--it.ready_count]);
  for (int r = 0; r < plan->rank_count && !status; ++r)
    if (it.next[r] < plan->ranks[r].job_count) status = describe_cycle(&it, r);

cleanup:
  zb_free(it.next);
  zb_free(it.blocked_on);
  zb_free(it.ready);
  zb_free(it.posted);
  return status;
}

zb_status zb_verify_messages(const zb_plan *plan) {
  message_ends *ends = zb_alloc((size_t)plan->message_count * sizeof *ends);
  if (!ends) return ZB_OUT_OF_MEMORY();
  for (int i = 0; i < plan->message_count; ++i)
    ends[i] = (message_ends){-1, -1};
  zb_status status = match_sides(plan, ends);
  if (!status) status = compare_sides(plan, ends);
  zb_free(ends);
  if (!status) status = verify_reports(plan);
  if (!status) status = verify_outputs(plan);
  if (!status) status = zb_verify_progress(plan);
  return status ? status : verify_rising(plan);
}
