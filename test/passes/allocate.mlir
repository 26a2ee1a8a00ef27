// zb-allocate and zb-verify-plan: two matmuls on two ranks (the program of the walkthrough).
// RUN: zb-opt --zb-allocate %s | FileCheck %s

// RUN: zb-opt --zb-allocate --zb-verify-plan %s | FileCheck %s --check-prefix=PROVEN
// RUN: not zb-opt --zb-allocate=memory-limit=3K %s 2>&1 | FileCheck %s --check-prefix=LIMIT
// RUN: zb-opt --zb-allocate=memory-limit=4K %s | FileCheck %s
// CHECK: zb.level = "allocated"
// parameters 512, state 1024, gradients 512, constants 0, step 64, then slots and workspace.
// CHECK: module @rank0 attributes {zb.addresses = array<i64: 2112, 128, 2240, 2112, 2240, 256, {{.*}}>, zb.arena = 3648 : i64{{.*}}zb.regions = array<i64: 0, 512, 512, 0, 512, 1024, 1536, 512, 2048, 0, 2048, 64, 2112, 0, 2112, 1280, 3392, 256>
// x is read straight into fw (2112), F gets fb at 2240 and fw at 2112, and message 0 is sent from fb.
// Op 8 (B) waits for message 2, which it reads; op 10 (the receive of message 3) for message 0, whose memory it takes.
// CHECK-SAME: zb.waits = array<i64: 8, 2, 10, 0, 11, 3>
// CHECK: func.func private @s0_F({{.*}}zb.bases = array<i64: 2, 3>
// The matmul goes to the workspace (base 0), the relu into fb (base 1).
// CHECK: "zb.matmul"{{.*}}zb.at = array<i64: 0, 3392>
// CHECK: "zb.relu"{{.*}}zb.at = array<i64: 1, 0>
// The product writes into the gradients.
// CHECK: func.func private @s0_W(
// CHECK: "zb.matmul"{{.*}}zb.at = array<i64: 0, 1536>
// Calls, sends, receives and reads in program order have their addresses in one table of the rank.
// PROVEN: zb.level = "verified"
// LIMIT: error: rank 1 needs 3712 bytes, the limit is 3072 (3.6 KiB and 3.0 KiB; 2 of 2 ranks need more than that)
// LIMIT: hint: 3712 bytes are enough

