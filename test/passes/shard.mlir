// zb-shard: embedding and head by vocabulary, attention by heads, products by columns and then by rows, norms and biases whole.
// RUN: zb-opt --zb-shard=tensor-parallel=2 %S/programs/shards.mlir | FileCheck %s --check-prefix=LAYER
// RUN: zb-opt --zb-canonicalize --zb-cse --zb-raise --zb-canonicalize --zb-dce --zb-shard=tensor-parallel=2 %S/programs/block.mlir | FileCheck %s --check-prefix=GROUPED
// RUN: zb-opt --zb-canonicalize --zb-cse --zb-raise --zb-canonicalize --zb-dce --zb-shard=tensor-parallel=4 %S/programs/block.mlir | FileCheck %s --check-prefix=FEW
// RUN: zb-opt --zb-shard=tensor-parallel=5 %S/programs/shards.mlir | FileCheck %s --check-prefix=PADDED
// RUN: zb-opt --zb-shard %S/programs/shards.mlir | FileCheck %s --check-prefix=ALONE
// RUN: not zb-opt --zb-shard=tensor-parallel=65 %S/programs/shards.mlir 2>&1 | FileCheck %s --check-prefix=MANY
// RUN: zb-opt --zb-shard=tensor-parallel=2 --zb-autodiff --zb-split-grad --zb-dce %S/programs/shards.mlir | FileCheck %s --check-prefix=STEP
// RUN: zb-opt --zb-shard=tensor-parallel=2 --zb-autodiff=clip-norm=1 %S/programs/shards.mlir | FileCheck %s --check-prefix=CLIP
// RUN: zb-opt --zb-shard=tensor-parallel=2 '--zb-autodiff=clip-norm=1 clip-norm-type=inf' %S/programs/shards.mlir | FileCheck %s --check-prefix=GREATEST
// RUN: zb-opt --zb-shard=tensor-parallel=2 --split-input-file %s | FileCheck %s

// q, k and v are runs of one product, and a shard has a part of each.
// LAYER: zb.shards = 2
// LAYER: {zb.param = "e", zb.shard = "0:96"}
// LAYER-SAME: tensor<3x12xf64> {zb.param = "p"}, %{{.*}}: tensor<12xf64> {zb.param = "s0"}, %{{.*}}: tensor<12xf64> {zb.param = "b0"}
// LAYER-SAME: tensor<12x18xf64> {zb.param = "qkv.w", zb.shard = "1:12,12,12"}, %{{.*}}: tensor<18xf64> {zb.param = "qkv.b", zb.shard = "0:12,12,12"}
// LAYER-SAME: tensor<2xf64> {zb.param = "q.s"}, %{{.*}}: tensor<6x12xf64> {zb.param = "o.w", zb.shard = "0:12"}, %[[ROW:[a-z0-9]*]]: tensor<12xf64> {zb.param = "o.b"}
// LAYER-SAME: tensor<12x12xf64> {zb.param = "up.w", zb.shard = "1:24"}, %{{.*}}: tensor<12xf64> {zb.param = "up.b", zb.shard = "0:24"}
// LAYER-SAME: tensor<12x12xf64> {zb.param = "down.w", zb.shard = "1:24"}, %{{.*}}: tensor<12xf64> {zb.param = "down.b"}
// Rows of tokens that are elsewhere are zeros.
// LAYER: %[[INSIDE:.*]] = "zb.and"
// LAYER: %[[ROWS:.*]] = "zb.gather"(%arg2,
// LAYER: "zb.where"(%{{.*}}, %[[ROWS]],
// LAYER-NEXT: "zb.all_reduce"(%{{.*}}) {members = 2 : i64, reduction = "sum"} : (tensor<2x3x12xf64>)
// LAYER: "zb.layer_norm"
// LAYER: %[[X:.*]] = "zb.shared"
// LAYER-NEXT: "zb.matmul"(%[[X]], %{{.*}}, %{{.*}}) : (tensor<6x12xf64>, tensor<12x18xf64>, tensor<18xf64>) -> tensor<6x18xf64>
// LAYER: "zb.split"(%{{.*}}) {axis = 2 : i64, sizes = array<i64: 6, 6, 6>}
// LAYER: %[[SCALE:.*]] = "zb.shared"(%arg8)
// LAYER-NEXT: "zb.rms_norm"(%{{.*}}, %[[SCALE]])
// LAYER: "zb.attention"{{.*}} -> (tensor<2x3x3x2xf64>, tensor<2x3x3xf64>)
// LAYER: %[[PART:.*]] = "zb.matmul"(%{{[0-9]*}}, %arg9) : (tensor<6x6xf64>, tensor<6x12xf64>) -> tensor<6x12xf64>
// LAYER-NEXT: %[[SUM:.*]] = "zb.all_reduce"(%[[PART]])
// LAYER-NEXT: "zb.add"(%[[SUM]], %[[ROW]])
// LAYER: "zb.shared"
// LAYER: "zb.gelu"
// LAYER-NEXT: "zb.matmul"
// LAYER-NEXT: "zb.all_reduce"
// LAYER: "zb.shared"
// LAYER-NEXT: %[[LOGITS:.*]] = "zb.matmul"(%{{.*}}, %arg2) {transpose_rhs = true}{{.*}} -> tensor<2x3x48xf64>
// LAYER-NEXT: "zb.reduce_max"(%[[LOGITS]])
// LAYER-NEXT: "zb.all_reduce"(%{{.*}}) {members = 2 : i64, reduction = "max"} : (tensor<2x3x1xf64>)
// LAYER: "zb.all_reduce"(%{{.*}}) {members = 2 : i64, reduction = "sum"} : (tensor<2x3xf64>)
// LAYER: "zb.all_reduce"(%{{.*}}) {members = 2 : i64, reduction = "sum"} : (tensor<2x3xf64>)
// LAYER-NOT: "zb.all_reduce"

