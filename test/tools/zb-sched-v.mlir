// zb-sched: schedules of the V placement. Not MLIR: the RUN lines are the test.

// RUN: zb-sched --ranks 4 --micro-batches 8 --schedule zb-v | FileCheck %s --check-prefix=ZBV
// ZBV: zb-v, 4 ranks, 8 micro-batches, 2 chunks a rank (v)
// ZBV: 0.00% stage

// RUN: zb-sched --ranks 4 --micro-batches 8 --schedule adaptive-v:blocks=4 | FileCheck %s --check-prefix=ADAPTIVE
// ADAPTIVE: adaptive-v

// RUN: not zb-sched --ranks 3 --micro-batches 8 --schedule dualpipe 2>&1 | FileCheck %s --check-prefix=ODD
// ODD: dualpipe is defined for an even number of ranks, got 3
// ODD: hint: use 4 or 2 ranks, or dualpipev

// RUN: not zb-sched --ranks 4 --micro-batches 8 --schedule v-half --placement looped --chunks 2 2>&1 | FileCheck %s --check-prefix=LOOPED
// LOOPED: v-half is defined for placement v only
