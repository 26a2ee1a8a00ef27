/* Which events the streams of a rank need: see edges.h. Tests: test/runtime/device/cuda/edges_test.c, step_test.c. */
#include "runtime/device/cuda/edges.h"

#include "runtime/base/memory.h"
#include "runtime/plan/file/check.h"
#include "runtime/plan/file/intervals.h"

enum { CLEARING = 0 };      /* jobs are numbered from 1 in the maps */
enum { PROGRESS_JOBS = 4 }; /* at most, between two events: a device that hangs must be told from one that works long */

/* What a subprogram reads and writes. Not what access.h says: the workspace counts here, since a sum over shards moves
 * what lies there, and a segment behind it reads what no instruction of its own wrote. What it both writes and reads is
 * in both lists, which costs nothing: either is over when the job is. */
typedef struct touched {
  zb_intervals *reads, *writes; /* [base_count + 1] bytes of each base, the arena first */
} touched;

typedef struct walk {
  const zb_plan *plan;
  const zb_plan_rank *rank;
  zb_arena memory;               /* of the walk */
  zb_intervals moved;            /* bytes of the arena that messages carry: for others no edge is needed */
  touched *touched;              /* [subprogram] */
  zb_intervals read, written;    /* by jobs of the compute stream; writer: the last such job, plus 1 */
  zb_intervals *sent, *received; /* [peer]: by messages; writer: the last such message */
  int *after_job;                /* [job]: SEND, RECV: the job that it comes after, plus 1; -1: none */
  zb_cuda_edges *out;
  size_t pool_count, pool_capacity;
} walk;

/* The largest writer of any byte of the range, at least `best`. */
static int32_t last_writer(const zb_intervals *intervals, const zb_plan_range *range, int32_t best) {
  for (size_t i = zb_intervals_find(intervals, range->offset); i < intervals->count; ++i) {
    const zb_interval *it = &intervals->items[i];
    if (it->begin >= range->offset + range->bytes) break;
    if (it->writer > best) best = it->writer;
  }
  return best;
}

static void assign(zb_intervals *intervals, const zb_plan_range *range, int32_t writer) {
  if (range->bytes > 0) zb_intervals_assign(intervals, range->offset, range->offset + range->bytes, writer);
}

static void assign_all(zb_intervals *to, const zb_intervals *from, uint64_t base, int32_t writer) {
  for (size_t i = 0; i < from->count; ++i)
    zb_intervals_assign(to, base + from->items[i].begin, base + from->items[i].end, writer);
}

static void note_bytes(const walk *it, zb_intervals *bases, uint32_t base, uint64_t begin, uint64_t bytes) {
  if (base > 0 || zb_intervals_overlap(&it->moved, begin, begin + bytes))
    zb_intervals_assign(&bases[base], begin, begin + bytes, 0);
}

static void note_operands(const walk *it, zb_intervals *bases, const zb_plan_operand *operands, int count) {
  for (int i = 0; i < count; ++i)
    note_bytes(it, bases, operands[i].base, operands[i].offset, (uint64_t)zb_operand_extent(&operands[i]));
}

static zb_status note_subprogram(walk *it, const zb_plan_subprogram *subprogram, touched *out) {
  const int bases = subprogram->base_count + 1;
  ZB_TAKE(&it->memory, out->reads, bases);
  ZB_TAKE(&it->memory, out->writes, bases);
  ZB_TRY(zb_arena_status(&it->memory));
  for (int i = 0; i < subprogram->instruction_count; ++i) {
    const zb_plan_instruction *instruction = &subprogram->instructions[i];
    note_operands(it, out->reads, instruction->inputs, instruction->input_count);
    if (instruction->accumulate) note_operands(it, out->reads, instruction->outputs, 1);
    note_operands(it, out->writes, instruction->outputs, instruction->output_count);
    note_bytes(it, out->writes, 0, instruction->scratch_offset, instruction->scratch_bytes);
  }
  bool failed = false;
  for (int i = 0; i < bases; ++i)
    failed |= out->reads[i].failed || out->writes[i].failed;
  return failed ? ZB_OUT_OF_MEMORY() : NULL;
}

