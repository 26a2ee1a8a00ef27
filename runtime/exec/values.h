/* Values of parameters, optimizer state and constants on their way from files into arenas. What is wrong with them is
 * found before there is an arena. Tests: test/e2e/weights.py, test/runtime/exec/session_test.c */
#pragma once

#include "runtime/formats/weights.h"
#include "runtime/exec/session_parts.h"

/* What values may be that a run begins with or saves: of what never changes all; of buffers also infinities; of what
 * is trained, and of its state, numbers alone. */
typedef enum zb_value_rule { ZB_VALUES_ANY, ZB_VALUES_NO_NAN, ZB_VALUES_FINITE } zb_value_rule;
/* How values are that are against the rule, "not a number" before "infinite"; NULL: none is. They may be unaligned. */
const char *zb_values_fault(zb_value_rule rule, zb_dtype dtype, const void *values, uint64_t count);

/* One tensor of one rank. */
typedef struct zb_value {
  int rank;
  const char *what; /* "parameter" */
  const zb_plan_tensor *tensor;
  const void *bytes; /* borrowed */
  zb_dtype dtype;    /* as stored; its elements are widened where the tensor's are wider */
  bool checked;      /* must be what the plan says: tensor->digest */
  zb_value_rule rule;
  bool *infinite; /* set where there are infinities, which the rule lets pass then; NULL: it does not */
} zb_value;

typedef struct zb_values {
  zb_arena memory;
  zb_value *items; /* the largest first */
  size_t count, capacity;
  uint64_t bytes;      /* as stored */
  const zb_plan *plan; /* borrowed */
} zb_values;

/* The parameters of all ranks of a plan, each name once: what weights from elsewhere are matched with. Release with
 * zb_wanted_deinit, also after a failure. */
typedef struct zb_wanted_list {
  zb_arena memory; /* of the items */
  zb_wanted *items;
  int count;
} zb_wanted_list;
zb_status zb_wanted_init(const zb_plan *plan, zb_wanted_list *out) ZB_MUST_USE;
void zb_wanted_deinit(zb_wanted_list *list);

/* Finds what the ranks of this process need: parameters in `weights`, else in the checkpoint, else next to the plan;
 * optimizer state in the checkpoint (it starts at zero otherwise). INVALID naming what is missing or of another shape.
 * What it gives borrows from the stores. */
zb_status zb_values_find(const zb_session *session, const zb_session_sources *sources, const zb_checkpoint *checkpoint,
                         const zb_weights *weights, zb_values *out) ZB_MUST_USE;
void zb_values_deinit(zb_values *values);
/* Copies them into the arenas, on several threads where the device lets it. INVALID for a value that is not the plan's.
 */
zb_status zb_values_load(zb_session *session, const zb_session_sources *sources, const zb_values *values) ZB_MUST_USE;

/* Of a parameter of a rank here: infinities that it began with may stay, such as a bias of -inf. */
zb_value_rule zb_session_value_rule(const zb_session *session, int rank, int parameter);
/* A tensor of a session as it is on the device. RUNTIME, naming step and rank, for one that no step may have left: a
 * finite loss can have gradients that are not finite, at which nobody looks but where they are clipped. */
zb_status zb_session_fetch(const zb_session *session, const zb_executor *e, const zb_plan_tensor *tensor,
                           zb_value_rule rule, void *to) ZB_MUST_USE;
