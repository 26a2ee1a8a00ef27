// zb-sched: schedules with options and with their own placement. Not MLIR: the RUN lines are the test.

// RUN: zb-sched --ranks 4 --micro-batches 9 --chunks 2 --schedule interleaved-1f1b --json | FileCheck %s --check-prefix=EVEN
// EVEN: "schedule": "interleaved-1f1b", "ranks": 4, "micro_batches": 9, "chunks": 2, "placement": "looped"
// RUN: zb-sched --ranks 4 --micro-batches 9 --chunks 2 --schedule interleaved-1f1b:group=5,ahead=1 | FileCheck %s --check-prefix=GROUP
// GROUP: 4 ranks, 9 micro-batches, 2 chunks a rank (looped)

// RUN: not zb-sched --ranks 4 --micro-batches 9 --chunks 2 --schedule interleaved-1f1b:group=4 2>&1 | FileCheck %s --check-prefix=LAST
// LAST: interleaved-1f1b: group=4 leaves a last group of 1, expected none or one of 4 or more
// LAST: hint: group=5 is the smallest that does
// RUN: not zb-sched --ranks 4 --micro-batches 9 --chunks 2 --schedule interleaved-1f1b:groups=4 2>&1 | FileCheck %s --check-prefix=OPTION
// OPTION: interleaved-1f1b has no option 'groups'
// OPTION: note: group: micro-batches that a chunk takes at a turn
// OPTION: note: ahead:
// RUN: not zb-sched --ranks 4 --micro-batches 9 --chunks 2 --schedule interleaved-1f1b:group=4, 2>&1 | FileCheck %s --check-prefix=COMMA
// COMMA: expected name=number after the last comma
// RUN: not zb-sched --ranks 2 --micro-batches 4 --placement v --chunks 2 --schedule interleaved-zb 2>&1 | FileCheck %s --check-prefix=PLACEMENT
// PLACEMENT: interleaved-zb is defined for placement looped only: expected virtual stage 2 on the rank of stage 0 (0), got rank 1
// PLACEMENT: hint: place the stages as 'looped'
