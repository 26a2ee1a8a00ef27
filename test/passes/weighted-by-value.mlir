// A loss times a weight that the forward pass of a later stage makes: it is the gradient of what it scales, in an earlier
// stage, to which a copy travels back. Here of a mean of the input, and of a buffer.
// RUN: zb-opt --zb-autodiff='optimizer="sgd:lr=0.1"' --zb-split-grad --zb-canonicalize --zb-cse --zb-dce --zb-layout '--zb-partition=ranks=3,cuts="#1,#2"' %s | FileCheck %s
// RUN: zb-opt --zb-autodiff='optimizer="sgd:lr=0.1"' --zb-split-grad --zb-canonicalize --zb-cse --zb-dce --zb-layout '--zb-partition=ranks=3,cuts="#1,#2"' --zb-classify --zb-outline --zb-memory --zb-schedule=schedule=zb-h1,micro-batches=2 --zb-insert-comm --zb-allocate --zb-verify-plan %s | FileCheck %s --check-prefix=PLAN

// CHECK: %[[W:[0-9]+]] = "zb.mul"({{.*}}zb.id = 3 : i64, zb.stage = 2
// CHECK: %[[C:[0-9]+]] = "zb.contiguous"(%{{[0-9]+}}) {zb.stage = 2 : i64}
// CHECK-NEXT: "zb.mul"(%[[C]]{{.*}}zb.of = 1 : i64, zb.stage = 0

// PLAN: module @rank2
// PLAN: func.func private @s2_B({{.*}}) -> ({{.*}}tensor<{{.*}}f32> {zb.value = {{[0-9]+}} : i64})
module attributes {zb.level = "graph"} {
  func.func @model(%x: tensor<4x8xf32> {zb.input = "x"}, %w: tensor<8x4xf32> {zb.param = "a.w"}, %s: tensor<f32> {zb.buffer = "seen"}) -> (tensor<f32> {zb.loss}, tensor<f32> {zb.buffer = "seen"}) {
    %h = "zb.matmul"(%x, %w) : (tensor<4x8xf32>, tensor<8x4xf32>) -> tensor<4x4xf32>
    %m = "zb.reduce_mean"(%h) {axes = array<i64: 0, 1>} : (tensor<4x4xf32>) -> tensor<f32>
    %v = "zb.reduce_mean"(%x) {axes = array<i64: 0, 1>} : (tensor<4x8xf32>) -> tensor<f32>
    %e = "zb.mul"(%v, %s) : (tensor<f32>, tensor<f32>) -> tensor<f32>
    %l = "zb.mul"(%m, %e) : (tensor<f32>, tensor<f32>) -> tensor<f32>
    %n = "zb.add"(%s, %v) : (tensor<f32>, tensor<f32>) -> tensor<f32>
    return %l, %n : tensor<f32>, tensor<f32>
  }
}
