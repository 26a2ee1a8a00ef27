/* The clock of real runs. */
#ifndef ZB_BASE_CLOCK_H
#define ZB_BASE_CLOCK_H

#include <stdint.h>
#include <time.h>

/* Now, in ps of the monotonic clock. */
static inline int64_t zb_monotonic_ps(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return ((int64_t)now.tv_sec * 1000000000 + now.tv_nsec) * 1000;
}

#endif
