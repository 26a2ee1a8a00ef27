/* Parameters out of a session: those of a checkpoint of the same step, with their names in order; what can be wrong;
 * every allocation may fail. */
#include "test/runtime/exec/tiny.h"

#include "runtime/formats/safetensors.h"

enum { TENSORS = 3, ELEMENTS = 2048 };

typedef struct kept {
  char names[TENSORS][32];
  zb_shape shapes[TENSORS];
  float values[TENSORS][ELEMENTS];
  int count, skips; /* skips: which of them has no place; -1: none */
} kept;

static void *place(void *context, const char *name, const zb_shape *shape) {
  kept *all = context;
  CU_ASSERT_FATAL(all->count < TENSORS);
  snprintf(all->names[all->count], sizeof all->names[0], "%s", name);
  all->shapes[all->count] = *shape;
  ++all->count;
  return all->count - 1 == all->skips ? NULL : all->values[all->count - 1];
}

static void test_checkpoint(void) {
  static kept all;
  char folder[600], file[700];
  zb_session_params params = {.data = tiny_data()};
  zb_session *session = NULL;
  zb_step_result step;
  zb_store *store = NULL;
  TINY_OK(tiny_session(&params, tiny_plan(), true, &session));
  for (int steps = 0; steps < 3; ++steps) {
    all = (kept){.skips = -1};
    TINY_OK(zb_session_values(session, place, &all));
    CU_ASSERT_EQUAL_FATAL(all.count, TENSORS);
    TINY_OK(zb_session_save(session, tiny_path(folder, "values")));
    snprintf(file, sizeof file, "%s/weights.safetensors", folder);
    TINY_OK(zb_store_open(file, &store));
    CU_ASSERT_EQUAL(zb_store_count(store), TENSORS);
    for (int i = 0; i < TENSORS; ++i) {
      const zb_stored_tensor *saved = zb_store_at(store, i);
      CU_ASSERT_STRING_EQUAL(all.names[i], saved->name);
      CU_ASSERT(zb_shape_equal(&all.shapes[i], &saved->shape));
      CU_ASSERT_EQUAL(memcmp(all.values[i], saved->data, (size_t)saved->bytes), 0);
    }
    zb_store_destroy(store);
    TINY_OK(zb_session_step(session, &step));
  }
  static kept some;
  some = (kept){.skips = 1};
  all = (kept){.skips = -1};
  TINY_OK(zb_session_values(session, place, &all));
  TINY_OK(zb_session_values(session, place, &some));
  CU_ASSERT_EQUAL(some.count, TENSORS);
  CU_ASSERT_EQUAL(some.values[1][0], 0);
  CU_ASSERT_EQUAL(memcmp(all.values[2], some.values[2], sizeof all.values[2]), 0);
  zb_session_destroy(session);
}

static zb_status fail(void *context, const char *name, int64_t step, int micro_batch, void *to, uint64_t bytes) {
  (void)context, (void)name, (void)step, (void)micro_batch, (void)to, (void)bytes;
  return ZB_ERROR(IO, "nothing there");
}

static void test_wrong(void) {
  static kept all;
  all = (kept){.skips = -1};
  zb_session_params params = {.device = "sim", .no_kernels = true};
  zb_session *session = NULL;
  zb_step_result step;
  TINY_OK(tiny_session(&params, tiny_plan(), false, &session));
  tiny_expect(zb_session_values(session, place, &all), ZB_USAGE, "a run without kernels has no parameters");
  zb_session_destroy(session);
  params = (zb_session_params){.input = fail};
  TINY_OK(tiny_session(&params, tiny_plan(), false, &session));
  tiny_expect(zb_session_step(session, &step), ZB_IO, "nothing there");
  tiny_expect(zb_session_values(session, place, &all), ZB_RUNTIME, "the parameters belong to no step");
  zb_session_destroy(session);
  params = (zb_session_params){.data = tiny_data()};
  TINY_OK(tiny_session(&params, tiny_plan(), false, &session));
  zb_session_announce(session, 3);
  TINY_OK(zb_session_step(session, &step));
  tiny_expect(zb_session_values(session, place, &all), ZB_USAGE, "ranks have gone on beyond step 1");
  zb_session_destroy(session);
  CU_ASSERT_EQUAL(all.count, 0);
}

int main(void) {
  static CU_TestInfo tests[] = {{"as a checkpoint", test_checkpoint}, {"wrong", test_wrong}, CU_TEST_INFO_NULL};
  return tiny_run("session_values", tests);
}
