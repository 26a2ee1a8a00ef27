// zb-layout: views are strides where their readers take them, copies where not; products add into sums themselves.
// RUN: zb-opt --zb-layout --split-input-file %s | FileCheck %s

// Heads of a fused projection: split, reshape and transpose are strides for a product; nothing is copied.
// CHECK-LABEL: func.func @heads
// CHECK-NOT: zb.contiguous
// CHECK: return
module attributes {zb.level = "split"} {
  func.func @heads(%x: tensor<2x5x24xf32> {zb.input = "x"}) -> tensor<2x3x5x5xf32> {
    %q, %k = "zb.split"(%x) {axis = 2 : i64, sizes = array<i64: 12, 12>} : (tensor<2x5x24xf32>) -> (tensor<2x5x12xf32>, tensor<2x5x12xf32>)
    %q4 = "zb.reshape"(%q) {shape = array<i64: 2, 5, 3, 4>} : (tensor<2x5x12xf32>) -> tensor<2x5x3x4xf32>
    %k4 = "zb.reshape"(%k) {shape = array<i64: 2, 5, 3, 4>} : (tensor<2x5x12xf32>) -> tensor<2x5x3x4xf32>
    %qt = "zb.transpose"(%q4) {permutation = array<i64: 0, 2, 1, 3>} : (tensor<2x5x3x4xf32>) -> tensor<2x3x5x4xf32>
    %kt = "zb.transpose"(%k4) {permutation = array<i64: 0, 2, 1, 3>} : (tensor<2x5x3x4xf32>) -> tensor<2x3x5x4xf32>
    %s = "zb.matmul"(%qt, %kt) {transpose_rhs = true} : (tensor<2x3x5x4xf32>, tensor<2x3x5x4xf32>) -> tensor<2x3x5x5xf32>
    return %s : tensor<2x3x5x5xf32>
  }
}

// -----

// Heads merged again: strides cannot express the reshape, so the transposed value is copied before it.
// CHECK-LABEL: func.func @merge_heads
// CHECK: %[[T:.*]] = "zb.transpose"
// CHECK-NEXT: %[[C:.*]] = "zb.contiguous"(%[[T]]) :
// CHECK-NEXT: "zb.reshape"(%[[C]])
module attributes {zb.level = "split"} {
  func.func @merge_heads(%x: tensor<2x3x5x4xf32> {zb.input = "x"}) -> tensor<10x12xf32> {
    %t = "zb.transpose"(%x) {permutation = array<i64: 0, 2, 1, 3>} : (tensor<2x3x5x4xf32>) -> tensor<2x5x3x4xf32>
    %r = "zb.reshape"(%t) {shape = array<i64: 10, 12>} : (tensor<2x5x3x4xf32>) -> tensor<10x12xf32>
    return %r : tensor<10x12xf32>
  }
}

// -----

