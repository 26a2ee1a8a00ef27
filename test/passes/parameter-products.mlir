// A product of parameters alone: its gradient ops depend on no activation, so both are W, and each adds into its own accumulator.
// RUN: zb-opt --zb-autodiff=optimizer=sgd:lr=1,micro-batches=1 --zb-split-grad --zb-canonicalize --zb-cse --zb-dce --zb-layout --zb-partition=ranks=1 --zb-classify %s | FileCheck %s
// RUN: zbc %s -o %t.plan --optimizer sgd:lr=1 --json | FileCheck %s --check-prefix=PLAN
// RUN: zb-run %t.plan --print-plan | FileCheck %s --check-prefix=JOBS

// CHECK: "zb.matmul"(%{{.*}}) {transpose_rhs = true, zb.class = "W"
// CHECK: "zb.matmul"(%{{.*}}) {transpose_lhs = true, zb.class = "W"
// CHECK-COUNT-2: "zb.accumulate"{{.*}}zb.class = "W"
// PLAN: "trained":["b","a"]
// JOBS: matmul accumulating
// JOBS: matmul accumulating

module attributes {zb.level = "graph"} {
  func.func @model(%x: tensor<2x3xf32> {zb.input = "x"}, %a: tensor<3x4xf32> {zb.param = "a"}, %b: tensor<4x5xf32> {zb.param = "b"}) -> (tensor<f32> {zb.loss}) {
    %0 = "zb.reduce_sum"(%x) {axes = array<i64: 0, 1>} : (tensor<2x3xf32>) -> tensor<f32>
    %1 = "zb.matmul"(%a, %b) : (tensor<3x4xf32>, tensor<4x5xf32>) -> tensor<3x5xf32>
    %2 = "zb.mul"(%1, %1) : (tensor<3x5xf32>, tensor<3x5xf32>) -> tensor<3x5xf32>
    %3 = "zb.reduce_sum"(%2) {axes = array<i64: 0, 1>} : (tensor<3x5xf32>) -> tensor<f32>
    %4 = "zb.add"(%3, %0) : (tensor<f32>, tensor<f32>) -> tensor<f32>
    return %4 : tensor<f32>
  }
}
