// zb-outline: two matmuls on two ranks (the program of the walkthrough).
// RUN: zb-opt --zb-outline %s | FileCheck %s

// CHECK: zb.level = "outlined"
// CHECK: module @rank0 attributes {zb.rank = 0 : i64}
// CHECK: func.func private @s0_F(%arg0: tensor<4x8xf32> {zb.input = "x", zb.value = 0 : i64}, %arg1: tensor<8x16xf32> {zb.param = "net.w0"}) -> (tensor<4x16xf32> {zb.value = [[A:[0-9]+]] : i64})
// CHECK: func.func private @s0_B(%arg0: tensor<4x16xf32> {zb.value = [[A]] : i64}, %arg1: tensor<4x16xf32> {zb.value = [[DA:[0-9]+]] : i64}) -> (tensor<4x16xf32> {zb.value = [[DH:[0-9]+]] : i64})
// CHECK-NEXT: "zb.relu_grad"
// An accumulate gets its sum as an argument.
// CHECK: func.func private @s0_W(%arg0: tensor<4x8xf32> {zb.input = "x", zb.value = 0 : i64}, %arg1: tensor<4x16xf32> {zb.value = [[DH]] : i64}, %arg2: tensor<8x16xf32> {zb.sum = "net.w0", zb.use = 0 : i64}) -> (tensor<8x16xf32> {zb.sum = "net.w0", zb.use = 0 : i64})
// CHECK: "zb.accumulate"(%arg2, %{{.*}})
// CHECK: func.func private @s0_UPDATE({{.*}}zb.step}, %arg5: tensor<2xf64> {zb.defaults = array<f64: 1.000000e-03, 1.000000e-02>, zb.own = 0 : i64, zb.setting = "net.w0.update"}) -> (tensor<8x16xf32> {zb.update = "net.w0"}, tensor<8x16xf32> {zb.update = "net.w0.exp_avg"}, tensor<8x16xf32> {zb.update = "net.w0.exp_avg_sq"})
// CHECK: module @rank1 attributes {zb.rank = 1 : i64}
// CHECK: func.func private @s1_F(%arg0: tensor<4x16xf32> {zb.value = [[A]] : i64}, %arg1: tensor<16x8xf32> {zb.param = "net.w1"}, %arg2: tensor<4xi64> {zb.input = "y", zb.value = 1 : i64}) -> (tensor<f32> {zb.loss}
// The constant is cloned into who reads it.
// CHECK: func.func private @s1_B(
// CHECK-NEXT: "zb.constant"
// CHECK: return %{{.*}}, %{{.*}} : tensor<4x8xf32>, tensor<4x16xf32>
// CHECK: func.func private @s1_W(%arg0: tensor<4x16xf32> {zb.value = [[A]] : i64}

