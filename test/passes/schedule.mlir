// zb-schedule: two matmuls on two ranks (the program of the walkthrough).
// RUN: zb-opt --zb-schedule=micro-batches=2,settle=false %s | FileCheck %s --check-prefix=H1
// A W comes right behind its B where that costs no rank time; here messages take longer than anything else.
// RUN: zb-opt --zb-schedule=micro-batches=2 %s | FileCheck %s --check-prefix=ONE
// RUN: not zb-opt --zb-schedule=micro-batches=2,settle=no %s 2>&1 | FileCheck %s --check-prefix=SETTLE
// RUN: zb-opt --zb-schedule=micro-batches=2,schedule=1f1b %s | FileCheck %s --check-prefix=ONE
// RUN: zb-opt --zb-schedule=micro-batches=2,schedule=fthenb %s | FileCheck %s --check-prefix=ALL
// RUN: not zb-opt --zb-schedule=micro-batches=2,schedule=zb-h11 %s 2>&1 | FileCheck %s --check-prefix=NEAR
// RUN: not zb-opt --zb-schedule=micro-batches=0 %s 2>&1 | FileCheck %s --check-prefix=ZERO
// RUN: not zb-opt --zb-schedule=micro-batches=2,metric=best %s 2>&1 | FileCheck %s --check-prefix=METRIC
// RUN: zb-opt --zb-schedule=micro-batches=2,metric=stage,settle=false %s | FileCheck %s --check-prefix=H1
// An order from a file, whose micro-batches it takes; and files that are not for this program.
// RUN: zb-opt '--pass-pipeline=builtin.module(zb-schedule{schedule="%S/Inputs/order.csv"})' %s | FileCheck %s --check-prefix=ORDER
// RUN: not zb-opt --zb-schedule=schedule=%S/Inputs/order.csv,micro-batches=3 %s 2>&1 | FileCheck %s --check-prefix=MORE
// RUN: not zb-opt --zb-schedule=schedule=%S/Inputs/order-wrong.csv %s 2>&1 | FileCheck %s --check-prefix=LATE
// RUN: zb-opt --zb-schedule=micro-batches=2 %s | sed 's/"0F0 /"0F0 +/' | not zb-opt --zb-insert-comm 2>&1 | FileCheck %s --check-prefix=JOB
// JOB: order of rank 0: expected a job like 0F2 at '+
// H1: zb.level = "scheduled", zb.micro_batches = 2 : i64{{.*}}zb.schedule = "zb-h1"
// H1: module @rank0 {{.*}}zb.order = "0F0 0F1 0B0 0W0 0B1 0W1"
// H1: module @rank1 {{.*}}zb.order = "1F0 1B0 1F1 1B1 1W0 1W1"
// ONE: module @rank0 {{.*}}zb.order = "0F0 0F1 0B0 0W0 0B1 0W1"
// ONE: module @rank1 {{.*}}zb.order = "1F0 1B0 1W0 1F1 1B1 1W1"
// ALL: module @rank1 {{.*}}zb.order = "1F0 1F1 1B0 1W0 1B1 1W1"
// NEAR: error: unknown schedule 'zb-h11', did you mean 'zb-h1'?
// ORDER: zb.micro_batches = 2 : i64{{.*}}zb.schedule = "order.csv"
// ORDER: module @rank0 {{.*}}zb.order = "0F0 0F1 0B0 0B1 0W0 0W1"
// ORDER: module @rank1 {{.*}}zb.order = "1F0 1F1 1B0 1W0 1B1 1W1"
// MORE: error: {{.*}}order.csv:1:1: 0F2 is missing
// LATE: error: {{.*}}order-wrong.csv:2:
// SETTLE: error: settle: expected true or false, got 'no'
// METRIC: error: metric: expected barrier, stage or period, got 'best'
// METRIC: hint: known: barrier, stage, period
// ZERO: error: micro-batches: expected 1 to 65536 micro-batches, got '0'

module attributes {zb.chunks = 1 : i64, zb.level = "framed", zb.placement = "plain", zb.ranks = 2 : i64, zb.stage_rank = array<i64: 0, 1>} {
  module @rank0 attributes {zb.constants = [], zb.gradients = [{offset = 0 : i64, type = tensor<8x16xf32>, zb.sum = "net.w0", zb.use = 0 : i64}], zb.parameters = [{offset = 0 : i64, type = tensor<8x16xf32>, zb.param = "net.w0"}], zb.rank = 0 : i64, zb.settings = [{offset = 8 : i64, type = tensor<2xf64>, zb.defaults = array<f64: 1.000000e-03, 1.000000e-02>, zb.own = 0 : i64, zb.setting = "net.w0.update"}], zb.states = [{offset = 0 : i64, type = tensor<8x16xf32>, zb.state = "net.w0.exp_avg"}, {offset = 512 : i64, type = tensor<8x16xf32>, zb.state = "net.w0.exp_avg_sq"}]} {
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
  module @rank1 attributes {zb.constants = [], zb.gradients = [{offset = 0 : i64, type = tensor<16x8xf32>, zb.sum = "net.w1", zb.use = 0 : i64}], zb.parameters = [{offset = 0 : i64, type = tensor<16x8xf32>, zb.param = "net.w1"}], zb.rank = 1 : i64, zb.settings = [{offset = 8 : i64, type = tensor<2xf64>, zb.defaults = array<f64: 1.000000e-03, 1.000000e-02>, zb.own = 0 : i64, zb.setting = "net.w1.update"}], zb.states = [{offset = 0 : i64, type = tensor<16x8xf32>, zb.state = "net.w1.exp_avg"}, {offset = 512 : i64, type = tensor<16x8xf32>, zb.state = "net.w1.exp_avg_sq"}]} {
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
