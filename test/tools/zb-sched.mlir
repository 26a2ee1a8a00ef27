// zb-sched: the summary, one JSON object, files, and every way to use it wrongly. Not MLIR: the RUN lines are the test.

// RUN: zb-sched --ranks 4 --micro-batches 8 --schedule 1f1b --chart | FileCheck %s --check-prefix=CHART
// CHART: F0 F1 F2 F3 .. .. .. .. .. .. B0 W0 F4
// CHART: step=33.000 ms barrier bubble=27.3% stage bubble=27.3%
// CHART: lower bound  27.000 ms

// RUN: zb-sched --ranks 8 --micro-batches 24 --schedule zb-h1 --costs f=18.522,b=18.086,w=9.337,comm=0.601 --json | FileCheck %s --check-prefix=JSON
// JSON: {"version": "{{.*}}", "schedule": "zb-h1", "ranks": 8, "micro_batches": 24, "chunks": 1, "placement": "plain", "time": 1310.405
// JSON-SAME: "period": {"time": 1310.405{{[0-9]*}}, "steps": 1}
// JSON-SAME: "bubble": {"barrier": 0.1585{{[0-9]*}}, "stage": 0.1585{{[0-9]*}}, "period": 0.1585
// JSON-SAME: "lower_bound": 1236.541
// JSON-SAME: "lower_bound_period": 1102.680
// JSON-SAME: "memory": [8388608, 8388608,

// RUN: zb-sched --ranks 3 --micro-batches 6 --schedule zb-h1 --settle --text %t.txt
// RUN: FileCheck %s --check-prefix=SETTLED < %t.txt
// SETTLED: 2F0 2B0 2W0 2F1 2B1 2W1 2F2 2B2 2W2 2F3 2B3 2F4 2B4 2F5 2B5 2W3 2W4 2W5

// RUN: zb-sched --ranks=2 --micro-batches=4 --schedule=fthenb --chunks=2 --placement=v --json | FileCheck %s --check-prefix=CHUNKS
// CHUNKS: "chunks": 2, "placement": "v"

// RUN: zb-sched --ranks 2 --micro-batches 2 --schedule zb-h1 --timeline %t.svg --trace %t.json
// Colours have six digits, whatever the chunks.
// RUN: zb-sched --ranks 2 --micro-batches 4 --schedule zb-v --timeline %t.v.svg
// RUN: FileCheck %s --check-prefix=COLOUR < %t.v.svg
// COLOUR: fill:#3468d6
// COLOUR-NOT: #{{[0-9a-f][0-9a-f][0-9a-f][0-9a-f][0-9a-f][0-9a-f][0-9a-f]}}
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
// NAME: unknown schedule 'zb-h2x', did you mean 'zb-h2'?
// RUN: not zb-sched --rank 4 2>&1 | FileCheck %s --check-prefix=OPTION
// OPTION: unknown option '--rank'
// OPTION-NEXT: hint: did you mean '--ranks'?
// RUN: not zb-sched --ranks 0 --micro-batches 8 --schedule 1f1b 2>&1 | FileCheck %s --check-prefix=ZERO
// ZERO: --ranks: expected a whole number of 1 to 1000000, got '0'
// RUN: not zb-sched --ranks 4 --micro-batches 8 --schedule 1f1b --costs f=-1 2>&1 | FileCheck %s --check-prefix=COST
// COST: --costs: f: expected a number of 1e-09 to 1e9, got '-1'
// RUN: not zb-sched --ranks 4 --micro-batches 8 --schedule 1f1b --chunks 2 2>&1 | FileCheck %s --check-prefix=ONE
// ONE: 1f1b is defined for at most 1 chunk a rank, got 2
// RUN: not zb-sched --ranks 4 --micro-batches 8 --schedule 1f1b --memory-limit 2M 2>&1 | FileCheck %s --check-prefix=LIMIT
// LIMIT: 1f1b needs 4.0 MiB (4,194,304 bytes) on rank 0, and the limit is 2.0 MiB (2,097,152 bytes)
// RUN: not zb-sched --ranks 4 --micro-batches 8 --schedule 1f1b --timeline no-such-folder/a.svg 2>&1 | FileCheck %s --check-prefix=FILE
// FILE: no-such-folder/a.svg
// RUN: not zb-sched --ranks 4 --micro-batches 8 --schedule 1f1b --metric best 2>&1 | FileCheck %s --check-prefix=METRIC
// METRIC: --metric: expected barrier, stage or period, got 'best'
// RUN: not zb-sched --ranks 4 --micro-batches 8 --schedule 1f1b --memory-limit 800000 2>&1 | FileCheck %s --check-prefix=ALONE
// ALONE: 1f1b needs 4.0 MiB (4,194,304 bytes) on rank 0, and the limit is 781.2 KiB (800,000 bytes)
// ALONE: note: one micro-batch alone needs 1.0 MiB (1,048,576 bytes) on rank 0: no order of these stages fits
// RUN: not zb-sched --ranks 4 --micro-batches 0 --schedule 1f1b 2>&1 | FileCheck %s --check-prefix=NONE
// NONE: --micro-batches: expected a whole number of 1 to 1000000, got '0'
// RUN: not zb-sched --ranks 4 --micro-batches 8 --schedule 1f1b --costs f=inf 2>&1 | FileCheck %s --check-prefix=INFINITE
// INFINITE: --costs: f: expected a number of 1e-09 to 1e9, got 'inf'
// RUN: not zb-sched --ranks 4 --micro-batches 8 --schedule 1f1b --costs g=1 2>&1 | FileCheck %s --check-prefix=KEY
// KEY: --costs: unknown name 'g'
// RUN: not zb-sched --ranks 4 --micro-batches 8 --schedule 1f1b --costs f=1,b=2,f=3 2>&1 | FileCheck %s --check-prefix=TWICE
// TWICE: --costs: f is given twice
// KEY: hint: names are f, b, w, comm, opt, mem, mem_w and base
// RUN: not zb-sched --ranks 4 --micro-batches 8 --schedule 1f1b --memory-limit 2X 2>&1 | FileCheck %s --check-prefix=BYTES
// BYTES: --memory-limit: expected bytes like 800, 64M or 1.5G, or 1.25p, got '2X'
// RUN: not zb-sched --ranks 4 --micro-batches 8 2>&1 | FileCheck %s --check-prefix=MISSING
// MISSING: --schedule is missing
// RUN: not zb-sched --ranks 4 --schedule 1f1b 2>&1 | FileCheck %s --check-prefix=MICRO
// MICRO: --micro-batches is missing
// RUN: not zb-sched 1f1b 2>&1 | FileCheck %s --check-prefix=WORD
// WORD: expected an option, got '1f1b'

