/* What a rule of zb-canonicalize answers, and the rules that fold constants (canonicalize_fold.c). */
#pragma once

#include "passes/rewrite.h"

typedef enum zb_outcome {
  ZB_KEPT,     /* the rule does not apply */
  ZB_CHANGED,  /* the op was changed in place */
  ZB_REPLACED, /* the op is gone */
  ZB_FAILED,   /* an error was reported */
} zb_outcome;

zb_outcome zb_fold_reshape(MlirOperation op);    /* reshape(constant) */
zb_outcome zb_fold_cast(MlirOperation op);       /* cast(constant) of at most 1 KiB, before and after */
zb_outcome zb_fold_arithmetic(MlirOperation op); /* add, sub, mul, div, neg, sqrt, reciprocal of constants of rank 0 */
