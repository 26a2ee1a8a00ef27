// zb-sched --schedule search: what it did, from which start, how far from the bound. Not MLIR: the RUN lines are the test. What it finds is
// in test/passes/schedule/search_test.c.

// RUN: zb-sched --ranks 4 --micro-batches 8 --schedule search --costs f=18.5,b=18.1,w=9.3,comm=0.6 --memory-limit 1.25p | FileCheck %s --check-prefix=REPORT
// REPORT: schedule search, 4 ranks, 8 micro-batches, 2 chunks a rank
// REPORT: lower bound
// REPORT: search best start {{[a-z0-9-]+}}, {{[0-9.]+}} ms;
// REPORT-NEXT: orders built or timed
// REPORT: critical path
// RUN: zb-sched --ranks 4 --micro-batches 8 --chunks 1 --schedule search:budget=1000,seed=3 --json | FileCheck %s --check-prefix=JSON
// JSON: "schedule": "search:budget=1000,seed=3",{{.*}} "placement": "plain"
// JSON-SAME: "search": {"evaluations": {{[0-9]+}}, "start": "{{[a-z0-9-]+}}"

// Never worse than what it starts from: the first row of the table.
// RUN: zb-sched --ranks 4 --micro-batches 8 --costs f=18.5,b=18.1,w=9.3,comm=0.6 --compare zb-v,search,zb-h1,interleaved-zb --memory-limit 1.25p | FileCheck %s --check-prefix=TABLE
// TABLE: above
// TABLE-NEXT: {{^}}search

// Micro-batches that keep nothing: memory says nothing, and the search ends.
// RUN: zb-sched --ranks 2 --micro-batches 2 --costs f=1,mem=0 --compare search,zb,zb-2p --chunks 1 | FileCheck %s --check-prefix=NOTHING
// NOTHING-COUNT-3: plain 1 7.000

// W that take room of their own: where they stand decides what one micro-batch needs.
// RUN: echo '{"ranks":1,"micro_batches":2,"placement":[0,0],"stages":[{"time_ps":[3,3,1],"keep_bytes":[1,0,0],"free_bytes":[0,0,1]},{"time_ps":[5,2,5],"keep_bytes":[2,2,2],"free_bytes":[0,0,6]}],"memory_limit_bytes":6}' > %t.w.json
// RUN: zb-sched --problem %t.w.json --schedule search --json | FileCheck %s --check-prefix=ROOM
// ROOM: "memory": [6]

// B and W as one job: a schedule that splits them is none, nor is an order that does.
// RUN: echo '{"ranks":4,"micro_batches":8,"stages":{"time_ms":[10,10,10]},"whole_backward":true}' > %t.whole.json
// RUN: not zb-sched --problem %t.whole.json --schedule zb-h1 2>&1 | FileCheck %s --check-prefix=WHOLE
// WHOLE: zb-h1 splits backwards, and this problem has B and W as one job
// RUN: zb-sched --problem %t.whole.json --schedule search --text %t.whole.txt | FileCheck %s --check-prefix=JOINED
// JOINED: time 330.000 ms
// RUN: zb-sched --problem %t.whole.json --order %t.whole.txt | FileCheck %s --check-prefix=JOINED
// RUN: zb-sched --ranks 4 --micro-batches 8 --schedule zb-h1 --text %t.split.txt
// RUN: not zb-sched --problem %t.whole.json --order %t.split.txt 2>&1 | FileCheck %s --check-prefix=SPLIT
// SPLIT: is not followed by its W: expected whole backwards

// A placement that is named stays.
// RUN: zb-sched --ranks 3 --micro-batches 6 --schedule search --placement looped --chunks 2 | FileCheck %s --check-prefix=LOOPED
// LOOPED: 2 chunks a rank (looped)
// RUN: not zb-sched --ranks 4 --micro-batches 8 --schedule search --memory-limit 800000 2>&1 | FileCheck %s --check-prefix=LIMIT
// LIMIT: one micro-batch alone needs 1.0 MiB (1,048,576 bytes) on rank 0, and the limit is 781.2 KiB (800,000 bytes)
// RUN: zb-sched --ranks 3 --micro-batches 5 --schedule search --csv %t.csv --json > %t.1
// RUN: zb-sched --order %t.csv --json > %t.2
// RUN: FileCheck %s --check-prefix=AGAIN < %t.2
// AGAIN: "time":
