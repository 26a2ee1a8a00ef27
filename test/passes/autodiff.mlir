// zb-autodiff: numbers, gradients, accumulates, the optimizer; the order of sums; chains of parameters; frozen ones.
// RUN: zb-opt --zb-autodiff=micro-batches=4 --split-input-file %s | FileCheck %s

// Two matmuls: gradient ops are whole and carry zb.of; uses end in accumulates; state and step are arguments, updates are results.
// CHECK-LABEL: func.func @mlp
// CHECK-SAME: %[[X:[a-z0-9]+]]: tensor<4x8xf32> {zb.input = "x"}, %[[Y:[a-z0-9]+]]: tensor<4xi64> {zb.input = "y"}
// CHECK-SAME: %[[W0:[a-z0-9]+]]: tensor<8x16xf32> {zb.param = "net.w0"}, %[[B:[a-z0-9]+]]: tensor<16xf32> {zb.param = "net.b"}
// CHECK-SAME: %[[M0:[a-z0-9]+]]: tensor<8x16xf32> {zb.state = "net.w0.exp_avg"}, %[[V0:[a-z0-9]+]]: tensor<8x16xf32> {zb.state = "net.w0.exp_avg_sq"}
// What a run can set of each update: learning rate, and weight decay, which a vector has not.
// CHECK-SAME: %[[T:[a-z0-9]+]]: tensor<i64> {zb.step}
// CHECK-SAME: %[[S0:[a-z0-9]+]]: tensor<2xf64> {zb.defaults = array<f64: 1.000000e-03, 1.000000e-01>, zb.own = 0 : i64, zb.setting = "net.w0.update"}
// CHECK-SAME: %[[SB:[a-z0-9]+]]: tensor<2xf64> {zb.defaults = array<f64: 1.000000e-03, 0.000000e+00>, zb.own = 2 : i64, zb.setting = "net.b.update"})
// CHECK-SAME: -> (tensor<f32> {zb.loss}, tensor<8x16xf32> {zb.update = "net.w0"}, tensor<16xf32> {zb.update = "net.b"},
// CHECK-SAME: tensor<8x16xf32> {zb.update = "net.w0.exp_avg"}, tensor<8x16xf32> {zb.update = "net.w0.exp_avg_sq"},
// CHECK-SAME: tensor<16xf32> {zb.update = "net.b.exp_avg"}, tensor<16xf32> {zb.update = "net.b.exp_avg_sq"})
// CHECK-NEXT: %[[H:.*]] = "zb.matmul"(%[[X]], %[[W0]]) {zb.id = 0 : i64}
// CHECK-NEXT: %[[A:.*]] = "zb.add"(%[[H]], %[[B]]) {zb.id = 1 : i64}
// CHECK-NEXT: %[[L:.*]]:2 = "zb.cross_entropy"(%[[A]], %[[Y]]) {reduction = "mean", zb.id = 2 : i64}
// CHECK-NEXT: %[[ONE:.*]] = "zb.constant"() {value = dense<1.000000e+00> : tensor<f32>, zb.of = 2 : i64}
// CHECK-NEXT: %[[DA:.*]] = "zb.cross_entropy_grad"(%[[A]], %[[Y]], %[[L]]#1, %[[ONE]]) {reduction = "mean", zb.of = 2 : i64}
// CHECK-NEXT: %[[DADD:.*]]:2 = "zb.add_grad"(%[[H]], %[[B]], %[[DA]]) {zb.of = 1 : i64}
// CHECK-NEXT: %[[GB:.*]] = "zb.accumulate"(%[[DADD]]#1) {parameter = "net.b", use = 0 : i64, zb.of = 1 : i64}
// CHECK-NEXT: %[[DMAT:.*]]:2 = "zb.matmul_grad"(%[[X]], %[[W0]], %[[DADD]]#0) {zb.of = 0 : i64}
// CHECK-NEXT: %[[G0:.*]] = "zb.accumulate"(%[[DMAT]]#1) {parameter = "net.w0", use = 0 : i64, zb.of = 0 : i64}
// CHECK-NEXT: %[[U:.*]]:3 = "zb.adamw"(%[[W0]], %[[G0]], %[[M0]], %[[V0]], %[[T]], %[[S0]]) {{{.*}}gradient_scale = 2.500000e-01 : f64}
// CHECK-NEXT: %[[UB:.*]]:3 = "zb.adamw"(%[[B]], %[[GB]], {{.*}}, %[[SB]])
// CHECK-NEXT: return %[[L]]#0, %[[U]]#0, %[[UB]]#0, %[[U]]#1, %[[U]]#2, %[[UB]]#1, %[[UB]]#2
func.func @mlp(%x: tensor<4x8xf32> {zb.input = "x"}, %y: tensor<4xi64> {zb.input = "y"},
               %w0: tensor<8x16xf32> {zb.param = "net.w0"}, %b: tensor<16xf32> {zb.param = "net.b"}) -> (tensor<f32> {zb.loss}) {
  %h = "zb.matmul"(%x, %w0) : (tensor<4x8xf32>, tensor<8x16xf32>) -> tensor<4x16xf32>
  %a = "zb.add"(%h, %b) : (tensor<4x16xf32>, tensor<16xf32>) -> tensor<4x16xf32>
  %loss, %lse = "zb.cross_entropy"(%a, %y) {reduction = "mean"} : (tensor<4x16xf32>, tensor<4xi64>) -> (tensor<f32>, tensor<4xf32>)
  return %loss : tensor<f32>
}

