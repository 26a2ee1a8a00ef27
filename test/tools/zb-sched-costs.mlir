// zb-sched --costs FILE: the problem of a program that zb-run --profile measured. Not MLIR: the RUN lines are the test. The numbers of
// Inputs/profile.json are made up; two ranks, four micro-batches.

// RUN: zb-sched --costs %S/Inputs/profile.json --schedule 1f1b --json | FileCheck %s --check-prefix=JSON
// JSON: "schedule": "1f1b", "ranks": 2, "micro_batches": 4, "chunks": 1, "placement": "plain", "time": 0.000
// RUN: zb-sched --costs %S/Inputs/profile.json --schedule zb-h1 --micro-batches 9 --write-problem %t.json | FileCheck %s --check-prefix=MORE
// MORE: zb-h1, 2 ranks, 9 micro-batches
// RUN: FileCheck %s --check-prefix=WRITTEN < %t.json
// WRITTEN: "time_ps": [1001, 2001, 3001], "keep_bytes": [11, 100, 0], "free_bytes": [0, 1, 110]
// RUN: not zb-sched --costs %S/Inputs/profile.json --schedule zb-h1 --ranks 4 2>&1 | FileCheck %s --check-prefix=RANKS
// RANKS: --ranks: {{.*}}profile.json says how many there are
// RUN: not zb-sched --problem %S/Inputs/profile.json --schedule zb-h1 2>&1 | FileCheck %s --check-prefix=PROBLEM
// PROBLEM: profile.json: expected a problem, got measured costs
// PROBLEM: hint: pass it with --costs
// RUN: not zb-sched --costs no-such-file --schedule zb-h1 --ranks 4 2>&1 | FileCheck %s --check-prefix=NOFILE
// RUN: printf "" > %t.empty
// RUN: not zb-sched --costs %t.empty --ranks 4 --schedule zb-h1 2>&1 | FileCheck %s --check-prefix=EMPTY
// EMPTY: .empty:1:1: {{.+}} near end of file
// RUN: not zb-sched --costs no-such-file --schedule zb-h1 2>&1 | FileCheck %s --check-prefix=NOFILE
// NOFILE: no-such-file
