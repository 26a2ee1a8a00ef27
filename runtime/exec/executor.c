/* The executor of one rank: see executor.h. Tests: test/runtime/exec. */
#include "runtime/exec/executor.h"
#include "runtime/base/assert.h"

#include "runtime/exec/executor_parts.h"
#include "runtime/plan/clock/simulator.h"
#include "runtime/plan/file/ranks.h"
#include "runtime/plan/mesh/mesh.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

enum { TEXT_BYTES = 128, POSITION_BYTES = 448, REPORTED_MOST = 2 }; /* the last: numbers of one REPORT */

static int64_t now_ps(const zb_executor *e) { return e->virtual_now_ps ? *e->virtual_now_ps : zb_monotonic_ps(); }

const char *zb_executor_job_text(const zb_plan *plan, int rank, int job, char *text, size_t size) {
  const zb_plan_rank *program = &plan->ranks[rank];
  const zb_plan_job *j = &program->jobs[job];
  const char *kind = zb_job_mnemonic(j->kind);
  char peer[ZB_RANK_TEXT_BYTES];
  if (zb_job_is_post(j->kind)) {
    const zb_plan_message *m = &plan->messages[j->message];
    bool sends = zb_job_flow(j->kind) == ZB_PARTS_OUT;
    snprintf(text, size, "%s of message %d %s %s", kind, j->message, sends ? "to" : "from",
             zb_plan_rank_text(plan, sends ? m->destination : m->source, peer));
  } else if (j->kind == ZB_JOB_READ) {
    snprintf(text, size, "%s of '%s' for micro-batch %d", kind, plan->inputs[j->input].name, j->micro_batch);
  } else if (j->stage < 0) {
    snprintf(text, size, "%s", j->subprogram >= 0 ? program->subprograms[j->subprogram].name : kind);
  } else if (j->micro_batch < 0) {
    snprintf(text, size, "%d%s", j->stage, kind);
  } else {
    snprintf(text, size, "%d%s%d", j->stage, kind, j->micro_batch);
  }
  return text;
}

const char *zb_executor_position(const zb_executor *e, char *text, size_t size) {
  const zb_plan *plan = e->params.plan;
  char job[TEXT_BYTES] = "the end of its jobs", rank[ZB_RANK_TEXT_BYTES], peer[ZB_RANK_TEXT_BYTES];
  zb_plan_rank_text(plan, e->params.rank, rank);
  if (e->end == 0) { /* nothing has begun */
    snprintf(text, size, "%s is loading", rank);
    return text;
  }
  if (e->job < e->end) zb_executor_job_text(plan, e->params.rank, e->job, job, sizeof job);
  int length = snprintf(text, size, "%s is at %s (job %d of %d)", rank, job, e->job, e->end);
  if (e->blocked_on < 0 || length < 0 || (size_t)length >= size) return text;
  const zb_plan_message *m = &plan->messages[e->blocked_on];
  bool receives = m->destination == e->params.rank;
  length += snprintf(text + length, size - (size_t)length, ", waiting for message %d %s %s", e->blocked_on,
                     receives ? "from" : "to", zb_plan_rank_text(plan, receives ? m->source : m->destination, peer));
  char of[ZB_MESSAGE_TEXT_BYTES];
  if ((m->micro_batch >= 0 || m->derived.part_of) && (size_t)length < size)
    snprintf(text + length, size - (size_t)length, " (%s)", zb_plan_message_text(plan, e->blocked_on, of));
  return text;
}

zb_status zb_executors_note_positions(const zb_executor *executors, int count, zb_status status) {
  char text[POSITION_BYTES];
  for (int i = 0; i < count; ++i)
    status = zb_status_note(status, "%s", zb_executor_position(&executors[i], text, sizeof text));
  return status;
}

/* Text by hand: snprintf may not be called in a signal handler. */
typedef struct safe_text {
  char *data;
  size_t used, size;
} safe_text;

static void add_safe(safe_text *out, const char *text) {
  for (; *text && out->used < out->size; ++text)
    out->data[out->used++] = *text;
}

static void add_number(safe_text *out, const char *before, int value) {
  char digits[16];
  int count = 0;
  add_safe(out, before);
  if (value < 0) add_safe(out, "-");
  for (unsigned left = value < 0 ? 0u - (unsigned)value : (unsigned)value; count == 0 || left > 0; left /= 10)
    digits[count++] = (char)('0' + left % 10);
  while (count > 0 && out->used < out->size)
    out->data[out->used++] = digits[--count];
}

