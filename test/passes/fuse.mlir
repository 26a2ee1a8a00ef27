// zb-fuse: a sum goes into the op that makes a summand.
// RUN: zb-opt --zb-autodiff=optimizer=sgd:lr=1 --zb-split-grad --zb-dce --zb-fuse --split-input-file %s | FileCheck %s

// A residual stream: the gradient past each norm is added by the gradient of the norm, on either side of the sum, layer_norm and rms_norm.
// CHECK-LABEL: func.func @stream
// CHECK: %[[N:.*]]:3 = "zb.layer_norm"(%[[X:[0-9]+]], %arg2)
// CHECK: %[[Y:.*]] = "zb.add"(%[[X]], %[[N]]#0)
// CHECK: %[[M:.*]]:2 = "zb.rms_norm"(%[[Y]], %arg3)
// CHECK: %[[D:.*]] = "zb.cross_entropy_grad"
// CHECK-NOT: "zb.add"
// CHECK: %[[DY:.*]] = "zb.rms_norm_grad_x"(%[[Y]], %arg3, %[[M]]#1, %[[D]], %[[D]])
// CHECK-NOT: "zb.add"
// CHECK: %[[DX:.*]] = "zb.layer_norm_grad_x"(%[[X]], %arg2, %[[N]]#1, %[[N]]#2, %[[DY]], %[[DY]])
// CHECK-NOT: "zb.add"
// CHECK: "zb.matmul"(%arg0, %[[DX]])
func.func @stream(%x: tensor<4x8xf32> {zb.input = "x"}, %w: tensor<8x6xf32> {zb.param = "l.w"}, %s: tensor<6xf32> {zb.param = "n.s"}, %t: tensor<6xf32> {zb.param = "m.s"}, %y: tensor<4xi64> {zb.input = "y"}) -> (tensor<f32> {zb.loss}) {
  %p = "zb.matmul"(%x, %w) : (tensor<4x8xf32>, tensor<8x6xf32>) -> tensor<4x6xf32>
  %n:3 = "zb.layer_norm"(%p, %s) {axis = 1 : i64} : (tensor<4x6xf32>, tensor<6xf32>) -> (tensor<4x6xf32>, tensor<4x1xf32>, tensor<4x1xf32>)
  %r = "zb.add"(%p, %n#0) : (tensor<4x6xf32>, tensor<4x6xf32>) -> tensor<4x6xf32>
  %m:2 = "zb.rms_norm"(%r, %t) {axis = 1 : i64} : (tensor<4x6xf32>, tensor<6xf32>) -> (tensor<4x6xf32>, tensor<4x1xf32>)
  %q = "zb.add"(%m#0, %r) : (tensor<4x6xf32>, tensor<4x6xf32>) -> tensor<4x6xf32>
  %l:2 = "zb.cross_entropy"(%q, %y) {reduction = "mean"} : (tensor<4x6xf32>, tensor<4xi64>) -> (tensor<f32>, tensor<4xf32>)
  return %l#0 : tensor<f32>
}

// -----

// A norm whose input has no other reader has nothing to add.
// CHECK-LABEL: func.func @alone
// CHECK-NOT: "zb.add"
// CHECK: "zb.rms_norm_grad_x"(%{{[^,]*}}, %{{[^,]*}}, %{{[^,]*}}, %{{[^,]*}}) {
// CHECK-NOT: "zb.add"
func.func @alone(%x: tensor<4x8xf32> {zb.input = "x"}, %w: tensor<8x6xf32> {zb.param = "l.w"}, %s: tensor<6xf32> {zb.param = "n.s"}, %y: tensor<4xi64> {zb.input = "y"}) -> (tensor<f32> {zb.loss}) {
  %p = "zb.matmul"(%x, %w) : (tensor<4x8xf32>, tensor<8x6xf32>) -> tensor<4x6xf32>
  %n:2 = "zb.rms_norm"(%p, %s) {axis = 1 : i64} : (tensor<4x6xf32>, tensor<6xf32>) -> (tensor<4x6xf32>, tensor<4x1xf32>)
  %l:2 = "zb.cross_entropy"(%n#0, %y) {reduction = "mean"} : (tensor<4x6xf32>, tensor<4xi64>) -> (tensor<f32>, tensor<4xf32>)
  return %l#0 : tensor<f32>
}
