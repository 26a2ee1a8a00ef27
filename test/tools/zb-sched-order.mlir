// zb-sched --order, --csv, --lowered, --text: orders as files. Not MLIR: the RUN lines are the test. What is wrong in a file is in
// test/passes/schedule/order_file_test.c.

// Written in all three forms, read back, scored the same.
// RUN: zb-sched --ranks 3 --micro-batches 4 --schedule zb-h1 --costs f=2,b=3,w=1,comm=0.1 --csv %t.csv --lowered %t.lowered.csv --text %t.txt | grep -v ^schedule > %t.0
// RUN: zb-sched --order %t.csv --costs f=2,b=3,w=1,comm=0.1 | grep -v ^schedule > %t.1
// RUN: zb-sched --order %t.lowered.csv --costs f=2,b=3,w=1,comm=0.1 | grep -v ^schedule > %t.2
// RUN: zb-sched --order %t.txt --costs f=2,b=3,w=1,comm=0.1 | grep -v ^schedule > %t.3
// RUN: cmp %t.0 %t.1
// RUN: cmp %t.0 %t.2
// RUN: cmp %t.0 %t.3
// RUN: zb-sched --schedule %t.csv --costs f=2,b=3,w=1,comm=0.1 | grep -v ^schedule | cmp - %t.0
// RUN: zb-sched --ranks 3 --micro-batches 4 --compare zb-h1,%t.csv,%t.txt | FileCheck %s --check-prefix=ROWS
// ROWS: {{^}}zb-h1 plain 1 14.000
// ROWS-NEXT: order.mlir.tmp.csv plain 1 14.000
// ROWS-NEXT: order.mlir.tmp.txt plain 1 14.000
// RUN: FileCheck %s --check-prefix=TEXT < %t.txt
// TEXT: {{^}}0F0 0F1 0F2 0B0 0W0 0F3 0B1 0W1 0B2 0W2 0B3 0W3{{$}}
// RUN: FileCheck %s --check-prefix=LOWERED < %t.lowered.csv
// LOWERED: 0UNSHARD,0F0,0SEND_F0

// On the problem of a file, with chunks, and with numbers that the file does not say.
// RUN: zb-sched --ranks 2 --micro-batches 3 --chunks 2 --write-problem %t.json
// RUN: zb-sched --problem %t.json --schedule fthenb --csv %t.chunks.csv
// RUN: zb-sched --problem %t.json --order %t.chunks.csv | FileCheck %s --check-prefix=CHUNKS
// CHUNKS: 2 ranks, 3 micro-batches, 2 chunks a rank (looped)
// RUN: not zb-sched --problem %t.json --order %t.csv 2>&1 | FileCheck %s --check-prefix=OTHER
// OTHER: expected 2 lines, one a rank, got 3
// RUN: not zb-sched --order %t.csv --micro-batches 5 2>&1 | FileCheck %s --check-prefix=FEWER
// FEWER: csv:1:1: 0F4 is missing: expected micro-batches 0..4
// RUN: zb-sched --ranks 2 --micro-batches 3 --schedule looped-bfs --chunks 2 --csv %t.bfs.csv
// RUN: zb-sched --order %t.bfs.csv --chart | FileCheck %s --check-prefix=BFS
// BFS: looped

// RUN: printf '0F0,0F0,0I0,0W0\n' > %t.double.csv
// RUN: not zb-sched --order %t.double.csv 2>&1 | FileCheck %s --check-prefix=DOUBLE
// DOUBLE: double.csv:1:5: 0F0
// RUN: not zb-sched --order %t.csv --memory-limit 0.5p 2>&1 | FileCheck %s --check-prefix=LIMIT
// LIMIT: needs 3.0 MiB (3,145,728 bytes) on rank 0, and the limit is 1.5 MiB (1,572,864 bytes)
// RUN: not zb-sched --order %t.csv --placement v 2>&1 | FileCheck %s --check-prefix=PLACEMENT
// PLACEMENT: --placement: {{.*}}.csv says where its stages stand
// RUN: not zb-sched --order %t.csv --schedule 1f1b 2>&1 | FileCheck %s --check-prefix=TWO
// TWO: expected one of --schedule, --compare and --order