// The critical path: down with the first micro-batch, back with the last.
// RUN: zb-sched --ranks 4 --micro-batches 8 --schedule 1f1b --costs f=1,b=1,w=1,comm=0.5 | FileCheck %s --check-prefix=PATH
// PATH: critical path of the step: 33.000 ms of jobs, 8.000 ms of messages
// PATH-NEXT: 0.000 ms ranks 0 to 3: F of micro-batch 0, 3 messages
// PATH-NEXT: 5.500 ms ranks 3 to 0: B and W of micro-batch 0, 3 messages
// PATH-NEXT: 15.000 ms ranks 0 to 3: F of micro-batch 4, 3 messages
// PATH-NEXT: 20.500 ms ranks 3 to 1: B and W of micro-batch 4, 2 messages
// PATH-NEXT: 27.500 ms ranks 1 to 3: F of micro-batch 7, 2 messages
// PATH-NEXT: 31.500 ms ranks 3 to 0: B and W of micro-batch 7, 3 messages
// PATH-NOT: ms

// Limits in units of what 1F1B needs, beside the base memory.
// RUN: zb-sched --ranks 4 --micro-batches 8 --schedule 1f1b --costs base=100,mem=2 --memory-limit 1p | FileCheck %s --check-prefix=UNITS
// UNITS: peak memory  102.000 to 108.000 MiB a rank
// RUN: not zb-sched --ranks 4 --micro-batches 8 --schedule 1f1b --costs base=100,mem=2 --memory-limit 0.99p 2>&1 | FileCheck %s --check-prefix=BELOW
// BELOW: 1f1b needs 108.0 MiB (113,246,208 bytes) on rank 0, and the limit is 107.9 MiB (113,162,322 bytes)

