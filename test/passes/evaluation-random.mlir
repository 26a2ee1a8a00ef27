// Random ops act in training alone: in an evaluation zb.dropout is left out, zb.attention stands for
// zb.attention_dropout, with a mask and without, and the counter is no argument.
// RUN: zb-opt --zb-outline %s | FileCheck %s

// CHECK: func.func private @s0_F({{.*}}zb.input = "zb.counter"
// CHECK: "zb.dropout"
// CHECK: "zb.attention_dropout"
// CHECK: "zb.attention_dropout"
// CHECK: func.func private @s0_E(%arg0: tensor<1x4x2x8xf32> {zb.input = "x", zb.value = 0 : i64}, %arg1: tensor<8xf32> {zb.param = "w"}, %arg2: tensor<1x1x4x4xf32> {zb.input = "mask", zb.value = {{[0-9]+}} : i64}) -> (tensor<f32> {zb.loss})
// CHECK-NEXT: %[[A:.*]] = "zb.mul"(%arg0, %arg1) {zb.class = "E", zb.stage = 0 : i64}
// CHECK-NEXT: %[[O:.*]]:2 = "zb.attention"(%[[A]], %[[A]], %[[A]]) {causal = true, scale = 2.500000e-01 : f64, zb.class = "E", zb.stage = 0 : i64}
// CHECK-NEXT: %[[P:.*]]:2 = "zb.attention"(%[[O]]#0, %[[A]], %[[A]], %arg2) {scale = 2.500000e-01 : f64, zb.class = "E", zb.stage = 0 : i64}
// CHECK-NEXT: "zb.reduce_sum"(%[[P]]#0) {{.*}}zb.class = "E"
// CHECK-NEXT: return

module attributes {zb.chunks = 1 : i64, zb.level = "classified", zb.placement = "plain", zb.ranks = 1 : i64, zb.stage_rank = array<i64: 0>} {
  func.func @model(%x: tensor<1x4x2x8xf32> {zb.input = "x"}, %k: tensor<4xi64> {zb.input = "zb.counter"}, %m: tensor<1x1x4x4xf32> {zb.input = "mask"}, %w: tensor<8xf32> {zb.param = "w"}) -> (tensor<f32> {zb.loss}) {
    %a = "zb.mul"(%x, %w) {zb.class = "F", zb.stage = 0 : i64} : (tensor<1x4x2x8xf32>, tensor<8xf32>) -> tensor<1x4x2x8xf32>
    %d = "zb.dropout"(%a, %k) {op = 0 : i64, rate = 1.000000e-01 : f64, zb.class = "F", zb.stage = 0 : i64} : (tensor<1x4x2x8xf32>, tensor<4xi64>) -> tensor<1x4x2x8xf32>
    %o:2 = "zb.attention_dropout"(%d, %d, %d, %k) {causal = true, op = 1 : i64, rate = 1.000000e-01 : f64, scale = 2.500000e-01 : f64, zb.class = "F", zb.stage = 0 : i64} : (tensor<1x4x2x8xf32>, tensor<1x4x2x8xf32>, tensor<1x4x2x8xf32>, tensor<4xi64>) -> (tensor<1x4x2x8xf32>, tensor<1x2x4xf32>)
    %p:2 = "zb.attention_dropout"(%o#0, %d, %d, %m, %k) {op = 2 : i64, rate = 1.000000e-01 : f64, scale = 2.500000e-01 : f64, zb.class = "F", zb.stage = 0 : i64} : (tensor<1x4x2x8xf32>, tensor<1x4x2x8xf32>, tensor<1x4x2x8xf32>, tensor<1x1x4x4xf32>, tensor<4xi64>) -> (tensor<1x4x2x8xf32>, tensor<1x2x4xf32>)
    %l = "zb.reduce_sum"(%p#0) {axes = array<i64: 0, 1, 2, 3>, zb.class = "F", zb.stage = 0 : i64} : (tensor<1x4x2x8xf32>) -> tensor<f32>
    return %l : tensor<f32>
  }
}
