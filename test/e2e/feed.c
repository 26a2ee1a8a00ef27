/* Trains with a plan on batches from a safetensors file as frameworks write it: test/e2e/stablehlo.py and paddle.py run
 * it.
 *
 * usage: feed PLAN DATA STEPS [INPUT=TENSOR]...
 * DATA has a tensor [steps, ...] for each input of the plan, under its name or the one that is given; step i gets entry
 * i, micro-batch 0 of 1. A tensor of the very size of the input is given in each step. Prints the loss of each step
 * with 9 digits. */
#include "runtime/formats/safetensors.h"
#include "zb/runtime.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct feed {
  zb_store *data;
  char **names;
} feed;

static const zb_stored_tensor *find(const feed *f, const char *input) {
  const size_t length = strlen(input);
  for (char **name = f->names; *name; ++name)
    if (strncmp(*name, input, length) == 0 && (*name)[length] == '=') return zb_store_find(f->data, *name + length + 1);
  return zb_store_find(f->data, input);
}

static zb_status give(void *context, const char *name, int64_t step, int micro_batch, void *to, uint64_t bytes) {
  const zb_stored_tensor *tensor = find(context, name);
  if (!tensor) return ZB_ERROR(INVALID, "the data has no tensor '%s'", name);
  if (tensor->bytes == bytes) return memcpy(to, tensor->data, bytes), NULL;
  if (tensor->shape.rank < 1 || step >= tensor->shape.dims[0] || micro_batch != 0)
    return ZB_ERROR(INVALID, "'%s' has no entry for step %" PRId64, name, step);
  if (tensor->bytes != bytes * (uint64_t)tensor->shape.dims[0])
    return ZB_ERROR(INVALID, "an entry of '%s' is not of %" PRIu64 " bytes", name, bytes);
  memcpy(to, (const char *)tensor->data + bytes * (uint64_t)step, bytes);
  return NULL;
}

int main(int argc, char **argv) {
  if (argc < 4) return 2;
  feed f = {.names = argv + 4};
  zb_session *session = NULL;
  zb_status status = zb_store_open(argv[2], &f.data);
  zb_session_params params = {.directory = argv[1], .input = give, .input_context = &f};
  if (!status) status = zb_session_create(&params, &session);
  for (int i = 0; i < atoi(argv[3]) && !status; ++i) {
    zb_step_result result;
    status = zb_session_step(session, &result);
    if (!status) printf("%.9g\n", result.loss);
  }
  if (status) fputs(zb_status_text(status), stderr);
  const int code = zb_status_exit(status);
  zb_status_free(status);
  zb_session_destroy(session);
  zb_store_destroy(f.data);
  return code;
}
