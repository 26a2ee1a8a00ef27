// A frozen prefix, a value used three times (twice by one op), a split with an unread part, a parameter that meets itself, and a penalty
// that is computed from parameters alone.
// Its gradients are checked by gradient_program_test.c.
// RUN: zb-opt --zb-autodiff --zb-split-grad %s | FileCheck %s

// CHECK-COUNT-5: zb.accumulate
// CHECK-NOT: zb.accumulate
func.func @odd(%x: tensor<4x4xf64> {zb.input = "x"}, %a: tensor<4x4xf64> {zb.frozen = "o.a"}, %w: tensor<4x4xf64> {zb.param = "o.w"},
    %u: tensor<4x4xf64> {zb.param = "o.u"}, %c: tensor<4xf64> {zb.param = "o.c"}) -> (tensor<f64> {zb.loss}, tensor<4x4xf64>) {
  %tenth = "zb.constant"() {value = dense<0.1> : tensor<f64>} : () -> tensor<f64>
  %h = "zb.matmul"(%x, %a) : (tensor<4x4xf64>, tensor<4x4xf64>) -> tensor<4x4xf64>
  %z = "zb.matmul"(%h, %w) : (tensor<4x4xf64>, tensor<4x4xf64>) -> tensor<4x4xf64>
  %s = "zb.mul"(%z, %z) : (tensor<4x4xf64>, tensor<4x4xf64>) -> tensor<4x4xf64>
  %t = "zb.sin"(%z) : (tensor<4x4xf64>) -> tensor<4x4xf64>
  %m = "zb.add"(%s, %t) : (tensor<4x4xf64>, tensor<4x4xf64>) -> tensor<4x4xf64>
  %p0, %p1 = "zb.split"(%m) {axis = 1 : i64, sizes = array<i64: 1, 3>} : (tensor<4x4xf64>) -> (tensor<4x1xf64>, tensor<4x3xf64>)
  %c1 = "zb.mul"(%p1, %p1) : (tensor<4x3xf64>, tensor<4x3xf64>) -> tensor<4x3xf64>
  %cc = "zb.mul"(%c, %c) : (tensor<4xf64>, tensor<4xf64>) -> tensor<4xf64>
  %uc = "zb.add"(%u, %cc) : (tensor<4x4xf64>, tensor<4xf64>) -> tensor<4x4xf64>
  %uu = "zb.mul"(%uc, %uc) : (tensor<4x4xf64>, tensor<4x4xf64>) -> tensor<4x4xf64>
  %k = "zb.matmul"(%z, %uc) : (tensor<4x4xf64>, tensor<4x4xf64>) -> tensor<4x4xf64>
  %l0 = "zb.reduce_mean"(%c1) {axes = array<i64>} : (tensor<4x3xf64>) -> tensor<f64>
  %l1 = "zb.reduce_mean"(%k) {axes = array<i64>} : (tensor<4x4xf64>) -> tensor<f64>
  %l2 = "zb.reduce_sum"(%uu) {axes = array<i64>} : (tensor<4x4xf64>) -> tensor<f64>
  %l3 = "zb.mul"(%l2, %tenth) : (tensor<f64>, tensor<f64>) -> tensor<f64>
  %l4 = "zb.add"(%l0, %l1) : (tensor<f64>, tensor<f64>) -> tensor<f64>
  %l = "zb.add"(%l4, %l3) : (tensor<f64>, tensor<f64>) -> tensor<f64>
  return %l, %h : tensor<f64>, tensor<4x4xf64>
}