// GROUPED: "zb.shared"
// GROUPED: "zb.attention"{{.*}} : (tensor<2x3x2x2xf64>, tensor<2x3x1x2xf64>, tensor<2x3x1x2xf64>)
// GROUPED: "zb.matmul"
// GROUPED-NEXT: "zb.all_reduce"

// Two heads of k and v for four shards: each takes the one that its query head reads.
// FEW: "zb.matmul"{{.*}}tensor<4x8xf64>) -> tensor<2x3x4xf64>
// FEW: %[[HEAD:.*]] = "zb.div"(
// FEW-NEXT: %[[K:.*]] = "zb.gather"(%{{.*}}, %[[HEAD]]) {axis = 2 : i64} : (tensor<2x3x2x2xf64>, tensor<1xi64>) -> tensor<2x3x1x2xf64>
// FEW-NEXT: %[[V:.*]] = "zb.gather"(%{{.*}}, %[[HEAD]])
// FEW-NEXT: "zb.attention"(%{{.*}}, %[[K]], %[[V]]) {{.*}} : (tensor<2x3x1x2xf64>, tensor<2x3x1x2xf64>

// 96 rows in five parts of 20: the last four mean nothing, and six heads and 24 columns stay whole.
// PADDED: tensor<20x12xf64> {zb.param = "e", zb.shard = "0:96"}
// PADDED-NOT: zb.shard =
// PADDED: "zb.attention"{{.*}} : (tensor<2x3x6x2xf64>
// PADDED: %[[MEANS:.*]] = "zb.less"{{.*}} -> tensor<20xi1>
// PADDED: "zb.where"(%[[MEANS]], %{{.*}} : (tensor<20xi1>, tensor<2x3x20xf64>, tensor<f64>) -> tensor<2x3x20xf64>
// PADDED-NEXT: "zb.reduce_max"

// ALONE-NOT: zb.coordinate
// ALONE-NOT: zb.shard

// MANY: error: tensor-parallel: expected a number from 1 to 64, got '65'
// Numbers of the seven parameters that are cut come first, and are summed once; those of the other eight follow as they are.
// CLIP: %[[FRAME:.*]] = "zb.put"({{.*}}) {offset = 64 : i64}
// CLIP-NOT: "zb.all_reduce"
// CLIP: %[[PARTS:.*]] = "zb.get"(%{{[0-9]*}}) {offset = 0 : i64} : (!zb.frame<"norms", 120 : i64>) -> tensor<7xf64>
// CLIP-NEXT: %[[SUMS:.*]] = "zb.all_reduce"(%[[PARTS]]) {members = 2 : i64, reduction = "sum"} : (tensor<7xf64>) -> tensor<7xf64>
// CLIP-NEXT: %[[WHOLE:.*]] = "zb.get"(%{{[0-9]*}}) {offset = 56 : i64} : (!zb.frame<"norms", 120 : i64>) -> tensor<8xf64>
// CLIP-NEXT: %[[ALL:.*]] = "zb.concat"(%[[SUMS]], %[[WHOLE]]) {axis = 0 : i64}
// CLIP-NEXT: "zb.clip_scale"(%[[ALL]],
// GREATEST: "zb.abs_max"
// GREATEST: "zb.all_reduce"(%{{.*}}) {members = 2 : i64, reduction = "max"} : (tensor<7xf64>)

