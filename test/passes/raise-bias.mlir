// zb-raise: what is added to every row of a product becomes its third operand.
// RUN: zb-opt --zb-raise --split-input-file %s | FileCheck %s
// RUN: zb-opt --zb-raise=only=gelu --split-input-file %s | FileCheck %s --check-prefix=ONLY
// RUN: zb-opt --zb-raise --zb-autodiff=optimizer=sgd:lr=1 --zb-split-grad %S/Inputs/linear.mlir | FileCheck %s --check-prefix=GRAD

// ONLY-LABEL: func.func @linear
// ONLY: "zb.matmul"(%{{[a-z0-9]+}}, %{{[a-z0-9]+}}) : (
// ONLY: "zb.add"

// CHECK-LABEL: func.func @linear
// CHECK-SAME: (%[[X:[a-z0-9]+]]: {{.*}}, %[[W:[a-z0-9]+]]: {{.*}}, %[[B:[a-z0-9]+]]:
// CHECK-NEXT: %[[Y:.*]] = "zb.matmul"(%[[X]], %[[W]], %[[B]]) {transpose_rhs = true} : (tensor<5x2x3xf32>, tensor<4x3xf32>, tensor<4xf32>) -> tensor<5x2x4xf32>
// CHECK-NEXT: return %[[Y]]
func.func @linear(%x: tensor<5x2x3xf32> {zb.input = "x"}, %w: tensor<4x3xf32> {zb.param = "l.w"}, %b: tensor<4xf32> {zb.param = "l.b"}) -> tensor<5x2x4xf32> {
  %p = "zb.matmul"(%x, %w) {transpose_rhs = true} : (tensor<5x2x3xf32>, tensor<4x3xf32>) -> tensor<5x2x4xf32>
  %y = "zb.add"(%b, %p) : (tensor<4xf32>, tensor<5x2x4xf32>) -> tensor<5x2x4xf32>
  return %y : tensor<5x2x4xf32>
}

// -----

// A product that somebody else reads, a whole matrix, a scalar, one value a row, and a second bias: these stay sums.
// CHECK-LABEL: func.func @others
// CHECK-COUNT-5: "zb.add"
// CHECK: return
func.func @others(%x: tensor<2x3xf32> {zb.input = "x"}, %w: tensor<3x2xf32> {zb.param = "l.w"}, %b: tensor<2xf32> {zb.param = "l.b"}, %c: tensor<2x1xf32> {zb.param = "l.c"}, %s: tensor<f32> {zb.input = "s"}) -> (tensor<2x2xf32>, tensor<2x2xf32>, tensor<2x2xf32>, tensor<2x2xf32>) {
  %p = "zb.matmul"(%x, %w) : (tensor<2x3xf32>, tensor<3x2xf32>) -> tensor<2x2xf32>
  %0 = "zb.add"(%p, %b) : (tensor<2x2xf32>, tensor<2xf32>) -> tensor<2x2xf32>
  %1 = "zb.add"(%p, %0) : (tensor<2x2xf32>, tensor<2x2xf32>) -> tensor<2x2xf32>
  %q = "zb.matmul"(%x, %w) : (tensor<2x3xf32>, tensor<3x2xf32>) -> tensor<2x2xf32>
  %2 = "zb.add"(%q, %c) : (tensor<2x2xf32>, tensor<2x1xf32>) -> tensor<2x2xf32>
  %r = "zb.matmul"(%x, %w) : (tensor<2x3xf32>, tensor<3x2xf32>) -> tensor<2x2xf32>
  %3 = "zb.add"(%r, %s) : (tensor<2x2xf32>, tensor<f32>) -> tensor<2x2xf32>
  %t = "zb.matmul"(%x, %w, %b) : (tensor<2x3xf32>, tensor<3x2xf32>, tensor<2xf32>) -> tensor<2x2xf32>
  %4 = "zb.add"(%t, %b) : (tensor<2x2xf32>, tensor<2xf32>) -> tensor<2x2xf32>
  return %1, %2, %3, %4 : tensor<2x2xf32>, tensor<2x2xf32>, tensor<2x2xf32>, tensor<2x2xf32>
}

// The gradients are those of the sum: the bias gets the sum over rows, in W.
// GRAD: "zb.matmul"(%{{[a-z0-9]+}}, %{{[a-z0-9]+}}, %{{[a-z0-9]+}})
// GRAD: "zb.reduce_sum"(%{{.*}}) {axes = array<i64: 0>
