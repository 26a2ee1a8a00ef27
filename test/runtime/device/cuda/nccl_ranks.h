/* The ranks of a plan as if they were so many processes with a GPU each, over NCCL; all on one fake GPU and one thread.
 */
#ifndef ZB_TEST_CUDA_NCCL_RANKS_H
#define ZB_TEST_CUDA_NCCL_RANKS_H

#include "runtime/formats/safetensors.h"
#include "runtime/exec/driver.h"

typedef struct nccl_ranks nccl_ranks;

/* Plan, weights and data outlive it; constants may be NULL. Release with nccl_ranks_close, also after a failure. */
zb_status nccl_ranks_open(const zb_plan *plan, int processes, const zb_store *weights, const zb_store *constants,
                          const zb_data *data, int64_t timeout_ms, nccl_ranks **out) ZB_MUST_USE;
void nccl_ranks_close(nccl_ranks *ranks);
/* One step; its loss. */
zb_status nccl_ranks_step(nccl_ranks *ranks, int64_t step, double *out_loss) ZB_MUST_USE;
/* Writes FOLDER/weights.safetensors, as a session saves it. */
zb_status nccl_ranks_save(nccl_ranks *ranks, const char *folder) ZB_MUST_USE;

#endif
