/* The ops of a block, run by their reference kernels. */
#pragma once

#include "ir/import/stablehlo/stablehlo.h"

enum { ZB_STABLEHLO_RESULTS = 64 };

/* Values by number: arguments of the block, then results. */
typedef struct zb_stablehlo_machine {
  MlirBlock block;
  zb_map *numbers; /* MlirValue.ptr -> number */
  zb_known *values;
  size_t *last_reads; /* position of the op that reads a value last */
  bool *is_kept;
  size_t count;
  zb_op_view_storage storage;
} zb_stablehlo_machine;

/* False: out of memory. Arrays are of the arena, tensors are released by deinit. */
bool zb_stablehlo_machine_init(zb_stablehlo_machine *m, zb_arena *memory, MlirBlock block);
/* The tensor of an argument of the block, to be filled; NULL: out of memory, or no tensor. */
zb_known *zb_stablehlo_machine_argument(zb_stablehlo_machine *m, int argument);
/* A value that is asked for behind a run. */
void zb_stablehlo_machine_keep(zb_stablehlo_machine *m, MlirValue value);
/* Runs the ops up to `last` (null: all). False: out of memory, or an op that cannot run here. */
bool zb_stablehlo_machine_run(zb_stablehlo_machine *m, MlirOperation last);
const zb_known *zb_stablehlo_machine_value(const zb_stablehlo_machine *m, MlirValue value);
void zb_stablehlo_machine_deinit(zb_stablehlo_machine *m);
