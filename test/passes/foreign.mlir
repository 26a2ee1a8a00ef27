// Ops of a dialect nobody described go through partition, classify, outline, memory, schedule, insert-comm and allocate unharmed: types and
// dataflow are enough. zb-verify-plan, which makes instructions, says that no kernel runs them.
// RUN: zb-opt --allow-unregistered-dialect --zb-partition=ranks=2,cuts=cut --zb-classify --zb-outline --zb-memory --zb-schedule=micro-batches=2 --zb-insert-comm --zb-allocate %s | FileCheck %s
// RUN: not zb-opt --allow-unregistered-dialect --zb-partition=ranks=2,cuts=cut --zb-classify --zb-outline --zb-memory --zb-schedule=micro-batches=2 --zb-insert-comm --zb-allocate --zb-verify-plan %s 2>&1 | FileCheck %s --check-prefix=RUNS

// An imported training graph: no zb.id, no zb.of. The gradient op of the second layer reads w1, so it stands in stage 1; it gives
// both gradients at once and nobody can split it, so it is B as a whole, and the accumulate is W.
// CHECK: zb.level = "allocated"
// CHECK: module @rank0
// CHECK: func.func private @s0_F({{.*}}) -> (!zb.frame<"fw", {{[0-9]+}} : i64> {zb.frame = "fw"}, tensor<4x16xf32> {zb.value = {{[0-9]+}} : i64})
// CHECK: "toy.mix"(%{{.*}}, %{{.*}}) <{mode = #toy.mode<fast>}> {{.*}}zb.class = "F"
// CHECK: func.func private @s0_W(
// CHECK: "toy.mix_grad"(%{{.*}}, %{{.*}}) {{.*}}zb.class = "W"
// CHECK: "zb.accumulate"
// CHECK: func.func private @s0_UPDATE(
// CHECK: "toy.step"
// CHECK: func.func @main(
// CHECK: call @s0_F
// CHECK: "zb.send"
// CHECK: "zb.recv"
// CHECK: call @s0_W
// CHECK: module @rank1
// CHECK: func.func private @s1_F(
// CHECK: "toy.mix"{{.*}}zb.class = "F"
// CHECK: "toy.loss"{{.*}}zb.class = "F"
// CHECK: func.func private @s1_B(
// CHECK: "toy.loss_grad"{{.*}}zb.class = "B"
// CHECK: "toy.mix_grads"{{.*}}zb.class = "B"
// CHECK: func.func private @s1_W(
// CHECK: "zb.accumulate"{{.*}}zb.class = "W"
// RUNS: error: no kernel runs op 'toy.mix'
// RUNS: hint: a plan runs zb ops; ops of other dialects can be partitioned and scheduled, but not executed here

module attributes {zb.level = "split"} {
  func.func @step(%x: tensor<4x8xf32> {zb.input = "x"}, %w0: tensor<8x16xf32> {zb.param = "w0"}, %w1: tensor<16x16xf32> {zb.param = "w1"})
      -> (tensor<f32> {zb.loss}, tensor<8x16xf32> {zb.update = "w0"}, tensor<16x16xf32> {zb.update = "w1"}) {
    %a = "toy.mix"(%x, %w0) <{mode = #toy.mode<fast>}> : (tensor<4x8xf32>, tensor<8x16xf32>) -> tensor<4x16xf32> loc("cut")
    %b = "toy.mix"(%a, %w1) <{mode = #toy.mode<fast>}> : (tensor<4x16xf32>, tensor<16x16xf32>) -> tensor<4x16xf32>
    %loss = "toy.loss"(%b) : (tensor<4x16xf32>) -> tensor<f32>
    %db = "toy.loss_grad"(%b) : (tensor<4x16xf32>) -> tensor<4x16xf32>
    %da, %dw1 = "toy.mix_grads"(%a, %w1, %db) : (tensor<4x16xf32>, tensor<16x16xf32>, tensor<4x16xf32>) -> (tensor<4x16xf32>, tensor<16x16xf32>)
    %g1 = "zb.accumulate"(%dw1) {parameter = "w1", use = 0 : i64} : (tensor<16x16xf32>) -> tensor<16x16xf32>
    %dw0 = "toy.mix_grad"(%x, %da) : (tensor<4x8xf32>, tensor<4x16xf32>) -> tensor<8x16xf32>
    %g0 = "zb.accumulate"(%dw0) {parameter = "w0", use = 0 : i64} : (tensor<8x16xf32>) -> tensor<8x16xf32>
    %u0 = "toy.step"(%w0, %g0) : (tensor<8x16xf32>, tensor<8x16xf32>) -> tensor<8x16xf32>
    %u1 = "toy.step"(%w1, %g1) : (tensor<16x16xf32>, tensor<16x16xf32>) -> tensor<16x16xf32>
    return %loss, %u0, %u1 : tensor<f32>, tensor<8x16xf32>, tensor<16x16xf32>
  }
}
