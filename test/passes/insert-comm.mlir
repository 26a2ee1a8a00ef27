// zb-insert-comm: two matmuls on two ranks (the program of the walkthrough).
// RUN: zb-opt --zb-insert-comm %s | FileCheck %s

// CHECK: zb.level = "connected"
// source, destination, their stages, micro-batch, kind (70 F, 66 B), bytes, time when complete: activations of both micro-batches first.
// CHECK-SAME: zb.messages = array<i64: 0, 1, 0, 1, 0, 70, 256, {{[0-9]+}}, 0, 1, 0, 1, 1, 70, 256, {{[0-9]+}}, 1, 0, 1, 0, 0, 66, 256, {{[0-9]+}}, 1, 0, 1, 0, 1, 66, 256, {{[0-9]+}}>
// CHECK: module @rank0 {{.*}}zb.posts = array<i64: 0, 1, 2, 3>
// CHECK: func.func @main(
// CHECK: %[[G:.*]] = "zb.zeros"() : () -> !zb.frame<"gradients", 512 : i64>
// CHECK: %[[X:.*]] = "zb.read"() {input = "x", zb.micro_batch = 0 : i64}
// CHECK: %[[F:.*]]:3 = call @s0_F(%arg0, %[[X]]) {zb.micro_batch = 0 : i64}
// CHECK: "zb.send"(%[[F]]#2) {part = 0 : i64, peer = 1 : i64}
// CHECK: call @s0_F({{.*}}) {zb.micro_batch = 1 : i64}
// CHECK: "zb.send"({{.*}}) {part = 0 : i64, peer = 1 : i64}
// CHECK: %[[DA:.*]] = "zb.recv"() {part = 0 : i64, peer = 1 : i64}
// CHECK: %[[B:.*]] = call @s0_B(%[[F]]#0, %[[DA]]) {zb.micro_batch = 0 : i64}
// CHECK: %[[W0:.*]] = call @s0_W(%[[G]], %[[F]]#1, %[[B]]) {zb.micro_batch = 0 : i64}
// CHECK: %[[W1:.*]] = call @s0_W(%[[W0]], {{.*}}) {zb.micro_batch = 1 : i64}
// CHECK: call @s0_UPDATE(%arg0, %arg1, %[[W1]], %arg2, %arg3)
// CHECK: module @rank1
// CHECK: func.func @main(
// CHECK: "zb.recv"() {part = 0 : i64, peer = 0 : i64}
// CHECK: %[[F1:.*]]:3 = call @s1_F({{.*}}) {zb.micro_batch = 0 : i64}
// CHECK-NEXT: "zb.report"(%[[F1]]#2) {name = "loss", zb.micro_batch = 0 : i64}
// CHECK: %[[B1:.*]]:2 = call @s1_B(
// CHECK-NEXT: "zb.send"(%[[B1]]#1) {part = 0 : i64, peer = 0