module attributes {zb.chunks = 1 : i64, zb.level = "connected", zb.messages = array<i64: 0, 1, 0, 1, 0, 70, 256, 6176640, 0, 1, 0, 1, 1, 70, 256, 13450720, 1, 0, 1, 0, 0, 66, 256, 13450720, 1, 0, 1, 0, 1, 66, 256, 19652960>, zb.micro_batches = 2 : i64, zb.placement = "plain", zb.ranks = 2 : i64, zb.schedule = "zb-h1", zb.stage_rank = array<i64: 0, 1>} {
  module @rank0 attributes {zb.constants = [], zb.gradients = [{offset = 0 : i64, type = tensor<8x16xf32>, zb.sum = "net.w0", zb.use = 0 : i64}], zb.order = "0F0 0F1 0B0 0W0 0B1 0W1", zb.parameters = [{offset = 0 : i64, type = tensor<8x16xf32>, zb.param = "net.w0"}], zb.posts = array<i64: 0, 1, 2, 3>, zb.rank = 0 : i64, zb.settings = [{offset = 8 : i64, type = tensor<2xf64>, zb.defaults = array<f64: 1.000000e-03, 1.000000e-02>, zb.own = 0 : i64, zb.setting = "net.w0.update"}], zb.states = [{offset = 0 : i64, type = tensor<8x16xf32>, zb.state = "net.w0.exp_avg"}, {offset = 512 : i64, type = tensor<8x16xf32>, zb.state = "net.w0.exp_avg_sq"}], zb.times = array<i64: 0, 1151040, 1151040, 2302080, 13450720, 14027520, 14027520, 14627360, 18476320, 19053120, 19053120, 19652960>} {
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
    func.func @main(%arg0: !zb.frame<"parameters", 512 : i64> {zb.frame = "parameters"}, %arg1: !zb.frame<"state", 1024 : i64> {zb.frame = "state"}, %step: !zb.frame<"step", 24 : i64> {zb.frame = "step"}, %arg2: tensor<i64> {zb.step}) -> (!zb.frame<"parameters", 512 : i64> {zb.frame = "parameters"}, !zb.frame<"state", 1024 : i64> {zb.frame = "state"}) {
      %0 = "zb.zeros"() : () -> !zb.frame<"gradients", 512 : i64>
      %1 = "zb.read"() {input = "x", zb.micro_batch = 0 : i64} : () -> tensor<4x8xf32>
      %2:3 = call @s0_F(%arg0, %1) {zb.micro_batch = 0 : i64} : (!zb.frame<"parameters", 512 : i64>, tensor<4x8xf32>) -> (!zb.frame<"fb", 256 : i64>, !zb.frame<"fw", 128 : i64>, tensor<4x16xf32>)
      "zb.send"(%2#2) {part = 0 : i64, peer = 1 : i64} : (tensor<4x16xf32>) -> ()
      %3 = "zb.read"() {input = "x", zb.micro_batch = 1 : i64} : () -> tensor<4x8xf32>
      %4:3 = call @s0_F(%arg0, %3) {zb.micro_batch = 1 : i64} : (!zb.frame<"parameters", 512 : i64>, tensor<4x8xf32>) -> (!zb.frame<"fb", 256 : i64>, !zb.frame<"fw", 128 : i64>, tensor<4x16xf32>)
      "zb.send"(%4#2) {part = 0 : i64, peer = 1 : i64} : (tensor<4x16xf32>) -> ()
      %5 = "zb.recv"() {part = 0 : i64, peer = 1 : i64} : () -> tensor<4x16xf32>
      %6 = call @s0_B(%2#0, %5) {zb.micro_batch = 0 : i64} : (!zb.frame<"fb", 256 : i64>, tensor<4x16xf32>) -> !zb.frame<"bw", 256 : i64>
      %7 = call @s0_W(%0, %2#1, %6) {zb.micro_batch = 0 : i64} : (!zb.frame<"gradients", 512 : i64>, !zb.frame<"fw", 128 : i64>, !zb.frame<"bw", 256 : i64>) -> !zb.frame<"gradients", 512 : i64>
      %8 = "zb.recv"() {part = 0 : i64, peer = 1 : i64} : () -> tensor<4x16xf32>
      %9 = call @s0_B(%4#0, %8) {zb.micro_batch = 1 : i64} : (!zb.frame<"fb", 256 : i64>, tensor<4x16xf32>) -> !zb.frame<"bw", 256 : i64>
      %10 = call @s0_W(%7, %4#1, %9) {zb.micro_batch = 1 : i64} : (!zb.frame<"gradients", 512 : i64>, !zb.frame<"fw", 128 : i64>, !zb.frame<"bw", 256 : i64>) -> !zb.frame<"gradients", 512 : i64>
      %11:2 = call @s0_UPDATE(%arg0, %arg1, %10, %step, %arg2) : (!zb.frame<"parameters", 512 : i64>, !zb.frame<"state", 1024 : i64>, !zb.frame<"gradients", 512 : i64>, !zb.frame<"step", 24 : i64>, tensor<i64>) -> (!zb.frame<"parameters", 512 : i64>, !zb.frame<"state", 1024 : i64>)
      return %11#0, %11#1 : !zb.frame<"parameters", 512 : i64>, !zb.frame<"state", 1024 : i64>
    }
  }
  module @rank1 attributes {zb.constants = [], zb.gradients = [{offset = 0 : i64, type = tensor<16x8xf32>, zb.sum = "net.w1", zb.use = 0 : i64}], zb.order = "1F0 1B0 1F1 1B1 1W0 1W1", zb.parameters = [{offset = 0 : i64, type = tensor<16x8xf32>, zb.param = "net.w1"}], zb.posts = array<i64: 0, 2, 1, 3>, zb.rank = 1 : i64, zb.settings = [{offset = 8 : i64, type = tensor<2xf64>, zb.defaults = array<f64: 1.000000e-03, 1.000000e-02>, zb.own = 0 : i64, zb.setting = "net.w1.update"}], zb.states = [{offset = 0 : i64, type = tensor<16x8xf32>, zb.state = "net.w1.exp_avg"}, {offset = 512 : i64, type = tensor<16x8xf32>, zb.state = "net.w1.exp_avg_sq"}], zb.times = array<i64: 6176640, 7294480, 7294480, 8425120, 11202240, 12320080, 12320080, 13450720, 13450720, 14050560, 14050560, 14650400>} {
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
    func.func @main(%arg0: !zb.frame<"parameters", 512 : i64> {zb.frame = "parameters"}, %arg1: !zb.frame<"state", 1024 : i64> {zb.frame = "state"}, %step: !zb.frame<"step", 24 : i64> {zb.frame = "step"}, %arg2: tensor<i64> {zb.step}) -> (!zb.frame<"parameters", 512 : i64> {zb.frame = "parameters"}, !zb.frame<"state", 1024 : i64> {zb.frame = "state"}) {
      %0 = "zb.zeros"() : () -> !zb.frame<"gradients", 512 : i64>
      %1 = "zb.recv"() {part = 0 : i64, peer = 0 : i64} : () -> tensor<4x16xf32>
      %2 = "zb.read"() {input = "y", zb.micro_batch = 0 : i64} : () -> tensor<4xi64>
      %3:3 = call @s1_F(%arg0, %1, %2) {zb.micro_batch = 0 : i64} : (!zb.frame<"parameters", 512 : i64>, tensor<4x16xf32>, tensor<4xi64>) -> (!zb.frame<"fb", 256 : i64>, !zb.frame<"fw", 256 : i64>, tensor<f32>)
      "zb.report"(%3#2) {name = "loss", zb.micro_batch = 0 : i64} : (tensor<f32>) -> ()
      %4:2 = call @s1_B(%arg0, %3#0) {zb.micro_batch = 0 : i64} : (!zb.frame<"parameters", 512 : i64>, !zb.frame<"fb", 256 : i64>) -> (!zb.frame<"bw", 128 : i64>, tensor<4x16xf32>)
      "zb.send"(%4#1) {part = 0 : i64, peer = 0 : i64} : (tensor<4x16xf32>) -> ()
      %5 = "zb.recv"() {part = 0 : i64, peer = 0 : i64} : () -> tensor<4x16xf32>
      %6 = "zb.read"() {input = "y", zb.micro_batch = 1 : i64} : () -> tensor<4xi64>
      %7:3 = call @s1_F(%arg0, %5, %6) {zb.micro_batch = 1 : i64} : (!zb.frame<"parameters", 512 : i64>, tensor<4x16xf32>, tensor<4xi64>) -> (!zb.frame<"fb", 256 : i64>, !zb.frame<"fw", 256 : i64>, tensor<f32>)
      "zb.report"(%7#2) {name = "loss", zb.micro_batch = 1 : i64} : (tensor<f32>) -> ()
      %8:2 = call @s1_B(%arg0, %7#0) {zb.micro_batch = 1 : i64} : (!zb.frame<"parameters", 512 : i64>, !zb.frame<"fb", 256 : i64>) -> (!zb.frame<"bw", 128 : i64>, tensor<4x16xf32>)
      "zb.send"(%8#1) {part = 0 : i64, peer = 0 : i64} : (tensor<4x16xf32>) -> ()
      %9 = call @s1_W(%0, %3#1, %4#0) {zb.micro_batch = 0 : i64} : (!zb.frame<"gradients", 512 : i64>, !zb.frame<"fw", 256 : i64>, !zb.frame<"bw", 128 : i64>) -> !zb.frame<"gradients", 512 : i64>
      %10 = call @s1_W(%9, %7#1, %8#0) {zb.micro_batch = 1 : i64} : (!zb.frame<"gradients", 512 : i64>, !zb.frame<"fw", 256 : i64>, !zb.frame<"bw", 128 : i64>) -> !zb.frame<"gradients", 512 : i64>
      %11:2 = call @s1_UPDATE(%arg0, %arg1, %10, %step, %arg2) : (!zb.frame<"parameters", 512 : i64>, !zb.frame<"state", 1024 : i64>, !zb.frame<"gradients", 512 : i64>, !zb.frame<"step", 24 : i64>, tensor<i64>) -> (!zb.frame<"parameters", 512 : i64>, !zb.frame<"state", 1024 : i64>)
      return %11#0, %11#1 : !zb.frame<"parameters", 512 : i64>, !zb.frame<"state", 1024 : i64>
    }
  }
}
