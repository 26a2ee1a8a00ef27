/* The proof of a plan beside other work on it: zb_plan_proof_begin of runtime/plan/file/plan.h. Of a large compile the
 * proof is the longest piece of work, half of it on one thread; what is behind it (times, values of parameters) only
 * reads the plan, too. Tests: test/runtime/plan/proof/proof_test.c, also with the thread sanitizer. */
#include "runtime/plan/proof/proof.h"

#include <pthread.h>

struct zb_plan_proof {
  const zb_plan *plan;
  zb_status status;
  pthread_t thread;
  bool beside; /* the thread runs */
};

static void *prove(void *argument) {
  zb_plan_proof *proof = argument;
  proof->status = zb_plan_verify(proof->plan);
  return NULL;
}

zb_plan_proof *zb_plan_proof_begin(const zb_plan *plan) {
  zb_plan_proof *proof = zb_alloc(sizeof *proof);
  if (!proof) return NULL;
  proof->plan = plan;
  proof->beside = zb_plan_is_long(plan) && pthread_create(&proof->thread, NULL, prove, proof) == 0;
  if (!proof->beside) (void)prove(proof);
  return proof;
}

zb_status zb_plan_proof_end(zb_plan_proof *proof) {
  if (!proof) return NULL;
  if (proof->beside) pthread_join(proof->thread, NULL);
  const zb_status status = proof->status;
  zb_free(proof);
  return status;
}