static void add_rank(safe_text *out, const char *before, const zb_plan *plan, int rank) {
  add_number(out, before, rank);
  if (zb_plan_mesh(plan) == 1 && zb_plan_shard_mesh(plan) == 1) return;
  add_number(out, " (pp", zb_plan_rank_in_replica(plan, rank));
  if (zb_plan_mesh(plan) > 1) add_number(out, "-dp", zb_plan_replica_of(plan, rank));
  if (zb_plan_shard_mesh(plan) > 1) add_number(out, "-tp", zb_plan_shard_of(plan, rank));
  add_safe(out, ")");
}

size_t zb_executor_position_safe(const zb_executor *e, char *text, size_t size) {
  safe_text out = {.data = text, .size = size};
  int at = atomic_load_explicit(&e->at_job, memory_order_relaxed),
      blocked = atomic_load_explicit(&e->at_message, memory_order_relaxed);
  add_rank(&out, "rank ", e->params.plan, e->params.rank);
  const int step_end = zb_plan_step_end(e->program);
  if (at < 0 || at >= e->program->job_count) {
    add_safe(&out, " is at the end of its jobs");
    if (blocked < 0) add_safe(&out, ", waiting for other processes or saving");
  } else {
    const zb_plan_job *job = &e->program->jobs[at];
    add_safe(&out, " is at ");
    if (job->stage >= 0) add_number(&out, "", job->stage);
    add_safe(&out, zb_job_mnemonic(job->kind));
    if (job->micro_batch >= 0) add_number(&out, "", job->micro_batch);
    add_number(&out, " (job ", at);
    add_number(&out, " of ", at < step_end ? step_end : e->program->job_count);
    add_safe(&out, ")");
  }
  if (blocked < 0 || blocked >= e->params.plan->message_count) return out.used;
  const zb_plan_message *m = &e->params.plan->messages[blocked];
  bool receives = m->destination == e->params.rank;
  add_number(&out, ", waiting for message ", blocked);
  add_rank(&out, receives ? " from rank " : " to rank ", e->params.plan, receives ? m->source : m->destination);
  if (m->micro_batch >= 0) add_number(&out, " (micro-batch ", m->micro_batch);
  if (m->micro_batch >= 0) add_safe(&out, ")");
  return out.used;
}

static uint64_t largest_input(const zb_plan *plan) {
  uint64_t largest = 0;
  for (int i = 0; i < plan->input_count; ++i) {
    int64_t bytes = zb_shape_bytes(&plan->inputs[i].shape);
    if (bytes > 0 && (uint64_t)bytes > largest) largest = (uint64_t)bytes;
  }
  return largest;
}

/* Shows a device with a queue every job that it will launch, before the first. */
static zb_status bind_jobs(zb_executor *e) {
  const zb_device_queue *queue = e->params.device->queue;
  if (!queue) return NULL;
  for (int i = 0; i < e->program->job_count; ++i) {
    const zb_plan_job *job = &e->program->jobs[i];
    if (!zb_job_is_compute(job->kind)) continue;
    ZB_TRY(queue->bind(e->device, e->programs[job->subprogram], e->arena, e->program->pool_u64 + job->bases.begin));
  }
  return NULL;
}

double *zb_executor_setting(zb_executor *e, int index) {
  const uint64_t at = e->program->settings[index].offset - e->program->regions[ZB_REGION_STEP].offset;
  return (double *)(void *)(e->step_image + at);
}

/* A plan without a region step has no optimizer: that of a calibration. */
static zb_status make_step_image(zb_executor *e) {
  const zb_plan_range *step = &e->program->regions[ZB_REGION_STEP];
  if (step->bytes < sizeof(int64_t)) return NULL;
  e->step_bytes = sizeof(int64_t);
  for (int i = 0; i < e->program->setting_count; ++i) {
    const zb_plan_setting *setting = &e->program->settings[i];
    const uint64_t end = setting->offset - step->offset + (uint64_t)setting->default_count * sizeof(double);
    if (end > e->step_bytes) e->step_bytes = end;
  }
  if (!ZB_TAKE(&e->memory, e->step_image, e->step_bytes)) return ZB_OUT_OF_MEMORY();
  for (int i = 0; i < e->program->setting_count; ++i) {
    const zb_plan_setting *setting = &e->program->settings[i];
    memcpy(zb_executor_setting(e, i), setting->defaults, (size_t)setting->default_count * sizeof(double));
  }
  return NULL;
}

