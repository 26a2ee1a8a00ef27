// Ops of other dialects with regions that read values of the program (a loop does): these values are operands for every
// pass. They are sent to the stage that reads them, and each function has its own.
// RUN: split-file %s %t
// RUN: zb-opt --allow-unregistered-dialect --zb-layout --zb-partition=ranks=2,cuts=cut --zb-classify --zb-outline --zb-memory \
// RUN:   --zb-schedule=micro-batches=1 --zb-insert-comm --zb-allocate %t/step.mlir | FileCheck %s
// RUN: not zb-opt --allow-unregistered-dialect --zb-partition=ranks=2,cuts=cut --zb-classify --zb-outline %t/size.mlir 2>&1 | FileCheck %s --check-prefix=SIZE
// RUN: sed 's/index/tensor<1xi64>/' %t/size.mlir > %t/first.mlir
// RUN: zb-opt --allow-unregistered-dialect --zb-partition=ranks=2,cuts=cut --zb-classify --zb-outline %t/first.mlir | FileCheck %s --check-prefix=FIRST
// RUN: not zb-opt --allow-unregistered-dialect --zb-partition --zb-classify --zb-outline %t/argument.mlir 2>&1 | FileCheck %s --check-prefix=ARGUMENT
// RUN: not zb-opt --allow-unregistered-dialect --zb-autodiff %t/gradient.mlir 2>&1 | FileCheck %s --check-prefix=GRADIENT
// RUN: zb-opt --allow-unregistered-dialect --zb-mixed-precision %t/gradient.mlir | FileCheck %s --check-prefix=MIXED

// %a and %b reach stage 1, where the loop reads %a two regions deep, and %b as an operand and inside: one argument each.
// CHECK: module @rank0
// CHECK: func.func private @s0_F({{.*}} -> ({{.*}}tensor<4x16xf32> {zb.value = [[A:[0-9]+]] : i64}, tensor<4x16xf32> {zb.value = [[B:[0-9]+]] : i64})
// CHECK: func.func private @s0_W(
// The loop of the backward pass reads x inside: it is kept for W.
// CHECK: "toy.loop"
// CHECK: func.func @main(
// CHECK: "zb.send"(%[[F:[0-9]+]]#1) {part = 0
// CHECK: "zb.send"(%[[F]]#2) {part = 1
// CHECK: module @rank1
// CHECK: func.func private @s1_F({{.*}}%[[ARG_B:arg[0-9]+]]: tensor<4x16xf32> {zb.value = [[B]] : i64}, %[[ARG_A:arg[0-9]+]]: tensor<4x16xf32> {zb.value = [[A]] : i64})
// CHECK: "toy.loop"(%[[ARG_B]]) ({
// CHECK:   "toy.body"() ({
// CHECK:     "toy.use"(%[[ARG_A]], %[[ARG_B]])
// CHECK:     "toy.use"(%[[ARG_A]], %[[ARG_A]])
// CHECK: }) {{.*}}zb.class = "F", zb.stage = 1

// The first op of an evaluation has no operands.
// FIRST: func.func private @s0_E(
// FIRST-NEXT: "toy.number"() {zb.class = "E", zb.stage = 0 : i64} : () -> tensor<1xi64>

// SIZE: size.mlir:4:11: error: a result of 'toy.number', which has no size, passes from one job to another
// SIZE: hint: register a row with the trait PURE for this op (zb_op_register): it then goes to each reader
// ARGUMENT: argument.mlir:2:3: error: argument 1 of the program has no size
// ARGUMENT: hint: make it a tensor of known dimensions and element type
// GRADIENT: gradient.mlir:4:10: error: 'toy.region' is not differentiable: its region reads values of the program that are no operands
// GRADIENT: hint: make them operands of it, and arguments of its region

// An op that nobody described reads f32, in its regions too.
// MIXED: %[[FULL:.*]] = "zb.matmul"({{.*}}) {dtype = "f32"} {{.*}} -> tensor<4x16xf32>
// MIXED: "toy.region"() ({
// MIXED-NEXT: "toy.use"(%[[FULL]])