/* What messages carry, and what subprograms do to it. */
static zb_status note_all(walk *it) {
  const zb_plan_rank *rank = it->rank;
  for (int i = 0; i < rank->job_count; ++i) {
    const zb_plan_range *parts = rank->pool_ranges + rank->jobs[i].parts.begin;
    for (uint32_t k = 0; zb_job_is_post(rank->jobs[i].kind) && k < rank->jobs[i].parts.count; ++k)
      assign(&it->moved, &parts[k], 0);
  }
  if (it->moved.failed) return ZB_OUT_OF_MEMORY();
  for (int i = 0; i < rank->subprogram_count; ++i)
    ZB_TRY(note_subprogram(it, &rank->subprograms[i], &it->touched[i]));
  return NULL;
}

static void run_compute(walk *it, const zb_plan_job *job, int32_t number) {
  const touched *access = &it->touched[job->subprogram];
  for (int i = 0; i <= it->rank->subprograms[job->subprogram].base_count; ++i) {
    uint64_t base = i > 0 ? it->rank->pool_u64[job->bases.begin + (uint32_t)i - 1] : 0;
    assign_all(&it->read, &access->reads[i], base, number);
    assign_all(&it->written, &access->writes[i], base, number);
  }
}

static zb_status add_message(walk *it, zb_plan_slice *slice, int32_t message) {
  if (message < 0) return NULL;
  if (!zb_grow((void **)&it->out->pool, &it->pool_capacity, it->pool_count + 1, sizeof(int))) return ZB_OUT_OF_MEMORY();
  it->out->pool[it->pool_count++] = message;
  ++slice->count;
  return NULL;
}

/* The last message with each peer in one direction that touches the parts; a channel keeps the order of its own. */
static zb_status after_messages(walk *it, const zb_intervals *channels, int own_peer, const zb_plan_range *parts,
                                uint32_t count, zb_plan_slice *slice) {
  for (int peer = 0; peer < it->plan->rank_count; ++peer) {
    int32_t last = -1;
    if (peer == own_peer || channels[peer].count == 0) continue;
    for (uint32_t i = 0; i < count; ++i)
      last = last_writer(&channels[peer], &parts[i], last);
    ZB_TRY(add_message(it, slice, last));
  }
  return NULL;
}

static zb_status run_message(walk *it, const zb_plan_job *job, int index) {
  const zb_plan_message *message = &it->plan->messages[job->message];
  const zb_plan_range *parts = it->rank->pool_ranges + job->parts.begin;
  bool sends = zb_job_flow(job->kind) == ZB_PARTS_OUT;
  int peer = sends ? message->destination : message->source;
  int32_t last = -1;
  for (uint32_t i = 0; i < job->parts.count; ++i) {
    last = last_writer(&it->written, &parts[i], last);
    if (!sends) last = last_writer(&it->read, &parts[i], last);
  }
  it->after_job[index] = last;
  zb_plan_slice *slice = &it->out->messages[index];
  *slice = (zb_plan_slice){(uint32_t)it->pool_count, 0};
  ZB_TRY(after_messages(it, it->received, sends ? -1 : peer, parts, job->parts.count, slice));
  if (!sends) ZB_TRY(after_messages(it, it->sent, -1, parts, job->parts.count, slice));
  for (uint32_t i = 0; i < job->parts.count; ++i)
    assign(sends ? &it->sent[peer] : &it->received[peer], &parts[i], job->message);
  return NULL;
}

static void forget(zb_intervals *intervals) { intervals->count = 0; }

