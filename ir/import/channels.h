/* Normalizations by channels, made of operands, for importers that have these: x is [N, C, ...], and scale, bias and
 * statistics have one number a channel. Functions give NULL after an error, which they report at the node. Tests:
 * test/ir/import/aten, test/ir/import/paddle. */
#ifndef ZB_IR_IMPORT_CHANNELS_H
#define ZB_IR_IMPORT_CHANNELS_H

#include "ir/import/operand.h"

/* (x - mean) / sqrt(variance + epsilon) over each group of channels, then scale and bias (NULL: none) by channels. */
zb_operand zb_channels_group_norm(zb_import_node *n, zb_operand x, int64_t groups, zb_operand scale, zb_operand bias,
                                  double epsilon);

/* New running statistics are old * keeps + those of the batch * takes. An evaluation takes `first`: of a layer that is
 * called more than once, those before its first call. */
typedef struct zb_running {
  zb_operand old, first; /* NULL: there are none */
  double keeps, takes;
  bool wanted;
  zb_operand updated; /* set where it is wanted and the op trains */
} zb_running;

typedef struct zb_batch_norm {
  zb_operand x, scale, bias; /* scale and bias may be NULL */
  bool trains;               /* by the statistics of the batch, which an evaluation replaces by buffers */
  double epsilon;
  zb_running mean, variance; /* the variance of the batch is the biased one */
} zb_batch_norm;

/* (x - mean) / sqrt(variance + epsilon) * scale + bias by channels. */
zb_operand zb_channels_batch_norm(zb_import_node *n, zb_batch_norm *norm);

#endif
