// The loss itself is computed from parameters alone: the reader of the chain is the terminator.
// Its gradients are checked by gradient_program_test.c.
// RUN: zb-opt --zb-autodiff --zb-split-grad %s | FileCheck %s

// CHECK-COUNT-1: zb.accumulate
// CHECK-NOT: zb.accumulate
func.func @alone(%w: tensor<3x2xf64> {zb.param = "a.w"}) -> (tensor<f64> {zb.loss}) {
  %s = "zb.exp"(%w) : (tensor<3x2xf64>) -> tensor<3x2xf64>
  %l = "zb.reduce_sum"(%s) {axes = array<i64>} : (tensor<3x2xf64>) -> tensor<f64>
  return %l : tensor<f64>
}
