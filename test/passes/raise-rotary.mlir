// zb-raise: rotary embedding, halves of the last dimension turned.
// RUN: zb-opt --zb-raise --split-input-file %s | FileCheck %s
// RUN: zb-opt --zb-raise=only=bias --split-input-file %s | FileCheck %s --check-prefix=ONLY
// RUN: zb-opt --zb-raise --zb-autodiff=optimizer=sgd:lr=1 --zb-split-grad --zb-dce --zb-layout --zb-partition --zb-classify %S/Inputs/turned.mlir | FileCheck %s --check-prefix=GRAD

// The gradient needs the tables alone: nothing is saved for it. It lies in B.
// GRAD: %[[X:.*]] = "zb.matmul"(%arg0, %arg1)
// GRAD: %[[Y:.*]] = "zb.rotary"(%[[X]], %arg2, %arg3)
// GRAD: "zb.rotary_grad"(%{{.*}}, %arg2, %arg3) {{{.*}}zb.class = "B"
// GRAD: "zb.matmul"(%arg0, %{{.*}}) {{{.*}}zb.class = "W"

// As transformers exports it.
// CHECK-LABEL: func.func @slices
// CHECK-SAME: (%[[X:[a-z0-9]+]]: {{.*}}, %[[C:[a-z0-9]+]]: {{.*}}, %[[S:[a-z0-9]+]]:
// CHECK-NEXT: %[[Y:.*]] = "zb.rotary"(%[[X]], %[[C]], %[[S]]) : (tensor<2x4x3x8xf32>, tensor<1x1x3x8xf32>, tensor<1x1x3x8xf32>) -> tensor<2x4x3x8xf32>
// CHECK-NEXT: return %[[Y]]
// ONLY-LABEL: func.func @slices
// ONLY: zb.concat
// ONLY-NOT: zb.rotary
func.func @slices(%x: tensor<2x4x3x8xf32> {zb.input = "x"}, %cos: tensor<1x1x3x8xf32> {zb.input = "c"}, %sin: tensor<1x1x3x8xf32> {zb.input = "s"}) -> tensor<2x4x3x8xf32> {
  %a = "zb.mul"(%x, %cos) : (tensor<2x4x3x8xf32>, tensor<1x1x3x8xf32>) -> tensor<2x4x3x8xf32>
  %h = "zb.slice"(%x) {starts = array<i64: 0, 0, 0, 4>, sizes = array<i64: 2, 4, 3, 4>, steps = array<i64: 1, 1, 1, 1>} : (tensor<2x4x3x8xf32>) -> tensor<2x4x3x4xf32>
  %n = "zb.neg"(%h) : (tensor<2x4x3x4xf32>) -> tensor<2x4x3x4xf32>
  %l = "zb.slice"(%x) {starts = array<i64: 0, 0, 0, 0>, sizes = array<i64: 2, 4, 3, 4>, steps = array<i64: 1, 1, 1, 1>} : (tensor<2x4x3x8xf32>) -> tensor<2x4x3x4xf32>
  %r = "zb.concat"(%n, %l) {axis = 3 : i64} : (tensor<2x4x3x4xf32>, tensor<2x4x3x4xf32>) -> tensor<2x4x3x8xf32>
  %b = "zb.mul"(%r, %sin) : (tensor<2x4x3x8xf32>, tensor<1x1x3x8xf32>) -> tensor<2x4x3x8xf32>
  %y = "zb.add"(%a, %b) : (tensor<2x4x3x8xf32>, tensor<2x4x3x8xf32>) -> tensor<2x4x3x8xf32>
  return %y : tensor<2x4x3x8xf32>
}

// -----

// Halves by zb.split, tables with fewer dimensions, the other order of factors and summands.
// CHECK-LABEL: func.func @split
// CHECK-SAME: (%[[X:[a-z0-9]+]]: {{.*}}, %[[C:[a-z0-9]+]]: {{.*}}, %[[S:[a-z0-9]+]]:
// CHECK-NEXT: %[[Y:.*]] = "zb.rotary"(%[[X]], %[[C]], %[[S]]) : (tensor<2x3x8xf32>, tensor<3x8xf32>, tensor<3x8xf32>) -> tensor<2x3x8xf32>
// CHECK-NEXT: return %[[Y]]
func.func @split(%x: tensor<2x3x8xf32> {zb.input = "x"}, %cos: tensor<3x8xf32> {zb.input = "c"}, %sin: tensor<3x8xf32> {zb.input = "s"}) -> tensor<2x3x8xf32> {
  %l, %h = "zb.split"(%x) {axis = 2 : i64, sizes = array<i64: 4, 4>} : (tensor<2x3x8xf32>) -> (tensor<2x3x4xf32>, tensor<2x3x4xf32>)
  %n = "zb.neg"(%h) : (tensor<2x3x4xf32>) -> tensor<2x3x4xf32>
  %r = "zb.concat"(%n, %l) {axis = 2 : i64} : (tensor<2x3x4xf32>, tensor<2x3x4xf32>) -> tensor<2x3x8xf32>
  %b = "zb.mul"(%sin, %r) : (tensor<3x8xf32>, tensor<2x3x8xf32>) -> tensor<2x3x8xf32>
  %a = "zb.mul"(%cos, %x) : (tensor<3x8xf32>, tensor<2x3x8xf32>) -> tensor<2x3x8xf32>
  %y = "zb.add"(%b, %a) : (tensor<2x3x8xf32>, tensor<2x3x8xf32>) -> tensor<2x3x8xf32>
  return %y : tensor<2x3x8xf32>
}