// -----

// A value with three uses: its gradient is a chain of binary adds from the last use to the first, each marked with the use it adds.
// CHECK-LABEL: func.func @chain_of_adds
// CHECK: %[[H:.*]] = "zb.mul"({{.*}}zb.id = 0
// CHECK: %[[DS:.*]] = "zb.sin_grad"(%[[H]], %{{.*}}) {zb.of = 3 : i64}
// CHECK: %[[DC:.*]] = "zb.cos_grad"(%[[H]], %{{.*}}) {zb.of = 2 : i64}
// CHECK: %[[S1:.*]] = "zb.add"(%[[DS]], %[[DC]]) {zb.of = 2 : i64}
// CHECK: %[[DT:.*]] = "zb.tan_grad"(%[[H]], %{{.*}}) {zb.of = 1 : i64}
// CHECK: %[[S2:.*]] = "zb.add"(%[[S1]], %[[DT]]) {zb.of = 1 : i64}
// CHECK: "zb.mul_grad"(%{{.*}}, %{{.*}}, %[[S2]]) {zb.of = 0 : i64}
func.func @chain_of_adds(%x: tensor<4xf32> {zb.input = "x"}, %w: tensor<4xf32> {zb.param = "a.w"}) -> (tensor<f32> {zb.loss}) {
  %h = "zb.mul"(%x, %w) : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  %a = "zb.tan"(%h) : (tensor<4xf32>) -> tensor<4xf32>
  %b = "zb.cos"(%h) : (tensor<4xf32>) -> tensor<4xf32>
  %c = "zb.sin"(%h) : (tensor<4xf32>) -> tensor<4xf32>
  %d = "zb.add"(%a, %b) : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  %e = "zb.add"(%d, %c) : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  %loss = "zb.reduce_mean"(%e) {axes = array<i64>} : (tensor<4xf32>) -> tensor<f32>
  return %loss : tensor<f32>
}

// -----

