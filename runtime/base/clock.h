/* The clock of real runs. */
#pragma once

#include <stdint.h>
#include <time.h>

#define ZB_US_PS INT64_C(1000000)
#define ZB_MS_PS INT64_C(1000000000)
#define ZB_S_PS INT64_C(1000000000000)

/* Now, in ps of the monotonic clock. */
static inline int64_t zb_monotonic_ps(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return ((int64_t)now.tv_sec * 1000000000 + now.tv_nsec) * 1000;
}

/* A time of that clock, for functions that take a deadline. */
static inline struct timespec zb_monotonic_time(int64_t at_ps) {
  return (struct timespec){.tv_sec = (time_t)(at_ps / ZB_S_PS), .tv_nsec = (long)(at_ps / 1000 % 1000000000)};
}
