/* Names and values that must be the same in all processes of a run, and how a difference is found. Tests:
 * test/runtime/exec/session_group_test.c, test/e2e/processes.py.
 */
#pragma once

#include "runtime/base/text.h"
#include "runtime/formats/safetensors.h"

/* Names and values as people read them, in one order in all processes. Zeros are none; release with zb_facts_deinit. */
typedef struct zb_facts {
  zb_text records;
} zb_facts;

/* value NULL: not given. Copied. hint: what to do where it differs. Out of memory shows where facts are compared. */
void zb_facts_add(zb_facts *facts, const char *name, const char *value, const char *hint);
void zb_facts_deinit(zb_facts *facts);
/* all: of every process, in order, the length of its records and the records. USAGE where a fact differs: which, its
 * values, two processes. */
zb_status zb_facts_compare_all(const zb_facts *mine, int processes, const char *all, size_t bytes) ZB_MUST_USE;

/* A digest of a store, of all of it that a start has time for: all names and shapes, in any order, and the first 4 KiB
 * of about 1024 tensors, chosen by name. Training changes every tensor. */
uint64_t zb_sample_store(const zb_store *store);
