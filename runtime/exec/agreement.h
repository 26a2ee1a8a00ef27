/* What must be the same in all processes of a run: options when the processes have met, what the options lead to (data,
 * checkpoint, weights) when it is open. Process 0 receives all and compares (session_group.h); with one process all of
 * this is nothing.
 */
#pragma once

#include "runtime/exec/facts.h"
#include "zb/runtime.h"

/* The parameters of a session that knows its device and its transport, and the settings of the embedder. */
void zb_facts_add_params(zb_facts *facts, const zb_session *session, const zb_session_params *params);
