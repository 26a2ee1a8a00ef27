/* Groups of parameters that are updated with a rate or a weight decay of their own: "GLOB:lr=1e-4,weight_decay=0", for
 * zbc and zb-run. Of several groups that a parameter is in, the last counts, for each number alone. Thread-safe. */
#pragma once

#include "runtime/base/line.h"

/* The numbers of an update, as they lie in the setting "update" (include/zb/settings.def). */
enum { ZB_UPDATE_RATE, ZB_UPDATE_DECAY, ZB_UPDATE_NUMBERS };

typedef struct zb_update_group {
  char glob[ZB_LINE_BYTES];
  double values[ZB_UPDATE_NUMBERS];
  bool given[ZB_UPDATE_NUMBERS];
} zb_update_group;

/* USAGE, with a hint, for a line that is none. */
zb_status zb_update_group_parse(const char *text, zb_update_group *out) ZB_MUST_USE;
/* Sets what the groups say of a parameter; returns which numbers, as bits. */
unsigned zb_update_groups_apply(const zb_update_group *groups, int count, const char *parameter,
                                double values[ZB_UPDATE_NUMBERS]);
/* USAGE for a group that none of the trained parameters is in, with the nearest of them. */
zb_status zb_update_groups_check(const zb_update_group *groups, int count, const char *const *parameters,
                                 int parameter_count) ZB_MUST_USE;
