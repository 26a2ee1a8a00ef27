// zb-canonicalize brings ops to one form and keeps the bits of every value.
// RUN: zb-opt --zb-canonicalize --split-input-file %s | FileCheck %s --enable-var-scope

// A transpose of the last two dimensions becomes a flag of the product, on either side; two cancel.
// CHECK-LABEL: func.func @transposes_into_products
// CHECK-SAME: (%[[X:.*]]: tensor<4x8xf32> {zb.input = "x"}, %[[W:.*]]: tensor<16x8xf32>
// CHECK-NEXT: %[[A:.*]] = "zb.matmul"(%[[X]], %[[W]]) {transpose_rhs = true}
// CHECK-NEXT: %[[B:.*]] = "zb.matmul"(%[[A]], %[[X]]) {transpose_lhs = true}
// CHECK-NEXT: %[[C:.*]] = "zb.matmul"(%[[B]], %[[W]]) {transpose_lhs = true}
// CHECK-NEXT: "zb.matmul"(%[[C]], %[[W]]) {transpose_rhs = true}
// CHECK-NOT: zb.transpose
func.func @transposes_into_products(%x: tensor<4x8xf32> {zb.input = "x"}, %w: tensor<16x8xf32> {zb.param = "w"}) -> tensor<8x16xf32> {
  %t = "zb.transpose"(%w) {permutation = array<i64: 1, 0>} : (tensor<16x8xf32>) -> tensor<8x16xf32>
  %a = "zb.matmul"(%x, %t) : (tensor<4x8xf32>, tensor<8x16xf32>) -> tensor<4x16xf32>
  %u = "zb.transpose"(%a) {permutation = array<i64: 1, 0>} : (tensor<4x16xf32>) -> tensor<16x4xf32>
  %b = "zb.matmul"(%u, %x) : (tensor<16x4xf32>, tensor<4x8xf32>) -> tensor<16x8xf32>
  %v = "zb.transpose"(%b) {permutation = array<i64: 1, 0>} : (tensor<16x8xf32>) -> tensor<8x16xf32>
  %v2 = "zb.transpose"(%w) {permutation = array<i64: 1, 0>} : (tensor<16x8xf32>) -> tensor<8x16xf32>
  %v3 = "zb.transpose"(%v2) {permutation = array<i64: 1, 0>} : (tensor<8x16xf32>) -> tensor<16x8xf32>
  %c = "zb.matmul"(%v, %v3) : (tensor<8x16xf32>, tensor<16x8xf32>) -> tensor<8x8xf32>
  %d = "zb.matmul"(%c, %t) : (tensor<8x8xf32>, tensor<8x16xf32>) -> tensor<8x16xf32>
  return %d : tensor<8x16xf32>
}

// -----

// What a transpose does beside swapping the last two stays (keys of an attention: 0, 2, 3, 1).
// CHECK-LABEL: func.func @keys
// CHECK: %[[K:.*]] = "zb.transpose"(%{{.*}}) {permutation = array<i64: 0, 2, 1, 3>} : (tensor<2x5x3x4xf32>) -> tensor<2x3x5x4xf32>
// CHECK: "zb.matmul"(%{{.*}}, %[[K]]) {transpose_rhs = true}
func.func @keys(%q: tensor<2x3x5x4xf32> {zb.input = "q"}, %k: tensor<2x5x3x4xf32> {zb.input = "k"}) -> tensor<2x3x5x5xf32> {
  %t = "zb.transpose"(%k) {permutation = array<i64: 0, 2, 3, 1>} : (tensor<2x5x3x4xf32>) -> tensor<2x3x4x5xf32>
  %s = "zb.matmul"(%q, %t) : (tensor<2x3x5x4xf32>, tensor<2x3x4x5xf32>) -> tensor<2x3x5x5xf32>
  return %s : tensor<2x3x5x5xf32>
}

// -----

