// zb-raise: RMSNorm and LayerNorm.
// RUN: zb-opt --zb-raise --split-input-file %s | FileCheck %s

// As Hugging Face's Llama exports it.
// CHECK-LABEL: func.func @rms_norm
// CHECK-SAME: (%[[X:[a-z0-9]+]]: tensor<2x4x8xf32> {{[^,]*}}, %[[S:[a-z0-9]+]]:
// CHECK: %[[N:.*]]:2 = "zb.rms_norm"(%[[X]], %[[S]]) {axis = 2 : i64, epsilon = 9.99{{.*}}E-7 : f64}
// CHECK-NEXT: return %[[N]]#0
func.func @rms_norm(%x: tensor<2x4x8xf32> {zb.input = "x"}, %s: tensor<8xf32> {zb.param = "n.s"}) -> tensor<2x4x8xf32> {
  %two = "zb.constant"() {value = dense<2.0> : tensor<f32>} : () -> tensor<f32>
  %eps = "zb.constant"() {value = dense<9.9999999747e-07> : tensor<f32>} : () -> tensor<f32>
  %a = "zb.pow"(%x, %two) : (tensor<2x4x8xf32>, tensor<f32>) -> tensor<2x4x8xf32>
  %b = "zb.reduce_mean"(%a) {axes = array<i64: 2>, keepdims = true} : (tensor<2x4x8xf32>) -> tensor<2x4x1xf32>
  %c = "zb.add"(%b, %eps) : (tensor<2x4x1xf32>, tensor<f32>) -> tensor<2x4x1xf32>
  %d = "zb.sqrt"(%c) : (tensor<2x4x1xf32>) -> tensor<2x4x1xf32>
  %e = "zb.reciprocal"(%d) : (tensor<2x4x1xf32>) -> tensor<2x4x1xf32>
  %f = "zb.mul"(%x, %e) : (tensor<2x4x8xf32>, tensor<2x4x1xf32>) -> tensor<2x4x8xf32>
  %g = "zb.mul"(%s, %f) : (tensor<8xf32>, tensor<2x4x8xf32>) -> tensor<2x4x8xf32>
  return %g : tensor<2x4x8xf32>
}

// -----

// Other spellings: mul for the square, rsqrt, a division by the root, two normalized dimensions.
// CHECK-LABEL: func.func @spellings
// CHECK: %[[A:.*]]:2 = "zb.rms_norm"(%{{[a-z0-9]+}}, %{{[a-z0-9]+}}) {axis = 1 : i64, epsilon = 2.500000e-01 : f64}
// CHECK: "zb.rms_norm"(%[[A]]#0, %{{[a-z0-9]+}}) {axis = 1 : i64, epsilon = 2.500000e-01 : f64}
func.func @spellings(%x: tensor<2x4x8xf32> {zb.input = "x"}, %s: tensor<4x8xf32> {zb.param = "n.s"}) -> tensor<2x4x8xf32> {
  %eps = "zb.constant"() {value = dense<0.25> : tensor<f32>} : () -> tensor<f32>
  %a = "zb.mul"(%x, %x) : (tensor<2x4x8xf32>, tensor<2x4x8xf32>) -> tensor<2x4x8xf32>
  %b = "zb.reduce_mean"(%a) {axes = array<i64: 1, 2>, keepdims = true} : (tensor<2x4x8xf32>) -> tensor<2x1x1xf32>
  %c = "zb.add"(%eps, %b) : (tensor<f32>, tensor<2x1x1xf32>) -> tensor<2x1x1xf32>
  %d = "zb.rsqrt"(%c) : (tensor<2x1x1xf32>) -> tensor<2x1x1xf32>
  %e = "zb.mul"(%d, %x) : (tensor<2x1x1xf32>, tensor<2x4x8xf32>) -> tensor<2x4x8xf32>
  %f = "zb.mul"(%e, %s) : (tensor<2x4x8xf32>, tensor<4x8xf32>) -> tensor<2x4x8xf32>
  %g = "zb.mul"(%f, %f) : (tensor<2x4x8xf32>, tensor<2x4x8xf32>) -> tensor<2x4x8xf32>
  %h = "zb.reduce_mean"(%g) {axes = array<i64: 2, 1>, keepdims = true} : (tensor<2x4x8xf32>) -> tensor<2x1x1xf32>
  %i = "zb.add"(%h, %eps) : (tensor<2x1x1xf32>, tensor<f32>) -> tensor<2x1x1xf32>
  %j = "zb.sqrt"(%i) : (tensor<2x1x1xf32>) -> tensor<2x1x1xf32>
  %k = "zb.div"(%f, %j) : (tensor<2x4x8xf32>, tensor<2x1x1xf32>) -> tensor<2x4x8xf32>
  %l = "zb.mul"(%k, %s) : (tensor<2x4x8xf32>, tensor<4x8xf32>) -> tensor<2x4x8xf32>
  return %l : tensor<2x4x8xf32>
}