// The backward pass: the head's, two of the layer; the norm of heads once a step, behind its accumulate. No dW has one.
// STEP-COUNT-6: "zb.all_reduce"
// STEP: "zb.all_reduce"{{.*}}zb.of
// STEP: "zb.all_reduce"{{.*}}zb.of
// STEP: %[[NORM:.*]] = "zb.accumulate"(%{{.*}}) {parameter = "q.s"
// STEP: "zb.all_reduce"{{.*}}zb.of
// STEP-NOT: "zb.all_reduce"
// STEP: "zb.all_reduce"(%[[NORM]])
// STEP-NOT: "zb.all_reduce"

// A dimension that no reader can take cut leaves its parameter whole; an output is put together.
// CHECK-LABEL: @output
// CHECK-SAME: tensor<8x4xf32> {zb.param = "w", zb.shard = "1:8"}
// CHECK: %[[OWN:.*]] = "zb.where"
// CHECK: %[[ALL:.*]] = "zb.all_reduce"(%[[OWN]])
// CHECK: "zb.reshape"(%[[ALL]]) {shape = array<i64: 2, 8>}
func.func @output(%x: tensor<2x8xf32> {zb.input = "x"}, %w: tensor<8x8xf32> {zb.param = "w"}) -> (tensor<f32> {zb.loss}, tensor<2x8xf32> {zb.output = "y"}) {
  %y = "zb.matmul"(%x, %w) : (tensor<2x8xf32>, tensor<8x8xf32>) -> tensor<2x8xf32>
  %l = "zb.reduce_sum"(%y) {axes = array<i64>} : (tensor<2x8xf32>) -> tensor<f32>
  return %l, %y : tensor<f32>, tensor<2x8xf32>
}

// -----

// CHECK-LABEL: @whole
// CHECK-NOT: zb.shard =
// CHECK-NOT: all_reduce
func.func @whole(%x: tensor<2x8xf32> {zb.input = "x"}, %w: tensor<8x8xf32> {zb.param = "w"}) -> (tensor<f32> {zb.loss}) {
  %y = "zb.matmul"(%x, %w) : (tensor<2x8xf32>, tensor<8x8xf32>) -> tensor<2x8xf32>
  %s = "zb.softmax"(%y) {axis = 1 : i64} : (tensor<2x8xf32>) -> tensor<2x8xf32>
  %q = "zb.mul"(%s, %s) : (tensor<2x8xf32>, tensor<2x8xf32>) -> tensor<2x8xf32>
  %l = "zb.reduce_sum"(%q) {axes = array<i64>} : (tensor<2x8xf32>) -> tensor<f32>
  return %l : tensor<f32>
}

// -----

// Random numbers of parts: each shard has a seed of its own.
// CHECK-LABEL: @drawn
// CHECK-SAME: %[[COUNTER:[a-z0-9]*]]: tensor<4xi64>
// CHECK: %[[OWN:.*]] = "zb.add"(%[[COUNTER]],
// CHECK: "zb.dropout"(%{{.*}}, %[[OWN]]) {{.*}} : (tensor<2x4xf32>, tensor<4xi64>)
// CHECK: "zb.all_reduce"
func.func @drawn(%x: tensor<2x8xf32> {zb.input = "x"}, %w: tensor<8x8xf32> {zb.param = "w"}, %v: tensor<8x8xf32> {zb.param = "v"}, %c: tensor<4xi64> {zb.input = "zb.counter"}) -> (tensor<f32> {zb.loss}) {
  %y = "zb.matmul"(%x, %w) : (tensor<2x8xf32>, tensor<8x8xf32>) -> tensor<2x8xf32>
  %d = "zb.dropout"(%y, %c) {rate = 0.5 : f64, op = 0 : i64} : (tensor<2x8xf32>, tensor<4xi64>) -> tensor<2x8xf32>
  %z = "zb.matmul"(%d, %v) : (tensor<2x8xf32>, tensor<8x8xf32>) -> tensor<2x8xf32>
  %q = "zb.mul"(%z, %z) : (tensor<2x8xf32>, tensor<2x8xf32>) -> tensor<2x8xf32>
  %l = "zb.reduce_sum"(%q) {axes = array<i64>} : (tensor<2x8xf32>) -> tensor<f32>
  return %l : tensor<f32>
}