// Views compose and identities go.
// CHECK-LABEL: func.func @views
// CHECK-SAME: (%[[X:.*]]: tensor<6x8xf32>
// CHECK-NEXT: %[[R:.*]] = "zb.reshape"(%[[X]]) {shape = array<i64: 2, 3, 8>} : (tensor<6x8xf32>) -> tensor<2x3x8xf32>
// CHECK-NEXT: %[[T:.*]] = "zb.transpose"(%[[R]]) {permutation = array<i64: 2, 0, 1>}
// CHECK-NEXT: %[[S:.*]] = "zb.slice"(%[[T]]) {sizes = array<i64: 2, 1, 3>, starts = array<i64: 3, 1, 0>, steps = array<i64: 4, 1, 1>}
// CHECK-NEXT: return %[[S]]
func.func @views(%x: tensor<6x8xf32> {zb.input = "x"}) -> tensor<2x1x3xf32> {
  %a = "zb.reshape"(%x) {shape = array<i64: 48>} : (tensor<6x8xf32>) -> tensor<48xf32>
  %b = "zb.reshape"(%a) {shape = array<i64: 2, 3, 8>} : (tensor<48xf32>) -> tensor<2x3x8xf32>
  %c = "zb.cast"(%b) {dtype = "f32"} : (tensor<2x3x8xf32>) -> tensor<2x3x8xf32>
  %d = "zb.transpose"(%c) {permutation = array<i64: 1, 2, 0>} : (tensor<2x3x8xf32>) -> tensor<3x8x2xf32>
  %e = "zb.transpose"(%d) {permutation = array<i64: 1, 2, 0>} : (tensor<3x8x2xf32>) -> tensor<8x2x3xf32>
  %f = "zb.transpose"(%e) {permutation = array<i64: 0, 1, 2>} : (tensor<8x2x3xf32>) -> tensor<8x2x3xf32>
  %g = "zb.slice"(%f) {starts = array<i64: 0, 0, 0>, sizes = array<i64: 8, 2, 3>, steps = array<i64: 1, 1, 1>}
    : (tensor<8x2x3xf32>) -> tensor<8x2x3xf32>
  %h = "zb.slice"(%g) {starts = array<i64: 1, 1, 0>, sizes = array<i64: 4, 1, 3>, steps = array<i64: 2, 1, 1>}
    : (tensor<8x2x3xf32>) -> tensor<4x1x3xf32>
  %i = "zb.slice"(%h) {starts = array<i64: 1, 0, 0>, sizes = array<i64: 2, 1, 3>, steps = array<i64: 2, 1, 1>}
    : (tensor<4x1x3xf32>) -> tensor<2x1x3xf32>
  %j = "zb.expand"(%i) {shape = array<i64: 2, 1, 3>} : (tensor<2x1x3xf32>) -> tensor<2x1x3xf32>
  return %j : tensor<2x1x3xf32>
}

// -----

// x*1, x/1, x-0 and x^1 go; x+0 stays, because it turns -0 into +0; x*1 stays where it broadcasts.
// CHECK-LABEL: func.func @neutral
// CHECK-SAME: (%[[X:.*]]: tensor<4xf32>
// CHECK-DAG: %[[ZERO:.*]] = "zb.constant"() {value = dense<0.000000e+00> : tensor<f32>}
// CHECK-DAG: %[[ONES:.*]] = "zb.constant"() {value = dense<1.000000e+00> : tensor<2x4xf32>}
// CHECK-DAG: %[[A:.*]] = "zb.add"(%[[X]], %[[ZERO]])
// CHECK: %[[B:.*]] = "zb.mul"(%[[A]], %[[ONES]])
// CHECK-NEXT: return %[[B]]
func.func @neutral(%x: tensor<4xf32> {zb.input = "x"}) -> tensor<2x4xf32> {
  %one = "zb.constant"() {value = dense<1.0> : tensor<f32>} : () -> tensor<f32>
  %zero = "zb.constant"() {value = dense<0.0> : tensor<f32>} : () -> tensor<f32>
  %ones = "zb.constant"() {value = dense<1.0> : tensor<2x4xf32>} : () -> tensor<2x4xf32>
  %a = "zb.mul"(%one, %x) : (tensor<f32>, tensor<4xf32>) -> tensor<4xf32>
  %b = "zb.div"(%a, %one) : (tensor<4xf32>, tensor<f32>) -> tensor<4xf32>
  %c = "zb.sub"(%b, %zero) : (tensor<4xf32>, tensor<f32>) -> tensor<4xf32>
  %d = "zb.pow"(%c, %one) : (tensor<4xf32>, tensor<f32>) -> tensor<4xf32>
  %e = "zb.neg"(%d) : (tensor<4xf32>) -> tensor<4xf32>
  %f = "zb.neg"(%e) : (tensor<4xf32>) -> tensor<4xf32>
  %g = "zb.add"(%f, %zero) : (tensor<4xf32>, tensor<f32>) -> tensor<4xf32>
  %h = "zb.mul"(%g, %ones) : (tensor<4xf32>, tensor<2x4xf32>) -> tensor<2x4xf32>
  return %h : tensor<2x4xf32>
}

