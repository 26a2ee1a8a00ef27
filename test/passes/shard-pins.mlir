// zb-shard: pins of parameters, and what is noted of those that stay whole.
// RUN: zb-opt '--zb-shard=tensor-parallel=2 shard="up.w=whole;qkv.w=1"' %S/programs/shards.mlir | FileCheck %s --check-prefix=WHOLE
// RUN: zb-opt '--zb-shard=tensor-parallel=2 shard="up.w=0"' %S/programs/shards.mlir | FileCheck %s --check-prefix=ROWS
// RUN: zb-opt '--zb-shard=tensor-parallel=2 shard="*=whole;e=0"' %S/programs/shards.mlir | FileCheck %s --check-prefix=LAST
// RUN: zb-opt --zb-shard=tensor-parallel=4 %S/programs/shards.mlir | FileCheck %s --check-prefix=HEADS
// RUN: zb-opt --zb-shard=tensor-parallel=2 %S/programs/shards.mlir | FileCheck %s --check-prefix=NOTHING
// RUN: not zb-opt '--zb-shard=tensor-parallel=2 shard="up.v=1"' %S/programs/shards.mlir 2>&1 | FileCheck %s --check-prefix=NEAR
// RUN: not zb-opt '--zb-shard=tensor-parallel=2 shard="*.q=1"' %S/programs/shards.mlir 2>&1 | FileCheck %s --check-prefix=NONE
// RUN: not zb-opt '--zb-shard=tensor-parallel=2 shard="up.w=2"' %S/programs/shards.mlir 2>&1 | FileCheck %s --check-prefix=DIM
// RUN: not zb-opt '--zb-shard=tensor-parallel=5 shard="up.w=1"' %S/programs/shards.mlir 2>&1 | FileCheck %s --check-prefix=DIVIDE
// RUN: not zb-opt '--zb-shard=tensor-parallel=2 shard="s1=0"' %S/programs/shards.mlir 2>&1 | FileCheck %s --check-prefix=READER
// RUN: not zb-opt '--zb-shard=tensor-parallel=2 shard="e=1"' %S/programs/shards.mlir 2>&1 | FileCheck %s --check-prefix=READER
// RUN: not zb-opt '--zb-shard=tensor-parallel=4 shard="qkv.w=1"' %S/programs/shards.mlir 2>&1 | FileCheck %s --check-prefix=RUNS
// RUN: not zb-opt '--zb-shard=tensor-parallel=2 shard="up.w"' %S/programs/shards.mlir 2>&1 | FileCheck %s --check-prefix=FORM
// RUN: not zb-opt '--zb-shard=tensor-parallel=2 shard="up.w=-1"' %S/programs/shards.mlir 2>&1 | FileCheck %s --check-prefix=FORM

// What is pinned in runs is cut in them; what is pinned whole has no shard, and the next product nothing to follow.
// WHOLE: zb.whole = ["down.w", "zb.rms_norm needs all of what is made of it"]
// WHOLE: {zb.param = "qkv.w", zb.shard = "1:12,12,12"}
// WHOLE: tensor<12x24xf64> {zb.param = "up.w"}

// The first product by rows: its result is a sum, and the second product finds nothing cut that it could follow.
// ROWS: zb.whole = ["down.w", "zb.rms_norm needs all of what is made of it"]
// ROWS: tensor<6x24xf64> {zb.param = "up.w", zb.shard = "0:12"}
// ROWS: tensor<12x24xf64> {zb.param = "down.w"}

// LAST: {zb.param = "e", zb.shard = "0:96"}
// LAST-NOT: zb.shard =

// Six heads are no multiple of four, so q, k and v stay whole; what follows attention has nothing to follow.
// HEADS: zb.whole = ["qkv.w", "4 shards do not divide the 6 of zb.reshape", "o.w", "zb.{{[a-z_]*}} needs all of what is made of it"]

// NOTHING-NOT: zb.whole

// NEAR: error: shard: no parameter is named 'up.v'
// NEAR: hint: did you mean 'up.w'?
// NONE: no parameter is named '*.q'
// NONE: hint: the first of 15 is 'e'
// DIM: 'up.w' has 2 dimensions, counted from 0: there is no dimension 2
// DIVIDE: 5 shards do not divide dimension 1 of 'up.w', which has 24 elements
// READER: cannot be cut along dimension {{[01]}}: zb.{{layer|rms}}_norm needs all of what is made of it
// RUNS: 'qkv.w' cannot be cut along dimension 1: 4 shards do not divide the 6 of zb.reshape
// FORM: expected GLOB=DIM or GLOB=whole, got 'up.w
