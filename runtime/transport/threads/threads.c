/* The row of threads: messages stay in the process, so nothing but mailboxes is needed. Tests:
 * test/runtime/exec/transport_test.c. */
#include "runtime/transport/processes/transport.h"

const zb_transport_def zb_transport_threads = {
    .name = "threads",
    .summary = "ranks are threads of one process",
    ZB_PROCESSES_FUNCTIONS,
};