zb_status zb_executor_init(zb_executor *e, const zb_executor_params *params) {
  zb_status status = NULL;
  memset(e, 0, sizeof *e);
  ZB_ASSERT(zb_plan_is_expanded(params->plan));
  e->params = *params;
  e->program = &params->plan->ranks[params->rank];
  e->blocked_on = -1;
  ZB_TRY_GOTO(params->device->open(&params->device_params, &e->device));
  void *arena = NULL;
  ZB_TRY_GOTO(params->device->alloc(e->device, e->program->arena_bytes, &arena));
  e->arena = arena;
  ZB_TAKE(&e->memory, e->programs, e->program->subprogram_count + 1);
  ZB_TAKE(&e->memory, e->ran, e->program->subprogram_count + 1);
  e->params.poison = params->poison && !params->device->queue; /* which needs the arena to be memory of the host */
  /* Poison and queues know the order of the list alone. Of a virtual clock the plan says who moves the bytes. */
  e->has_second =
      !e->params.poison && !params->device->queue && !(params->device->virtual_clock && params->plan->link_copies);
  if (params->device->queue)
    ZB_TAKE(&e->memory, e->losses, REPORTED_MOST * ((size_t)params->plan->micro_batches + 1));
  else
    ZB_TAKE(&e->memory, e->staging, largest_input(params->plan) + 1);
  if (!params->device->queue) ZB_TAKE(&e->memory, e->kept, e->program->regions[ZB_REGION_BUFFERS].bytes + 1);
  if (params->trace) {
    ZB_TAKE(&e->memory, e->times, e->program->job_count + 1);
    ZB_TAKE(&e->memory, e->waited_ps, e->program->job_count + 1);
  }
  ZB_TRY_GOTO(zb_arena_status(&e->memory));
  for (int i = 0; i < e->program->subprogram_count; ++i)
    ZB_TRY_GOTO(params->device->prepare(e->device, &e->program->subprograms[i], &e->programs[i]));
  ZB_TRY_GOTO(bind_jobs(e));
  ZB_TRY_GOTO(make_step_image(e));
  zb_validation_init(e);
  if (e->params.poison) ZB_TRY_GOTO(zb_liveness_init(params->plan, params->rank, &e->liveness));
cleanup:
  if (status) zb_executor_deinit(e);
  return status;
}

void zb_executor_deinit(zb_executor *e) {
  if (!e->device) return;
  for (int i = 0; e->programs && i < e->program->subprogram_count; ++i)
    e->params.device->release_program(e->device, e->programs[i]);
  if (e->arena) e->params.device->release(e->device, e->arena);
  e->params.device->close(e->device);
  zb_liveness_deinit(&e->liveness);
  zb_status_free(e->deferred);
  zb_arena_deinit(&e->memory);
  memset(e, 0, sizeof *e);
}

static bool is_beside(const zb_executor *e, int job) { return e->has_second && e->program->jobs[job].derived.beside; }

/* The first job from `job` on that runs beside the others. */
static int next_beside(const zb_executor *e, int job) {
  while (job < e->end && !is_beside(e, job))
    ++job;
  return job;
}

/* What runs beside the others is passed. */
void zb_executor_go_to(zb_executor *e, int job) {
  while (job < e->end && is_beside(e, job))
    ++job;
  e->job = job;
  e->wait = 0;
  atomic_store_explicit(&e->at_job, job < e->end ? job : -1, memory_order_relaxed);
}

/* message -1: it waits for none. */
static void block_on(zb_executor *e, int message) {
  e->blocked_on = message;
  atomic_store_explicit(&e->at_message, message, memory_order_relaxed);
}

static void begin(zb_executor *e, int first, int end) {
  e->first = e->drain = first;
  e->end = end;
  e->second = e->has_second ? next_beside(e, first) : end;
  e->second_blocked = -1;
  zb_executor_go_to(e, first);
  block_on(e, -1);
  e->compute_ps = e->waiting_ps = e->queue_end_ps = 0;
}

void zb_executor_begin_load(zb_executor *e) {
  begin(e, 0, e->program->load_count);
  e->list = ZB_LIST_STEP;
  e->cleared = true;
}

static void begin_list(zb_executor *e, zb_plan_list list, int64_t number) {
  begin(e, zb_plan_list_begin(e->program, list), zb_plan_list_end(e->program, list));
  e->list = list;
  e->step = number;
  e->cleared = e->updated = false;
}

void zb_executor_begin_step(zb_executor *e, int64_t step) {
  begin_list(e, ZB_LIST_STEP, step);
  e->has_norm = false;
}

void zb_executor_begin_settling(zb_executor *e) {
  begin(e, zb_plan_list_end(e->program, ZB_LIST_STEP), zb_plan_list_end(e->program, ZB_LIST_STEP));
  e->cleared = e->settles = true;
  e->phase = ZB_VERDICT_NORMS;
  e->next = e->verdict;
}