// A kernel that takes dense data only gets a copy; forward readers share it; a gradient op takes the copy that its forward op read.
// CHECK-LABEL: func.func @copies
// CHECK: %[[T:.*]] = "zb.transpose"
// CHECK-NEXT: %[[C:.*]] = "zb.contiguous"(%[[T]]) :
// CHECK-NEXT: "zb.softmax"(%[[C]]) {axis = 1 : i64, zb.id = 1 : i64}
// CHECK-NEXT: "zb.log_softmax"(%[[C]]) {axis = 1 : i64, zb.id = 2 : i64}
// CHECK-NEXT: "zb.softmax_grad"(%[[C]], %{{.*}}) {axis = 1 : i64, zb.of = 1 : i64}
// CHECK-NEXT: %[[D:.*]] = "zb.contiguous"(%[[T]]) {zb.of = 0 : i64}
// CHECK-NEXT: "zb.softmax_grad"(%[[D]], %{{.*}}) {axis = 1 : i64, zb.of = 0 : i64}
// CHECK-NEXT: "zb.softmax_grad"(%[[D]], %{{.*}}) {axis = 0 : i64, zb.of = 0 : i64}
module attributes {zb.level = "split"} {
  func.func @copies(%x: tensor<8x4xf32> {zb.input = "x"}, %d: tensor<4x8xf32> {zb.input = "d"})
      -> (tensor<4x8xf32>, tensor<4x8xf32>, tensor<4x8xf32>, tensor<4x8xf32>, tensor<4x8xf32>) {
    %t = "zb.transpose"(%x) {permutation = array<i64: 1, 0>, zb.id = 0 : i64} : (tensor<8x4xf32>) -> tensor<4x8xf32>
    %a = "zb.softmax"(%t) {axis = 1 : i64, zb.id = 1 : i64} : (tensor<4x8xf32>) -> tensor<4x8xf32>
    %b = "zb.log_softmax"(%t) {axis = 1 : i64, zb.id = 2 : i64} : (tensor<4x8xf32>) -> tensor<4x8xf32>
    %e = "zb.softmax_grad"(%t, %d) {axis = 1 : i64, zb.of = 1 : i64} : (tensor<4x8xf32>, tensor<4x8xf32>) -> tensor<4x8xf32>
    %f = "zb.softmax_grad"(%t, %d) {axis = 1 : i64, zb.of = 0 : i64} : (tensor<4x8xf32>, tensor<4x8xf32>) -> tensor<4x8xf32>
    %g = "zb.softmax_grad"(%t, %d) {axis = 0 : i64, zb.of = 0 : i64} : (tensor<4x8xf32>, tensor<4x8xf32>) -> tensor<4x8xf32>
    return %a, %b, %e, %f, %g : tensor<4x8xf32>, tensor<4x8xf32>, tensor<4x8xf32>, tensor<4x8xf32>, tensor<4x8xf32>
  }
}

// -----

// A product takes one unit stride of the last two: columns of every second element are copied, broadcast matrices are not.
// CHECK-LABEL: func.func @product
// CHECK: %[[S:.*]] = "zb.slice"
// CHECK-NEXT: %[[E:.*]] = "zb.expand"
// CHECK-NEXT: %[[C:.*]] = "zb.contiguous"(%[[S]])
// CHECK-NEXT: "zb.matmul"(%[[C]], %[[E]])
module attributes {zb.level = "split"} {
  func.func @product(%x: tensor<2x4x8xf32> {zb.input = "x"}, %w: tensor<4x3xf32> {zb.param = "w"}) -> tensor<2x4x3xf32> {
    %s = "zb.slice"(%x) {starts = array<i64: 0, 0, 0>, sizes = array<i64: 2, 4, 4>, steps = array<i64: 1, 1, 2>}
      : (tensor<2x4x8xf32>) -> tensor<2x4x4xf32>
    %e = "zb.expand"(%w) {shape = array<i64: 2, 4, 3>} : (tensor<4x3xf32>) -> tensor<2x4x3xf32>
    %m = "zb.matmul"(%s, %e) : (tensor<2x4x4xf32>, tensor<2x4x3xf32>) -> tensor<2x4x3xf32>
    return %m : tensor<2x4x3xf32>
  }
}

// -----

// What is returned is dense.
// CHECK-LABEL: func.func @returned
// CHECK: %[[T:.*]] = "zb.transpose"
// CHECK-NEXT: %[[C:.*]] = "zb.contiguous"(%[[T]])
// CHECK-NEXT: return %[[C]]
module attributes {zb.level = "split"} {
  func.func @returned(%x: tensor<8x4xf32> {zb.input = "x"}) -> tensor<4x8xf32> {
    %t = "zb.transpose"(%x) {permutation = array<i64: 1, 0>} : (tensor<8x4xf32>) -> tensor<4x8xf32>
    return %t : tensor<4x8xf32>
  }
}

// -----

