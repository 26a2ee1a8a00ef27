// A program for inference: outputs and no loss, dropout left out. Its cuts count the forward ops, and its ranks have an
// evaluation and no step.
// RUN: zb-opt --zb-autodiff --zb-split-grad --zb-layout --zb-partition=ranks=2 --zb-classify --zb-outline --zb-memory --zb-schedule=schedule=fthenb,micro-batches=2 %s > %t.scheduled
// RUN: FileCheck %s --check-prefix=BEFORE < %t.scheduled
// RUN: zb-opt --zb-insert-comm %t.scheduled | FileCheck %s
// RUN: zb-opt --zb-insert-comm --zb-allocate --zb-verify-plan %t.scheduled > /dev/null

// Until here stages have functions of a step, without an op.
// BEFORE: func.func private @s0_F() attributes
// BEFORE-NEXT: return
// BEFORE: func.func private @s0_E({{.*}} -> (tensor<4x8xf32> {zb.value = {{[0-9]+}} : i64}) attributes {zb.class = "E"
// BEFORE: "zb.matmul"
// BEFORE: module @rank1
// BEFORE: func.func private @s1_E({{.*}} -> (tensor<4x8xf32> {zb.output = "scores"}, tensor<4xf32> {zb.output = "best"})
// BEFORE-NOT: zb.dropout
// BEFORE: "zb.matmul"

// CHECK: module attributes {{.*}}zb.evaluation_messages = 2 : i64, zb.inference
// CHECK: module @rank0
// CHECK-NOT: @s0_F
// CHECK: func.func private @s0_E(
// CHECK-NOT: zb.class = "W"
// CHECK: func.func @main(
// CHECK-NEXT: return
// CHECK: func.func @evaluate(
// CHECK: call @s0_E({{.*}}zb.micro_batch = 0 : i64
// CHECK: "zb.send"
// CHECK: call @s0_E({{.*}}zb.micro_batch = 1 : i64
// CHECK: module @rank1
// CHECK: func.func @main(
// CHECK-NEXT: return
// CHECK: func.func @evaluate(
// CHECK: %[[E:[0-9]+]]:2 = call @s1_E({{.*}}zb.micro_batch = 0 : i64
// CHECK: "zb.report"(%[[E]]#0) {is_output = true, name = "scores", zb.micro_batch = 0 : i64}
// CHECK: "zb.report"(%[[E]]#1) {is_output = true, name = "best", zb.micro_batch = 0 : i64}

module attributes {zb.inference, zb.level = "graph"} {
  func.func @model(%x: tensor<4x8xf32> {zb.input = "x"}, %c: tensor<4xi64> {zb.input = "zb.counter"}, %v: tensor<8x8xf32> {zb.frozen = "v"}, %w: tensor<8x8xf32> {zb.frozen = "w"}) -> (tensor<4x8xf32> {zb.output = "scores"}, tensor<4xf32> {zb.output = "best"}) {
    %0 = "zb.matmul"(%x, %v) : (tensor<4x8xf32>, tensor<8x8xf32>) -> tensor<4x8xf32>
    %1 = "zb.relu"(%0) : (tensor<4x8xf32>) -> tensor<4x8xf32>
    %2 = "zb.dropout"(%1, %c) {op = 0 : i64, rate = 1.000000e-01 : f64} : (tensor<4x8xf32>, tensor<4xi64>) -> tensor<4x8xf32>
    %3 = "zb.matmul"(%2, %w) : (tensor<4x8xf32>, tensor<8x8xf32>) -> tensor<4x8xf32>
    %4 = "zb.reduce_max"(%3) {axes = array<i64: 1>, keepdims = false} : (tensor<4x8xf32>) -> tensor<4xf32>
    return %3, %4 : tensor<4x8xf32>, tensor<4xf32>
  }
}
