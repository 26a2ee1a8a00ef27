/* Writes a plan folder with one collective (test/runtime/plan/collective_plan.h), for test/e2e/collectives.py.
 *
 * usage: collective_plan FOLDER KIND RANKS MEMBERS ELEMENTS MICRO_BATCHES      MEMBERS: bits, as a number
 */
#include <stdlib.h>

#include "runtime/formats/safetensors.h"
#include "runtime/plan/proof/proof.h"
#include "test/runtime/plan/collective_plan.h"

/* Numbers of many sizes, so that the order of a sum shows. */
static void fill(float *values, int64_t count, uint32_t *random) {
  for (int64_t i = 0; i < count; ++i) {
    *random = *random * 1664525u + 1013904223u;
    float value = (float)(*random >> 8) / 16777216.0f - 0.5f;
    values[i] = i % 3 ? value : value * 1000;
  }
}

static zb_status write_weights(const zb_plan *plan, const char *path) {
  zb_store *store = zb_store_create();
  uint32_t random = 12345;
  zb_status status = NULL;
  for (int r = 0; r < plan->rank_count && !status; ++r)
    for (int i = 0; i < plan->ranks[r].parameter_count && !status; ++i) {
      const zb_plan_tensor *tensor = &plan->ranks[r].parameters[i].tensor;
      if (zb_store_find(store, tensor->name)) continue;
      float *values = malloc((size_t)zb_shape_bytes(&tensor->shape) + 1);
      fill(values, tensor->shape.dims[0], &random);
      status = zb_store_add(store, tensor->name, &tensor->shape, values, true);
      free(values);
    }
  if (!status) status = zb_store_write(store, path);
  zb_store_destroy(store);
  return status;
}

int main(int count, char **words) {
  if (count != 7) return 2;
  collective_case about = {
      .ranks = atoi(words[3]), .members = atoi(words[4]), .elements = atoi(words[5]), .micro_batches = atoi(words[6])};
  while (about.kind < ZB_COLLECTIVE_COUNT && strcmp(zb_collective_name(about.kind), words[2]) != 0)
    ++about.kind;
  if (about.kind == ZB_COLLECTIVE_COUNT) return 2;
  zb_plan *plan = collective_plan(&about);
  char path[1024];
  snprintf(path, sizeof path, "%s/weights.safetensors", words[1]);
  zb_status status = write_weights(plan, path);
  snprintf(path, sizeof path, "%s/plan.zb", words[1]);
  if (!status) status = zb_plan_write(plan, path);
  if (!status) status = zb_plan_verify(plan);
  if (status) fprintf(stderr, "%s\n", zb_status_text(status));
  zb_plan_destroy(plan);
  int failed = status != NULL;
  zb_status_free(status);
  return failed;
}
