/* The optimizer of a whole train step, as importers hand it to zb_compile: a line as --optimizer has it, and groups of
 * parameters whose rates and decays differ. Tests: test/ir/import/stablehlo, test/ir/import/paddle. */
#pragma once

#include "ir/import/import.h"

typedef enum zb_import_optimizer {
  ZB_OPTIMIZER_NONE,
  ZB_OPTIMIZER_SGD,
  ZB_OPTIMIZER_ADAM,
  ZB_OPTIMIZER_ADAMW,
  ZB_OPTIMIZER_LION
} zb_import_optimizer;

/* How one parameter is updated; settings that its optimizer does not have are 0. */
typedef struct zb_import_update {
  const char *parameter;
  zb_import_optimizer kind;
  double lr, weight_decay, beta1, beta2, eps, momentum;
  bool nesterov;
} zb_import_update;

/* Whether both have one optimizer with the same settings, but for rates and decays. */
bool zb_import_same_optimizer(const zb_import_update *a, const zb_import_update *b);
/* Whether all updates are those of one optimizer: adam and adamw are the same where there is no decay. *other: the
 * first that is not as the first of all. */
bool zb_import_one_optimizer(const zb_import_update *updates, int count, int *other);
/* Its numbers become the shortest decimals that are the same f32: 0.001 of 0.0010000000474974513. */
void zb_import_write_plainly(zb_import_update *update);
/* Marks the module with the optimizer of these updates, count > 0. */
zb_result zb_import_mark_optimizer(zb_import *im, const zb_import_update *updates, int count, MlirOperation module);