int64_t zb_executor_step(const zb_executor *e) {
  return e->phase != ZB_VERDICT_NONE && !e->settles ? e->step - 1 : e->step;
}

void zb_executor_begin_evaluation(zb_executor *e, int64_t batch) { begin_list(e, ZB_LIST_EVALUATION, batch); }

static const zb_data *data_of(const zb_executor *e) {
  return e->list == ZB_LIST_EVALUATION ? e->params.evaluation : e->params.data;
}

/* Where the host puts the next input, of that size, for the device to take. */
static zb_status stage(zb_executor *e, uint64_t bytes, void **out) {
  *out = e->staging;
  return e->params.device->queue ? e->params.device->queue->stage(e->device, bytes, out) : NULL;
}

/* The number of the step and the settings, in one. */
static zb_status write_step(zb_executor *e) {
  unsigned char *to = e->arena + e->program->regions[ZB_REGION_STEP].offset;
  const int64_t number = e->updates + 1;
  void *buffer = e->step_image;
  if (e->step_bytes == 0) return NULL;
  memcpy(e->step_image, &number, sizeof number);
  if (e->params.device->queue) {
    ZB_TRY(stage(e, e->step_bytes, &buffer));
    memcpy(buffer, e->step_image, e->step_bytes);
  }
  return e->params.device->upload(e->device, to, buffer, e->step_bytes);
}

static zb_plan_range region_of(const zb_executor *e, zb_region_kind kind) {
  return zb_plan_rank_in(e->program, e->list).regions[kind];
}

zb_status zb_executor_prepare_step(zb_executor *e) {
  const zb_plan_range *gradients = &e->program->regions[ZB_REGION_GRADIENTS];
  ZB_TRY(e->params.device->zero(e->device, e->arena + gradients->offset, gradients->bytes));
  return write_step(e);
}

/* The buffers, which F writes: zb_executor_take_back. */
static zb_status keep_buffers(zb_executor *e) {
  const zb_plan_range *buffers = &e->program->regions[ZB_REGION_BUFFERS];
  if (!e->kept || buffers->bytes == 0 || e->list != ZB_LIST_STEP) return NULL;
  return e->params.device->download(e->device, e->kept, e->arena + buffers->offset, buffers->bytes);
}

bool zb_executor_take_back(zb_executor *e) {
  const zb_plan_range *buffers = &e->program->regions[ZB_REGION_BUFFERS];
  if (e->updated || e->pending || e->params.device->queue) return false;
  if (buffers->bytes == 0 || e->list != ZB_LIST_STEP || !e->cleared) return true;
  zb_status status = e->params.device->upload(e->device, e->arena + buffers->offset, e->kept, buffers->bytes);
  zb_status_free(status);
  return !status;
}

zb_status zb_executor_clear(zb_executor *e) {
  const zb_device_def *device = e->params.device;
  if (device->queue) ZB_TRY(device->queue->before_job(e->device, -1));
  if (e->cleared) return NULL; /* LOAD jobs: nothing to clear */
  e->cleared = true;
  ZB_TRY(keep_buffers(e));
  if (e->list == ZB_LIST_STEP && !e->pending) ZB_TRY(zb_executor_prepare_step(e));
  memset(e->ran, 0, (size_t)e->program->subprogram_count);
  if (device->queue) ZB_TRY(device->queue->after_job(e->device, -1));
  if (e->times) {
    memset(e->times + e->first, 0, sizeof(zb_run_times) * (size_t)(e->end - e->first));
    memset(e->waited_ps + e->first, 0, sizeof(int64_t) * (size_t)(e->end - e->first));
  }
  e->waited_end_ps = 0;
  if (e->params.poison) zb_validation_poison_slots(e);
  return NULL;
}

/* The model cannot take a value: says where it came from. */
static zb_status blame_data(const zb_executor *e, int micro_batch, zb_status status) {
  const zb_device_def *device = e->params.device;
  const zb_kernel_fault *fault = device->fault ? device->fault(e->device) : NULL;
  if (!fault) return status;
  status = zb_status_hint(status, "look at the inputs of that %s: the model takes values of %lld to %lld there",
                          micro_batch == ZB_DATA_ANY ? "step" : "micro-batch", (long long)fault->least,
                          (long long)fault->most);
  return zb_data_blame(data_of(e), e->step, micro_batch, fault, status);
}

