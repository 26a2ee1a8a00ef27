/* The one ladder of bytes: limits for which choices and orders are looked for. Its rungs do not depend on any limit, so
 * that what is found for one limit is found for a higher one, too. */
#pragma once

#include <stdint.h>

/* The next rung below; per_octave, a power of two: so many rungs where bytes double. 0: there is none. */
static inline int64_t zb_level_below(int64_t bytes, int per_octave) {
  int64_t step = 1;
  while ((bytes - 1) / step >= 2 * per_octave)
    step *= 2;
  return (bytes - 1) / step * step;
}

/* The greatest rung that is at most `bytes`. */
static inline int64_t zb_level_within(int64_t bytes, int per_octave) { return zb_level_below(bytes + 1, per_octave); }
