/* Copying a message between two arenas of one process. Tests: test/runtime/exec. */
#include "runtime/transport/copy.h"

#include <string.h>

void zb_transport_copy(const zb_transport_side *from, const zb_transport_side *to) {
  int f = 0, t = 0;
  uint64_t from_done = 0, to_done = 0; /* bytes of the current part */
  while (f < from->part_count && t < to->part_count) {
    uint64_t from_left = from->parts[f].bytes - from_done, to_left = to->parts[t].bytes - to_done;
    uint64_t bytes = from_left < to_left ? from_left : to_left;
    memcpy(to->arena + to->parts[t].offset + to_done, from->arena + from->parts[f].offset + from_done, bytes);
    from_done += bytes;
    to_done += bytes;
    if (from_done == from->parts[f].bytes) ++f, from_done = 0;
    if (to_done == to->parts[t].bytes) ++t, to_done = 0;
  }
}
