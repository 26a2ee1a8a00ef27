// zb-cse merges pure ops that compute the same, except uses of parameters.
// RUN: zb-opt --zb-cse --allow-unregistered-dialect --split-input-file %s | FileCheck %s --enable-var-scope

// Merging one pair makes the next one equal; a commutative op is the same in both orders; locations do not count.
// CHECK-LABEL: func.func @merge
// CHECK-SAME: (%[[X:.*]]: tensor<4xf32>
// CHECK-NEXT: %[[A:.*]] = "zb.exp"(%[[X]])
// CHECK-NEXT: %[[C:.*]] = "zb.add"(%[[A]], %[[X]])
// CHECK-NEXT: %[[D:.*]] = "zb.mul"(%[[C]], %[[C]])
// CHECK-NEXT: return %[[D]]
func.func @merge(%x: tensor<4xf32> {zb.input = "x"}) -> tensor<4xf32> {
  %a = "zb.exp"(%x) : (tensor<4xf32>) -> tensor<4xf32>
  %b = "zb.exp"(%x) : (tensor<4xf32>) -> tensor<4xf32> loc("other")
  %c = "zb.add"(%a, %x) : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  %d = "zb.add"(%x, %b) : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  %e = "zb.mul"(%c, %d) : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  return %e : tensor<4xf32>
}

// -----

// Other attributes, other operands, another order where it matters: nothing is merged.
// CHECK-LABEL: func.func @no_change
// CHECK: "zb.sub"(%[[X:[a-z0-9]+]], %[[Y:[a-z0-9]+]])
// CHECK: "zb.sub"(%[[Y]], %[[X]])
// CHECK: "zb.softmax"(%{{.*}}) {axis = 0 : i64}
// CHECK: "zb.softmax"(%{{.*}}) {axis = 1 : i64}
func.func @no_change(%x: tensor<4x4xf32> {zb.input = "x"}, %y: tensor<4x4xf32> {zb.input = "y"}) -> (tensor<4x4xf32>, tensor<4x4xf32>) {
  %a = "zb.sub"(%x, %y) : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
  %b = "zb.sub"(%y, %x) : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
  %c = "zb.add"(%a, %b) : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
  %d = "zb.softmax"(%c) {axis = 0 : i64} : (tensor<4x4xf32>) -> tensor<4x4xf32>
  %e = "zb.softmax"(%c) {axis = 1 : i64} : (tensor<4x4xf32>) -> tensor<4x4xf32>
  return %d, %e : tensor<4x4xf32>, tensor<4x4xf32>
}

// -----

// A use of a parameter is one chain: the two transposes of %w stay two. Constants are merged.
// CHECK-LABEL: func.func @parameter_chains
// CHECK-COUNT-1: "zb.constant"
// CHECK-NOT: "zb.constant"
// CHECK-COUNT-2: "zb.transpose"
func.func @parameter_chains(%x: tensor<4x4xf32> {zb.input = "x"}, %w: tensor<4x4xf32> {zb.param = "w"}) -> tensor<4x4xf32> {
  %c = "zb.constant"() {value = dense<2.0> : tensor<f32>} : () -> tensor<f32>
  %d = "zb.constant"() {value = dense<2.0> : tensor<f32>} : () -> tensor<f32>
  %t = "zb.transpose"(%w) {permutation = array<i64: 1, 0>} : (tensor<4x4xf32>) -> tensor<4x4xf32>
  %u = "zb.transpose"(%w) {permutation = array<i64: 1, 0>} : (tensor<4x4xf32>) -> tensor<4x4xf32>
  %a = "zb.add"(%x, %t) : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
  %b = "zb.mul"(%a, %u) : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
  %e = "zb.mul"(%b, %c) : (tensor<4x4xf32>, tensor<f32>) -> tensor<4x4xf32>
  %f = "zb.mul"(%e, %d) : (tensor<4x4xf32>, tensor<f32>) -> tensor<4x4xf32>
  return %f : tensor<4x4xf32>
}

// -----