// -----

// A mean over the first dimension, a scale of another shape, a root with another reader: not raised.
// CHECK-LABEL: func.func @no_norm
// CHECK-NOT: zb.rms_norm
// CHECK: return
func.func @no_norm(%x: tensor<8x8xf32> {zb.input = "x"}, %s: tensor<8xf32> {zb.param = "n.s"}, %one: tensor<1xf32> {zb.param = "n.t"})
    -> (tensor<8x8xf32>, tensor<8x8xf32>, tensor<8x8xf32>, tensor<8x1xf32>) {
  %eps = "zb.constant"() {value = dense<0.25> : tensor<f32>} : () -> tensor<f32>
  %a = "zb.mul"(%x, %x) : (tensor<8x8xf32>, tensor<8x8xf32>) -> tensor<8x8xf32>
  %b = "zb.reduce_mean"(%a) {axes = array<i64: 0>, keepdims = true} : (tensor<8x8xf32>) -> tensor<1x8xf32>
  %c = "zb.add"(%b, %eps) : (tensor<1x8xf32>, tensor<f32>) -> tensor<1x8xf32>
  %d = "zb.rsqrt"(%c) : (tensor<1x8xf32>) -> tensor<1x8xf32>
  %e = "zb.mul"(%x, %d) : (tensor<8x8xf32>, tensor<1x8xf32>) -> tensor<8x8xf32>
  %f = "zb.mul"(%e, %s) : (tensor<8x8xf32>, tensor<8xf32>) -> tensor<8x8xf32>
  %g = "zb.mul"(%x, %x) : (tensor<8x8xf32>, tensor<8x8xf32>) -> tensor<8x8xf32>
  %h = "zb.reduce_mean"(%g) {axes = array<i64: 1>, keepdims = true} : (tensor<8x8xf32>) -> tensor<8x1xf32>
  %i = "zb.add"(%h, %eps) : (tensor<8x1xf32>, tensor<f32>) -> tensor<8x1xf32>
  %j = "zb.rsqrt"(%i) : (tensor<8x1xf32>) -> tensor<8x1xf32>
  %k = "zb.mul"(%x, %j) : (tensor<8x8xf32>, tensor<8x1xf32>) -> tensor<8x8xf32>
  %l = "zb.mul"(%k, %one) : (tensor<8x8xf32>, tensor<1xf32>) -> tensor<8x8xf32>
  %m = "zb.mul"(%x, %x) : (tensor<8x8xf32>, tensor<8x8xf32>) -> tensor<8x8xf32>
  %n = "zb.reduce_mean"(%m) {axes = array<i64: 1>, keepdims = true} : (tensor<8x8xf32>) -> tensor<8x1xf32>
  %o = "zb.add"(%n, %eps) : (tensor<8x1xf32>, tensor<f32>) -> tensor<8x1xf32>
  %p = "zb.rsqrt"(%o) : (tensor<8x1xf32>) -> tensor<8x1xf32>
  %q = "zb.mul"(%x, %p) : (tensor<8x8xf32>, tensor<8x1xf32>) -> tensor<8x8xf32>
  %r = "zb.mul"(%q, %s) : (tensor<8x8xf32>, tensor<8xf32>) -> tensor<8x8xf32>
  return %f, %l, %r, %p : tensor<8x8xf32>, tensor<8x8xf32>, tensor<8x8xf32>, tensor<8x1xf32>
}