/* What the job takes more than the plan says. */
static int64_t delay_of(const zb_executor *e, const zb_plan_job *job) {
  const zb_plan *plan = e->params.plan;
  const int first = job->micro_batch >= 0 ? zb_plan_first_micro_batch(plan, e->params.rank) : 0;
  return zb_delay_ps(zb_delays_of_rank(&e->params.delays, e->step, e->params.rank),
                     zb_delay_key(job->subprogram, job->micro_batch - first), e->params.delays.spread, e->virtual_ps);
}

zb_status zb_executor_compute(zb_executor *e, const zb_plan_job *job) {
  const zb_plan_subprogram *subprogram = &e->program->subprograms[job->subprogram];
  if (e->params.poison) {
    const zb_plan_range workspace = region_of(e, ZB_REGION_WORKSPACE);
    memset(e->arena + workspace.offset, ZB_POISON_BYTE, workspace.bytes);
  }
  int64_t start = now_ps(e);
  e->updated |= job->kind == ZB_JOB_UPDATE && zb_executor_changed(e, e->has_norm, e->norm);
  zb_status status = e->params.device->launch(e->device, e->programs[job->subprogram], e->arena,
                                              e->program->pool_u64 + job->bases.begin);
  if (status) return blame_data(e, job->micro_batch, status);
  bool first = !e->ran[job->subprogram];
  e->ran[job->subprogram] = true;
  e->virtual_ps = first && subprogram->first_ps ? subprogram->first_ps : subprogram->time_ps;
  if (e->params.delays.seed) e->virtual_ps += delay_of(e, job);
  int64_t end = e->virtual_now_ps ? start + e->virtual_ps : zb_monotonic_ps();
  e->compute_ps += end - start;
  if (e->times) e->times[e->job] = (zb_run_times){start, end};
  return NULL;
}

zb_status zb_executor_post(zb_executor *e, const zb_plan_job *job) {
  const zb_plan_range *parts = e->program->pool_ranges + job->parts.begin;
  /* What was there before must not pass for what was received. */
  if (e->params.poison && zb_job_flow(job->kind) == ZB_PARTS_IN)
    for (uint32_t i = 0; i < job->parts.count; ++i)
      memset(e->arena + parts[i].offset, ZB_POISON_BYTE, parts[i].bytes);
  return e->params.transport_def->post(e->params.transport, e->params.rank, job->message, e->arena, parts,
                                       (int)job->parts.count);
}

static zb_status run_read(zb_executor *e, const zb_plan_job *job) {
  if (!data_of(e)) return NULL;
  uint64_t bytes = (uint64_t)zb_shape_bytes(&e->params.plan->inputs[job->input].shape);
  void *staged = NULL;
  ZB_TRY(stage(e, bytes, &staged));
  ZB_TRY(zb_data_read(data_of(e), job->input, e->step, job->micro_batch, staged));
  for (uint32_t i = 0; i < job->parts.count; ++i) /* every part is a home of the whole input */
    ZB_TRY(e->params.device->upload(e->device, e->arena + e->program->pool_ranges[job->parts.begin + i].offset, staged,
                                    bytes));
  return NULL;
}

zb_status zb_executor_check_loss(const zb_executor *e, int64_t step, int micro_batch, float loss) {
  if (isfinite(loss) || e->params.device_params.no_kernels || e->params.skip_non_finite) return NULL;
  return zb_status_hint(ZB_ERROR(RUNTIME, "the loss of step %lld, micro-batch %d is %s", (long long)step + 1,
                                 micro_batch, isnan(loss) ? "not a number" : "infinite"),
                        "lower the learning rate, or look at the data of that step: where all targets of a micro-batch "
                        "are ignored it has no mean, which zbc --loss-mean targets leaves out");
}

static zb_status take_loss(zb_executor *e, const zb_plan_job *job, const float *values) {
  const int kept = e->list == ZB_LIST_STEP && e->params.losses_kept > 1 ? e->params.losses_kept : 1;
  const int64_t at = e->step % kept * e->params.plan->micro_batches + job->micro_batch;
  e->params.micro_losses[at] = (double)values[0];
  if (e->params.micro_weights) e->params.micro_weights[at] = (double)values[1];
  if (e->list == ZB_LIST_EVALUATION) return NULL; /* it changes nothing, so it is a result like any other */
  return zb_executor_check_loss(e, e->step, job->micro_batch, values[0]);
}

