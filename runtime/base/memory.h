/* Arrays that grow; and whether memory was refused, for callers that only see a failure. Thread-safe. */
#pragma once

#include "zb/status.h"

/* How many allocations of this process got nothing so far. */
uint64_t zb_allocations_refused(void);
/* A diagnosis (INVALID) that was made after memory had been refused, `before` being the number at the start of the
 * work, is none: it becomes MEMORY. Takes and returns ownership; anything else comes back as it is. */
zb_status zb_memory_first(zb_status status, uint64_t before) ZB_MUST_USE;

/* Grows *array (of *capacity elements) to hold at least `needed`; false when out of memory. */
bool zb_grow(void **array, size_t *capacity, size_t needed, size_t element_bytes) ZB_MUST_USE;
