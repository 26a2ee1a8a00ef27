// What an op hands to the next stage, and an evaluation leaves out, is copied there: its operand is a view (%d), or an
// argument that came from another stage (%e), and neither is written by the function.
// RUN: zb-opt --zb-outline %s | FileCheck %s

// CHECK-LABEL: func.func private @s0_E(
// CHECK: %[[V:.*]] = "zb.reshape"
// CHECK-NEXT: %[[C:.*]] = "zb.contiguous"(%[[V]]) {zb.class = "E", zb.stage = 0 : i64}
// CHECK-NEXT: return %[[C]] : tensor<8xf32>
// CHECK-LABEL: func.func private @s1_E(%arg0: tensor<8xf32>
// CHECK-NEXT: %[[D:.*]] = "zb.contiguous"(%arg0) {zb.class = "E", zb.stage = 1 : i64}
// CHECK-NEXT: return %[[D]] : tensor<8xf32>
// CHECK-LABEL: func.func private @s2_E(%arg0: tensor<8xf32>
// CHECK-NEXT: %[[L:.*]] = "zb.reduce_sum"(%arg0)
// CHECK-NEXT: %[[M:.*]] = "zb.contiguous"(%[[L]]) {zb.class = "E", zb.stage = 2 : i64}
// CHECK-NEXT: return %[[M]] : tensor<f32>

module attributes {zb.chunks = 1 : i64, zb.level = "classified", zb.placement = "plain", zb.ranks = 3 : i64, zb.stage_rank = array<i64: 0, 1, 2>} {
  func.func @model(%x: tensor<4x2xf32> {zb.input = "x"}, %k: tensor<4xi64> {zb.input = "zb.counter"}, %w: tensor<2xf32> {zb.param = "w"}) -> (tensor<f32> {zb.loss}) {
    %a = "zb.mul"(%x, %w) {zb.class = "F", zb.stage = 0 : i64} : (tensor<4x2xf32>, tensor<2xf32>) -> tensor<4x2xf32>
    %v = "zb.reshape"(%a) {shape = array<i64: 8>, zb.class = "F", zb.stage = 0 : i64} : (tensor<4x2xf32>) -> tensor<8xf32>
    %d = "zb.dropout"(%v, %k) {op = 0 : i64, rate = 1.000000e-01 : f64, zb.class = "F", zb.stage = 0 : i64} : (tensor<8xf32>, tensor<4xi64>) -> tensor<8xf32>
    %e = "zb.dropout"(%d, %k) {op = 1 : i64, rate = 1.000000e-01 : f64, zb.class = "F", zb.stage = 1 : i64} : (tensor<8xf32>, tensor<4xi64>) -> tensor<8xf32>
    %l = "zb.reduce_sum"(%e) {axes = array<i64: 0>, zb.class = "F", zb.stage = 2 : i64} : (tensor<8xf32>) -> tensor<f32>
    %m = "zb.dropout"(%l, %k) {op = 2 : i64, rate = 1.000000e-01 : f64, zb.class = "F", zb.stage = 2 : i64} : (tensor<f32>, tensor<4xi64>) -> tensor<f32>
    return %m : tensor<f32>
  }
}
