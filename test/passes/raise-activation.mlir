// zb-raise: GELU, SiLU and powers.
// RUN: zb-opt --zb-raise --split-input-file %s | FileCheck %s
// RUN: zb-opt --zb-raise=only=norm --split-input-file %s | FileCheck %s --check-prefix=ONLY
// RUN: not zb-opt --zb-raise=only=gleu --split-input-file %s 2>&1 | FileCheck %s --check-prefix=NAME

// ONLY-NOT: zb.gelu
// ONLY-NOT: zb.silu
// ONLY-NOT: zb.rms_norm
// NAME: error: only: zb-raise has no pattern 'gleu'; did you mean 'gelu'?
// NAME: hint: known: gelu, silu, swiglu, norm, attention, rotary, bias, power

// GELU as Hugging Face's GPT-2 exports it (gelu_new).
// CHECK-LABEL: func.func @gelu_new
// CHECK-SAME: (%[[X:[a-z0-9]+]]:
// CHECK: %[[Y:.*]] = "zb.gelu"(%[[X]]) {tanh = true}
// CHECK-NEXT: return %[[Y]]
func.func @gelu_new(%x: tensor<4x8xf32> {zb.input = "x"}) -> tensor<4x8xf32> {
  %half = "zb.constant"() {value = dense<0.5> : tensor<f32>} : () -> tensor<f32>
  %three = "zb.constant"() {value = dense<3.0> : tensor<f32>} : () -> tensor<f32>
  %k = "zb.constant"() {value = dense<0.044714998453855515> : tensor<f32>} : () -> tensor<f32>
  %s = "zb.constant"() {value = dense<0.7978845834732056> : tensor<f32>} : () -> tensor<f32>
  %one = "zb.constant"() {value = dense<1.0> : tensor<f32>} : () -> tensor<f32>
  %a = "zb.mul"(%x, %half) : (tensor<4x8xf32>, tensor<f32>) -> tensor<4x8xf32>
  %b = "zb.pow"(%x, %three) : (tensor<4x8xf32>, tensor<f32>) -> tensor<4x8xf32>
  %c = "zb.mul"(%b, %k) : (tensor<4x8xf32>, tensor<f32>) -> tensor<4x8xf32>
  %d = "zb.add"(%x, %c) : (tensor<4x8xf32>, tensor<4x8xf32>) -> tensor<4x8xf32>
  %e = "zb.mul"(%d, %s) : (tensor<4x8xf32>, tensor<f32>) -> tensor<4x8xf32>
  %f = "zb.tanh"(%e) : (tensor<4x8xf32>) -> tensor<4x8xf32>
  %g = "zb.add"(%f, %one) : (tensor<4x8xf32>, tensor<f32>) -> tensor<4x8xf32>
  %h = "zb.mul"(%a, %g) : (tensor<4x8xf32>, tensor<4x8xf32>) -> tensor<4x8xf32>
  return %h : tensor<4x8xf32>
}

// -----

// The same function in another spelling: 0.5 * (x * (1 + tanh(s*x*(1 + k*x*x)))).
// CHECK-LABEL: func.func @gelu_other
// CHECK: "zb.gelu"(%{{[a-z0-9]+}}) {tanh = true}
// CHECK-NEXT: return
func.func @gelu_other(%x: tensor<4x8xf32> {zb.input = "x"}) -> tensor<4x8xf32> {
  %half = "zb.constant"() {value = dense<0.5> : tensor<f32>} : () -> tensor<f32>
  %k = "zb.constant"() {value = dense<0.044715> : tensor<f32>} : () -> tensor<f32>
  %s = "zb.constant"() {value = dense<0.7978846> : tensor<4x8xf32>} : () -> tensor<4x8xf32>
  %one = "zb.constant"() {value = dense<1.0> : tensor<f32>} : () -> tensor<f32>
  %a = "zb.mul"(%x, %s) : (tensor<4x8xf32>, tensor<4x8xf32>) -> tensor<4x8xf32>
  %b = "zb.mul"(%k, %x) : (tensor<f32>, tensor<4x8xf32>) -> tensor<4x8xf32>
  %c = "zb.mul"(%b, %x) : (tensor<4x8xf32>, tensor<4x8xf32>) -> tensor<4x8xf32>
  %d = "zb.add"(%one, %c) : (tensor<f32>, tensor<4x8xf32>) -> tensor<4x8xf32>
  %e = "zb.mul"(%a, %d) : (tensor<4x8xf32>, tensor<4x8xf32>) -> tensor<4x8xf32>
  %f = "zb.tanh"(%e) : (tensor<4x8xf32>) -> tensor<4x8xf32>
  %g = "zb.add"(%one, %f) : (tensor<f32>, tensor<4x8xf32>) -> tensor<4x8xf32>
  %h = "zb.mul"(%x, %g) : (tensor<4x8xf32>, tensor<4x8xf32>) -> tensor<4x8xf32>
  %i = "zb.mul"(%half, %h) : (tensor<f32>, tensor<4x8xf32>) -> tensor<4x8xf32>
  return %i : tensor<4x8xf32>
}