/* Where it is not finite no UPDATE changes anything, on any rank: zb.clip_scale says so. */
zb_status zb_executor_check_norm(const zb_executor *e, int64_t step, float norm) {
  if (norm < 0 && !e->params.device_params.no_kernels)
    return zb_status_hint(ZB_ERROR(RUNTIME, "no target of step %lld counts: all are ignored", (long long)step + 1),
                          "look at the data of that step; the loss is a mean over targets that are not ignored");
  if (isfinite(norm) || e->params.device_params.no_kernels || e->params.skip_non_finite) return NULL;
  return zb_status_hint(ZB_ERROR(RUNTIME, "the norm of all gradients of step %lld is %s", (long long)step + 1,
                                 isnan(norm) ? "not a number" : "infinite"),
                        "lower the learning rate, look at the data of that step, or leave such steps out: --non-finite "
                        "skip");
}

static zb_status take_norm(zb_executor *e, float norm) {
  e->has_norm = true;
  e->norm = norm;
  return zb_executor_check_norm(e, e->step, norm);
}

/* The loss of a micro-batch, or the norm. */
static zb_status take_report(zb_executor *e, const zb_plan_job *job, const float *values) {
  return job->micro_batch < 0 ? take_norm(e, values[0]) : take_loss(e, job, values);
}

static float *fetched(const zb_executor *e, const zb_plan_job *job) {
  return &e->losses[REPORTED_MOST * (job->micro_batch < 0 ? e->params.plan->micro_batches : job->micro_batch)];
}

/* An output goes to what the session keeps of the batch. */
static zb_status run_output(zb_executor *e, const zb_plan_job *job, const unsigned char *at) {
  const int output = job->output - 1;
  const uint64_t bytes = (uint64_t)zb_shape_bytes(&e->params.plan->outputs[output].shape);
  const zb_device_queue *queue = e->params.device->queue;
  if (!e->params.outputs || !e->params.outputs[output] || bytes == 0) return NULL;
  unsigned char *to = e->params.outputs[output] + bytes * (uint64_t)job->micro_batch;
  return queue ? queue->fetch(e->device, at, to, bytes) : e->params.device->download(e->device, to, at, bytes);
}

static zb_status run_report(zb_executor *e, const zb_plan_job *job) {
  const unsigned char *at = e->arena + e->program->pool_ranges[job->parts.begin].offset;
  const zb_device_queue *queue = e->params.device->queue;
  if (job->output) return run_output(e, job, at);
  const uint64_t bytes = job->micro_batch < 0 ? sizeof(float) : zb_plan_loss_bytes(e->params.plan);
  float values[REPORTED_MOST] = {0};
  if (queue) return queue->fetch(e->device, at, fetched(e, job), bytes);
  ZB_TRY(e->params.device->download(e->device, values, at, bytes));
  return take_report(e, job, values);
}

static zb_status run_other(zb_executor *e, const zb_plan_job *job) {
  if (job->kind == ZB_JOB_VERDICT || job->kind == ZB_JOB_SNAPSHOT) return zb_validation_run(e, job);
  if (zb_job_is_post(job->kind)) return zb_executor_post(e, job);
  if (job->kind == ZB_JOB_READ) return run_read(e, job);
  if (job->kind == ZB_JOB_REPORT) return run_report(e, job);
  return ZB_ERROR(INVALID, "the interpreter cannot run a job of kind %s", zb_job_mnemonic(job->kind));
}

/* A device with a queue times its jobs itself. */
static zb_status run_enqueued(zb_executor *e, const zb_plan_job *job) {
  const zb_device_def *device = e->params.device;
  ZB_TRY(device->queue->before_job(e->device, e->job));
  if (zb_job_is_compute(job->kind))
    ZB_TRY(device->launch(e->device, e->programs[job->subprogram], e->arena, e->program->pool_u64 + job->bases.begin));
  else
    ZB_TRY(run_other(e, job));
  return device->queue->after_job(e->device, e->job);
}

static zb_status run_job(zb_executor *e, const zb_plan_job *job) {
  if (zb_validation_skips(e, job)) return zb_validation_run(e, job);
  if (e->params.device->queue) return run_enqueued(e, job);
  if (zb_job_is_compute(job->kind)) return zb_executor_compute(e, job);
  if (!e->times) return run_other(e, job);
  int64_t start = now_ps(e);
  ZB_TRY(run_other(e, job));
  e->times[e->job] = (zb_run_times){start, now_ps(e)}; /* on a virtual clock the driver knows when it ends */
  return NULL;
}

