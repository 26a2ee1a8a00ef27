/* Where every value of a framed function lies, and the packing of its workspace. One computation, used by zb-memory
 * (bytes) and zb-allocate (addresses). */
#pragma once

#include "passes/graph.h"

enum { ZB_BASE_WORKSPACE = -1, ZB_BASE_CONSTANT = -2, ZB_BASE_NONE = -3 };

/* Home of a value: bytes from a base, with strides. base >= 0: argument of that number, or argument_count + number of
 * the result whose memory the caller provides (a frame made here, or a value in no frame). CONSTANT: `offset` is
 * in the constants that zb.constant ops of this function give, the op is `constant`. */
typedef struct zb_home {
  int base;
  uint64_t offset;    /* bytes, of element 0 of the base value */
  zb_strided strided; /* of this value over it, elements */
  int constant;       /* node of the zb.constant, or -1 */
  bool fixed;
} zb_home;

typedef struct zb_workspace {
  zb_graph graph;
  zb_home *homes;           /* per value */
  uint64_t *scratch_offset; /* per node: its scratch in the workspace */
  uint64_t *scratch_bytes;
  bool *accumulates; /* per node: adds into result 0 */
  bool *skipped;     /* per node: no instruction (views, gets, accumulates that the producer makes, constants) */
  uint64_t bytes;    /* of the workspace */
} zb_workspace;

/* Packs. The function stays as it is. Errors: MEMORY; INVALID where a view cannot be a stride (zb-layout was left out).
 */
zb_status zb_workspace_build(zb_arena *arena, MlirOperation function, zb_workspace *out) ZB_MUST_USE;

/* Bytes of workspace that an op needs while it runs, beside its operands and results. */
uint64_t zb_scratch_bytes(const zb_graph *graph, const zb_node *node);

/* Number of the argument or result (argument_count + k) that a frame value belongs to; -1 if the value is no frame. */
int zb_workspace_frame_base(const zb_workspace *workspace, int value);