module attributes {zb.chunks = 1 : i64, zb.level = "classified", zb.placement = "plain", zb.ranks = 2 : i64, zb.stage_rank = array<i64: 0, 1>} {
  func.func @model(%arg0: tensor<4x8xf32> {zb.input = "x"}, %arg1: tensor<4xi64> {zb.input = "y"}, %arg2: tensor<8x16xf32> {zb.param = "net.w0"}, %arg3: tensor<16x8xf32> {zb.param = "net.w1"}, %arg4: tensor<8x16xf32> {zb.state = "net.w0.exp_avg"}, %arg5: tensor<8x16xf32> {zb.state = "net.w0.exp_avg_sq"}, %arg6: tensor<16x8xf32> {zb.state = "net.w1.exp_avg"}, %arg7: tensor<16x8xf32> {zb.state = "net.w1.exp_avg_sq"}, %arg8: tensor<i64> {zb.step}, %s0: tensor<2xf64> {zb.defaults = array<f64: 1.000000e-03, 1.000000e-02>, zb.own = 0 : i64, zb.setting = "net.w0.update"}, %s1: tensor<2xf64> {zb.defaults = array<f64: 1.000000e-03, 1.000000e-02>, zb.own = 0 : i64, zb.setting = "net.w1.update"}) -> (tensor<f32> {zb.loss}, tensor<8x16xf32> {zb.update = "net.w0"}, tensor<16x8xf32> {zb.update = "net.w1"}, tensor<8x16xf32> {zb.update = "net.w0.exp_avg"}, tensor<8x16xf32> {zb.update = "net.w0.exp_avg_sq"}, tensor<16x8xf32> {zb.update = "net.w1.exp_avg"}, tensor<16x8xf32> {zb.update = "net.w1.exp_avg_sq"}) {
    %0 = "zb.matmul"(%arg0, %arg2) {zb.class = "F", zb.id = 0 : i64, zb.stage = 0 : i64} : (tensor<4x8xf32>, tensor<8x16xf32>) -> tensor<4x16xf32>
    %1 = "zb.relu"(%0) {zb.class = "F", zb.id = 1 : i64, zb.stage = 0 : i64} : (tensor<4x16xf32>) -> tensor<4x16xf32>
    %2 = "zb.matmul"(%1, %arg3) {zb.class = "F", zb.id = 2 : i64, zb.stage = 1 : i64} : (tensor<4x16xf32>, tensor<16x8xf32>) -> tensor<4x8xf32>
    %3:2 = "zb.cross_entropy"(%2, %arg1) {reduction = "mean", zb.class = "F", zb.id = 3 : i64, zb.stage = 1 : i64} : (tensor<4x8xf32>, tensor<4xi64>) -> (tensor<f32>, tensor<4xf32>)
    %4 = "zb.constant"() {value = dense<1.000000e+00> : tensor<f32>, zb.class = "LOAD", zb.of = 3 : i64} : () -> tensor<f32>
    %5 = "zb.cross_entropy_grad"(%2, %arg1, %3#1, %4) {reduction = "mean", zb.class = "B", zb.of = 3 : i64, zb.stage = 1 : i64} : (tensor<4x8xf32>, tensor<4xi64>, tensor<4xf32>, tensor<f32>) -> tensor<4x8xf32>
    %6 = "zb.matmul"(%5, %arg3) {transpose_rhs = true, zb.class = "B", zb.of = 2 : i64, zb.stage = 1 : i64} : (tensor<4x8xf32>, tensor<16x8xf32>) -> tensor<4x16xf32>
    %7 = "zb.matmul"(%1, %5) {transpose_lhs = true, zb.class = "W", zb.of = 2 : i64, zb.stage = 1 : i64} : (tensor<4x16xf32>, tensor<4x8xf32>) -> tensor<16x8xf32>
    %8 = "zb.accumulate"(%7) {parameter = "net.w1", use = 0 : i64, zb.class = "W", zb.in_product, zb.of = 2 : i64, zb.stage = 1 : i64} : (tensor<16x8xf32>) -> tensor<16x8xf32>
    %9 = "zb.relu_grad"(%1, %6) {zb.class = "B", zb.of = 1 : i64, zb.stage = 0 : i64} : (tensor<4x16xf32>, tensor<4x16xf32>) -> tensor<4x16xf32>
    %10 = "zb.matmul"(%arg0, %9) {transpose_lhs = true, zb.class = "W", zb.of = 0 : i64, zb.stage = 0 : i64} : (tensor<4x8xf32>, tensor<4x16xf32>) -> tensor<8x16xf32>
    %11 = "zb.accumulate"(%10) {parameter = "net.w0", use = 0 : i64, zb.class = "W", zb.in_product, zb.of = 0 : i64, zb.stage = 0 : i64} : (tensor<8x16xf32>) -> tensor<8x16xf32>
    %12:3 = "zb.adamw"(%arg2, %11, %arg4, %arg5, %arg8, %s0) {beta1 = 9.000000e-01 : f64, beta2 = 0.99899999999999999 : f64, eps = 1.000000e-08 : f64, gradient_scale = 5.000000e-01 : f64, zb.class = "UPDATE", zb.stage = 0 : i64} : (tensor<8x16xf32>, tensor<8x16xf32>, tensor<8x16xf32>, tensor<8x16xf32>, tensor<i64>, tensor<2xf64>) -> (tensor<8x16xf32>, tensor<8x16xf32>, tensor<8x16xf32>)
    %13:3 = "zb.adamw"(%arg3, %8, %arg6, %arg7, %arg8, %s1) {beta1 = 9.000000e-01 : f64, beta2 = 0.99899999999999999 : f64, eps = 1.000000e-08 : f64, gradient_scale = 5.000000e-01 : f64, zb.class = "UPDATE", zb.stage = 1 : i64} : (tensor<16x8xf32>, tensor<16x8xf32>, tensor<16x8xf32>, tensor<16x8xf32>, tensor<i64>, tensor<2xf64>) -> (tensor<16x8xf32>, tensor<16x8xf32>, tensor<16x8xf32>)
    return %3#0, %12#0, %13#0, %12#1, %12#2, %13#1, %13#2 : tensor<f32>, tensor<8x16xf32>, tensor<16x8xf32>, tensor<8x16xf32>, tensor<8x16xf32>, tensor<16x8xf32>, tensor<16x8xf32>
  }
}
