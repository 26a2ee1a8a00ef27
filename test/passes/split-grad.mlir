// zb-split-grad: one chain of ops a result, only for results that are read, with the zb.of of the op that they replace.
// RUN: zb-opt --zb-split-grad --split-input-file %s | FileCheck %s

// dX and dW of a linear layer, each with its own product and no transpose.
// CHECK-LABEL: func.func @both
// CHECK-SAME: (%[[X:[a-z0-9]+]]: {{[^,]*}}, %[[W:[a-z0-9]+]]: {{[^,]*}}, %[[D:[a-z0-9]+]]:
// CHECK-NEXT: %[[DX:.*]] = "zb.matmul"(%[[D]], %[[W]]) {transpose_rhs = true, zb.of = 7 : i64}
// CHECK-NEXT: %[[DW:.*]] = "zb.matmul"(%[[X]], %[[D]]) {transpose_lhs = true, zb.of = 7 : i64}
// CHECK-NEXT: return %[[DX]], %[[DW]]
module attributes {zb.level = "differentiated"} {
  func.func @both(%x: tensor<4x8xf32> {zb.input = "x"}, %w: tensor<8x16xf32> {zb.param = "w"}, %d: tensor<4x16xf32> {zb.input = "d"})
      -> (tensor<4x8xf32>, tensor<8x16xf32>) {
    %dx, %dw = "zb.matmul_grad"(%x, %w, %d) {zb.of = 7 : i64}
      : (tensor<4x8xf32>, tensor<8x16xf32>, tensor<4x16xf32>) -> (tensor<4x8xf32>, tensor<8x16xf32>)
    return %dx, %dw : tensor<4x8xf32>, tensor<8x16xf32>
  }
}

// -----

// Nobody reads dX: it vanishes, and so does what only it read.
// CHECK-LABEL: func.func @one
// CHECK-NEXT: "zb.matmul"(%{{[a-z0-9]+}}, %{{[a-z0-9]+}}) {transpose_lhs = true}
// CHECK-NEXT: return
module attributes {zb.level = "differentiated"} {
  func.func @one(%x: tensor<4x8xf32> {zb.input = "x"}, %w: tensor<8x16xf32> {zb.param = "w"}, %d: tensor<4x16xf32> {zb.input = "d"})
      -> tensor<8x16xf32> {
    %v = "zb.exp"(%w) : (tensor<8x16xf32>) -> tensor<8x16xf32>
    %dx, %dw = "zb.matmul_grad"(%x, %v, %d)
      : (tensor<4x8xf32>, tensor<8x16xf32>, tensor<4x16xf32>) -> (tensor<4x8xf32>, tensor<8x16xf32>)
    return %dw : tensor<8x16xf32>
  }
}

// -----

// A bias: its gradient is the sum over the broadcast rows; the other one is dout itself.
// CHECK-LABEL: func.func @bias
// CHECK-SAME: %[[D:[a-z0-9]+]]: tensor<4x8xf32> {zb.input = "d"})
// CHECK-NEXT: %[[DB:.*]] = "zb.reduce_sum"(%[[D]])
// CHECK-NEXT: return %[[D]], %[[DB]]
module attributes {zb.level = "differentiated"} {
  func.func @bias(%x: tensor<4x8xf32> {zb.input = "x"}, %b: tensor<8xf32> {zb.param = "b"}, %d: tensor<4x8xf32> {zb.input = "d"})
      -> (tensor<4x8xf32>, tensor<8xf32>) {
    %dx, %db = "zb.add_grad"(%x, %b, %d) : (tensor<4x8xf32>, tensor<8xf32>, tensor<4x8xf32>) -> (tensor<4x8xf32>, tensor<8xf32>)
    return %dx, %db : tensor<4x8xf32>, tensor<8xf32>
  }
}

// -----

// A norm: the gradient of its input and those of its parameters are ops of their own, so that the latter may wait.
// CHECK-LABEL: func.func @norm
// CHECK-DAG: "zb.layer_norm_grad_x"({{.*}}zb.of = 3 : i64
// CHECK-DAG: "zb.layer_norm_grad_scale"({{.*}}zb.of = 3 : i64
// CHECK-DAG: "zb.reduce_sum"({{.*}}zb.of = 3 : i64
// CHECK-NOT: "zb.layer_norm_grad"(
module attributes {zb.level = "differentiated"} {
  func.func @norm(%x: tensor<4x8xf32> {zb.input = "x"}, %s: tensor<8xf32> {zb.param = "s"}, %m: tensor<4x1xf32> {zb.input = "m"},
                  %r: tensor<4x1xf32> {zb.input = "r"}, %d: tensor<4x8xf32> {zb.input = "d"})
      -> (tensor<4x8xf32>, tensor<8xf32>, tensor<8xf32>) {
    %dx, %ds, %db = "zb.layer_norm_grad"(%x, %s, %m, %r, %d) {axis = 1 : i64, bias = true, zb.of = 3 : i64}
      : (tensor<4x8xf32>, tensor<8xf32>, tensor<4x1xf32>, tensor<4x1xf32>, tensor<4x8xf32>) -> (tensor<4x8xf32>, tensor<8xf32>, tensor<8xf32>)
    return %dx, %ds, %db : tensor<4x8xf32>, tensor<8xf32>, tensor<8xf32>
  }
}

// -----

// Ops with several results that are no gradients stay whole, and so does a program without composites.
// CHECK-LABEL: func.func @no_change
// CHECK-NEXT: "zb.exp"
// CHECK-NEXT: "zb.rms_norm"
// CHECK-NEXT: "zb.relu_grad"
// CHECK-NEXT: return
module attributes {zb.level = "differentiated"} {
  func.func @no_change(%x: tensor<4x8xf32> {zb.input = "x"}, %s: tensor<8xf32> {zb.param = "s"}) -> tensor<4x8xf32> {
    %unread = "zb.exp"(%x) : (tensor<4x8xf32>) -> tensor<4x8xf32>
    %n, %r = "zb.rms_norm"(%x, %s) {axis = 1 : i64} : (tensor<4x8xf32>, tensor<8xf32>) -> (tensor<4x8xf32>, tensor<4x1xf32>)
    %g = "zb.relu_grad"(%n, %x) : (tensor<4x8xf32>, tensor<4x8xf32>) -> tensor<4x8xf32>
    return %g : tensor<4x8xf32>
  }
}
