// Dropout of a sum, of probabilities between two products, and of a parameter; the first number is drawn twice. In a
// differentiated program each gradient is a dropout with the number of its op, and nothing is kept for it.
// Its gradients are checked by gradient_program_test.c.
// RUN: zb-opt --zb-autodiff --zb-split-grad %s | FileCheck %s

// CHECK-COUNT-4: "zb.dropout"({{.*}}, %arg1) {{[{]}}{{.*}}zb.id
// CHECK: "zb.dropout"({{.*}}, %arg1) {op = 2 : i64, rate = 6.000000e-01 : f64, zb.of
// CHECK-NOT: zb.mul
// CHECK: return
func.func @dropped(%x: tensor<4x6xf64> {zb.input = "x"}, %c: tensor<4xi64> {zb.input = "zb.counter"},
    %w: tensor<6x6xf64> {zb.param = "m.w"}, %b: tensor<6xf64> {zb.param = "m.b"}) -> (tensor<f64> {zb.loss}) {
  %v = "zb.dropout"(%w, %c) {rate = 0.25, op = 0 : i64} : (tensor<6x6xf64>, tensor<4xi64>) -> tensor<6x6xf64>
  %m = "zb.matmul"(%x, %v) : (tensor<4x6xf64>, tensor<6x6xf64>) -> tensor<4x6xf64>
  %a = "zb.add"(%m, %b) : (tensor<4x6xf64>, tensor<6xf64>) -> tensor<4x6xf64>
  %d = "zb.dropout"(%a, %c) {rate = 0.5, op = 1 : i64} : (tensor<4x6xf64>, tensor<4xi64>) -> tensor<4x6xf64>
  %s = "zb.matmul"(%d, %m) {transpose_rhs = true} : (tensor<4x6xf64>, tensor<4x6xf64>) -> tensor<4x4xf64>
  %p = "zb.softmax"(%s) {axis = 1 : i64} : (tensor<4x4xf64>) -> tensor<4x4xf64>
  %q = "zb.dropout"(%p, %c) {rate = 0.6, op = 2 : i64} : (tensor<4x4xf64>, tensor<4xi64>) -> tensor<4x4xf64>
  %o = "zb.matmul"(%q, %d) : (tensor<4x4xf64>, tensor<4x6xf64>) -> tensor<4x6xf64>
  %e = "zb.dropout"(%o, %c) {rate = 0.25, op = 0 : i64} : (tensor<4x6xf64>, tensor<4xi64>) -> tensor<4x6xf64>
  %g = "zb.tanh"(%e) : (tensor<4x6xf64>) -> tensor<4x6xf64>
  %loss = "zb.reduce_mean"(%g) {axes = array<i64>, keepdims = false} : (tensor<4x6xf64>) -> tensor<f64>
  return %loss : tensor<f64>
}