// A product adds into its sum, through reshapes; not into one with another reader, nor into an op that cannot add; what is
// transposed is copied first.
// CHECK-LABEL: func.func @adds
// CHECK: "zb.accumulate"(%{{.*}}) {parameter = "a", use = 0 : i64, zb.in_product}
// CHECK: "zb.accumulate"(%{{.*}}) {parameter = "b", use = 0 : i64, zb.in_product}
// CHECK: "zb.accumulate"(%{{.*}}) {parameter = "c", use = 0 : i64}
// CHECK: "zb.accumulate"(%{{.*}}) {parameter = "d", use = 0 : i64}
// CHECK: %[[C:.*]] = "zb.contiguous"(%{{.*}}) {zb.of = 5 : i64}
// CHECK-NEXT: "zb.accumulate"(%[[C]]) {parameter = "e", use = 0 : i64, zb.of = 5 : i64}
module attributes {zb.level = "split"} {
  func.func @adds(%x: tensor<4x8xf32> {zb.input = "x"}, %d: tensor<4x6xf32> {zb.input = "d"})
      -> (tensor<8x6xf32>, tensor<48xf32>, tensor<8x6xf32>, tensor<8x6xf32>, tensor<8xf32>, tensor<6x8xf32>) {
    %p = "zb.matmul"(%x, %d) {transpose_lhs = true} : (tensor<4x8xf32>, tensor<4x6xf32>) -> tensor<8x6xf32>
    %a = "zb.accumulate"(%p) {parameter = "a", use = 0 : i64} : (tensor<8x6xf32>) -> tensor<8x6xf32>
    %q = "zb.matmul"(%x, %d) {transpose_lhs = true} : (tensor<4x8xf32>, tensor<4x6xf32>) -> tensor<8x6xf32>
    %q1 = "zb.reshape"(%q) {shape = array<i64: 6, 8>} : (tensor<8x6xf32>) -> tensor<6x8xf32>
    %q2 = "zb.reshape"(%q1) {shape = array<i64: 48>} : (tensor<6x8xf32>) -> tensor<48xf32>
    %b = "zb.accumulate"(%q2) {parameter = "b", use = 0 : i64} : (tensor<48xf32>) -> tensor<48xf32>
    %r = "zb.matmul"(%x, %d) {transpose_lhs = true} : (tensor<4x8xf32>, tensor<4x6xf32>) -> tensor<8x6xf32>
    %c = "zb.accumulate"(%r) {parameter = "c", use = 0 : i64} : (tensor<8x6xf32>) -> tensor<8x6xf32>
    %s = "zb.reduce_max"(%x) {axes = array<i64: 0>} : (tensor<4x8xf32>) -> tensor<8xf32>
    %e = "zb.accumulate"(%s) {parameter = "d", use = 0 : i64} : (tensor<8xf32>) -> tensor<8xf32>
    %t = "zb.transpose"(%r) {permutation = array<i64: 1, 0>} : (tensor<8x6xf32>) -> tensor<6x8xf32>
    %f = "zb.accumulate"(%t) {parameter = "e", use = 0 : i64, zb.of = 5 : i64} : (tensor<6x8xf32>) -> tensor<6x8xf32>
    return %a, %b, %c, %r, %e, %f : tensor<8x6xf32>, tensor<48xf32>, tensor<8x6xf32>, tensor<8x6xf32>, tensor<8xf32>, tensor<6x8xf32>
  }
}

// -----

// Dense data everywhere: no change. A slice of whole rows is dense at an offset.
// CHECK-LABEL: func.func @no_change
// CHECK-NOT: zb.contiguous
// CHECK: return
module attributes {zb.level = "split"} {
  func.func @no_change(%x: tensor<8x4xf32> {zb.input = "x"}) -> tensor<2x8xf32> {
    %s = "zb.slice"(%x) {starts = array<i64: 2, 0>, sizes = array<i64: 4, 4>, steps = array<i64: 1, 1>} : (tensor<8x4xf32>) -> tensor<4x4xf32>
    %r = "zb.reshape"(%s) {shape = array<i64: 2, 8>} : (tensor<4x4xf32>) -> tensor<2x8xf32>
    %a = "zb.softmax"(%r) {axis = 1 : i64} : (tensor<2x8xf32>) -> tensor<2x8xf32>
    return %a : tensor<2x8xf32>
  }
}
