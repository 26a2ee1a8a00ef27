// zb-memory: two matmuls on two ranks (the program of the walkthrough).
// RUN: zb-opt --zb-memory %s | FileCheck %s

// CHECK: zb.level = "framed"
// CHECK: module @rank0 attributes {zb.constants = [], zb.gradients = [{offset = 0 : i64, type = tensor<8x16xf32>, zb.sum = "net.w0", zb.use = 0 : i64}], zb.parameters = [{offset = 0 : i64, type = tensor<8x16xf32>, zb.param = "net.w0"}]
// What a run sets lies behind the number of the step.
// CHECK-SAME: zb.settings = [{offset = 8 : i64, type = tensor<2xf64>, zb.defaults = array<f64: 1.000000e-03, 1.000000e-02>, zb.own = 0 : i64, zb.setting = "net.w0.update"}]
// a (256 bytes) is read last by B: fb. x (128 bytes) by W: fw. The home of x is fw from the start.
// CHECK: func.func private @s0_F({{.*}}) -> (!zb.frame<"fb", 256 : i64> {zb.frame = "fb"}, !zb.frame<"fw", 128 : i64> {zb.frame = "fw"}, tensor<4x16xf32> {zb.value = {{[0-9]+}} : i64})
// CHECK: %[[FB:.*]] = "zb.empty_frame"() : () -> !zb.frame<"fb", 256 : i64>
// CHECK: %[[FW:.*]] = "zb.empty_frame"() : () -> !zb.frame<"fw", 128 : i64>
// CHECK: "zb.put"(%[[FW]], %arg1) {offset = 0 : i64}
// CHECK: "zb.put"(%[[FB]], %{{.*}}) {offset = 0 : i64}
// CHECK: func.func private @s0_B(%arg0: !zb.frame<"fb", 256 : i64> {zb.frame = "fb"}, %arg1: tensor<4x16xf32> {zb.value = {{[0-9]+}} : i64}) -> (!zb.frame<"bw", 256 : i64> {zb.frame = "bw"})
// CHECK: func.func private @s0_W(%arg0: !zb.frame<"gradients", 512 : i64> {zb.frame = "gradients"}, %arg1: !zb.frame<"fw", 128 : i64> {zb.frame = "fw"}, %arg2: !zb.frame<"bw", 256 : i64> {zb.frame = "bw"}) -> (!zb.frame<"gradients", 512 : i64> {zb.frame = "gradients"})
// CHECK: func.func private @s0_UPDATE(%arg0: !zb.frame<"parameters", 512 : i64> {zb.frame = "parameters"}, %arg1: !zb.frame<"state", 1024 : i64> {zb.frame = "state"}, %arg2: !zb.frame<"gradients", 512 : i64> {zb.frame = "gradients"}, %arg3: !zb.frame<"step", 24 : i64> {zb.frame = "step"}, %arg4: tensor<i64> {zb.step})
// CHECK: %[[SET:.*]] = "zb.get"(%arg3) {offset = 8 : i64} : (!zb.frame<"step", 24 : i64>) -> tensor<2xf64>
// CHECK: "zb.adamw"({{.*}}, %arg4, %[[SET]])
// The received a is kept for W, y and z and lse for B: every value rounded to 64 bytes.
// CHECK: func.func private @s1_F({{.*}}) -> (!zb.frame<"fb", 256 : i64> {zb.frame = "fb"}, !zb.frame<"fw", 256 : i64> {zb.frame = "fw"}, tensor<f32> {zb.loss})
// CHECK: "zb.put"(%{{.*}}, %arg2) {offset = 0 : i64}
// CHECK: "zb.put"(%{{.*}}, %arg1) {offset = 0 : i64}
// CHECK: "zb.put"(%{{.*}}) {offset = 64 : i64}
// CHECK: "zb.put"(%{{.*}}) {offset = 192 : i64}
// CHECK: func.func private @s1_B({{.*}}) -> (!zb.frame<"bw", 128 : i64> {zb.frame = "bw"}, tensor<4x16xf32>