// -----

// A constant behind zb.expand goes direct where the op broadcasts; an expand that gives the result its shape stays.
// CHECK-LABEL: func.func @broadcast
// CHECK-SAME: (%[[X:.*]]: tensor<2x4xf32> {zb.input = "x"}, %[[Y:.*]]: tensor<4xf32>
// CHECK: %[[C:.*]] = "zb.constant"() {value = dense<3.000000e+00> : tensor<f32>}
// CHECK: %[[A:.*]] = "zb.mul"(%[[X]], %[[C]])
// CHECK: %[[E:.*]] = "zb.expand"(%[[Y]]) {shape = array<i64: 5, 2, 4>}
// CHECK: "zb.add"(%[[A]], %[[E]])
func.func @broadcast(%x: tensor<2x4xf32> {zb.input = "x"}, %y: tensor<4xf32> {zb.input = "y"}) -> tensor<5x2x4xf32> {
  %c = "zb.constant"() {value = dense<3.0> : tensor<f32>} : () -> tensor<f32>
  %d = "zb.expand"(%c) {shape = array<i64: 2, 4>} : (tensor<f32>) -> tensor<2x4xf32>
  %a = "zb.mul"(%x, %d) : (tensor<2x4xf32>, tensor<2x4xf32>) -> tensor<2x4xf32>
  %e = "zb.expand"(%y) {shape = array<i64: 5, 2, 4>} : (tensor<4xf32>) -> tensor<5x2x4xf32>
  %b = "zb.add"(%a, %e) : (tensor<2x4xf32>, tensor<5x2x4xf32>) -> tensor<5x2x4xf32>
  return %b : tensor<5x2x4xf32>
}

// -----

// Constants: reshapes, casts and scalar arithmetic that is rounded once.
// CHECK-LABEL: func.func @constants
// CHECK: %[[A:.*]] = "zb.constant"() {value = dense<{{\[}}[1.000000e+00, 2.000000e+00], [3.000000e+00, 4.000000e+00]]> : tensor<2x2xf32>}
// CHECK-NEXT: %[[B:.*]] = "zb.constant"() {value = dense<0.333333343> : tensor<f32>}
// CHECK-NEXT: return %[[A]], %[[B]]
func.func @constants() -> (tensor<2x2xf32>, tensor<f32>) {
  %i = "zb.constant"() {value = dense<[1, 2, 3, 4]> : tensor<4xi64>} : () -> tensor<4xi64>
  %f = "zb.cast"(%i) {dtype = "f32"} : (tensor<4xi64>) -> tensor<4xf32>
  %r = "zb.reshape"(%f) {shape = array<i64: 2, 2>} : (tensor<4xf32>) -> tensor<2x2xf32>
  %four = "zb.constant"() {value = dense<4.0> : tensor<f32>} : () -> tensor<f32>
  %one = "zb.constant"() {value = dense<1.0> : tensor<f32>} : () -> tensor<f32>
  %three = "zb.sub"(%four, %one) : (tensor<f32>, tensor<f32>) -> tensor<f32>
  %third = "zb.div"(%one, %three) : (tensor<f32>, tensor<f32>) -> tensor<f32>
  return %r, %third : tensor<2x2xf32>, tensor<f32>
}