// -----

// CHECK-LABEL: func.func @gelu_erf
// CHECK: %[[Y:.*]] = "zb.gelu"(%{{[a-z0-9]+}}) : (tensor<4x8xf32>)
// CHECK-NEXT: return %[[Y]]
func.func @gelu_erf(%x: tensor<4x8xf32> {zb.input = "x"}) -> tensor<4x8xf32> {
  %half = "zb.constant"() {value = dense<0.5> : tensor<f32>} : () -> tensor<f32>
  %root = "zb.constant"() {value = dense<1.4142135> : tensor<f32>} : () -> tensor<f32>
  %one = "zb.constant"() {value = dense<1.0> : tensor<f32>} : () -> tensor<f32>
  %a = "zb.div"(%x, %root) : (tensor<4x8xf32>, tensor<f32>) -> tensor<4x8xf32>
  %b = "zb.erf"(%a) : (tensor<4x8xf32>) -> tensor<4x8xf32>
  %c = "zb.add"(%b, %one) : (tensor<4x8xf32>, tensor<f32>) -> tensor<4x8xf32>
  %d = "zb.mul"(%x, %c) : (tensor<4x8xf32>, tensor<4x8xf32>) -> tensor<4x8xf32>
  %e = "zb.mul"(%d, %half) : (tensor<4x8xf32>, tensor<f32>) -> tensor<4x8xf32>
  return %e : tensor<4x8xf32>
}

// -----

// Another constant, or a reader of a value inside: not raised.
// CHECK-LABEL: func.func @no_gelu
// CHECK-NOT: zb.gelu
// CHECK: return
func.func @no_gelu(%x: tensor<4x8xf32> {zb.input = "x"}) -> (tensor<4x8xf32>, tensor<4x8xf32>, tensor<4x8xf32>) {
  %half = "zb.constant"() {value = dense<0.5> : tensor<f32>} : () -> tensor<f32>
  %root = "zb.constant"() {value = dense<1.4142135> : tensor<f32>} : () -> tensor<f32>
  %other = "zb.constant"() {value = dense<1.5> : tensor<f32>} : () -> tensor<f32>
  %one = "zb.constant"() {value = dense<1.0> : tensor<f32>} : () -> tensor<f32>
  %a = "zb.div"(%x, %root) : (tensor<4x8xf32>, tensor<f32>) -> tensor<4x8xf32>
  %b = "zb.erf"(%a) : (tensor<4x8xf32>) -> tensor<4x8xf32>
  %c = "zb.add"(%b, %one) : (tensor<4x8xf32>, tensor<f32>) -> tensor<4x8xf32>
  %d = "zb.mul"(%x, %c) : (tensor<4x8xf32>, tensor<4x8xf32>) -> tensor<4x8xf32>
  %e = "zb.mul"(%d, %half) : (tensor<4x8xf32>, tensor<f32>) -> tensor<4x8xf32>
  %f = "zb.div"(%x, %other) : (tensor<4x8xf32>, tensor<f32>) -> tensor<4x8xf32>
  %g = "zb.erf"(%f) : (tensor<4x8xf32>) -> tensor<4x8xf32>
  %h = "zb.add"(%g, %one) : (tensor<4x8xf32>, tensor<f32>) -> tensor<4x8xf32>
  %i = "zb.mul"(%x, %h) : (tensor<4x8xf32>, tensor<4x8xf32>) -> tensor<4x8xf32>
  %j = "zb.mul"(%i, %half) : (tensor<4x8xf32>, tensor<f32>) -> tensor<4x8xf32>
  return %b, %e, %j : tensor<4x8xf32>, tensor<4x8xf32>, tensor<4x8xf32>
}