/* The queues are empty when a list begins. */
static zb_status walk_list(walk *it, zb_plan_list list) {
  const zb_plan_rank *rank = it->rank;
  forget(&it->read);
  forget(&it->written);
  for (int peer = 0; peer < it->plan->rank_count; ++peer) {
    forget(&it->sent[peer]);
    forget(&it->received[peer]);
  }
  if (list == ZB_LIST_STEP) {
    assign(&it->written, &rank->regions[ZB_REGION_GRADIENTS], CLEARING);
    assign(&it->written, &rank->regions[ZB_REGION_STEP], CLEARING);
  }
  for (int i = zb_plan_list_begin(rank, list); i < zb_plan_list_end(rank, list); ++i) {
    const zb_plan_job *job = &rank->jobs[i];
    const zb_plan_range *parts = rank->pool_ranges + job->parts.begin;
    if (zb_job_is_post(job->kind)) ZB_TRY(run_message(it, job, i));
    if (zb_job_is_compute(job->kind)) run_compute(it, job, i + 1);
    for (uint32_t k = 0; k < job->parts.count; ++k) {
      if (job->kind == ZB_JOB_READ) assign(&it->written, &parts[k], i + 1);
      if (job->kind == ZB_JOB_REPORT) assign(&it->read, &parts[k], i + 1);
    }
  }
  bool failed = it->read.failed || it->written.failed;
  for (int peer = 0; peer < it->plan->rank_count; ++peer)
    failed |= it->sent[peer].failed || it->received[peer].failed;
  return failed ? ZB_OUT_OF_MEMORY() : NULL;
}

/* Jobs that a message comes after get an event, in the order of the list, and some others. */
static void number_events(walk *it) {
  zb_cuda_edges *out = it->out;
  int count = it->rank->job_count;
  for (int i = 0; i <= count; ++i)
    out->event[i] = i > it->rank->load_count && i % PROGRESS_JOBS == 0 ? 0 : -1;
  for (int i = 0; i < count; ++i)
    if (it->after_job[i] >= 0) out->event[it->after_job[i]] = 0;
  for (int i = 0; i <= count; ++i)
    if (out->event[i] == 0) out->event[i] = out->event_count++;
  for (int i = 0; i < count; ++i)
    out->after[i] = it->after_job[i] >= 0 ? out->event[it->after_job[i]] : -1;
}

static void walk_deinit(walk *it) {
  for (int i = 0; it->touched && i < it->rank->subprogram_count; ++i)
    for (int base = 0; base <= it->rank->subprograms[i].base_count; ++base) {
      if (it->touched[i].reads) zb_intervals_deinit(&it->touched[i].reads[base]);
      if (it->touched[i].writes) zb_intervals_deinit(&it->touched[i].writes[base]);
    }
  for (int peer = 0; peer < it->plan->rank_count; ++peer) {
    if (it->sent) zb_intervals_deinit(&it->sent[peer]);
    if (it->received) zb_intervals_deinit(&it->received[peer]);
  }
  zb_intervals_deinit(&it->moved);
  zb_intervals_deinit(&it->read);
  zb_intervals_deinit(&it->written);
  zb_arena_deinit(&it->memory);
}

zb_status zb_cuda_edges_init(const zb_plan *plan, int rank, zb_cuda_edges *out) {
  zb_status status = NULL;
  const zb_plan_rank *program = &plan->ranks[rank];
  size_t jobs = (size_t)program->job_count, ranks = (size_t)plan->rank_count;
  *out = (zb_cuda_edges){0};
  walk it = {.plan = plan, .rank = program, .out = out};
  ZB_TAKE(&out->memory, out->event, jobs + 1);
  ZB_TAKE(&out->memory, out->after, jobs + 1);
  ZB_TAKE(&out->memory, out->messages, jobs + 1);
  ZB_TAKE(&it.memory, it.after_job, jobs + 1);
  ZB_TAKE(&it.memory, it.sent, ranks + 1);
  ZB_TAKE(&it.memory, it.received, ranks + 1);
  ZB_TAKE(&it.memory, it.touched, program->subprogram_count + 1);
  ZB_TRY_GOTO(zb_arena_status(&out->memory));
  ZB_TRY_GOTO(zb_arena_status(&it.memory));
  for (size_t i = 0; i < jobs; ++i)
    it.after_job[i] = -1;
  ZB_TRY_GOTO(note_all(&it));
  for (zb_plan_list list = ZB_LIST_STEP; list < ZB_LIST_COUNT; ++list)
    ZB_TRY_GOTO(walk_list(&it, list));
  number_events(&it);
cleanup:
  walk_deinit(&it);
  if (status) zb_cuda_edges_deinit(out);
  return status;
}

void zb_cuda_edges_deinit(zb_cuda_edges *edges) {
  zb_arena_deinit(&edges->memory);
  zb_free(edges->pool);
  *edges = (zb_cuda_edges){0};
}