module attributes {zb.chunks = 1 : i64, zb.level = "outlined", zb.placement = "plain", zb.ranks = 2 : i64, zb.stage_rank = array<i64: 0, 1>} {
  module @rank0 attributes {zb.rank = 0 : i64} {
    func.func private @s0_F(%arg0: tensor<4x8xf32> {zb.input = "x", zb.value = 0 : i64}, %arg1: tensor<8x16xf32> {zb.param = "net.w0"}) -> (tensor<4x16xf32> {zb.value = 10 : i64}) attributes {zb.class = "F", zb.stage = 0 : i64} {
      %0 = "zb.matmul"(%arg0, %arg1) {zb.class = "F", zb.stage = 0 : i64} : (tensor<4x8xf32>, tensor<8x16xf32>) -> tensor<4x16xf32>
      %1 = "zb.relu"(%0) {zb.class = "F", zb.stage = 0 : i64} : (tensor<4x16xf32>) -> tensor<4x16xf32>
      return %1 : tensor<4x16xf32>
    }
    func.func private @s0_B(%arg0: tensor<4x16xf32> {zb.value = 10 : i64}, %arg1: tensor<4x16xf32> {zb.value = 16 : i64}) -> (tensor<4x16xf32> {zb.value = 19 : i64}) attributes {zb.class = "B", zb.stage = 0 : i64} {
      %0 = "zb.relu_grad"(%arg0, %arg1) {zb.class = "B", zb.stage = 0 : i64} : (tensor<4x16xf32>, tensor<4x16xf32>) -> tensor<4x16xf32>
      return %0 : tensor<4x16xf32>
    }
    func.func private @s0_W(%arg0: tensor<4x8xf32> {zb.input = "x", zb.value = 0 : i64}, %arg1: tensor<4x16xf32> {zb.value = 19 : i64}, %arg2: tensor<8x16xf32> {zb.sum = "net.w0", zb.use = 0 : i64}) -> (tensor<8x16xf32> {zb.sum = "net.w0", zb.use = 0 : i64}) attributes {zb.class = "W", zb.stage = 0 : i64} {
      %0 = "zb.matmul"(%arg0, %arg1) {transpose_lhs = true, zb.class = "W", zb.stage = 0 : i64} : (tensor<4x8xf32>, tensor<4x16xf32>) -> tensor<8x16xf32>
      %1 = "zb.accumulate"(%arg2, %0) {parameter = "net.w0", use = 0 : i64, zb.class = "W", zb.in_product, zb.stage = 0 : i64} : (tensor<8x16xf32>, tensor<8x16xf32>) -> tensor<8x16xf32>
      return %1 : tensor<8x16xf32>
    }
    func.func private @s0_UPDATE(%arg0: tensor<8x16xf32> {zb.param = "net.w0"}, %arg1: tensor<8x16xf32> {zb.sum = "net.w0", zb.use = 0 : i64}, %arg2: tensor<8x16xf32> {zb.state = "net.w0.exp_avg"}, %arg3: tensor<8x16xf32> {zb.state = "net.w0.exp_avg_sq"}, %arg4: tensor<i64> {zb.step}, %set: tensor<2xf64> {zb.defaults = array<f64: 1.000000e-03, 1.000000e-02>, zb.own = 0 : i64, zb.setting = "net.w0.update"}) -> (tensor<8x16xf32> {zb.update = "net.w0"}, tensor<8x16xf32> {zb.update = "net.w0.exp_avg"}, tensor<8x16xf32> {zb.update = "net.w0.exp_avg_sq"}) attributes {zb.class = "UPDATE", zb.stage = 0 : i64} {
      %0:3 = "zb.adamw"(%arg0, %arg1, %arg2, %arg3, %arg4, %set) {beta1 = 9.000000e-01 : f64, beta2 = 0.99899999999999999 : f64, eps = 1.000000e-08 : f64, gradient_scale = 5.000000e-01 : f64, zb.class = "UPDATE", zb.stage = 0 : i64} : (tensor<8x16xf32>, tensor<8x16xf32>, tensor<8x16xf32>, tensor<8x16xf32>, tensor<i64>, tensor<2xf64>) -> (tensor<8x16xf32>, tensor<8x16xf32>, tensor<8x16xf32>)
      return %0#0, %0#1, %0#2 : tensor<8x16xf32>, tensor<8x16xf32>, tensor<8x16xf32>
    }
  }
  module @rank1 attributes {zb.rank = 1 : i64} {
    func.func private @s1_F(%arg0: tensor<4x16xf32> {zb.value = 10 : i64}, %arg1: tensor<16x8xf32> {zb.param = "net.w1"}, %arg2: tensor<4xi64> {zb.input = "y", zb.value = 1 : i64}) -> (tensor<f32> {zb.loss}, tensor<4x8xf32> {zb.value = 11 : i64}, tensor<4xf32> {zb.value = 13 : i64}) attributes {zb.class = "F", zb.stage = 1 : i64} {
      %0 = "zb.matmul"(%arg0, %arg1) {zb.class = "F", zb.stage = 1 : i64} : (tensor<4x16xf32>, tensor<16x8xf32>) -> tensor<4x8xf32>
      %1:2 = "zb.cross_entropy"(%0, %arg2) {reduction = "mean", zb.class = "F", zb.stage = 1 : i64} : (tensor<4x8xf32>, tensor<4xi64>) -> (tensor<f32>, tensor<4xf32>)
      return %1#0, %0, %1#1 : tensor<f32>, tensor<4x8xf32>, tensor<4xf32>
    }
    func.func private @s1_B(%arg0: tensor<4x8xf32> {zb.value = 11 : i64}, %arg1: tensor<4xi64> {zb.input = "y", zb.value = 1 : i64}, %arg2: tensor<4xf32> {zb.value = 13 : i64}, %arg3: tensor<16x8xf32> {zb.param = "net.w1"}) -> (tensor<4x8xf32> {zb.value = 15 : i64}, tensor<4x16xf32> {zb.value = 16 : i64}) attributes {zb.class = "B", zb.stage = 1 : i64} {
      %0 = "zb.constant"() {value = dense<1.000000e+00> : tensor<f32>, zb.class = "LOAD"} : () -> tensor<f32>
      %1 = "zb.cross_entropy_grad"(%arg0, %arg1, %arg2, %0) {reduction = "mean", zb.class = "B", zb.stage = 1 : i64} : (tensor<4x8xf32>, tensor<4xi64>, tensor<4xf32>, tensor<f32>) -> tensor<4x8xf32>
      %2 = "zb.matmul"(%1, %arg3) {transpose_rhs = true, zb.class = "B", zb.stage = 1 : i64} : (tensor<4x8xf32>, tensor<16x8xf32>) -> tensor<4x16xf32>
      return %1, %2 : tensor<4x8xf32>, tensor<4x16xf32>
    }
    func.func private @s1_W(%arg0: tensor<4x16xf32> {zb.value = 10 : i64}, %arg1: tensor<4x8xf32> {zb.value = 15 : i64}, %arg2: tensor<16x8xf32> {zb.sum = "net.w1", zb.use = 0 : i64}) -> (tensor<16x8xf32> {zb.sum = "net.w1", zb.use = 0 : i64}) attributes {zb.class = "W", zb.stage = 1 : i64} {
      %0 = "zb.matmul"(%arg0, %arg1) {transpose_lhs = true, zb.class = "W", zb.stage = 1 : i64} : (tensor<4x16xf32>, tensor<4x8xf32>) -> tensor<16x8xf32>
      %1 = "zb.accumulate"(%arg2, %0) {parameter = "net.w1", use = 0 : i64, zb.class = "W", zb.in_product, zb.stage = 1 : i64} : (tensor<16x8xf32>, tensor<16x8xf32>) -> tensor<16x8xf32>
      return %1 : tensor<16x8xf32>
    }
    func.func private @s1_UPDATE(%arg0: tensor<16x8xf32> {zb.param = "net.w1"}, %arg1: tensor<16x8xf32> {zb.sum = "net.w1", zb.use = 0 : i64}, %arg2: tensor<16x8xf32> {zb.state = "net.w1.exp_avg"}, %arg3: tensor<16x8xf32> {zb.state = "net.w1.exp_avg_sq"}, %arg4: tensor<i64> {zb.step}, %set: tensor<2xf64> {zb.defaults = array<f64: 1.000000e-03, 1.000000e-02>, zb.own = 0 : i64, zb.setting = "net.w1.update"}) -> (tensor<16x8xf32> {zb.update = "net.w1"}, tensor<16x8xf32> {zb.update = "net.w1.exp_avg"}, tensor<16x8xf32> {zb.update = "net.w1.exp_avg_sq"}) attributes {zb.class = "UPDATE", zb.stage = 1 : i64} {
      %0:3 = "zb.adamw"(%arg0, %arg1, %arg2, %arg3, %arg4, %set) {beta1 = 9.000000e-01 : f64, beta2 = 0.99899999999999999 : f64, eps = 1.000000e-08 : f64, gradient_scale = 5.000000e-01 : f64, zb.class = "UPDATE", zb.stage = 1 : i64} : (tensor<16x8xf32>, tensor<16x8xf32>, tensor<16x8xf32>, tensor<16x8xf32>, tensor<i64>, tensor<2xf64>) -> (tensor<16x8xf32>, tensor<16x8xf32>, tensor<16x8xf32>)
      return %0#0, %0#1, %0#2 : tensor<16x8xf32>, tensor<16x8xf32>, tensor<16x8xf32>
    }
  }
}
