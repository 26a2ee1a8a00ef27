// What the loss of a step is the mean of: a loss that ignores targets becomes a sum with its weight.
// RUN: zb-opt --split-input-file --zb-loss-mean=loss-mean=targets %s | FileCheck %s
// RUN: zb-opt --split-input-file --zb-loss-mean %s 2>&1 | FileCheck %s --check-prefix=SAYS
// RUN: zb-opt --zb-loss-mean=loss-mean=targets --zb-autodiff='optimizer="sgd:lr=0.1",micro-batches=2,replicas=3' %S/Inputs/ignored.mlir | FileCheck %s --check-prefix=SUMS
// RUN: zbc %S/Inputs/ignored.mlir -o %t --ranks 4 --cuts a,b,c --micro-batches 2 --schedule 1f1b --optimizer sgd:lr=0.1 --loss-mean targets | FileCheck %s --check-prefix=ZBC
// RUN: zb-run %t --print-plan | FileCheck %s --check-prefix=PLAN
// RUN: not zb-opt --zb-loss-mean=loss-mean=tokens %S/clipping.mlir 2>&1 | FileCheck %s --check-prefix=WRONG

// WRONG: error: loss-mean: expected micro-batches or targets, got 'tokens'

// The pair is added up, after it nothing of the weight is differentiated; gradients are sums, without a factor, and CLIP divides by
// the last of its numbers. Without clipping the greatest norm is infinite.
// SUMS: zb.defaults = array<f64: 0x7FF0000000000000>, zb.own = 0 : i64, zb.setting = "max_norm"
// SUMS-SAME: -> (tensor<2xf32> {zb.loss}, tensor<f32> {zb.report = "norm"}
// SUMS: %[[L:.*]]:2 = "zb.cross_entropy"({{.*}}reduction = "sum", zb.id = [[ID:[0-9]+]]
// SUMS: %[[PAIR:.*]] = "zb.concat"({{.*}}zb.id = [[OF:[0-9]+]]
// SUMS: "zb.constant"() {value = dense<1.0
// SUMS: %[[ADDED:.*]] = "zb.accumulate"(%[[PAIR]]) {parameter = "zb.weighted_loss", use = 0 : i64, zb.of = [[OF]] : i64} : (tensor<2xf32>) -> tensor<2xf32>
// SUMS: "zb.cross_entropy_grad"({{.*}}zb.of = [[ID]]
// SUMS-NOT: "zb.equal"
// SUMS: "zb.empty_frame"() : () -> !zb.frame<"norms", 32 : i64>
// SUMS-COUNT-2: "zb.square_sum"(%{{[0-9]+}}) : (tensor<16x16xf32>)
// SUMS: %[[NUMBERS:.*]] = "zb.cast"(%[[ADDED]]) {dtype = "f64"} : (tensor<2xf32>) -> tensor<2xf64>
// SUMS: %[[FRAME:.*]] = "zb.put"(%{{.*}}, %[[NUMBERS]]) {offset = 16 : i64}
// SUMS: %[[PARTS:.*]] = "zb.get"(%[[FRAME]]) {offset = 0 : i64} : {{.*}} -> tensor<4xf64>
// SUMS: %[[C:.*]]:2 = "zb.clip_scale"(%[[PARTS]], %{{.*}}) {weighted = true}
// SUMS: "zb.sgd"(%{{.*}}, %[[C]]#0, %{{[a-z0-9]+}}) : (

// ZBC: the loss is the mean over targets that are not ignored (3, by 'y') of the whole step

// The last rank has no parameter: it gives its sum to all others, and takes part for that.
// PLAN: losses are pairs: a sum and its weight
// PLAN: collective 1 all-gather N of ranks 0, 1, 2, 3 before message #{{[0-9]+}}: 8, 8, 0, 16 bytes
// PLAN: rank 3:
// PLAN: subprogram s3_F:
// PLAN: loss at fw+0
// PLAN: concat {{.*}} -> fw+0:2xf32
// PLAN: subprogram s3_W:
// PLAN: accumulate_add accumulating fw+0:2xf32 -> gradients+0:2xf32
// PLAN: subprogram s3_NORM:
// PLAN: cast gradients+0:2xf32 -> norms+16:2xf64
// PLAN: subprogram CLIP:
// PLAN: clip_scale norms+0:4xf64 {{.*}}{weighted = true}
// PLAN: subprogram s3_E:
// PLAN: concat {{.*}} -> loss+0:2xf32
// PLAN: REPORT micro-batch 0 slots+{{[0-9]+}} (8)

