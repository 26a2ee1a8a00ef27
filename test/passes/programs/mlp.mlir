// Linear, bias, GELU taken apart, LayerNorm taken apart, tied weights behind one transpose, a position row, cross entropy.
// Its gradients are checked by gradient_program_test.c.
// RUN: zb-opt --zb-autodiff --zb-split-grad %s | FileCheck %s

// CHECK-COUNT-8: zb.accumulate
// CHECK-NOT: zb.accumulate
func.func @mlp(%x: tensor<4xi64> {zb.input = "x"}, %y: tensor<4xi64> {zb.input = "y"},
    %e: tensor<5x6xf64> {zb.param = "m.e"}, %w: tensor<6x6xf64> {zb.param = "m.w"}, %b: tensor<6xf64> {zb.param = "m.b"},
    %s: tensor<6xf64> {zb.param = "m.s"}, %p: tensor<4x6xf64> {zb.param = "m.p"}) -> (tensor<f64> {zb.loss}) {
  %half = "zb.constant"() {value = dense<0.5> : tensor<f64>} : () -> tensor<f64>
  %one = "zb.constant"() {value = dense<1.0> : tensor<f64>} : () -> tensor<f64>
  %root = "zb.constant"() {value = dense<1.4142135623730951> : tensor<f64>} : () -> tensor<f64>
  %eps = "zb.constant"() {value = dense<1.0e-3> : tensor<f64>} : () -> tensor<f64>
  %rows = "zb.constant"() {value = dense<[0, 1, 2, 3]> : tensor<4xi64>} : () -> tensor<4xi64>
  %pos = "zb.gather"(%p, %rows) {axis = 0 : i64} : (tensor<4x6xf64>, tensor<4xi64>) -> tensor<4x6xf64>
  %t = "zb.transpose"(%e) {permutation = array<i64: 1, 0>} : (tensor<5x6xf64>) -> tensor<6x5xf64>
  %h0 = "zb.gather"(%e, %x) {axis = 0 : i64} : (tensor<5x6xf64>, tensor<4xi64>) -> tensor<4x6xf64>
  %h = "zb.add"(%h0, %pos) : (tensor<4x6xf64>, tensor<4x6xf64>) -> tensor<4x6xf64>
  %m0 = "zb.matmul"(%h, %w) : (tensor<4x6xf64>, tensor<6x6xf64>) -> tensor<4x6xf64>
  %m = "zb.add"(%m0, %b) : (tensor<4x6xf64>, tensor<6xf64>) -> tensor<4x6xf64>
  %g0 = "zb.div"(%m, %root) : (tensor<4x6xf64>, tensor<f64>) -> tensor<4x6xf64>
  %g1 = "zb.erf"(%g0) : (tensor<4x6xf64>) -> tensor<4x6xf64>
  %g2 = "zb.add"(%g1, %one) : (tensor<4x6xf64>, tensor<f64>) -> tensor<4x6xf64>
  %g3 = "zb.mul"(%m, %g2) : (tensor<4x6xf64>, tensor<4x6xf64>) -> tensor<4x6xf64>
  %g = "zb.mul"(%g3, %half) : (tensor<4x6xf64>, tensor<f64>) -> tensor<4x6xf64>
  %r = "zb.add"(%g, %h) : (tensor<4x6xf64>, tensor<4x6xf64>) -> tensor<4x6xf64>
  %mu = "zb.reduce_mean"(%r) {axes = array<i64: 1>, keepdims = true} : (tensor<4x6xf64>) -> tensor<4x1xf64>
  %c = "zb.sub"(%r, %mu) : (tensor<4x6xf64>, tensor<4x1xf64>) -> tensor<4x6xf64>
  %q = "zb.mul"(%c, %c) : (tensor<4x6xf64>, tensor<4x6xf64>) -> tensor<4x6xf64>
  %v = "zb.reduce_mean"(%q) {axes = array<i64: 1>, keepdims = true} : (tensor<4x6xf64>) -> tensor<4x1xf64>
  %ve = "zb.add"(%v, %eps) : (tensor<4x1xf64>, tensor<f64>) -> tensor<4x1xf64>
  %sd = "zb.sqrt"(%ve) : (tensor<4x1xf64>) -> tensor<4x1xf64>
  %n = "zb.div"(%c, %sd) : (tensor<4x6xf64>, tensor<4x1xf64>) -> tensor<4x6xf64>
  %ns = "zb.mul"(%n, %s) : (tensor<4x6xf64>, tensor<6xf64>) -> tensor<4x6xf64>
  %nb = "zb.add"(%ns, %b) : (tensor<4x6xf64>, tensor<6xf64>) -> tensor<4x6xf64>
  %z = "zb.matmul"(%nb, %t) : (tensor<4x6xf64>, tensor<6x5xf64>) -> tensor<4x5xf64>
  %z2 = "zb.matmul"(%ns, %t) : (tensor<4x6xf64>, tensor<6x5xf64>) -> tensor<4x5xf64>
  %za = "zb.add"(%z, %z2) : (tensor<4x5xf64>, tensor<4x5xf64>) -> tensor<4x5xf64>
  %loss, %lse = "zb.cross_entropy"(%za, %y) {reduction = "mean"} : (tensor<4x5xf64>, tensor<4xi64>) -> (tensor<f64>, tensor<4xf64>)
  return %loss : tensor<f64>
}
