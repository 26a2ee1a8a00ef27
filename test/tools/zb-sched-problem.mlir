// zb-sched --problem: written, read back, and what is wrong in a file. Not MLIR: the RUN lines are the test. All errors of the format are
// in test/passes/schedule/problem_json_test.c.

// RUN: zb-sched --ranks 4 --micro-batches 8 --schedule zb-h1 --costs f=2,b=3,w=1,comm=0.25,opt=1,mem=4,mem_w=1,base=10 --json --write-problem %t.json > %t.1
// RUN: zb-sched --problem %t.json --schedule zb-h1 --json > %t.2
// RUN: cmp %t.1 %t.2
// RUN: FileCheck %s --check-prefix=WRITTEN < %t.json
// WRITTEN: "ranks": 4
// WRITTEN: "stages": {"time_ps": [2000000000, 3000000000, 1000000000], "keep_bytes": [4194304, 0, 0], "free_bytes": [0, 3145728, 1048576]}
// WRITTEN: "link": {"latency_ps": 250000000

// The command line wins over the file where it can.
// RUN: zb-sched --problem %t.json --schedule zb-h1 --micro-batches 16 --metric stage | FileCheck %s --check-prefix=OVER
// OVER: zb-h1, 4 ranks, 16 micro-batches
// OVER: (stage metric)
// RUN: not zb-sched --problem %t.json --schedule zb-h1 --ranks 3 2>&1 | FileCheck %s --check-prefix=RANKS
// RANKS: --ranks: {{.*}}.json says how many there are
// RUN: not zb-sched --problem %t.json --schedule zb-h1 --costs f=1 2>&1 | FileCheck %s --check-prefix=BOTH
// BOTH: expected one of --problem and --costs

// Stages of a file stay as they are: what needs others says so.
// RUN: zb-sched --problem %t.json --compare zb-h1,interleaved-1f1b,1f1b | FileCheck %s --check-prefix=TABLE
// TABLE: zb-h1 plain 1

// RUN: echo '{"ranks": 2, "micro_batches": 4, "stages": [{"time_ms": [1, 1, 1]}, {"time_ms": [1, -1, 1]}]}' > %t.negative.json
// RUN: not zb-sched --problem %t.negative.json --schedule 1f1b 2>&1 | FileCheck %s --check-prefix=NEGATIVE
// NEGATIVE: negative.json:{{[0-9]+:[0-9]+}}: stages[1].time_ms[1]: expected a number of 0 to 4.6e9 (ms), got -1
// RUN: echo '{"ranks": 2, "microbatches": 4, "stages": {"time_ms": [1, 1, 1]}}' > %t.key.json
// RUN: not zb-sched --problem %t.key.json --schedule 1f1b 2>&1 | FileCheck %s --check-prefix=KEY
// KEY: key.json:1:14: unknown key 'microbatches', did you mean 'micro_batches'?
// KEY: hint: keys are ranks, micro_batches,
// RUN: echo '{"ranks": 2, "micro_batches": 4, "stages": {"time_ms": [1, 1e400, 1]}}' > %t.infinite.json
// RUN: not zb-sched --problem %t.infinite.json --schedule 1f1b 2>&1 | FileCheck %s --check-prefix=INFINITE
// INFINITE: infinite.json:1:{{[0-9]+}}: not JSON: real number overflow
// RUN: not zb-sched --problem %t.missing.json --schedule 1f1b 2>&1 | FileCheck %s --check-prefix=MISSING
// MISSING: missing.json': No such file
