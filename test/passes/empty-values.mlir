// Values without elements take no place of the workspace, and free none: the first sum is still there when the second one is made.
// RUN: zbc %s -o %t --micro-batches 1 --optimizer sgd:lr=0.1
// RUN: zb-run %t --print-plan | FileCheck %s

// CHECK: subprogram s0_F
// CHECK: add  {{.*}}->  workspace+[[SUM:[0-9]+]]:f32
// CHECK: mul  {{.*}}:4x0xf32
// CHECK-NOT: reduce_sum {{.*}}->  workspace+[[SUM]]:f32
// CHECK: add  workspace+[[SUM]]:f32
// CHECK: subprogram s0_B
module attributes {zb.level = "graph"} {
  func.func @model(%x: tensor<4x16xf32> {zb.input = "x"}, %w: tensor<16x16xf32> {zb.param = "w"}, %e: tensor<16x0xf32> {zb.param = "e"})
      -> (tensor<f32> {zb.loss}) {
    %h = "zb.matmul"(%x, %e) : (tensor<4x16xf32>, tensor<16x0xf32>) -> tensor<4x0xf32>
    %s = "zb.reduce_sum"(%h) {axes = array<i64: 0, 1>} : (tensor<4x0xf32>) -> tensor<f32>
    %y = "zb.matmul"(%x, %w) : (tensor<4x16xf32>, tensor<16x16xf32>) -> tensor<4x16xf32>
    %m = "zb.reduce_mean"(%y) {axes = array<i64: 0, 1>} : (tensor<4x16xf32>) -> tensor<f32>
    %a = "zb.add"(%s, %m) : (tensor<f32>, tensor<f32>) -> tensor<f32>
    %h2 = "zb.mul"(%h, %h) : (tensor<4x0xf32>, tensor<4x0xf32>) -> tensor<4x0xf32>
    %h3 = "zb.cast"(%h2) {dtype = "bf16"} : (tensor<4x0xf32>) -> tensor<4x0xbf16>
    %h4 = "zb.cast"(%h3) {dtype = "f32"} : (tensor<4x0xbf16>) -> tensor<4x0xf32>
    %s2 = "zb.reduce_sum"(%h4) {axes = array<i64: 0, 1>} : (tensor<4x0xf32>) -> tensor<f32>
    %loss = "zb.add"(%a, %s2) : (tensor<f32>, tensor<f32>) -> tensor<f32>
    return %loss : tensor<f32>
  }
}