/* Poison: nobody may have written where nothing lives, and what has become free is filled. */
static zb_status check_and_fill(zb_executor *e) {
  const zb_liveness *l = &e->liveness;
  const zb_plan_slice quiet = l->quiet[e->job], free_after = l->free_after[e->job];
  for (uint32_t i = 0; i < quiet.count; ++i) {
    const zb_plan_range *range = &l->ranges[quiet.begin + i];
    for (uint64_t k = 0; k < range->bytes; ++k)
      if (e->arena[range->offset + k] != ZB_POISON_BYTE)
        return ZB_ERROR(RUNTIME, "byte %llu of the arena was written, which the plan calls free",
                        (unsigned long long)(range->offset + k));
  }
  for (uint32_t i = 0; i < free_after.count; ++i) {
    const zb_plan_range *range = &l->ranges[free_after.begin + i];
    memset(e->arena + range->offset, ZB_POISON_BYTE, range->bytes);
  }
  return NULL;
}

zb_status zb_executor_name_job(const zb_executor *e, int index, zb_status status) {
  char job[TEXT_BYTES], rank[ZB_RANK_TEXT_BYTES];
  return zb_status_note(status, "%s, %s (job %d of %d)", zb_plan_rank_text(e->params.plan, e->params.rank, rank),
                        zb_executor_job_text(e->params.plan, e->params.rank, index, job, sizeof job), index, e->end);
}

zb_status zb_executor_complete(zb_executor *e, int message, bool *out_done) {
  const zb_transport_def *def = e->params.transport_def;
  *out_done = def->test(e->params.transport, e->params.rank, message);
  block_on(e, *out_done ? -1 : message);
  return *out_done && def->order ? def->order(e->params.transport, e->params.rank, message) : NULL;
}

/* The queue of a device is done: what is known only now. */
static zb_status collect(zb_executor *e) {
  for (int i = e->first; i < e->end; ++i) {
    const zb_plan_job *job = &e->program->jobs[i];
    if (job->kind == ZB_JOB_REPORT && !job->output) ZB_TRY(take_report(e, job, fetched(e, job)));
    if (!e->times) continue;
    zb_run_times *times = &e->times[i];
    if (!e->params.device->queue->job_times(e->device, i, &times->start_ps, &times->end_ps)) continue;
    if (times->end_ps > e->queue_end_ps) e->queue_end_ps = times->end_ps;
    if (zb_job_is_compute(job->kind)) e->compute_ps += times->end_ps - times->start_ps;
  }
  return NULL;
}

bool zb_executor_has_second(const zb_executor *e) { return e->second < e->job; }

/* Runs it as if it were at its place in the list. */
static zb_status run_beside(zb_executor *e, int index) {
  const int job = e->job;
  e->job = e->last = index;
  zb_status status = run_job(e, &e->program->jobs[index]);
  if (status) status = zb_executor_name_job(e, index, status);
  e->job = job;
  return status;
}

zb_status zb_executor_advance_second(zb_executor *e, zb_executor_state *out_state) {
  *out_state = ZB_EXECUTOR_DONE;
  e->second_blocked = -1;
  if (!zb_executor_has_second(e)) return NULL;
  const zb_transport_def *def = e->params.transport_def;
  const zb_plan_job *job = &e->program->jobs[e->second];
  for (uint32_t w = 0; w < job->waits.count; ++w) {
    const int message = e->program->jobs[e->program->pool_u32[job->waits.begin + w]].message;
    if (def->test(e->params.transport, e->params.rank, message)) continue;
    e->second_blocked = message;
    *out_state = ZB_EXECUTOR_BLOCKED;
    return NULL;
  }
  ZB_TRY(run_beside(e, e->second));
  e->second = next_beside(e, e->second + 1);
  *out_state = ZB_EXECUTOR_RAN;
  return NULL;
}

/* Whether what a job waits for is complete, where the second place may not have posted it yet. Where that is no clock
 * of its own the rank sleeps until it can go on. */
static zb_status wait_for(zb_executor *e, int job, bool *out_done) {
  const int message = e->program->jobs[job].message;
  const bool is_posted = !is_beside(e, job) || job < e->second;
  *out_done = false;
  if (is_posted) ZB_TRY(zb_executor_complete(e, message, out_done));
  if (!*out_done) block_on(e, !e->virtual_now_ps && e->second_blocked >= 0 ? e->second_blocked : message);
  return NULL;
}

