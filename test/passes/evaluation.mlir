// An evaluation of two stages: functions E are the forward ops alone, keep nothing, and are called by @evaluate, with
// messages, slots and workspace of their own.
// RUN: zb-opt --zb-outline %s | FileCheck %s --check-prefix=OUTLINE
// RUN: zb-opt --zb-outline --zb-memory %s | FileCheck %s --check-prefix=MEMORY
// RUN: zb-opt --zb-outline --zb-memory --zb-schedule=micro-batches=3 --zb-insert-comm --zb-allocate %s | FileCheck %s
// RUN: zb-opt --zb-outline --zb-memory --zb-schedule=micro-batches=3 --zb-insert-comm --zb-allocate --zb-verify-plan %s > /dev/null

// F hands on the same value, and keeps it and x for B and W; E comes after all functions of the step.
// OUTLINE: module @rank0
// OUTLINE: func.func private @s0_F({{.*}}) -> (tensor<4x16xf32> {zb.value = [[A:[0-9]+]] : i64})
// OUTLINE: func.func private @s0_UPDATE(
// OUTLINE: func.func private @s0_E(%arg0: tensor<4x8xf32> {zb.input = "x", zb.value = 0 : i64}, %arg1: tensor<8x16xf32> {zb.param = "net.w0"}) -> (tensor<4x16xf32> {zb.value = [[A]] : i64}) attributes {zb.class = "E", zb.stage = 0 : i64}
// OUTLINE-NEXT: %[[H:.*]] = "zb.matmul"(%arg0, %arg1) {zb.class = "E", zb.stage = 0 : i64}
// OUTLINE-NEXT: %[[R:.*]] = "zb.relu"(%[[H]]) {zb.class = "E", zb.stage = 0 : i64}
// OUTLINE-NEXT: return %[[R]]
// OUTLINE: module @rank1
// OUTLINE: func.func private @s1_E(%arg0: tensor<4x16xf32> {zb.value = [[A]] : i64}, %arg1: tensor<16x8xf32> {zb.param = "net.w1"}, %arg2: tensor<4xi64> {zb.input = "y", zb.value = 1 : i64}) -> (tensor<f32> {zb.loss})
// OUTLINE-NEXT: "zb.matmul"
// OUTLINE-NEXT: "zb.cross_entropy"
// OUTLINE-NEXT: return

// MEMORY: func.func private @s0_F({{.*}}) -> (!zb.frame<"fb", 256 : i64> {zb.frame = "fb"}, !zb.frame<"fw", 128 : i64> {zb.frame = "fw"}, tensor<4x16xf32>
// MEMORY: func.func private @s0_E(%arg0: !zb.frame<"parameters", 512 : i64> {zb.frame = "parameters"}, %arg1: tensor<4x8xf32> {zb.input = "x", zb.value = 0 : i64}) -> (tensor<4x16xf32> {zb.value = {{[0-9]+}} : i64}) attributes {zb.class = "E",
// MEMORY-NOT: zb.put
// MEMORY: module @rank1

// Messages 6 to 8 are those of the evaluation; slots begin where those of the step begin.
// CHECK: module attributes {{{.*}}zb.evaluation_messages = 3 : i64
// CHECK: module @rank0 attributes {{{.*}}zb.arena = 3648 : i64, {{.*}}zb.evaluation_regions = array<i64: 2112, {{[0-9]+}}, {{[0-9]+}}, 256>, {{.*}}zb.posts = array<i64: 0, 2, 1, 4, 3, 5, 6, 7, 8>, {{.*}}zb.regions = array<i64: 0, 512, 512, 0, 512, 1024, 1536, 512, 2048, 0, 2048, 64, 2112, 0, 2112, 1280, 3392, 256>
// CHECK: func.func @main(
// CHECK: func.func @evaluate(%arg0: !zb.frame<"parameters", 512 : i64> {zb.frame = "parameters"}) {
// CHECK-NEXT: %[[X:.*]] = "zb.read"() {input = "x", zb.micro_batch = 0 : i64}
// CHECK-NEXT: %[[Z:.*]] = call @s0_E(%arg0, %[[X]]) {zb.micro_batch = 0 : i64}
// CHECK-NEXT: "zb.send"(%[[Z]]) {part = 0 : i64, peer = 1 : i64}
// CHECK-NEXT: "zb.read"() {input = "x", zb.micro_batch = 1 : i64}
// A receive is posted one job ahead.
// CHECK: module @rank1 attributes {{{.*}}zb.posts = array<i64: 0, 1, 2, 3, 4, 5, 6, 7, 8>
// CHECK: func.func private @s1_E(
// CHECK-NEXT: "zb.get"
// CHECK-NEXT: "zb.matmul"(%arg1, %{{.*}}) {zb.at = array<i64: 0, {{[0-9]+}}>, zb.class = "E"
// CHECK: func.func @evaluate(
// CHECK-NEXT: %[[R0:.*]] = "zb.recv"() {part = 0 : i64, peer = 0 : i64}
// CHECK-NEXT: %[[R1:.*]] = "zb.recv"() {part = 0 : i64, peer = 0 : i64}
// CHECK-NEXT: %[[Y:.*]] = "zb.read"() {input = "y", zb.micro_batch = 0 : i64}
// CHECK-NEXT: %[[L:.*]] = call @s1_E(%arg0, %[[R0]], %[[Y]]) {zb.micro_batch = 0 : i64}
// CHECK-NEXT: "zb.report"(%[[L]]) {name = "loss", zb.micro_batch = 0 : i64}
// CHECK-NEXT: %[[R2:.*]] = "zb.recv"() {part = 0 : i64, peer = 0 : i64}
// CHECK-NEXT: "zb.read"() {input = "y", zb.micro_batch = 1 : i64}
// CHECK-NEXT: call @s1_E(%arg0, %[[R1]], %{{.*}}) {zb.micro_batch = 1 : i64}
// CHECK: call @s1_E(%arg0, %[[R2]], %{{.*}}) {zb.micro_batch = 2 : i64}

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
