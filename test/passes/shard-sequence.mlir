// zb-shard with sequence-parallel: between products each shard has its part of the tokens.
// RUN: zb-opt '--zb-shard=tensor-parallel=3 sequence-parallel=true' %S/programs/shards.mlir | FileCheck %s --check-prefix=LAYER
// RUN: zb-opt '--zb-shard=tensor-parallel=3 sequence-parallel=true' --zb-autodiff --zb-split-grad --zb-dce %S/programs/shards.mlir | FileCheck %s --check-prefix=STEP
// RUN: zb-opt '--zb-shard=tensor-parallel=2 sequence-parallel=true' %S/programs/shards.mlir | FileCheck %s --check-prefix=UNDIVIDED
// RUN: zb-opt '--zb-shard=tensor-parallel=3 sequence-parallel=true' --zb-autodiff --zb-split-grad --zb-unroll-shards %S/programs/shards.mlir | FileCheck %s --check-prefix=UNROLLED

// The rows of the embedding are summed by tokens; of positions each shard takes its own.
// LAYER: %[[T:.*]] = "zb.transpose"(%{{.*}}) {permutation = array<i64: 1, 0, 2, 3>} : (tensor<2x3x1x12xf64>) -> tensor<3x2x1x12xf64>
// LAYER-NEXT: %[[E:.*]] = "zb.reduce_scatter"(%[[T]]) {members = 3 : i64} : (tensor<3x2x1x12xf64>) -> tensor<2x1x12xf64>
// LAYER: "zb.own_part"(%{{.*}}) {members = 3 : i64} : (tensor<3x1x1x12xf64>) -> tensor<1x1x12xf64>
// LAYER: %[[X:.*]] = "zb.add"(%[[E]], %{{.*}}) : (tensor<2x1x12xf64>, tensor<1x12xf64>) -> tensor<2x1x12xf64>
// Norms are of parts, and the gradients of what they read are sums over shards.
// LAYER: %[[SCALE:.*]] = "zb.shared"(%arg4)
// LAYER: "zb.layer_norm"(%[[X]], %[[SCALE]], %{{.*}}) {{.*}} -> (tensor<2x1x12xf64>, tensor<2x1x1xf64>, tensor<2x1x1xf64>)
// A product of columns gets all tokens, through the reshape that makes one dimension of samples and tokens.
// LAYER: %[[P:.*]] = "zb.gather_parts"(%{{.*}}) {members = 3 : i64, shared = true} : (tensor<2x1x12xf64>) -> tensor<3x2x1x12xf64>
// LAYER-NEXT: %[[Q:.*]] = "zb.transpose"(%[[P]])
// LAYER-NEXT: %[[R:.*]] = "zb.reshape"(%[[Q]]) {shape = array<i64: 6, 12>}
// LAYER-NEXT: "zb.matmul"(%[[R]], %arg6, %arg7) : (tensor<6x12xf64>, tensor<12x12xf64>, tensor<12xf64>)
// LAYER: "zb.attention"{{.*}} -> (tensor<2x3x2x2xf64>
// The bias behind a sum is added to a part of it.
// LAYER: %[[BIAS:.*]] = "zb.shared"(%arg10)
// LAYER: "zb.reduce_scatter"
// LAYER: "zb.add"(%{{.*}}, %[[BIAS]]) : (tensor<2x12xf64>, tensor<12xf64>)
// LAYER: "zb.add"({{.*}} : (tensor<2x1x12xf64>, tensor<2x1x12xf64>)
// LAYER: "zb.rms_norm"
// LAYER: "zb.gather_parts"
// LAYER: "zb.gelu"
// LAYER: "zb.reduce_scatter"
// LAYER: "zb.gather_parts"(%{{.*}}) {members = 3 : i64, shared = true}
// LAYER-COUNT-3: "zb.all_reduce"
// LAYER-NOT: "zb.all_reduce"

// Forward three of each; backward each is the other, and the own part of positions is gathered.
// STEP-COUNT-3: "zb.reduce_scatter"(%{{[0-9]*}}) {members = 3 : i64, zb.id
// STEP: "zb.gather_parts"{{.*}}zb.id
// STEP: "zb.reduce_scatter"{{.*}}zb.of
// STEP: "zb.gather_parts"(%{{.*}}) {members = 3 : i64, zb.of
// STEP: "zb.reduce_scatter"{{.*}}zb.of
// STEP: "zb.gather_parts"{{.*}}zb.of
// STEP: "zb.reduce_scatter"{{.*}}zb.of
// STEP: "zb.gather_parts"{{.*}}zb.of
// STEP-NOT: "zb.reduce_scatter"

// Three tokens on two shards: sums stay whole, and zbc says so.
// UNDIVIDED: zb.whole = ["activations", "2 shards do not divide the 3 tokens of a sample"]
// UNDIVIDED-NOT: "zb.gather_parts"
// UNDIVIDED-NOT: "zb.reduce_scatter"

// UNROLLED-NOT: "zb.gather_parts"
// UNROLLED: "zb.slice"(%{{.*}}) {sizes = array<i64: 1, 2, 1, 12>, starts = array<i64: 2, 0, 0, 0>
// UNROLLED: "zb.concat"({{.*}}) {axis = 0 : i64, zb.id = {{[0-9]+}} : i64} : (tensor<1x2x1x12xf64>, tensor<1x2x1x12xf64>, tensor<1x2x1x12xf64>) -> tensor<3x2x1x12xf64>
// UNROLLED-NOT: "zb.reduce_scatter"