// -----

// The first half negative (a turn the other way), halves of another value, a trained table, a concat with another reader: these stay.
// CHECK-LABEL: func.func @others
// CHECK-NOT: zb.rotary
// CHECK: return
func.func @others(%x: tensor<3x4xf32> {zb.input = "x"}, %z: tensor<3x4xf32> {zb.input = "z"}, %cos: tensor<4xf32> {zb.input = "c"}, %sin: tensor<4xf32> {zb.input = "s"}, %w: tensor<4xf32> {zb.param = "t.w"}) -> (tensor<3x4xf32>, tensor<3x4xf32>, tensor<3x4xf32>, tensor<3x4xf32>, tensor<3x4xf32>) {
  %l, %h = "zb.split"(%x) {axis = 1 : i64, sizes = array<i64: 2, 2>} : (tensor<3x4xf32>) -> (tensor<3x2xf32>, tensor<3x2xf32>)
  %a = "zb.mul"(%x, %cos) : (tensor<3x4xf32>, tensor<4xf32>) -> tensor<3x4xf32>
  %n0 = "zb.neg"(%l) : (tensor<3x2xf32>) -> tensor<3x2xf32>
  %r0 = "zb.concat"(%h, %n0) {axis = 1 : i64} : (tensor<3x2xf32>, tensor<3x2xf32>) -> tensor<3x4xf32>
  %b0 = "zb.mul"(%r0, %sin) : (tensor<3x4xf32>, tensor<4xf32>) -> tensor<3x4xf32>
  %y0 = "zb.add"(%a, %b0) : (tensor<3x4xf32>, tensor<3x4xf32>) -> tensor<3x4xf32>
  %c = "zb.mul"(%z, %cos) : (tensor<3x4xf32>, tensor<4xf32>) -> tensor<3x4xf32>
  %n1 = "zb.neg"(%h) : (tensor<3x2xf32>) -> tensor<3x2xf32>
  %r1 = "zb.concat"(%n1, %l) {axis = 1 : i64} : (tensor<3x2xf32>, tensor<3x2xf32>) -> tensor<3x4xf32>
  %b1 = "zb.mul"(%r1, %sin) : (tensor<3x4xf32>, tensor<4xf32>) -> tensor<3x4xf32>
  %y1 = "zb.add"(%c, %b1) : (tensor<3x4xf32>, tensor<3x4xf32>) -> tensor<3x4xf32>
  %d = "zb.mul"(%x, %cos) : (tensor<3x4xf32>, tensor<4xf32>) -> tensor<3x4xf32>
  %n2 = "zb.neg"(%h) : (tensor<3x2xf32>) -> tensor<3x2xf32>
  %r2 = "zb.concat"(%n2, %l) {axis = 1 : i64} : (tensor<3x2xf32>, tensor<3x2xf32>) -> tensor<3x4xf32>
  %b2 = "zb.mul"(%r2, %w) : (tensor<3x4xf32>, tensor<4xf32>) -> tensor<3x4xf32>
  %y2 = "zb.add"(%d, %b2) : (tensor<3x4xf32>, tensor<3x4xf32>) -> tensor<3x4xf32>
  %e = "zb.mul"(%x, %cos) : (tensor<3x4xf32>, tensor<4xf32>) -> tensor<3x4xf32>
  %n3 = "zb.neg"(%h) : (tensor<3x2xf32>) -> tensor<3x2xf32>
  %r3 = "zb.concat"(%n3, %l) {axis = 1 : i64} : (tensor<3x2xf32>, tensor<3x2xf32>) -> tensor<3x4xf32>
  %b3 = "zb.mul"(%r3, %sin) : (tensor<3x4xf32>, tensor<4xf32>) -> tensor<3x4xf32>
  %y3 = "zb.add"(%e, %b3) : (tensor<3x4xf32>, tensor<3x4xf32>) -> tensor<3x4xf32>
  return %y0, %y1, %y2, %y3, %r3 : tensor<3x4xf32>, tensor<3x4xf32>, tensor<3x4xf32>, tensor<3x4xf32>, tensor<3x4xf32>
}
