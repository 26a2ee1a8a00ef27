// A tied embedding on two ranks: one accumulator a use, exchanged once a step, the same update on both. A frozen first layer: no B or W work in its
// stage, and the roots of the next stage are found behind it.
// RUN: zb-opt --zb-autodiff='optimizer="sgd:lr=0.1",micro-batches=2' --zb-split-grad --zb-dce --zb-layout --zb-partition=ranks=2,cuts=embed --zb-classify --zb-outline --zb-memory --zb-schedule=micro-batches=2 --zb-insert-comm --zb-allocate --zb-verify-plan --split-input-file %s | FileCheck %s

// CHECK-LABEL: module @rank0
// CHECK: func.func private @s0_W({{.*}}zb.class = "W"
// CHECK: "zb.gather_grad"{{.*}}zb.class = "W"
// CHECK: "zb.accumulate"({{.*}}use = 0 : i64
// Rank 0 adds the sum of use 1, which it gets from rank 1, to its own.
// CHECK: func.func private @tied0_UPDATE({{.*}}, %[[SUM:[a-z0-9]+]]: tensor<16x16xf32> {zb.sum = "wte", zb.use = 1 : i64}
// CHECK: "zb.add"(%[[SUM]], %{{.*}}) {{.*}}zb.class = "SUM"
// CHECK: "zb.sgd"
// CHECK: func.func @main(
// CHECK: %[[W:.*]] = call @s0_W({{.*}}zb.micro_batch = 1 : i64
// CHECK: %[[OWN:.*]] = "zb.get"(%[[W]]) {offset = 0 : i64}
// CHECK: %[[OTHER:.*]] = "zb.all_gather"(%[[OWN]]) {counts = array<i64: 1, 1>, members = array<i64: 0, 1>, place = 0 : i64} : (tensor<16x16xf32>) -> tensor<16x16xf32>
// CHECK: call @tied0_UPDATE({{.*}}%[[W]], {{.*}}%[[OTHER]])
// CHECK-LABEL: module @rank1
// CHECK: func.func private @s1_W(
// CHECK: "zb.matmul"{{.*}}zb.class = "W"
// CHECK: func.func private @tied0_UPDATE({{.*}}%[[SUM0:[a-z0-9]+]]: tensor<16x16xf32> {zb.sum = "wte", zb.use = 0 : i64}
// CHECK: "zb.add"(%{{.*}}, %[[SUM0]]) {{.*}}zb.class = "SUM"
module attributes {zb.level = "graph"} {
  func.func @model(%x: tensor<4xi64> {zb.input = "x"}, %y: tensor<4xi64> {zb.input = "y"}, %wte: tensor<16x16xf32> {zb.param = "wte"}) -> (tensor<f32> {zb.loss}) {
    %h = "zb.gather"(%wte, %x) {axis = 0 : i64} : (tensor<16x16xf32>, tensor<4xi64>) -> tensor<4x16xf32>
    %a = "zb.tanh"(%h) : (tensor<4x16xf32>) -> tensor<4x16xf32> loc("embed")
    %z = "zb.matmul"(%a, %wte) {transpose_rhs = true} : (tensor<4x16xf32>, tensor<16x16xf32>) -> tensor<4x16xf32>
    %loss, %lse = "zb.cross_entropy"(%z, %y) {reduction = "mean"} : (tensor<4x16xf32>, tensor<4xi64>) -> (tensor<f32>, tensor<4xf32>)
    return %loss : tensor<f32>
  }
}

// -----

// CHECK-LABEL: module @rank0
// CHECK: func.func private @s0_B() attributes
// CHECK: func.func private @s0_W() attributes
// CHECK-NOT: UPDATE
// CHECK-LABEL: module @rank1
// The first product of stage 1 is its root: the gradient of its output is B, and no gradient leaves.
// CHECK: func.func private @s1_B(
// CHECK: "zb.tanh_grad"{{.*}}zb.class = "B"
// CHECK: func.func private @s1_W(
// CHECK: "zb.matmul"{{.*}}zb.class = "W"
// CHECK: "zb.accumulate"({{.*}}parameter = "w1"
// CHECK: func.func @main(
// CHECK-NOT: "zb.send"
// CHECK-NOT: "zb.all_gather"
module attributes {zb.level = "graph"} {
  func.func @model(%x: tensor<4x8xf32> {zb.input = "x"}, %y: tensor<4xi64> {zb.input = "y"}, %w0: tensor<8x16xf32> {zb.frozen = "w0"},
                   %w1: tensor<16x16xf32> {zb.param = "w1"}, %w2: tensor<16x16xf32> {zb.param = "w2"}) -> (tensor<f32> {zb.loss}) {
    %h = "zb.matmul"(%x, %w0) : (tensor<4x8xf32>, tensor<8x16xf32>) -> tensor<4x16xf32> loc("embed")
    %a = "zb.matmul"(%h, %w1) : (tensor<4x16xf32>, tensor<16x16xf32>) -> tensor<4x16xf32>
    %b = "zb.tanh"(%a) : (tensor<4x16xf32>) -> tensor<4x16xf32>
    %z = "zb.matmul"(%b, %w2) : (tensor<4x16xf32>, tensor<16x16xf32>) -> tensor<4x16xf32>
    %loss, %lse = "zb.cross_entropy"(%z, %y) {reduction = "mean"} : (tensor<4x16xf32>, tensor<4xi64>) -> (tensor<f32>, tensor<4xf32>)
    return %loss : tensor<f32>
  }
}
