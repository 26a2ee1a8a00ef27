// What a plan reports has a home of its own: a view (the end of `.mean()` in exported graphs, one element of a saved value) is copied.
// RUN: zb-opt --zb-autodiff --zb-split-grad --zb-layout --zb-partition=ranks=2 --zb-classify --zb-outline %s | FileCheck %s

// CHECK: func.func private @s1_F(
// CHECK: %[[M:[0-9]+]] = "zb.reduce_mean"
// CHECK-NEXT: %[[V:[0-9]+]] = "zb.reshape"(%[[M]])
// CHECK-NEXT: %[[L:[0-9]+]] = "zb.contiguous"(%[[V]]) {zb.class = "F", zb.stage = 1 : i64} : (tensor<f32>) -> tensor<f32>
// CHECK-NEXT: return %[[L]] : tensor<f32>
// CHECK-NOT: "zb.contiguous"
// CHECK: func.func private @s1_E(
// CHECK: "zb.contiguous"({{.*}}) {zb.class = "E", zb.stage = 1 : i64} : (tensor<f32>) -> tensor<f32>
// CHECK-NOT: "zb.contiguous"
func.func @model(%x: tensor<4x8xf32> {zb.input = "x"}, %w: tensor<8x4xf32> {zb.param = "a.w"}, %v: tensor<4x4xf32> {zb.param = "b.w"}) -> (tensor<f32> {zb.loss}) {
  %h = "zb.matmul"(%x, %w) : (tensor<4x8xf32>, tensor<8x4xf32>) -> tensor<4x4xf32>
  %t = "zb.tanh"(%h) : (tensor<4x4xf32>) -> tensor<4x4xf32>
  %z = "zb.matmul"(%t, %v) : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
  %m = "zb.reduce_mean"(%z) {axes = array<i64: 0, 1>, keepdims = true} : (tensor<4x4xf32>) -> tensor<1x1xf32>
  %l = "zb.reshape"(%m) {shape = array<i64>} : (tensor<1x1xf32>) -> tensor<f32>
  return %l : tensor<f32>
}