// -----

// A reduction over a dimension of size 1 is a reshape.
// CHECK-LABEL: func.func @reduce_nothing
// CHECK-NEXT: "zb.reshape"(%{{.*}}) {shape = array<i64: 4>} : (tensor<4x1xf32>) -> tensor<4xf32>
// CHECK-NEXT: return
func.func @reduce_nothing(%x: tensor<4x1xf32> {zb.input = "x"}) -> tensor<4xf32> {
  %a = "zb.reduce_sum"(%x) {axes = array<i64: 1>} : (tensor<4x1xf32>) -> tensor<4xf32>
  return %a : tensor<4xf32>
}

// -----

// Nothing to do: also ops that nobody reads stay then.
// CHECK-LABEL: func.func @no_change
// CHECK-NEXT: "zb.exp"
// CHECK-NEXT: "zb.transpose"(%{{.*}}) {permutation = array<i64: 1, 0>}
// CHECK-NEXT: "zb.reshape"
// CHECK-NEXT: return
func.func @no_change(%x: tensor<4x8xf32> {zb.input = "x"}) -> tensor<32xf32> {
  %unread = "zb.exp"(%x) : (tensor<4x8xf32>) -> tensor<4x8xf32>
  %t = "zb.transpose"(%x) {permutation = array<i64: 1, 0>} : (tensor<4x8xf32>) -> tensor<8x4xf32>
  %r = "zb.reshape"(%t) {shape = array<i64: 32>} : (tensor<8x4xf32>) -> tensor<32xf32>
  return %r : tensor<32xf32>
}

// -----

// Forward ops of a differentiated program stay, for gradient ops name them; a transpose that the product of a gradient op absorbs
// keeps its rest in that op's stage.
// CHECK-LABEL: func.func @numbered
// CHECK: "zb.reshape"(%{{[a-z0-9]+}}) {shape = array<i64: 2, 5, 3, 4>, zb.id = 0 : i64}
// CHECK: %[[T:.*]] = "zb.transpose"(%{{[a-z0-9]+}}) {permutation = array<i64: 0, 2, 1, 3>, zb.of = 2 : i64}
// CHECK: "zb.matmul"(%{{[a-z0-9]+}}, %[[T]]) {transpose_rhs = true, zb.of = 2 : i64}
module attributes {zb.level = "split"} {
  func.func @numbered(%q: tensor<2x3x5x4xf32> {zb.input = "q"}, %k: tensor<2x5x3x4xf32> {zb.input = "k"})
      -> (tensor<2x3x5x5xf32>, tensor<2x5x3x4xf32>) {
    %r = "zb.reshape"(%k) {shape = array<i64: 2, 5, 3, 4>, zb.id = 0 : i64} : (tensor<2x5x3x4xf32>) -> tensor<2x5x3x4xf32>
    %t = "zb.transpose"(%r) {permutation = array<i64: 0, 2, 3, 1>, zb.id = 1 : i64} : (tensor<2x5x3x4xf32>) -> tensor<2x3x4x5xf32>
    %s = "zb.matmul"(%q, %t) {zb.of = 2 : i64} : (tensor<2x3x5x4xf32>, tensor<2x3x4x5xf32>) -> tensor<2x3x5x5xf32>
    return %s, %r : tensor<2x3x5x5xf32>, tensor<2x5x3x4xf32>
  }
}

// -----