// -----

// x * sigmoid(x), x * sigmoid(1.702 x); a sigmoid with another reader stays.
// CHECK-LABEL: func.func @silu
// CHECK: %[[A:.*]] = "zb.silu"(%{{[a-z0-9]+}}) : (tensor<4x8xf32>)
// CHECK: %[[B:.*]] = "zb.silu"(%[[A]]) {alpha = 1.70{{.*}} : f64}
// CHECK: %[[S:.*]] = "zb.sigmoid"(%[[B]])
// CHECK: "zb.mul"(%[[B]], %[[S]])
func.func @silu(%x: tensor<4x8xf32> {zb.input = "x"}) -> (tensor<4x8xf32>, tensor<4x8xf32>) {
  %c = "zb.constant"() {value = dense<1.702> : tensor<f32>} : () -> tensor<f32>
  %s = "zb.sigmoid"(%x) : (tensor<4x8xf32>) -> tensor<4x8xf32>
  %a = "zb.mul"(%x, %s) : (tensor<4x8xf32>, tensor<4x8xf32>) -> tensor<4x8xf32>
  %t = "zb.mul"(%a, %c) : (tensor<4x8xf32>, tensor<f32>) -> tensor<4x8xf32>
  %u = "zb.sigmoid"(%t) : (tensor<4x8xf32>) -> tensor<4x8xf32>
  %b = "zb.mul"(%u, %a) : (tensor<4x8xf32>, tensor<4x8xf32>) -> tensor<4x8xf32>
  %v = "zb.sigmoid"(%b) : (tensor<4x8xf32>) -> tensor<4x8xf32>
  %d = "zb.mul"(%b, %v) : (tensor<4x8xf32>, tensor<4x8xf32>) -> tensor<4x8xf32>
  return %d, %v : tensor<4x8xf32>, tensor<4x8xf32>
}

// -----

// Powers that no other pattern took.
// CHECK-LABEL: func.func @powers
// CHECK: %[[A:.*]] = "zb.mul"(%[[X:[a-z0-9]+]], %[[X]])
// CHECK: %[[B:.*]] = "zb.mul"(%[[A]], %[[A]])
// CHECK: %[[C:.*]] = "zb.mul"(%[[B]], %[[A]])
// CHECK: %[[D:.*]] = "zb.sqrt"(%[[C]])
// CHECK: "zb.pow"(%[[D]], %{{.*}})
func.func @powers(%x: tensor<4xf32> {zb.input = "x"}) -> tensor<4xf32> {
  %two = "zb.constant"() {value = dense<2.0> : tensor<f32>} : () -> tensor<f32>
  %three = "zb.constant"() {value = dense<3.0> : tensor<f32>} : () -> tensor<f32>
  %half = "zb.constant"() {value = dense<0.5> : tensor<f32>} : () -> tensor<f32>
  %odd = "zb.constant"() {value = dense<1.5> : tensor<f32>} : () -> tensor<f32>
  %a = "zb.pow"(%x, %two) : (tensor<4xf32>, tensor<f32>) -> tensor<4xf32>
  %b = "zb.pow"(%a, %three) : (tensor<4xf32>, tensor<f32>) -> tensor<4xf32>
  %c = "zb.pow"(%b, %half) : (tensor<4xf32>, tensor<f32>) -> tensor<4xf32>
  %d = "zb.pow"(%c, %odd) : (tensor<4xf32>, tensor<f32>) -> tensor<4xf32>
  return %d : tensor<4xf32>
}