//--- step.mlir
module attributes {zb.level = "split"} {
  func.func @step(%x: tensor<4x8xf32> {zb.input = "x"}, %w0: tensor<8x16xf32> {zb.param = "w0"}, %w1: tensor<16x16xf32> {zb.param = "w1"})
      -> (tensor<f32> {zb.loss}, tensor<8x16xf32> {zb.update = "w0"}, tensor<16x16xf32> {zb.update = "w1"}) {
    %a = "toy.mix"(%x, %w0) : (tensor<4x8xf32>, tensor<8x16xf32>) -> tensor<4x16xf32>
    %b = "toy.act"(%a) : (tensor<4x16xf32>) -> tensor<4x16xf32> loc("cut")
    %c = "toy.loop"(%b) ({
      ^bb0(%i: tensor<4x16xf32>):
        "toy.body"() ({
          "toy.use"(%a, %b) : (tensor<4x16xf32>, tensor<4x16xf32>) -> ()
          "toy.use"(%a, %a) : (tensor<4x16xf32>, tensor<4x16xf32>) -> ()
        }) : () -> ()
        "toy.yield"(%i) : (tensor<4x16xf32>) -> ()
    }) : (tensor<4x16xf32>) -> tensor<4x16xf32>
    %d = "toy.mix"(%c, %w1) : (tensor<4x16xf32>, tensor<16x16xf32>) -> tensor<4x16xf32>
    %loss = "toy.loss"(%d) : (tensor<4x16xf32>) -> tensor<f32>
    %dd = "toy.loss_grad"(%d) : (tensor<4x16xf32>) -> tensor<4x16xf32>
    %db, %dw1 = "toy.mix_grads"(%c, %w1, %dd) : (tensor<4x16xf32>, tensor<16x16xf32>, tensor<4x16xf32>) -> (tensor<4x16xf32>, tensor<16x16xf32>)
    %g1 = "zb.accumulate"(%dw1) {parameter = "w1", use = 0 : i64} : (tensor<16x16xf32>) -> tensor<16x16xf32>
    %dw0 = "toy.loop"(%db) ({
      ^bb0(%i: tensor<4x16xf32>):
        %t = "toy.mix_grad"(%x, %i) : (tensor<4x8xf32>, tensor<4x16xf32>) -> tensor<8x16xf32>
        "toy.yield"(%t) : (tensor<8x16xf32>) -> ()
    }) : (tensor<4x16xf32>) -> tensor<8x16xf32>
    %g0 = "zb.accumulate"(%dw0) {parameter = "w0", use = 0 : i64} : (tensor<8x16xf32>) -> tensor<8x16xf32>
    %u0 = "toy.step"(%w0, %g0) : (tensor<8x16xf32>, tensor<8x16xf32>) -> tensor<8x16xf32>
    %u1 = "toy.step"(%w1, %g1) : (tensor<16x16xf32>, tensor<16x16xf32>) -> tensor<16x16xf32>
    return %loss, %u0, %u1 : tensor<f32>, tensor<8x16xf32>, tensor<16x16xf32>
  }
}

//--- size.mlir
module attributes {zb.level = "split"} {
  func.func @step(%x: tensor<4x8xf32> {zb.input = "x"}, %w0: tensor<8x16xf32> {zb.param = "w0"})
      -> (tensor<f32> {zb.loss}, tensor<8x16xf32> {zb.update = "w0"}) {
    %n  = "toy.number"() : () -> index
    %a = "toy.mix"(%x, %w0) : (tensor<4x8xf32>, tensor<8x16xf32>) -> tensor<4x16xf32> loc("cut")
    %loss = "toy.loss"(%a, %n) : (tensor<4x16xf32>, index) -> tensor<f32>
    %da = "toy.loss_grad"(%a) : (tensor<4x16xf32>) -> tensor<4x16xf32>
    %dw0 = "toy.mix_grad"(%x, %da) : (tensor<4x8xf32>, tensor<4x16xf32>) -> tensor<8x16xf32>
    %g0 = "zb.accumulate"(%dw0) {parameter = "w0", use = 0 : i64} : (tensor<8x16xf32>) -> tensor<8x16xf32>
    %u0 = "toy.step"(%w0, %g0) : (tensor<8x16xf32>, tensor<8x16xf32>) -> tensor<8x16xf32>
    return %loss, %u0 : tensor<f32>, tensor<8x16xf32>
  }
}

//--- argument.mlir
module attributes {zb.level = "split"} {
  func.func @step(%x: tensor<4x8xf32> {zb.input = "x"}, %n: tensor<?xf32>, %w0: tensor<8x16xf32> {zb.param = "w0"})
      -> (tensor<f32> {zb.loss}, tensor<8x16xf32> {zb.update = "w0"}) {
    %loss = "toy.loss"(%x, %w0, %n) : (tensor<4x8xf32>, tensor<8x16xf32>, tensor<?xf32>) -> tensor<f32>
    %dw0 = "toy.loss_grad"(%x) : (tensor<4x8xf32>) -> tensor<8x16xf32>
    %g0 = "zb.accumulate"(%dw0) {parameter = "w0", use = 0 : i64} : (tensor<8x16xf32>) -> tensor<8x16xf32>
    %u0 = "toy.step"(%w0, %g0) : (tensor<8x16xf32>, tensor<8x16xf32>) -> tensor<8x16xf32>
    return %loss, %u0 : tensor<f32>, tensor<8x16xf32>
  }
}

//--- gradient.mlir
module {
  func.func @model(%x: tensor<4x8xf32> {zb.input = "x"}, %w0: tensor<8x16xf32> {zb.param = "w0"}) -> (tensor<f32> {zb.loss}) {
    %a = "zb.matmul"(%x, %w0) : (tensor<4x8xf32>, tensor<8x16xf32>) -> tensor<4x16xf32>
    %b = "toy.region"() ({
      "toy.use"(%a) : (tensor<4x16xf32>) -> ()
    }) : () -> tensor<4x16xf32>
    %loss = "zb.reduce_mean"(%b) {axes = array<i64: 0, 1>} : (tensor<4x16xf32>) -> tensor<f32>
    return %loss : tensor<f32>
  }
}