// PyTorch's exporter joins batch and heads around the transpose of keys: it becomes a flag of the product all the same.
// CHECK-LABEL: func.func @joined_keys
// CHECK-SAME: (%[[Q:.*]]: tensor<2x3x5x4xf32> {zb.input = "q"}, %[[K:.*]]: tensor<2x3x6x4xf32>
// CHECK-NEXT: "zb.matmul"(%[[Q]], %[[K]]) {transpose_rhs = true}
func.func @joined_keys(%q: tensor<2x3x5x4xf32> {zb.input = "q"}, %k: tensor<2x3x6x4xf32> {zb.input = "k"}) -> tensor<2x3x5x6xf32> {
  %a = "zb.reshape"(%k) {shape = array<i64: 6, 6, 4>} : (tensor<2x3x6x4xf32>) -> tensor<6x6x4xf32>
  %b = "zb.transpose"(%a) {permutation = array<i64: 0, 2, 1>} : (tensor<6x6x4xf32>) -> tensor<6x4x6xf32>
  %c = "zb.reshape"(%b) {shape = array<i64: 2, 3, 4, 6>} : (tensor<6x4x6xf32>) -> tensor<2x3x4x6xf32>
  %s = "zb.matmul"(%q, %c) : (tensor<2x3x5x4xf32>, tensor<2x3x4x6xf32>) -> tensor<2x3x5x6xf32>
  return %s : tensor<2x3x5x6xf32>
}

// -----

// A reshape that takes the swapped dimensions apart stays.
// CHECK-LABEL: func.func @split_keys
// CHECK: "zb.transpose"(%{{.*}}) {permutation = array<i64: 0, 2, 1>}
// CHECK-NEXT: "zb.reshape"(%{{.*}}) {shape = array<i64: 6, 2, 12>}
func.func @split_keys(%k: tensor<6x6x4xf32> {zb.input = "k"}) -> tensor<6x2x12xf32> {
  %b = "zb.transpose"(%k) {permutation = array<i64: 0, 2, 1>} : (tensor<6x6x4xf32>) -> tensor<6x4x6xf32>
  %c = "zb.reshape"(%b) {shape = array<i64: 6, 2, 12>} : (tensor<6x4x6xf32>) -> tensor<6x2x12xf32>
  return %c : tensor<6x2x12xf32>
}

// -----

// Dropout of nothing goes; that of something stays.
// CHECK-LABEL: func.func @dropout
// CHECK-NEXT: %[[D:.*]] = "zb.dropout"(%arg0, %arg1) {op = 1 : i64
// CHECK-NEXT: return %[[D]]
func.func @dropout(%x: tensor<4xf32> {zb.input = "x"}, %c: tensor<4xi64> {zb.input = "zb.counter"}) -> tensor<4xf32> {
  %a = "zb.dropout"(%x, %c) {rate = 0.0, op = 0 : i64} : (tensor<4xf32>, tensor<4xi64>) -> tensor<4xf32>
  %b = "zb.dropout"(%a, %c) {rate = 0.5, op = 1 : i64} : (tensor<4xf32>, tensor<4xi64>) -> tensor<4xf32>
  return %b : tensor<4xf32>
}

// -----

// What is handed out is computed by an op: one that does nothing stays where the input would take its place.
// CHECK-LABEL: func.func @handed_out
// CHECK-NEXT: %[[A:.*]] = "zb.reduce_max"(%arg0)
// CHECK-NEXT: %[[E:.*]] = "zb.exp"(%arg0)
// CHECK-NEXT: return %[[A]], %[[E]]
func.func @handed_out(%x: tensor<1xf32> {zb.input = "x"}) -> (tensor<1xf32> {zb.output = "a"}, tensor<1xf32> {zb.output = "b"}) {
  %a = "zb.reduce_max"(%x) {axes = array<i64: 0>, keepdims = true} : (tensor<1xf32>) -> tensor<1xf32>
  %e = "zb.exp"(%x) : (tensor<1xf32>) -> tensor<1xf32>
  %b = "zb.reduce_max"(%e) {axes = array<i64: 0>, keepdims = true} : (tensor<1xf32>) -> tensor<1xf32>
  return %a, %b : tensor<1xf32>, tensor<1xf32>
}