// Tied weights: one accumulate a use, numbered in program order, added from the last to the first. The shared transpose becomes one chain a
// reader, directly before it; the gradient of each goes through its own.
// CHECK-LABEL: func.func @tied
// CHECK-SAME: %[[W:[a-z0-9]+]]: tensor<4x4xf32> {zb.param = "a.w"}
// CHECK: %[[T0:.*]] = "zb.transpose"(%[[W]]) {permutation = array<i64: 1, 0>, zb.id = 0 : i64}
// CHECK-NEXT: %[[H:.*]] = "zb.matmul"(%{{.*}}, %[[T0]]) {zb.id = 1 : i64}
// CHECK-NEXT: %[[T1:.*]] = "zb.transpose"(%[[W]]) {permutation = array<i64: 1, 0>, zb.id = 2 : i64}
// CHECK-NEXT: %[[G:.*]] = "zb.matmul"(%[[H]], %[[T1]]) {zb.id = 3 : i64}
// CHECK-NEXT: %[[Z:.*]] = "zb.mul"(%[[G]], %[[W]]) {zb.id = 4 : i64}
// CHECK: %[[U2:.*]] = "zb.accumulate"(%{{.*}}) {parameter = "a.w", use = 2 : i64, zb.of = 4 : i64}
// CHECK: "zb.matmul_grad"(%[[H]], %[[T1]], %{{.*}}) {zb.of = 3 : i64}
// CHECK-NEXT: %[[D1:.*]] = "zb.transpose"(%{{.*}}) {permutation = array<i64: 1, 0>, zb.of = 2 : i64}
// CHECK-NEXT: %[[U1:.*]] = "zb.accumulate"(%[[D1]]) {parameter = "a.w", use = 1 : i64, zb.of = 3 : i64}
// CHECK: "zb.matmul_grad"(%{{.*}}, %[[T0]], %{{.*}}) {zb.of = 1 : i64}
// CHECK-NEXT: %[[D0:.*]] = "zb.transpose"(%{{.*}}) {permutation = array<i64: 1, 0>, zb.of = 0 : i64}
// CHECK-NEXT: %[[U0:.*]] = "zb.accumulate"(%[[D0]]) {parameter = "a.w", use = 0 : i64, zb.of = 1 : i64}
// CHECK-NEXT: %[[S:.*]] = "zb.add"(%[[U2]], %[[U1]]) :
// CHECK-NEXT: %[[S2:.*]] = "zb.add"(%[[S]], %[[U0]]) :
// CHECK-NEXT: "zb.adamw"(%[[W]], %[[S2]],
func.func @tied(%x: tensor<4x4xf32> {zb.input = "x"}, %w: tensor<4x4xf32> {zb.param = "a.w"}) -> (tensor<f32> {zb.loss}) {
  %t = "zb.transpose"(%w) {permutation = array<i64: 1, 0>} : (tensor<4x4xf32>) -> tensor<4x4xf32>
  %h = "zb.matmul"(%x, %t) : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
  %g = "zb.matmul"(%h, %t) : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
  %z = "zb.mul"(%g, %w) : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
  %loss = "zb.reduce_sum"(%z) {axes = array<i64>} : (tensor<4x4xf32>) -> tensor<f32>
  return %loss : tensor<f32>
}

// -----

// A frozen prefix gets no gradient op; a parameter that the loss does not need becomes frozen; the other result is no loss.
// CHECK-LABEL: func.func @frozen
// CHECK-SAME: {zb.frozen = "a.first"}
// CHECK-SAME: {zb.param = "a.second"}
// CHECK-SAME: {zb.frozen = "a.idle"}
// CHECK-SAME: -> (tensor<4x4xf32>, tensor<f32> {zb.loss}, tensor<4x4xf32> {zb.update = "a.second"},
// CHECK: "zb.matmul_grad"({{.*}}) {zb.of = 2 : i64}
// CHECK-NOT: _grad
// CHECK-NOT: zb.of = 0
// CHECK: "zb.adamw"
// CHECK-NOT: "zb.adamw"
func.func @frozen(%x: tensor<4x4xf32> {zb.input = "x"}, %a: tensor<4x4xf32> {zb.frozen = "a.first"},
                  %b: tensor<4x4xf32> {zb.param = "a.second"}, %c: tensor<4x4xf32> {zb.param = "a.idle"})
    -> (tensor<4x4xf32>, tensor<f32> {zb.loss}) {
  %h = "zb.matmul"(%x, %a) : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
  %r = "zb.relu"(%h) : (tensor<4x4xf32>) -> tensor<4x4xf32>
  %z = "zb.matmul"(%r, %b) : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
  %o = "zb.matmul"(%x, %c) : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
  %loss = "zb.reduce_sum"(%z) {axes = array<i64>} : (tensor<4x4xf32>) -> tensor<f32>
  return %o, %loss : tensor<4x4xf32>, tensor<f32>
}
