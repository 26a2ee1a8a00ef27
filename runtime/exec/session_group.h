/* What the processes of a session tell each other: that all are well, the results of a step, bytes for process 0. With
 * one process all of this is nothing. Every function but zb_session_group_open's failure is called by all processes in
 * the same order. */
#pragma once

#include "runtime/exec/session_parts.h"

/* Finds the other processes, if the transport has any, and which ranks are here (plan->rank_count is not known yet:
 * zb_session_ranks_of). */
zb_status zb_session_group_open(zb_session *session, const zb_session_params *params) ZB_MUST_USE;
/* Sets the ranks of this process. USAGE for more processes than ranks. */
zb_status zb_session_ranks_of(zb_session *session, int rank_count) ZB_MUST_USE;
/* One status for all: NULL if every process gives NULL. Of several failures that of the lowest process is what all get;
 * there it is the status itself, elsewhere a copy that is marked as told. Takes and returns ownership. */
zb_status zb_session_agree(zb_session *session, zb_status status) ZB_MUST_USE;
/* One status for all. USAGE where a fact differs; process 0 tells. */
zb_status zb_session_compare_facts(zb_session *session, const zb_facts *facts) ZB_MUST_USE;
/* The same at the start: whether all read the same plan, data and checkpoint, and what the others must know of this
 * process. */
zb_status zb_session_agree_start(zb_session *session, zb_status status) ZB_MUST_USE;
/* Of folders that each process compiled for itself (params.share_values): where plans are one program with other
 * values, those of process 0 replace what is in the folders of the others. USAGE for other programs. Before the plan is
 * read.
 */
zb_status zb_session_share_values(zb_session *session, const zb_session_params *params) ZB_MUST_USE;
/* How the clocks of processes differ, for timelines; nothing if they are not recorded. */
zb_status zb_session_compare_clocks(zb_session *session) ZB_MUST_USE;
/* After the step or batch of that number went well here: losses and times of all ranks into all processes, whether
 * anyone wants to stop, the longest time. */
zb_status zb_session_share_step(zb_session *session, int64_t number, int64_t *took_ps) ZB_MUST_USE;
/* Keeps the size of the arenas of the ranks of this plan that are there: process 0 sees the whole plan, and says how
 * much the largest takes. */
zb_status zb_session_note_arenas(zb_session *session, const zb_plan *plan) ZB_MUST_USE;
/* For merges of arrays of uint64_t that are zero where a process has nothing to say. */
void zb_session_merge_u64(void *total, const void *one, size_t bytes);
/* Whether each process can write where process 0 would save (session_save.c). */
zb_status zb_session_try_save(zb_session *session, const char *folder) ZB_MUST_USE;
/* Process 0 gets the bytes of all in the order of processes (zb_free); elsewhere *out is NULL. With one process a copy.
 */
zb_status zb_session_gather(zb_session *session, const void *mine, size_t bytes, void **out,
                            size_t *out_bytes) ZB_MUST_USE;