// Tables: by time, and why a schedule is not in it.
// RUN: zb-sched --ranks 4 --micro-batches 8 --compare fthenb,zb-h1,1f1b --chunks 1 --memory-limit 1p | FileCheck %s --check-prefix=TABLE
// TABLE: schedule placement chunks
// TABLE-NEXT: zb-h1 plain 1 27.000
// TABLE-NEXT: 1f1b plain 1 33.000 27.27% 27.27%
// TABLE-NEXT: fthenb plain 1 -- needs 8.0 MiB (8,388,608 bytes) on rank 0, and the limit is 4.0 MiB (4,194,304 bytes)
// RUN: zb-sched --ranks 4 --micro-batches 8 --schedule all --metric stage | FileCheck %s --check-prefix=ALL
// ALL-DAG: 1f1b plain
// ALL-DAG: fthenb plain
// ALL: by the stage metric
// RUN: zb-sched --ranks 4 --micro-batches 8 --schedule zb --metric period --explain | FileCheck %s --check-prefix=PERIOD
// PERIOD: time 24.000 ms (period metric)
// PERIOD: bubble 11.11% barrier, 0.00% stage, 0.00% period
// PERIOD: why ranks idle, by the period metric
// RUN: zb-sched --ranks 2 --micro-batches 4 --compare zb-h1,fthenb --memory-limit 1p --json | FileCheck %s --check-prefix=LINES
// LINES: {"version": "{{.*}}", "schedule": "zb-h1", "ranks": 2,{{.*}} "critical_path": [{"kind": "job", "rank": 0, "job": "0F0", "start": 0.000000000, "end": 1.000000000},{{.*}} "jobs": {{\[\[}}["0F0", 0.000000000, 1.000000000],
// LINES-NEXT: {"version": "{{.*}}", "schedule": "fthenb", "chunks": 1, "placement": "plain", "error": "fthenb needs
// RUN: zb-sched --ranks 4 --micro-batches 8 --compare 1f1b,fthenb,zb-h1 --memory-limit 1p --timeline %t.all.svg
// RUN: FileCheck %s --check-prefix=PICTURES < %t.all.svg
// PICTURES: >zb-h1, 4 ranks, 8 micro-batches (simulated)<
// PICTURES-NOT: >fthenb
// PICTURES: >1f1b, 4 ranks, 8 micro-batches (simulated)<
// RUN: not zb-sched --ranks 4 --micro-batches 8 --compare fthenb,zb-h11 2>&1 | FileCheck %s --check-prefix=ROWNAME
// ROWNAME: unknown schedule 'zb-h11', did you mean 'zb-h1'?
// RUN: not zb-sched --ranks 4 --micro-batches 8 --schedule all --memory-limit 100 2>&1 | FileCheck %s --check-prefix=NOROW
// NOROW: none of the {{[0-9]+}} schedules fits
// RUN: not zb-sched --ranks 4 --micro-batches 8 --schedule all --chart 2>&1 | FileCheck %s --check-prefix=NOFILE
// NOFILE: a table of several schedules goes with --timeline and --json, not with other output

// Two pipelines: half of the micro-batches in each direction, everything twice.
// RUN: zb-sched --ranks 4 --micro-batches 8 --schedule dualpipe --costs base=10 | FileCheck %s --check-prefix=DUAL
// DUAL: dualpipe, 4 ranks, 8 micro-batches, 2 chunks a rank (v)
// DUAL: peak memory 25.000 to 25.000 MiB a rank
// DUAL: two pipelines, 4 micro-batches each
// RUN: not zb-sched --ranks 4 --micro-batches 9 --schedule dualpipe 2>&1 | FileCheck %s --check-prefix=ODD
// ODD: dualpipe runs half of the micro-batches in each direction: expected an even number, got 9
// RUN: zb-sched --ranks 4 --micro-batches 9 --compare dualpipe,dualpipev | FileCheck %s --check-prefix=ODDROW
// ODDROW: dualpipev v 2
// ODDROW: dualpipe -- runs half of the micro-batches
// RUN: not zb-sched --ranks 4 --micro-batches 8 --schedule dualpipe --chunks 3 2>&1 | FileCheck %s --check-prefix=DUALCHUNKS
// DUALCHUNKS: dualpipe is defined for at most 2 chunks a rank, got 3
// RUN: not zb-sched --ranks 4 --micro-batches 8 --schedule dualpipe --placement looped 2>&1 | FileCheck %s --check-prefix=DUALPLACE
// DUALPLACE: dualpipe is defined for placement v only, got 'looped'
// RUN: zb-sched --ranks 4 --micro-batches 8 --schedule dualpipe --write-problem %t.dual.json
// RUN: zb-sched --problem %t.dual.json --schedule dualpipe --micro-batches 12 | FileCheck %s --check-prefix=DUALFILE
// DUALFILE: dualpipe, 4 ranks, 12 micro-batches
// DUALFILE: two pipelines, 6 micro-batches each