module attributes {zb.chunks = 1 : i64, zb.level = "scheduled", zb.micro_batches = 2 : i64, zb.placement = "plain", zb.ranks = 2 : i64, zb.schedule = "zb-h1", zb.stage_rank = array<i64: 0, 1>} {
  module @rank0 attributes {zb.constants = [], zb.gradients = [{offset = 0 : i64, type = tensor<8x16xf32>, zb.sum = "net.w0", zb.use = 0 : i64}], zb.order = "0F0 0F1 0B0 0W0 0B1 0W1", zb.parameters = [{offset = 0 : i64, type = tensor<8x16xf32>, zb.param = "net.w0"}], zb.rank = 0 : i64, zb.settings = [{offset = 8 : i64, type = tensor<2xf64>, zb.defaults = array<f64: 1.000000e-03, 1.000000e-02>, zb.own = 0 : i64, zb.setting = "net.w0.update"}], zb.states = [{offset = 0 : i64, type = tensor<8x16xf32>, zb.state = "net.w0.exp_avg"}, {offset = 512 : i64, type = tensor<8x16xf32>, zb.state = "net.w0.exp_avg_sq"}]} {
    func.func private @s0_F(%arg0: !zb.frame<"parameters", 512 : i64> {zb.frame = "parameters"}, %arg1: tensor<4x8xf32> {zb.input = "x", zb.value = 0 : i64}) -> (!zb.frame<"fb", 256 : i64> {zb.frame = "fb"}, !zb.frame<"fw", 128 : i64> {zb.frame = "fw"}, tensor<4x16xf32> {zb.value = 10 : i64}) attributes {zb.class = "F", zb.flops = 1088 : i64, zb.product_flops = 1024 : i64, zb.stage = 0 : i64, zb.time_ps = 1151040 : i64, zb.workspace = 256 : i64} {
      %0 = "zb.get"(%arg0) {offset = 0 : i64} : (!zb.frame<"parameters", 512 : i64>) -> tensor<8x16xf32>
      %1 = "zb.matmul"(%arg1, %0) {zb.class = "F", zb.stage = 0 : i64} : (tensor<4x8xf32>, tensor<8x16xf32>) -> tensor<4x16xf32>
      %2 = "zb.relu"(%1) {zb.class = "F", zb.stage = 0 : i64} : (tensor<4x16xf32>) -> tensor<4x16xf32>
      %3 = "zb.empty_frame"() : () -> !zb.frame<"fb", 256 : i64>
      %4 = "zb.empty_frame"() : () -> !zb.frame<"fw", 128 : i64>
      %5 = "zb.put"(%4, %arg1) {offset = 0 : i64} : (!zb.frame<"fw", 128 : i64>, tensor<4x8xf32>) -> !zb.frame<"fw", 128 : i64>
      %6 = "zb.put"(%3, %2) {offset = 0 : i64} : (!zb.frame<"fb", 256 : i64>, tensor<4x16xf32>) -> !zb.frame<"fb", 256 : i64>
      return %6, %5, %2 : !zb.frame<"fb", 256 : i64>, !zb.frame<"fw", 128 : i64>, tensor<4x16xf32>
    }
    func.func private @s0_B(%arg0: !zb.frame<"fb", 256 : i64> {zb.frame = "fb"}, %arg1: tensor<4x16xf32> {zb.value = 16 : i64}) -> (!zb.frame<"bw", 256 : i64> {zb.frame = "bw"}) attributes {zb.class = "B", zb.flops = 192 : i64, zb.product_flops = 0 : i64, zb.stage = 0 : i64, zb.time_ps = 576800 : i64, zb.workspace = 0 : i64} {
      %0 = "zb.get"(%arg0) {offset = 0 : i64} : (!zb.frame<"fb", 256 : i64>) -> tensor<4x16xf32>
      %1 = "zb.relu_grad"(%0, %arg1) {zb.class = "B", zb.stage = 0 : i64} : (tensor<4x16xf32>, tensor<4x16xf32>) -> tensor<4x16xf32>
      %2 = "zb.empty_frame"() : () -> !zb.frame<"bw", 256 : i64>
      %3 = "zb.put"(%2, %1) {offset = 0 : i64} : (!zb.frame<"bw", 256 : i64>, tensor<4x16xf32>) -> !zb.frame<"bw", 256 : i64>
      return %3 : !zb.frame<"bw", 256 : i64>
    }
    func.func private @s0_W(%arg0: !zb.frame<"gradients", 512 : i64> {zb.frame = "gradients"}, %arg1: !zb.frame<"fw", 128 : i64> {zb.frame = "fw"}, %arg2: !zb.frame<"bw", 256 : i64> {zb.frame = "bw"}) -> (!zb.frame<"gradients", 512 : i64> {zb.frame = "gradients"}) attributes {zb.class = "W", zb.flops = 1024 : i64, zb.product_flops = 1024 : i64, zb.stage = 0 : i64, zb.time_ps = 599840 : i64, zb.workspace = 0 : i64} {
      %0 = "zb.get"(%arg1) {offset = 0 : i64} : (!zb.frame<"fw", 128 : i64>) -> tensor<4x8xf32>
      %1 = "zb.get"(%arg2) {offset = 0 : i64} : (!zb.frame<"bw", 256 : i64>) -> tensor<4x16xf32>
      %2 = "zb.get"(%arg0) {offset = 0 : i64} : (!zb.frame<"gradients", 512 : i64>) -> tensor<8x16xf32>
      %3 = "zb.matmul"(%0, %1) {transpose_lhs = true, zb.class = "W", zb.stage = 0 : i64} : (tensor<4x8xf32>, tensor<4x16xf32>) -> tensor<8x16xf32>
      %4 = "zb.accumulate"(%2, %3) {parameter = "net.w0", use = 0 : i64, zb.class = "W", zb.in_product, zb.stage = 0 : i64} : (tensor<8x16xf32>, tensor<8x16xf32>) -> tensor<8x16xf32>
      %5 = "zb.put"(%arg0, %4) {offset = 0 : i64} : (!zb.frame<"gradients", 512 : i64>, tensor<8x16xf32>) -> !zb.frame<"gradients", 512 : i64>
      return %5 : !zb.frame<"gradients", 512 : i64>
    }
    func.func private @s0_UPDATE(%arg0: !zb.frame<"parameters", 512 : i64> {zb.frame = "parameters"}, %arg1: !zb.frame<"state", 1024 : i64> {zb.frame = "state"}, %arg2: !zb.frame<"gradients", 512 : i64> {zb.frame = "gradients"}, %step: !zb.frame<"step", 24 : i64> {zb.frame = "step"}, %arg3: tensor<i64> {zb.step}) -> (!zb.frame<"parameters", 512 : i64> {zb.frame = "parameters"}, !zb.frame<"state", 1024 : i64> {zb.frame = "state"}) attributes {zb.class = "UPDATE", zb.flops = 2048 : i64, zb.product_flops = 0 : i64, zb.stage = 0 : i64, zb.time_ps = 859200 : i64, zb.workspace = 0 : i64} {
      %0 = "zb.get"(%arg0) {offset = 0 : i64} : (!zb.frame<"parameters", 512 : i64>) -> tensor<8x16xf32>
      %1 = "zb.get"(%arg2) {offset = 0 : i64} : (!zb.frame<"gradients", 512 : i64>) -> tensor<8x16xf32>
      %2 = "zb.get"(%arg1) {offset = 0 : i64} : (!zb.frame<"state", 1024 : i64>) -> tensor<8x16xf32>
      %3 = "zb.get"(%arg1) {offset = 512 : i64} : (!zb.frame<"state", 1024 : i64>) -> tensor<8x16xf32>
      %set = "zb.get"(%step) {offset = 8 : i64} : (!zb.frame<"step", 24 : i64>) -> tensor<2xf64>
      %4:3 = "zb.adamw"(%0, %1, %2, %3, %arg3, %set) {beta1 = 9.000000e-01 : f64, beta2 = 0.99899999999999999 : f64, eps = 1.000000e-08 : f64, gradient_scale = 5.000000e-01 : f64, zb.class = "UPDATE", zb.stage = 0 : i64} : (tensor<8x16xf32>, tensor<8x16xf32>, tensor<8x16xf32>, tensor<8x16xf32>, tensor<i64>, tensor<2xf64>) -> (tensor<8x16xf32>, tensor<8x16xf32>, tensor<8x16xf32>)
      %5 = "zb.put"(%arg0, %4#0) {offset = 0 : i64} : (!zb.frame<"parameters", 512 : i64>, tensor<8x16xf32>) -> !zb.frame<"parameters", 512 : i64>
      %6 = "zb.put"(%arg1, %4#1) {offset = 0 : i64} : (!zb.frame<"state", 1024 : i64>, tensor<8x16xf32>) -> !zb.frame<"state", 1024 : i64>
      %7 = "zb.put"(%6, %4#2) {offset = 512 : i64} : (!zb.frame<"state", 1024 : i64>, tensor<8x16xf32>) -> !zb.frame<"state", 1024 : i64>
      return %5, %7 : !zb.frame<"parameters", 512 : i64>, !zb.frame<"state", 1024 : i64>
    }
  }
  module @rank1 attributes {zb.constants = [], zb.gradients = [{offset = 0 : i64, type = tensor<16x8xf32>, zb.sum = "net.w1", zb.use = 0 : i64}], zb.order = "1F0 1B0 1F1 1B1 1W0 1W1", zb.parameters = [{offset = 0 : i64, type = tensor<16x8xf32>, zb.param = "net.w1"}], zb.rank = 1 : i64, zb.settings = [{offset = 8 : i64, type = tensor<2xf64>, zb.defaults = array<f64: 1.000000e-03, 1.000000e-02>, zb.own = 0 : i64, zb.setting = "net.w1.update"}], zb.states = [{offset = 0 : i64, type = tensor<16x8xf32>, zb.state = "net.w1.exp_avg"}, {offset = 512 : i64, type = tensor<16x8xf32>, zb.state = "net.w1.exp_avg_sq"}]} {
    func.func private @s1_F(%arg0: !zb.frame<"parameters", 512 : i64> {zb.frame = "parameters"}, %arg1: tensor<4x16xf32> {zb.value = 10 : i64}, %arg2: tensor<4xi64> {zb.input = "y", zb.value = 1 : i64}) -> (!zb.frame<"fb", 256 : i64> {zb.frame = "fb"}, !zb.frame<"fw", 256 : i64> {zb.frame = "fw"}, tensor<f32> {zb.loss}) attributes {zb.class = "F", zb.flops = 1408 : i64, zb.product_flops = 1024 : i64, zb.stage = 1 : i64, zb.time_ps = 1117840 : i64, zb.workspace = 0 : i64} {
      %0 = "zb.get"(%arg0) {offset = 0 : i64} : (!zb.frame<"parameters", 512 : i64>) -> tensor<16x8xf32>
      %1 = "zb.matmul"(%arg1, %0) {zb.class = "F", zb.stage = 1 : i64} : (tensor<4x16xf32>, tensor<16x8xf32>) -> tensor<4x8xf32>
      %2:2 = "zb.cross_entropy"(%1, %arg2) {reduction = "mean", zb.class = "F", zb.stage = 1 : i64} : (tensor<4x8xf32>, tensor<4xi64>) -> (tensor<f32>, tensor<4xf32>)
      %3 = "zb.empty_frame"() : () -> !zb.frame<"fb", 256 : i64>
      %4 = "zb.empty_frame"() : () -> !zb.frame<"fw", 256 : i64>
      %5 = "zb.put"(%3, %arg2) {offset = 0 : i64} : (!zb.frame<"fb", 256 : i64>, tensor<4xi64>) -> !zb.frame<"fb", 256 : i64>
      %6 = "zb.put"(%4, %arg1) {offset = 0 : i64} : (!zb.frame<"fw", 256 : i64>, tensor<4x16xf32>) -> !zb.frame<"fw", 256 : i64>
      %7 = "zb.put"(%5, %1) {offset = 64 : i64} : (!zb.frame<"fb", 256 : i64>, tensor<4x8xf32>) -> !zb.frame<"fb", 256 : i64>
      %8 = "zb.put"(%7, %2#1) {offset = 192 : i64} : (!zb.frame<"fb", 256 : i64>, tensor<4xf32>) -> !zb.frame<"fb", 256 : i64>
      return %8, %6, %2#0 : !zb.frame<"fb", 256 : i64>, !zb.frame<"fw", 256 : i64>, tensor<f32>
    }
    func.func private @s1_B(%arg0: !zb.frame<"parameters", 512 : i64> {zb.frame = "parameters"}, %arg1: !zb.frame<"fb", 256 : i64> {zb.frame = "fb"}) -> (!zb.frame<"bw", 128 : i64> {zb.frame = "bw"}, tensor<4x16xf32> {zb.value = 16 : i64}) attributes {zb.class = "B", zb.flops = 1344 : i64, zb.product_flops = 1024 : i64, zb.stage = 1 : i64, zb.time_ps = 1130640 : i64, zb.workspace = 0 : i64} {
      %0 = "zb.get"(%arg1) {offset = 64 : i64} : (!zb.frame<"fb", 256 : i64>) -> tensor<4x8xf32>
      %1 = "zb.get"(%arg1) {offset = 0 : i64} : (!zb.frame<"fb", 256 : i64>) -> tensor<4xi64>
      %2 = "zb.get"(%arg1) {offset = 192 : i64} : (!zb.frame<"fb", 256 : i64>) -> tensor<4xf32>
      %3 = "zb.get"(%arg0) {offset = 0 : i64} : (!zb.frame<"parameters", 512 : i64>) -> tensor<16x8xf32>
      %4 = "zb.constant"() {value = dense<1.000000e+00> : tensor<f32>, zb.class = "LOAD"} : () -> tensor<f32>
      %5 = "zb.cross_entropy_grad"(%0, %1, %2, %4) {reduction = "mean", zb.class = "B", zb.stage = 1 : i64} : (tensor<4x8xf32>, tensor<4xi64>, tensor<4xf32>, tensor<f32>) -> tensor<4x8xf32>
      %6 = "zb.matmul"(%5, %3) {transpose_rhs = true, zb.class = "B", zb.stage = 1 : i64} : (tensor<4x8xf32>, tensor<16x8xf32>) -> tensor<4x16xf32>
      %7 = "zb.empty_frame"() : () -> !zb.frame<"bw", 128 : i64>
      %8 = "zb.put"(%7, %5) {offset = 0 : i64} : (!zb.frame<"bw", 128 : i64>, tensor<4x8xf32>) -> !zb.frame<"bw", 128 : i64>
      return %8, %6 : !zb.frame<"bw", 128 : i64>, tensor<4x16xf32>
    }
    func.func private @s1_W(%arg0: !zb.frame<"gradients", 512 : i64> {zb.frame = "gradients"}, %arg1: !zb.frame<"fw", 256 : i64> {zb.frame = "fw"}, %arg2: !zb.frame<"bw", 128 : i64> {zb.frame = "bw"}) -> (!zb.frame<"gradients", 512 : i64> {zb.frame = "gradients"}) attributes {zb.class = "W", zb.flops = 1024 : i64, zb.product_flops = 1024 : i64, zb.stage = 1 : i64, zb.time_ps = 599840 : i64, zb.workspace = 0 : i64} {
      %0 = "zb.get"(%arg1) {offset = 0 : i64} : (!zb.frame<"fw", 256 : i64>) -> tensor<4x16xf32>
      %1 = "zb.get"(%arg2) {offset = 0 : i64} : (!zb.frame<"bw", 128 : i64>) -> tensor<4x8xf32>
      %2 = "zb.get"(%arg0) {offset = 0 : i64} : (!zb.frame<"gradients", 512 : i64>) -> tensor<16x8xf32>
      %3 = "zb.matmul"(%0, %1) {transpose_lhs = true, zb.class = "W", zb.stage = 1 : i64} : (tensor<4x16xf32>, tensor<4x8xf32>) -> tensor<16x8xf32>
      %4 = "zb.accumulate"(%2, %3) {parameter = "net.w1", use = 0 : i64, zb.class = "W", zb.in_product, zb.stage = 1 : i64} : (tensor<16x8xf32>, tensor<16x8xf32>) -> tensor<16x8xf32>
      %5 = "zb.put"(%arg0, %4) {offset = 0 : i64} : (!zb.frame<"gradients", 512 : i64>, tensor<16x8xf32>) -> !zb.frame<"gradients", 512 : i64>
      return %5 : !zb.frame<"gradients", 512 : i64>
    }
    func.func private @s1_UPDATE(%arg0: !zb.frame<"parameters", 512 : i64> {zb.frame = "parameters"}, %arg1: !zb.frame<"state", 1024 : i64> {zb.frame = "state"}, %arg2: !zb.frame<"gradients", 512 : i64> {zb.frame = "gradients"}, %step: !zb.frame<"step", 24 : i64> {zb.frame = "step"}, %arg3: tensor<i64> {zb.step}) -> (!zb.frame<"parameters", 512 : i64> {zb.frame = "parameters"}, !zb.frame<"state", 1024 : i64> {zb.frame = "state"}) attributes {zb.class = "UPDATE", zb.flops = 2048 : i64, zb.product_flops = 0 : i64, zb.stage = 1 : i64, zb.time_ps = 859200 : i64, zb.workspace = 0 : i64} {
      %0 = "zb.get"(%arg0) {offset = 0 : i64} : (!zb.frame<"parameters", 512 : i64>) -> tensor<16x8xf32>
      %1 = "zb.get"(%arg2) {offset = 0 : i64} : (!zb.frame<"gradients", 512 : i64>) -> tensor<16x8xf32>
      %2 = "zb.get"(%arg1) {offset = 0 : i64} : (!zb.frame<"state", 1024 : i64>) -> tensor<16x8xf32>
      %3 = "zb.get"(%arg1) {offset = 512 : i64} : (!zb.frame<"state", 1024 : i64>) -> tensor<16x8xf32>
      %set = "zb.get"(%step) {offset = 8 : i64} : (!zb.frame<"step", 24 : i64>) -> tensor<2xf64>
      %4:3 = "zb.adamw"(%0, %1, %2, %3, %arg3, %set) {beta1 = 9.000000e-01 : f64, beta2 = 0.99899999999999999 : f64, eps = 1.000000e-08 : f64, gradient_scale = 5.000000e-01 : f64, zb.class = "UPDATE", zb.stage = 1 : i64} : (tensor<16x8xf32>, tensor<16x8xf32>, tensor<16x8xf32>, tensor<16x8xf32>, tensor<i64>, tensor<2xf64>) -> (tensor<16x8xf32>, tensor<16x8xf32>, tensor<16x8xf32>)
      %5 = "zb.put"(%arg0, %4#0) {offset = 0 : i64} : (!zb.frame<"parameters", 512 : i64>, tensor<16x8xf32>) -> !zb.frame<"parameters", 512 : i64>
      %6 = "zb.put"(%arg1, %4#1) {offset = 0 : i64} : (!zb.frame<"state", 1024 : i64>, tensor<16x8xf32>) -> !zb.frame<"state", 1024 : i64>
      %7 = "zb.put"(%6, %4#2) {offset = 512 : i64} : (!zb.frame<"state", 1024 : i64>, tensor<16x8xf32>) -> !zb.frame<"state", 1024 : i64>
      return %5, %7 : !zb.frame<"parameters", 512 : i64>, !zb.frame<"state", 1024 : i64>
    }
  }
}