// -----

// LayerNorm with a bias; then one without.
// CHECK-LABEL: func.func @layer_norm
// CHECK-SAME: (%[[X:[a-z0-9]+]]: tensor<4x8xf32> {{[^,]*}}, %[[S:[a-z0-9]+]]: tensor<8xf32> {{[^,]*}}, %[[B:[a-z0-9]+]]:
// CHECK: %[[N:.*]]:3 = "zb.layer_norm"(%[[X]], %[[S]], %[[B]]) {axis = 1 : i64, epsilon = 2.500000e-01 : f64}
// CHECK-NEXT: %[[M:.*]]:3 = "zb.layer_norm"(%[[N]]#0, %[[S]]) {axis = 1 : i64, epsilon = 2.500000e-01 : f64}
// CHECK-NEXT: return %[[M]]#0
func.func @layer_norm(%x: tensor<4x8xf32> {zb.input = "x"}, %s: tensor<8xf32> {zb.param = "n.s"}, %b: tensor<8xf32> {zb.param = "n.b"})
    -> tensor<4x8xf32> {
  %two = "zb.constant"() {value = dense<2.0> : tensor<f32>} : () -> tensor<f32>
  %eps = "zb.constant"() {value = dense<0.25> : tensor<f32>} : () -> tensor<f32>
  %m = "zb.reduce_mean"(%x) {axes = array<i64: 1>, keepdims = true} : (tensor<4x8xf32>) -> tensor<4x1xf32>
  %c = "zb.sub"(%x, %m) : (tensor<4x8xf32>, tensor<4x1xf32>) -> tensor<4x8xf32>
  %q = "zb.pow"(%c, %two) : (tensor<4x8xf32>, tensor<f32>) -> tensor<4x8xf32>
  %v = "zb.reduce_mean"(%q) {axes = array<i64: 1>, keepdims = true} : (tensor<4x8xf32>) -> tensor<4x1xf32>
  %e = "zb.add"(%v, %eps) : (tensor<4x1xf32>, tensor<f32>) -> tensor<4x1xf32>
  %r = "zb.sqrt"(%e) : (tensor<4x1xf32>) -> tensor<4x1xf32>
  %n = "zb.div"(%c, %r) : (tensor<4x8xf32>, tensor<4x1xf32>) -> tensor<4x8xf32>
  %o = "zb.mul"(%n, %s) : (tensor<4x8xf32>, tensor<8xf32>) -> tensor<4x8xf32>
  %p = "zb.add"(%o, %b) : (tensor<4x8xf32>, tensor<8xf32>) -> tensor<4x8xf32>
  %m2 = "zb.reduce_mean"(%p) {axes = array<i64: 1>, keepdims = true} : (tensor<4x8xf32>) -> tensor<4x1xf32>
  %c2 = "zb.sub"(%p, %m2) : (tensor<4x8xf32>, tensor<4x1xf32>) -> tensor<4x8xf32>
  %q2 = "zb.mul"(%c2, %c2) : (tensor<4x8xf32>, tensor<4x8xf32>) -> tensor<4x8xf32>
  %v2 = "zb.reduce_mean"(%q2) {axes = array<i64: 1>, keepdims = true} : (tensor<4x8xf32>) -> tensor<4x1xf32>
  %e2 = "zb.add"(%v2, %eps) : (tensor<4x1xf32>, tensor<f32>) -> tensor<4x1xf32>
  %r2 = "zb.rsqrt"(%e2) : (tensor<4x1xf32>) -> tensor<4x1xf32>
  %n2 = "zb.mul"(%c2, %r2) : (tensor<4x8xf32>, tensor<4x1xf32>) -> tensor<4x8xf32>
  %o2 = "zb.mul"(%n2, %s) : (tensor<4x8xf32>, tensor<8xf32>) -> tensor<4x8xf32>
  return %o2 : tensor<4x8xf32>
}
