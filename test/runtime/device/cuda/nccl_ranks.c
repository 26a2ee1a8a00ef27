/* The ranks of a plan over a fake NCCL: see nccl_ranks.h. */
#include "test/runtime/device/cuda/nccl_ranks.h"

#include "runtime/device/cuda/cuda.h"
#include "runtime/plan/file/ranks.h"
#include "runtime/plan/file/tensors.h"
#include "test/runtime/device/cuda/fake.h"
#include "test/runtime/device/cuda/host_kernels.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

/* A process of the run, as its group sees it. */
struct zb_group {
  int process, processes;
};

struct nccl_ranks {
  const zb_plan *plan;
  zb_executor *executors;
  zb_transport **transports; /* [process] */
  struct zb_group *groups;   /* [process] */
  int processes;
  double *micro_losses;
  atomic_int interrupted;
  zb_driver *driver;
  int count;
};

static int group_process(const zb_group *group) { return group->process; }

static int group_processes(const zb_group *group) { return group->processes; }

/* What all processes would have made together. */
static zb_status group_merge(zb_group *group, void *record, size_t bytes,
                             void (*merge)(void *total, const void *one, size_t bytes)) {
  (void)group;
  (void)merge;
  for (size_t i = 0; i < bytes / sizeof(struct zb_nccl_id); ++i) {
    struct zb_nccl_id id = fake_nccl_id((int)i);
    memcpy((char *)record + i * sizeof id, &id, sizeof id);
  }
  return NULL;
}

static bool group_find_silent(zb_group *group, char *text, size_t size) {
  snprintf(text, size, "process %d of %d does not answer", group->processes - 1, group->processes);
  return true;
}

static const zb_group_def group_def = {
    .process = group_process, .processes = group_processes, .merge = group_merge, .find_silent = group_find_silent};

/* A value of the files, or the part of it that the rank has. */
static zb_status load_value(const zb_executor *e, const zb_plan_tensor *tensor, const void *value) {
  const zb_device_def *device = e->params.device;
  const size_t bytes = (size_t)zb_shape_bytes(&tensor->shape);
  const zb_plan *plan = e->params.plan;
  if (!zb_plan_in_parts(tensor)) return device->upload(e->device, e->arena + tensor->offset, value, bytes);
  void *part = zb_alloc(bytes + 1);
  if (!part) return ZB_OUT_OF_MEMORY();
  zb_plan_copy_part(tensor, zb_plan_place_of(plan, e->params.rank), zb_dtype_bytes(tensor->shape.dtype),
                    ZB_WHOLE_TO_PART, value, part);
  zb_status status = device->upload(e->device, e->arena + tensor->offset, part, bytes);
  zb_free(part);
  return status;
}

static zb_status load_values(const zb_executor *e, const zb_store *weights, const zb_store *constants) {
  for (int i = 0; i < e->program->parameter_count; ++i) {
    const zb_plan_tensor *tensor = &e->program->parameters[i].tensor;
    const zb_stored_tensor *stored = zb_store_find(weights, tensor->name);
    if (!stored) return ZB_ERROR(INVALID, "no value for %s", tensor->name);
    ZB_TRY(load_value(e, tensor, stored->data));
  }
  for (int i = 0; i < e->program->constant_count; ++i) {
    const zb_plan_constant *constant = &e->program->constants[i];
    const zb_stored_tensor *stored =
        constants && !constant->bytes ? zb_store_find(constants, constant->tensor.name) : NULL;
    if (!constant->computed) ZB_TRY(load_value(e, &constant->tensor, stored ? stored->data : constant->bytes));
  }
  return NULL;
}

static zb_status open_process(nccl_ranks *all, int process, int64_t timeout_ms) {
  all->groups[process] = (struct zb_group){process, all->processes};
  const zb_transport_params transport = {
      .plan = all->plan, .timeout_ms = timeout_ms, .group = &all->groups[process], .group_def = &group_def};
  return zb_transport_nccl.open(&transport, &all->transports[process]);
}

static zb_status open_rank(nccl_ranks *all, int rank, const zb_data *data) {
  int process = zb_group_process_of(all->plan->rank_count, all->processes, rank), first = 0;
  (void)zb_group_ranks(all->plan->rank_count, all->processes, process, &first);
  const zb_executor_params params = {
      .plan = all->plan,
      .rank = rank,
      .device = fake_device(),
      .device_params = {.rank = rank,
                        .plan = all->plan,
                        .threads = 1,
                        .beside = rank > first ? all->executors[first].device : NULL},
      .transport_def = &zb_transport_nccl,
      .transport = all->transports[process],
      .data = data,
      .micro_losses = all->micro_losses,
      .interrupted = &all->interrupted,
  };
  ZB_TRY(zb_executor_init(&all->executors[rank], &params));
  ++all->count;
  return zb_transport_nccl.attach(all->transports[process], rank, all->executors[rank].device);
}