/* All jobs were started: what was posted must complete, and the device must come to its end. */
static zb_status finish(zb_executor *e, zb_executor_state *out_state) {
  bool done = true;
  for (; e->drain < e->end; ++e->drain) {
    const zb_plan_job *job = &e->program->jobs[e->drain];
    if (!zb_job_is_post(job->kind) || zb_validation_defers(e, job->message)) continue;
    ZB_TRY(wait_for(e, e->drain, &done));
    *out_state = ZB_EXECUTOR_BLOCKED;
    if (!done) return NULL;
  }
  if (e->params.device->queue) {
    zb_status status = e->params.device->queue->poll(e->device, &done, &e->progress);
    if (status) return blame_data(e, ZB_DATA_ANY, zb_status_note(status, "rank %d", e->params.rank));
    *out_state = ZB_EXECUTOR_ENQUEUED;
    if (!done) return NULL;
    ZB_TRY(collect(e));
  }
  *out_state = ZB_EXECUTOR_DONE;
  return NULL;
}

zb_status zb_executor_advance(zb_executor *e, zb_executor_state *out_state) {
  if (atomic_load_explicit(e->params.interrupted, memory_order_relaxed))
    return ZB_ERROR(INTERRUPTED, "the step was interrupted");
  if (e->phase != ZB_VERDICT_NONE) return zb_validation_advance(e, out_state);
  if (!e->virtual_now_ps && e->second < e->end) {
    ZB_TRY(zb_executor_advance_second(e, out_state));
    if (*out_state == ZB_EXECUTOR_RAN) return NULL;
  }
  if (e->job >= e->end) return finish(e, out_state);
  const zb_plan_job *job = &e->program->jobs[e->job];
  if (e->pending && e->job == e->verdict) {
    e->phase = ZB_VERDICT_NORMS;
    e->next = e->verdict;
    return zb_validation_advance(e, out_state);
  }
  for (; e->wait < job->waits.count && !zb_validation_skips(e, job); ++e->wait) {
    bool done = true;
    zb_status status = wait_for(e, (int)e->program->pool_u32[job->waits.begin + e->wait], &done);
    if (status) return zb_executor_name_job(e, e->job, status);
    *out_state = ZB_EXECUTOR_BLOCKED;
    if (!done) return NULL;
  }
  e->last = e->job;
  zb_status status = run_job(e, job);
  if (!status && e->params.poison && e->job >= e->program->load_count) status = check_and_fill(e);
  if (status) status = zb_executor_name_job(e, e->job, status);
  if (status && e->pending && !zb_job_is_post(job->kind)) { /* with values that may be those of no step */
    if (e->deferred) zb_status_free(status);
    if (!e->deferred) e->deferred = status;
    status = NULL;
  }
  if (status) return status;
  zb_executor_go_to(e, e->job + 1);
  *out_state = ZB_EXECUTOR_RAN;
  return NULL;
}

bool zb_executor_changed(const zb_executor *e, bool has_norm, float norm) {
  return !has_norm || (isfinite(norm) && norm >= 0) || e->params.device_params.no_kernels;
}

/* The verdict of a step that no other followed is part of its time. */
static void finish_settling(zb_executor *e) {
  zb_run_record *record = &e->records[e->step % ZB_STEPS_IN_FLIGHT];
  record->ended_ps = e->ended_ps;
  record->compute_ps += e->compute_ps;
  record->waiting_ps += e->waiting_ps;
  e->settles = false;
}

void zb_executor_finish_run(zb_executor *e, bool follows) {
  if (e->settles) {
    finish_settling(e);
    return;
  }
  const int64_t before_ps = zb_executor_record(e, e->step + ZB_STEPS_IN_FLIGHT - 1)->ended_ps;
  e->records[e->step % ZB_STEPS_IN_FLIGHT] = (zb_run_record){.began_ps = follows ? before_ps : e->started_ps,
                                                             .ended_ps = e->ended_ps,
                                                             .compute_ps = e->compute_ps,
                                                             .waiting_ps = e->waiting_ps,
                                                             .has_norm = e->has_norm,
                                                             .norm = e->norm};
  e->pending = e->list == ZB_LIST_STEP && e->speculates;
  if (e->list == ZB_LIST_STEP && !e->pending) e->updates += zb_executor_changed(e, e->has_norm, e->norm);
}

const zb_run_record *zb_executor_record(const zb_executor *e, int64_t number) {
  return &e->records[number % ZB_STEPS_IN_FLIGHT];
}

void zb_executor_waited(zb_executor *e, int64_t start_ps, int64_t now) {
  e->waiting_ps += now - start_ps;
  if (e->waited_ps && e->job < e->end) e->waited_ps[e->job] += now - start_ps;
  if (e->job >= e->end) e->waited_end_ps += now - start_ps;
  if (e->params.resumed_ps) {
    bool receives = e->params.plan->messages[e->blocked_on].destination == e->params.rank;
    e->params.resumed_ps[2 * (size_t)e->blocked_on + receives] = now;
  }
  block_on(e, -1);
}
