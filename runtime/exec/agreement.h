/* What must be the same in all processes of a run, and how a difference is found: options when the processes have met,
 * what the options lead to (data, checkpoint, weights) when it is open. Process 0 receives all and compares; with one
 * process all of this is nothing. Tests: test/runtime/exec/session_group_test.c, test/e2e/processes.py.
 */
#ifndef ZB_EXEC_AGREEMENT_H
#define ZB_EXEC_AGREEMENT_H

#include "runtime/formats/safetensors.h"
#include "runtime/base/text.h"
#include "zb/runtime.h"

/* Names and values as people read them, in one order in all processes. Zeros are none; release with zb_facts_deinit. */
typedef struct zb_facts {
  zb_text records;
} zb_facts;

/* value NULL: not given. Copied. hint: what to do where it differs. Out of memory shows in zb_facts_compare.
 */
void zb_facts_add(zb_facts *facts, const char *name, const char *value, const char *hint);
void zb_facts_deinit(zb_facts *facts);
/* The parameters of a session that knows its device and its transport, and the settings of the embedder. */
void zb_facts_add_params(zb_facts *facts, const zb_session *session, const zb_session_params *params);
/* One status for all. USAGE where a fact differs: which, its values, two processes; process 0 tells. By all processes
 * in the same order. */
zb_status zb_facts_compare(zb_session *session, const zb_facts *facts) ZB_MUST_USE;

/* A digest of a store, of all of it that a start has time for: all names and shapes, in any order, and the first 4 KiB
 * of about 1024 tensors, chosen by name. Training changes every tensor. */
uint64_t zb_sample_store(const zb_store *store);

#endif
