// zb-sched: the summary, one JSON object, files, and every way to use it wrongly. Not MLIR: the RUN lines are the test.

// RUN: zb-sched --ranks 4 --micro-batches 8 --schedule 1f1b --chart | FileCheck %s --check-prefix=CHART
// CHART: F0 F1 F2 F3 .. .. .. .. .. .. B0 W0 F4
// CHART: step=33.000 ms barrier bubble=27.3% stage bubble=27.3%
// CHART: lower bound  27.000 ms

// RUN: zb-sched --ranks 8 --micro-batches 24 --schedule zb-h1 --costs f=18.522,b=18.086,w=9.337,comm=0.601 --json | FileCheck %s --check-prefix=JSON
// JSON: {"version": "{{.*}}", "schedule": "zb-h1", "ranks": 8, "micro_batches": 24, "chunks": 1, "placement": "plain", "time": 1310.405
// JSON-SAME: "bubble": {"barrier": 0.1585{{[0-9]*}}, "stage": 0.1585
// JSON-SAME: "lower_bound": 1236.541
// JSON-SAME: "memory": [8388608, 8388608,

// RUN: zb-sched --ranks=2 --micro-batches=4 --schedule=fthenb --chunks=2 --placement=v --json | FileCheck %s --check-prefix=CHUNKS
// CHUNKS: "chunks": 2, "placement": "v"

// RUN: zb-sched --ranks 2 --micro-batches 2 --schedule zb-h1 --timeline %t.svg --trace %t.json
// RUN: FileCheck %s --check-prefix=SVG < %t.svg
// RUN: FileCheck %s --check-prefix=TRACE < %t.json
// SVG: zb-h1, 2 ranks, 2 micro-batches (simulated)
// TRACE: "displayTimeUnit":"ms"
// TRACE: "name":"W1"

// RUN: zb-sched --list | FileCheck %s --check-prefix=LIST
// LIST: fthenb
// LIST: 1f1b
// LIST: zb-h1
// LIST: looped

// RUN: zb-sched --help | FileCheck %s --check-prefix=HELP
// HELP: --memory-limit BYTES
// HELP: examples:
// RUN: zb-sched --version | FileCheck %s --check-prefix=VERSION
// VERSION: zb-sched {{[0-9]+\.[0-9]+}}

// RUN: not zb-sched --ranks 4 --micro-batches 8 --schedule zb-h2x 2>&1 | FileCheck %s --check-prefix=NAME
// NAME: unknown schedule 'zb-h2x', did you mean 'zb-h
// RUN: not zb-sched --rank 4 2>&1 | FileCheck %s --check-prefix=OPTION
// OPTION: unknown option '--rank', did you mean '--ranks'?
// RUN: not zb-sched --ranks 0 --micro-batches 8 --schedule 1f1b 2>&1 | FileCheck %s --check-prefix=ZERO
// ZERO: --ranks: expected a whole number of 1 to 1000000, got '0'
// RUN: not zb-sched --ranks 4 --micro-batches 8 --schedule 1f1b --costs f=-1 2>&1 | FileCheck %s --check-prefix=COST
// COST: --costs: f: expected a number of 0 to 1e9, got '-1'
// RUN: not zb-sched --ranks 4 --micro-batches 8 --schedule 1f1b --chunks 2 2>&1 | FileCheck %s --check-prefix=ONE
// ONE: 1f1b is defined for at most 1 chunk a rank, got 2
// RUN: not zb-sched --ranks 4 --micro-batches 8 --schedule 1f1b --memory-limit 2M 2>&1 | FileCheck %s --check-prefix=LIMIT
// LIMIT: 1f1b needs 4194304 bytes on rank 0, and the limit is 2097152
// RUN: not zb-sched --ranks 4 --micro-batches 8 --schedule 1f1b --timeline no-such-folder/a.svg 2>&1 | FileCheck %s --check-prefix=FILE
// FILE: no-such-folder/a.svg
// RUN: not zb-sched --ranks 4 --micro-batches 8 --schedule 1f1b --metric best 2>&1 | FileCheck %s --check-prefix=METRIC
// METRIC: --metric: expected barrier or stage, got 'best'
