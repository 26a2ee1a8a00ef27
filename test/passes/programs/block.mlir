// A Llama-like block: RMSNorm taken apart, grouped attention with a rotary embedding and a causal mask, a SiLU gate, a residual.
// Its gradients are checked by gradient_program_test.c.
// RUN: zb-opt --zb-autodiff --zb-split-grad %s | FileCheck %s

// CHECK-COUNT-7: zb.accumulate
// CHECK-NOT: zb.accumulate
func.func @block(%x: tensor<2x3x8xf64> {zb.input = "x"}, %wi: tensor<8x8xf64> {zb.param = "b.i"}, %s: tensor<8xf64> {zb.param = "b.s"},
    %wq: tensor<8x8xf64> {zb.param = "b.q"}, %wk: tensor<4x8xf64> {zb.param = "b.k"}, %wv: tensor<4x8xf64> {zb.param = "b.v"},
    %wo: tensor<8x8xf64> {zb.param = "b.o"}, %wg: tensor<8x8xf64> {zb.param = "b.g"}, %cos: tensor<1x1x3x2xf64> {zb.input = "cos"}, %sin: tensor<1x1x3x2xf64> {zb.input = "sin"})
    -> (tensor<f64> {zb.loss}) {
  %two = "zb.constant"() {value = dense<2.0> : tensor<f64>} : () -> tensor<f64>
  %eps = "zb.constant"() {value = dense<1.0e-2> : tensor<f64>} : () -> tensor<f64>
  %sc = "zb.constant"() {value = dense<0.7> : tensor<f64>} : () -> tensor<f64>
  %mask = "zb.triangle"() {shape = array<i64: 1, 1, 3, 3>, diagonal = 0 : i64, lower = 0.0 : f64, upper = -1.0e30 : f64, dtype = "f64"}
    : () -> tensor<1x1x3x3xf64>
  %x0 = "zb.matmul"(%x, %wi) : (tensor<2x3x8xf64>, tensor<8x8xf64>) -> tensor<2x3x8xf64>
  %n0 = "zb.pow"(%x0, %two) : (tensor<2x3x8xf64>, tensor<f64>) -> tensor<2x3x8xf64>
  %n1 = "zb.reduce_mean"(%n0) {axes = array<i64: 2>, keepdims = true} : (tensor<2x3x8xf64>) -> tensor<2x3x1xf64>
  %n2 = "zb.add"(%n1, %eps) : (tensor<2x3x1xf64>, tensor<f64>) -> tensor<2x3x1xf64>
  %n3 = "zb.sqrt"(%n2) : (tensor<2x3x1xf64>) -> tensor<2x3x1xf64>
  %n4 = "zb.reciprocal"(%n3) : (tensor<2x3x1xf64>) -> tensor<2x3x1xf64>
  %n5 = "zb.mul"(%x0, %n4) : (tensor<2x3x8xf64>, tensor<2x3x1xf64>) -> tensor<2x3x8xf64>
  %n = "zb.mul"(%s, %n5) : (tensor<8xf64>, tensor<2x3x8xf64>) -> tensor<2x3x8xf64>
  %tq = "zb.transpose"(%wq) {permutation = array<i64: 1, 0>} : (tensor<8x8xf64>) -> tensor<8x8xf64>
  %q0 = "zb.matmul"(%n, %tq) : (tensor<2x3x8xf64>, tensor<8x8xf64>) -> tensor<2x3x8xf64>
  %q1 = "zb.reshape"(%q0) {shape = array<i64: 2, 3, 4, 2>} : (tensor<2x3x8xf64>) -> tensor<2x3x4x2xf64>
  %q2 = "zb.transpose"(%q1) {permutation = array<i64: 0, 2, 1, 3>} : (tensor<2x3x4x2xf64>) -> tensor<2x4x3x2xf64>
  %qa = "zb.slice"(%q2) {starts = array<i64: 0, 0, 0, 0>, sizes = array<i64: 2, 4, 3, 1>, steps = array<i64: 1, 1, 1, 1>}
    : (tensor<2x4x3x2xf64>) -> tensor<2x4x3x1xf64>
  %qb = "zb.slice"(%q2) {starts = array<i64: 0, 0, 0, 1>, sizes = array<i64: 2, 4, 3, 1>, steps = array<i64: 1, 1, 1, 1>}
    : (tensor<2x4x3x2xf64>) -> tensor<2x4x3x1xf64>
  %qn = "zb.neg"(%qb) : (tensor<2x4x3x1xf64>) -> tensor<2x4x3x1xf64>
  %qr = "zb.concat"(%qn, %qa) {axis = 3 : i64} : (tensor<2x4x3x1xf64>, tensor<2x4x3x1xf64>) -> tensor<2x4x3x2xf64>
  %q3 = "zb.mul"(%q2, %cos) : (tensor<2x4x3x2xf64>, tensor<1x1x3x2xf64>) -> tensor<2x4x3x2xf64>
  %qs = "zb.mul"(%qr, %sin) : (tensor<2x4x3x2xf64>, tensor<1x1x3x2xf64>) -> tensor<2x4x3x2xf64>
  %q = "zb.add"(%q3, %qs) : (tensor<2x4x3x2xf64>, tensor<2x4x3x2xf64>) -> tensor<2x4x3x2xf64>
  %tk = "zb.transpose"(%wk) {permutation = array<i64: 1, 0>} : (tensor<4x8xf64>) -> tensor<8x4xf64>
  %k0 = "zb.matmul"(%n, %tk) : (tensor<2x3x8xf64>, tensor<8x4xf64>) -> tensor<2x3x4xf64>
  %k1 = "zb.reshape"(%k0) {shape = array<i64: 2, 3, 2, 2>} : (tensor<2x3x4xf64>) -> tensor<2x3x2x2xf64>
  %k2 = "zb.transpose"(%k1) {permutation = array<i64: 0, 2, 1, 3>} : (tensor<2x3x2x2xf64>) -> tensor<2x2x3x2xf64>
  %k3 = "zb.reshape"(%k2) {shape = array<i64: 2, 2, 1, 3, 2>} : (tensor<2x2x3x2xf64>) -> tensor<2x2x1x3x2xf64>
  %k4 = "zb.expand"(%k3) {shape = array<i64: 2, 2, 2, 3, 2>} : (tensor<2x2x1x3x2xf64>) -> tensor<2x2x2x3x2xf64>
  %k = "zb.reshape"(%k4) {shape = array<i64: 2, 4, 3, 2>} : (tensor<2x2x2x3x2xf64>) -> tensor<2x4x3x2xf64>
  %tv = "zb.transpose"(%wv) {permutation = array<i64: 1, 0>} : (tensor<4x8xf64>) -> tensor<8x4xf64>
  %v0 = "zb.matmul"(%n, %tv) : (tensor<2x3x8xf64>, tensor<8x4xf64>) -> tensor<2x3x4xf64>
  %v1 = "zb.reshape"(%v0) {shape = array<i64: 2, 3, 2, 2>} : (tensor<2x3x4xf64>) -> tensor<2x3x2x2xf64>
  %v2 = "zb.transpose"(%v1) {permutation = array<i64: 0, 2, 1, 3>} : (tensor<2x3x2x2xf64>) -> tensor<2x2x3x2xf64>
  %v3 = "zb.reshape"(%v2) {shape = array<i64: 2, 2, 1, 3, 2>} : (tensor<2x2x3x2xf64>) -> tensor<2x2x1x3x2xf64>
  %v4 = "zb.expand"(%v3) {shape = array<i64: 2, 2, 2, 3, 2>} : (tensor<2x2x1x3x2xf64>) -> tensor<2x2x2x3x2xf64>
  %v = "zb.reshape"(%v4) {shape = array<i64: 2, 4, 3, 2>} : (tensor<2x2x2x3x2xf64>) -> tensor<2x4x3x2xf64>
  %kt = "zb.transpose"(%k) {permutation = array<i64: 0, 1, 3, 2>} : (tensor<2x4x3x2xf64>) -> tensor<2x4x2x3xf64>
  %a0 = "zb.matmul"(%q, %kt) : (tensor<2x4x3x2xf64>, tensor<2x4x2x3xf64>) -> tensor<2x4x3x3xf64>
  %a1 = "zb.mul"(%a0, %sc) : (tensor<2x4x3x3xf64>, tensor<f64>) -> tensor<2x4x3x3xf64>
  %a2 = "zb.add"(%a1, %mask) : (tensor<2x4x3x3xf64>, tensor<1x1x3x3xf64>) -> tensor<2x4x3x3xf64>
  %a3 = "zb.softmax"(%a2) {axis = 3 : i64} : (tensor<2x4x3x3xf64>) -> tensor<2x4x3x3xf64>
  %a4 = "zb.matmul"(%a3, %v) : (tensor<2x4x3x3xf64>, tensor<2x4x3x2xf64>) -> tensor<2x4x3x2xf64>
  %a5 = "zb.transpose"(%a4) {permutation = array<i64: 0, 2, 1, 3>} : (tensor<2x4x3x2xf64>) -> tensor<2x3x4x2xf64>
  %a6 = "zb.reshape"(%a5) {shape = array<i64: 2, 3, 8>} : (tensor<2x3x4x2xf64>) -> tensor<2x3x8xf64>
  %o = "zb.matmul"(%a6, %wo) : (tensor<2x3x8xf64>, tensor<8x8xf64>) -> tensor<2x3x8xf64>
  %r = "zb.add"(%x0, %o) : (tensor<2x3x8xf64>, tensor<2x3x8xf64>) -> tensor<2x3x8xf64>
  %g0 = "zb.matmul"(%r, %wg) : (tensor<2x3x8xf64>, tensor<8x8xf64>) -> tensor<2x3x8xf64>
  %g1 = "zb.sigmoid"(%g0) : (tensor<2x3x8xf64>) -> tensor<2x3x8xf64>
  %g2 = "zb.mul"(%g0, %g1) : (tensor<2x3x8xf64>, tensor<2x3x8xf64>) -> tensor<2x3x8xf64>
  %g3 = "zb.mul"(%g2, %r) : (tensor<2x3x8xf64>, tensor<2x3x8xf64>) -> tensor<2x3x8xf64>
  %l = "zb.reduce_mean"(%g3) {axes = array<i64>} : (tensor<2x3x8xf64>) -> tensor<f64>
  return %l : tensor<f64>
}