// Gradient ops of different forward ops stay apart, those of one are merged; numbered forward ops stay. Ops that nobody described are never
// merged.
// CHECK-LABEL: func.func @marks
// CHECK-COUNT-1: "zb.tanh"(%{{.*}}) {zb.id = 1 : i64}
// CHECK-COUNT-1: "zb.tanh"(%{{.*}}) {zb.id = 2 : i64}
// CHECK-COUNT-1: "zb.exp"(%{{.*}}) {zb.of = 1 : i64}
// CHECK-COUNT-1: "zb.exp"(%{{.*}}) {zb.of = 2 : i64}
// CHECK-COUNT-2: "foreign.noise"
func.func @marks(%x: tensor<4xf32> {zb.input = "x"})
    -> (tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>) {
  %f = "zb.tanh"(%x) {zb.id = 1 : i64} : (tensor<4xf32>) -> tensor<4xf32>
  %g = "zb.tanh"(%x) {zb.id = 2 : i64} : (tensor<4xf32>) -> tensor<4xf32>
  %a = "zb.exp"(%x) {zb.of = 1 : i64} : (tensor<4xf32>) -> tensor<4xf32>
  %b = "zb.exp"(%x) {zb.of = 2 : i64} : (tensor<4xf32>) -> tensor<4xf32>
  %c = "zb.exp"(%x) {zb.of = 1 : i64} : (tensor<4xf32>) -> tensor<4xf32>
  %d = "foreign.noise"(%x) : (tensor<4xf32>) -> tensor<4xf32>
  %e = "foreign.noise"(%x) : (tensor<4xf32>) -> tensor<4xf32>
  return %a, %b, %c, %d, %e : tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>
}

// -----

// Two dropouts of one value draw two masks; they are one op only with one number and one rate.
// CHECK-LABEL: func.func @dropout
// CHECK-NEXT: %[[A:.*]] = "zb.dropout"(%arg0, %arg1) {op = 0 : i64
// CHECK-NEXT: %[[B:.*]] = "zb.dropout"(%arg0, %arg1) {op = 1 : i64
// CHECK-NEXT: return %[[A]], %[[B]], %[[A]]
func.func @dropout(%x: tensor<4xf32> {zb.input = "x"}, %k: tensor<4xi64> {zb.input = "zb.counter"}) -> (tensor<4xf32>, tensor<4xf32>, tensor<4xf32>) {
  %a = "zb.dropout"(%x, %k) {rate = 0.5, op = 0 : i64} : (tensor<4xf32>, tensor<4xi64>) -> tensor<4xf32>
  %b = "zb.dropout"(%x, %k) {rate = 0.5, op = 1 : i64} : (tensor<4xf32>, tensor<4xi64>) -> tensor<4xf32>
  %c = "zb.dropout"(%x, %k) {rate = 0.5, op = 0 : i64} : (tensor<4xf32>, tensor<4xi64>) -> tensor<4xf32>
  return %a, %b, %c : tensor<4xf32>, tensor<4xf32>, tensor<4xf32>
}

// -----

// Where an op comes from is not what it computes.
// CHECK-LABEL: func.func @origins
// CHECK-NEXT: %[[A:.*]] = "zb.exp"(%arg0) {zb.origin = "exp #1 op_role 0"}
// CHECK-NEXT: %[[B:.*]] = "zb.exp"(%arg1)
// CHECK-NEXT: return %[[A]], %[[A]], %[[A]], %[[B]]
func.func @origins(%x: tensor<4xf32> {zb.input = "x"}, %y: tensor<4xf32> {zb.input = "y"}) -> (tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>) {
  %a = "zb.exp"(%x) {zb.origin = "exp #1 op_role 0"} : (tensor<4xf32>) -> tensor<4xf32>
  %b = "zb.exp"(%x) {zb.origin = "exp #2 op_role 0"} : (tensor<4xf32>) -> tensor<4xf32>
  %c = "zb.exp"(%x) : (tensor<4xf32>) -> tensor<4xf32>
  %d = "zb.exp"(%y) {zb.origin = "exp #1 op_role 0"} : (tensor<4xf32>) -> tensor<4xf32>
  return %a, %b, %c, %d : tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>
}