static zb_status open_all(nccl_ranks *all, const zb_store *weights, const zb_store *constants, const zb_data *data,
                          int64_t timeout_ms) {
  int ranks = all->plan->rank_count;
  int64_t took_ps = 0;
  for (int i = 0; i < all->processes; ++i)
    ZB_TRY(open_process(all, i, timeout_ms));
  for (int i = 0; i < ranks; ++i)
    ZB_TRY(open_rank(all, i, data));
  for (int i = 0; i < all->processes; ++i)
    ZB_TRY(zb_transport_nccl.connect(all->transports[i]));
  for (int i = 0; i < ranks; ++i)
    ZB_TRY(load_values(&all->executors[i], weights, constants));
  const zb_driver_params driver = {.executors = all->executors,
                                   .count = ranks,
                                   .transport_def = &zb_transport_nccl,
                                   .transport = all->transports[0],
                                   .interrupted = &all->interrupted,
                                   .timeout_ms = timeout_ms,
                                   .group = &all->groups[0],
                                   .group_def = &group_def};
  ZB_TRY(zb_driver_turns.start(&driver, &all->driver));
  for (int i = 0; i < ranks; ++i)
    zb_executor_begin_load(&all->executors[i]);
  return zb_driver_turns.run(all->driver, &took_ps);
}

zb_status nccl_ranks_open(const zb_plan *plan, int processes, const zb_store *weights, const zb_store *constants,
                          const zb_data *data, int64_t timeout_ms, nccl_ranks **out) {
  size_t ranks = (size_t)plan->rank_count;
  *out = NULL;
  nccl_ranks *all = zb_alloc(sizeof *all);
  if (!all) return ZB_OUT_OF_MEMORY();
  *out = all;
  all->plan = plan;
  all->processes = processes;
  all->executors = zb_alloc(sizeof(zb_executor) * ranks);
  all->transports = zb_alloc(sizeof(zb_transport *) * (size_t)processes);
  all->groups = zb_alloc(sizeof(struct zb_group) * (size_t)processes);
  all->micro_losses = zb_alloc(sizeof(double) * (size_t)plan->micro_batches);
  if (!all->executors || !all->transports || !all->groups || !all->micro_losses) return ZB_OUT_OF_MEMORY();
  return open_all(all, weights, constants, data, timeout_ms);
}

void nccl_ranks_close(nccl_ranks *all) {
  if (!all) return;
  if (all->driver) zb_driver_turns.stop(all->driver);
  for (int i = 0; all->transports && i < all->processes; ++i)
    zb_transport_nccl.close(all->transports[i]);
  for (int i = 0; i < all->count; ++i)
    zb_executor_deinit(&all->executors[i]);
  zb_free(all->executors);
  zb_free(all->transports);
  zb_free(all->groups);
  zb_free(all->micro_losses);
  zb_free(all);
}

zb_status nccl_ranks_step(nccl_ranks *all, int64_t step, double *out_loss) {
  int64_t took_ps = 0;
  *out_loss = 0;
  for (int i = 0; i < all->processes; ++i)
    ZB_TRY(zb_transport_nccl.reset(all->transports[i]));
  for (int i = 0; i < all->count; ++i) {
    all->executors[i].updates = step;
    zb_executor_begin_step(&all->executors[i], step);
  }
  ZB_TRY(zb_driver_turns.run(all->driver, &took_ps));
  for (int i = 0; i < all->plan->micro_batches; ++i)
    *out_loss += all->micro_losses[i];
  *out_loss /= all->plan->micro_batches;
  return NULL;
}

/* What an owner has; of what is cut the parts of its shards and replicas, which follow each other and have lists alike.
 */
static zb_status download_value(const zb_executor *e, int index, zb_store *weights) {
  const zb_plan *plan = e->params.plan;
  const zb_plan_tensor *tensor = &e->program->parameters[index].tensor;
  const zb_shape whole = zb_plan_whole_shape(tensor);
  const size_t bytes = (size_t)zb_shape_bytes(&tensor->shape);
  const bool in_parts = zb_plan_in_parts(tensor);
  zb_status status = NULL;
  char *value = zb_alloc((size_t)zb_shape_bytes(&whole) + 1), *part = zb_alloc(bytes + 1);
  if (!value || !part) status = ZB_OUT_OF_MEMORY();
  for (int k = 0; k < (in_parts ? zb_plan_mesh(plan) * zb_plan_shard_mesh(plan) : 1) && !status; ++k) {
    const zb_executor *from = e + k;
    status = from->params.device->download(from->device, part, from->arena + tensor->offset, bytes);
    if (!status && in_parts)
      zb_plan_copy_part(tensor, zb_plan_place_of(plan, from->params.rank), zb_dtype_bytes(whole.dtype),
                        ZB_PART_TO_WHOLE, part, value);
  }
  if (!status) status = zb_store_add(weights, tensor->name, &whole, in_parts ? value : part, true);
  zb_free(value);
  zb_free(part);
  return status;
}

static zb_status download_values(const zb_executor *e, zb_store *weights) {
  for (int i = 0; i < e->program->parameter_count; ++i)
    if (e->program->parameters[i].owner) ZB_TRY(download_value(e, i, weights));
  return NULL;
}

zb_status nccl_ranks_save(nccl_ranks *all, const char *folder) {
  zb_status status = NULL;
  char path[4096];
  snprintf(path, sizeof path, "%s/weights.safetensors", folder);
  if (mkdir(folder, 0777) != 0 && errno != EEXIST) return ZB_ERROR(IO, "cannot make the folder '%s'", folder);
  zb_store *weights = zb_store_create();
  if (!weights) return ZB_OUT_OF_MEMORY();
  for (int i = 0; i < all->count && !status; ++i)
    status = download_values(&all->executors[i], weights);
  if (!status) status = zb_store_write(weights, path);
  zb_store_destroy(weights);
  return status;
}