// A loss op that ignores a label: all ops behind it, which scale it, are made again of its sum.
// CHECK: zb.loss_mean = "the mean over targets that are not ignored (-100, by 'y') of the whole step"
// CHECK-LABEL: func.func @ignored
// CHECK-SAME: -> (tensor<2xf32> {zb.loss})
// CHECK-NEXT: %[[L:.*]]:2 = "zb.cross_entropy"(%arg0, %arg1) {ignore_index = -100 : i64, reduction = "sum"}
// CHECK-NEXT: %[[TWO:.*]] = "zb.constant"() {value = dense<2.0
// CHECK-NEXT: %[[S:.*]] = "zb.mul"(%[[L]]#0, %[[TWO]]) : (tensor<f32>, tensor<f32>) -> tensor<f32>
// CHECK-NEXT: %[[SUM:.*]] = "zb.reshape"(%[[S]]) {shape = array<i64: 1>}
// CHECK-NEXT: %[[NONE:.*]] = "zb.constant"() {value = dense<-100>
// CHECK-NEXT: %[[E:.*]] = "zb.equal"(%arg1, %[[NONE]])
// CHECK-NEXT: %[[N:.*]] = "zb.not"(%[[E]])
// CHECK-NEXT: %[[C:.*]] = "zb.cast"(%[[N]]) {dtype = "f32"}
// CHECK-NEXT: %[[W:.*]] = "zb.reduce_sum"(%[[C]]) {axes = array<i64>} : (tensor<4xf32>) -> tensor<f32>
// CHECK-NEXT: %[[WEIGHT:.*]] = "zb.reshape"(%[[W]]) {shape = array<i64: 1>}
// CHECK-NEXT: %[[PAIR:.*]] = "zb.concat"(%[[SUM]], %[[WEIGHT]]) {axis = 0 : i64} : (tensor<1xf32>, tensor<1xf32>) -> tensor<2xf32>
// CHECK-NEXT: return %[[PAIR]] : tensor<2xf32>

// SAYS: zb.loss_mean = "the mean over targets that are not ignored (-100, by 'y') of each micro-batch, all of which count alike"
// SAYS-LABEL: func.func @ignored
// SAYS-SAME: -> (tensor<f32> {zb.loss})
// SAYS: reduction = "mean"
module attributes {zb.level = "graph"} {
  func.func @ignored(%z: tensor<4x8xf32> {zb.param = "z"}, %y: tensor<4xi64> {zb.input = "y"}) -> (tensor<f32> {zb.loss}) {
    %mean, %lse = "zb.cross_entropy"(%z, %y) {ignore_index = -100 : i64, reduction = "mean"} : (tensor<4x8xf32>, tensor<4xi64>) -> (tensor<f32>, tensor<4xf32>)
    %two = "zb.constant"() {value = dense<2.0> : tensor<f32>} : () -> tensor<f32>
    %loss = "zb.mul"(%mean, %two) : (tensor<f32>, tensor<f32>) -> tensor<f32>
    return %loss : tensor<f32>
  }
}

// -----

// A masked sum divided by the sum of the mask; the lower bound that keeps it from 0 / 0 is left out.
// CHECK: zb.loss_mean = "the mean over targets that have a weight ('mask') of the whole step"
// CHECK-LABEL: func.func @masked
// CHECK: %[[F:.*]] = "zb.cast"(%arg2) {dtype = "f32"}
// CHECK: %[[MASKED:.*]] = "zb.mul"(%{{.*}}, %[[F]])
// CHECK: %[[S:.*]] = "zb.reduce_sum"(%[[MASKED]])
// CHECK: %[[W:.*]] = "zb.reduce_sum"(%[[F]])
// CHECK-NOT: zb.max
// CHECK-NOT: zb.div
// CHECK: %[[SUM:.*]] = "zb.reshape"(%[[S]])
// CHECK: %[[WEIGHT:.*]] = "zb.reshape"(%[[W]])
// CHECK: "zb.concat"(%[[SUM]], %[[WEIGHT]])

// SAYS: zb.loss_mean = "the mean over targets that have a weight ('mask') of each micro-batch, all of which count alike"
module attributes {zb.level = "graph"} {
  func.func @masked(%z: tensor<2x3xf32> {zb.param = "z"}, %y: tensor<2x3xf32> {zb.input = "y"}, %m: tensor<2x3xi64> {zb.input = "mask"}) -> (tensor<f32> {zb.loss}) {
    %f = "zb.cast"(%m) {dtype = "f32"} : (tensor<2x3xi64>) -> tensor<2x3xf32>
    %d = "zb.sub"(%z, %y) : (tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<2x3xf32>
    %masked = "zb.mul"(%d, %f) : (tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<2x3xf32>
    %sum = "zb.reduce_sum"(%masked) {axes = array<i64>, keepdims = false} : (tensor<2x3xf32>) -> tensor<f32>
    %count = "zb.reduce_sum"(%f) {axes = array<i64>, keepdims = false} : (tensor<2x3xf32>) -> tensor<f32>
    %one = "zb.constant"() {value = dense<1.0> : tensor<f32>} : () -> tensor<f32>
    %least = "zb.max"(%count, %one) : (tensor<f32>, tensor<f32>) -> tensor<f32>
    %loss = "zb.div"(%sum, %least) : (tensor<f32>, tensor<f32>) -> tensor<f32>
    return %loss : tensor<f32>
  }
}
