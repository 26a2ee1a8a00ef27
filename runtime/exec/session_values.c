/* Parameters out of a session, without files. Tests: test/runtime/exec/session_values_test.c, test/python. */
#include "runtime/exec/session_group.h"

#include "runtime/base/text.h"
#include "runtime/exec/values.h"
#include "runtime/plan/file/ranks.h"

#include <stdlib.h>
#include <string.h>

typedef void *(*placing)(void *context, const char *name, const zb_shape *shape);

/* Before anything is written to its place. */
static zb_status check_own(const zb_session *session) {
  for (int i = 0; i < session->owned_count; ++i) {
    const zb_owned_parameter *owned = &session->owned[i];
    const zb_executor *e = &session->executors[owned->rank - session->first_rank];
    const zb_plan_tensor *tensor = &e->program->parameters[owned->index].tensor;
    void *copy = zb_alloc((size_t)zb_shape_bytes(&tensor->shape) + 1);
    if (!copy) return ZB_OUT_OF_MEMORY();
    const zb_value_rule rule = zb_session_value_rule(session, owned->rank, owned->index);
    zb_status status = zb_session_fetch(session, e, tensor, rule, copy);
    zb_free(copy);
    if (status) return status;
  }
  return NULL;
}

/* One process that has all of every tensor: from the arenas to their places. */
static zb_status give_own(const zb_session *session, placing place, void *context) {
  ZB_TRY(check_own(session));
  for (int i = 0; i < session->owned_count; ++i) {
    const zb_executor *e = &session->executors[session->owned[i].rank - session->first_rank];
    const zb_plan_tensor *tensor = &e->program->parameters[session->owned[i].index].tensor;
    void *to = place(context, tensor->name, &tensor->shape);
    if (!to) continue;
    ZB_TRY(
        e->params.device->download(e->device, to, e->arena + tensor->offset, (uint64_t)zb_shape_bytes(&tensor->shape)));
  }
  return NULL;
}

/* A tensor on its way to process 0: this, then the name with its NUL, then its bytes. */
typedef struct value_record {
  zb_shape shape;
  uint64_t name_bytes, bytes;
} value_record;

static zb_status write_records(const zb_store *store, zb_text *out) {
  for (int i = 0; i < zb_store_count(store); ++i) {
    const zb_stored_tensor *stored = zb_store_at(store, i);
    const value_record record = {
        .shape = stored->shape, .name_bytes = strlen(stored->name) + 1, .bytes = stored->bytes};
    zb_text_add_bytes(out, (const char *)&record, sizeof record);
    zb_text_add_bytes(out, stored->name, (size_t)record.name_bytes);
    zb_text_add_bytes(out, stored->data, (size_t)record.bytes);
  }
  return out->failed ? ZB_OUT_OF_MEMORY() : NULL;
}

typedef struct named_value {
  const char *name;
  value_record record;
} named_value;

static int by_value_name(const void *a, const void *b) {
  return strcmp(((const named_value *)a)->name, ((const named_value *)b)->name);
}

static zb_status give_records(const char *records, size_t bytes, placing place, void *context) {
  zb_arena memory = {0};
  ZB_LIST(named_value) values = {0};
  bool kept = true;
  for (size_t at = 0; at < bytes && kept;) {
    named_value value = {.name = records + at + sizeof value.record};
    memcpy(&value.record, records + at, sizeof value.record);
    kept = ZB_PUSH(&memory, &values, value);
    at += sizeof value.record + (size_t)value.record.name_bytes + (size_t)value.record.bytes;
  }
  if (kept && values.count > 0) qsort(values.items, values.count, sizeof *values.items, by_value_name);
  for (size_t i = 0; i < values.count && kept; ++i) {
    const named_value *value = &values.items[i];
    void *to = place(context, value->name, &value->record.shape);
    if (to) memcpy(to, value->name + value->record.name_bytes, (size_t)value->record.bytes);
  }
  zb_status status = zb_arena_status(&memory);
  zb_arena_deinit(&memory);
  return status;
}

static zb_status give_all(zb_session *session, placing place, void *context) {
  zb_arena copies = {0};
  zb_text mine = {0};
  zb_checkpoint weights = {.weights = zb_store_create()};
  void *parts = NULL, *all = NULL;
  size_t all_bytes = 0;
  zb_status status = zb_session_agree(session, weights.weights ? NULL : ZB_OUT_OF_MEMORY());
  if (!status) status = zb_session_collect(session, &weights, &copies, &parts);
  if (!status) status = zb_session_agree(session, write_records(weights.weights, &mine));
  if (!status) status = zb_session_gather(session, mine.data, mine.length, &all, &all_bytes);
  if (!status && all) status = give_records(all, all_bytes, place, context);
  zb_text_deinit(&mine);
  zb_checkpoint_close(&weights);
  zb_arena_deinit(&copies);
  zb_free(parts);
  zb_free(all);
  return status;
}

zb_status zb_session_values(zb_session *session, void *(*place)(void *context, const char *name, const zb_shape *shape),
                            void *context) {
  const bool cut = zb_plan_shard_mesh(session->plan) > 1 || session->plan->sharding != ZB_SHARDING_NONE;
  if (session->failed)
    return zb_status_hint(ZB_ERROR(RUNTIME, "the last step failed, so the parameters belong to no step"),
                          "an earlier checkpoint stays whole");
  if (session->params.no_kernels) return ZB_ERROR(USAGE, "a run without kernels has no parameters");
  ZB_TRY(zb_session_check_still(session));
  return session->group || cut ? give_all(session, place, context) : give_own(session, place, context);
}
