// A loss times a weight that is computed from a parameter (uncertainty weighting): that weight is the gradient of what it scales, in an earlier stage,
// whose rank does not update the parameter. It is not computed again there: it travels from the stage that does.
// RUN: zb-opt --zb-autodiff='optimizer="sgd:lr=0.1",micro-batches=2' --zb-split-grad --zb-canonicalize --zb-cse --zb-dce --zb-layout \
// RUN:   --zb-partition=ranks=3 %s | FileCheck %s
// RUN: zb-opt --zb-autodiff='optimizer="sgd:lr=0.1",micro-batches=2' --zb-split-grad --zb-canonicalize --zb-cse --zb-dce --zb-layout \
// RUN:   --zb-partition=ranks=3 --zb-classify --zb-outline --zb-memory --zb-schedule=schedule=1f1b,micro-batches=2 --zb-insert-comm --zb-allocate \
// RUN:   --zb-verify-plan %s | FileCheck %s --check-prefix=PLAN

// CHECK: %[[E:[0-9]+]] = "zb.exp"(%{{[a-z0-9]+}}) {{.*}}zb.stage = 2
// CHECK: %[[V:[0-9]+]] = "zb.reshape"(%[[E]]) {{.*}}zb.stage = 1
// CHECK: %[[C:[0-9]+]] = "zb.contiguous"(%[[V]]) {zb.stage = 2 : i64}
// CHECK-NEXT: "zb.mul"(%[[C]]{{.*}}zb.stage = 1

// Rank 1 does not hold the parameter.
// PLAN: module @rank1 attributes {
// PLAN-NOT: zb.param = "a.s"
// PLAN: func.func private @s1_F
// PLAN: module @rank2 attributes {{.*}}zb.param = "a.s"
func.func @model(%x: tensor<4x8xf32> {zb.input = "x"}, %w: tensor<8x4xf32> {zb.param = "a.w"}, %s: tensor<f32> {zb.param = "a.s"}) -> (tensor<f32> {zb.loss}) {
  %h = "zb.matmul"(%x, %w) : (tensor<4x8xf32>, tensor<8x4xf32>) -> tensor<4x4xf32>
  %m = "zb.reduce_mean"(%h) {axes = array<i64: 0, 1>} : (tensor<4x4xf32>) -> tensor<f32>
  %e = "zb.exp"(%s) : (tensor<f32>) -> tensor<f32>
  %l = "zb.mul"(%m, %e) : (tensor<f32>, tensor<f32>) -> tensor<f32>
  return %l : tensor<f32>
}
