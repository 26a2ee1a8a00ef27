// The optimizer line: lr and weight_decay become defaults of settings, other keys attributes; momentum decides whether
// there is state.
// RUN: zb-opt --pass-pipeline='builtin.module(zb-autodiff{optimizer="adamw:lr=0.5,beta1=0.25,beta2=0.125,eps=2,weight_decay=4"})' %s | FileCheck %s --check-prefix=ADAMW
// RUN: zb-opt --pass-pipeline='builtin.module(zb-autodiff{optimizer="sgd:lr=0.5"})' %s | FileCheck %s --check-prefix=SGD
// RUN: zb-opt --pass-pipeline='builtin.module(zb-autodiff{optimizer="sgd:lr=0.5,momentum=0.75,nesterov=true" micro-batches=8})' %s | FileCheck %s --check-prefix=MOMENTUM
// RUN: zb-opt --pass-pipeline='builtin.module(zb-autodiff{optimizer="adam:lr=0.5,weight_decay=4"})' %s | FileCheck %s --check-prefix=ADAM
// RUN: zb-opt --pass-pipeline='builtin.module(zb-autodiff{optimizer="lion:beta1=0.5"})' %s | FileCheck %s --check-prefix=LION
// ADAM: {zb.state = "a.w.exp_avg_sq"}
// ADAM: {zb.defaults = array<f64: 5.000000e-01, 4.000000e+00>, zb.own = 0 : i64, zb.setting = "a.w.update"}
// ADAM: "zb.adam"({{.*}}) {beta1 = 9.000000e-01 : f64, beta2 = 0.99899999999999999 : f64, eps = 1.000000e-08 : f64}
// LION-NOT: exp_avg_sq
// LION: {zb.defaults = array<f64: 1.000000e-04, 0.000000e+00>, zb.own = 0 : i64, zb.setting = "a.w.update"}
// LION: "zb.lion"({{.*}}) {beta1 = 5.000000e-01 : f64, beta2 = 0.98999999999999999 : f64}
// What is left out is as in the help of zbc, and the same for a line that is not given.
// RUN: zb-opt --zb-autodiff %s | FileCheck %s --check-prefix=DEFAULT
// RUN: zb-opt --zb-autodiff=optimizer=adamw %s | FileCheck %s --check-prefix=DEFAULT
// RUN: zb-opt --zb-autodiff=optimizer=adamw:lr=1e-3 %s | FileCheck %s --check-prefix=DEFAULT
// DEFAULT: {zb.defaults = array<f64: 1.000000e-03, 1.000000e-01>, zb.own = 0 : i64, zb.setting = "a.w.update"}
// DEFAULT: "zb.adamw"({{.*}}) {beta1 = 9.000000e-01 : f64, beta2 = 0.94999999999999996 : f64, eps = 1.000000e-08 : f64}

// ADAMW: {zb.defaults = array<f64: 5.000000e-01, 4.000000e+00>, zb.own = 0 : i64, zb.setting = "a.w.update"}
// ADAMW: "zb.adamw"({{.*}}) {beta1 = 2.500000e-01 : f64, beta2 = 1.250000e-01 : f64, eps = 2.000000e+00 : f64}
// SGD-NOT: zb.state
// SGD: %[[S:[a-z0-9]+]]: tensor<2xf64> {zb.defaults = array<f64: 5.000000e-01, 0.000000e+00>, zb.own = 0 : i64, zb.setting = "a.w.update"}
// SGD: %{{.*}} = "zb.sgd"(%[[W:[a-z0-9]+]], %{{[0-9]+}}, %{{[a-z0-9]+}}, %[[S]]) :
// MOMENTUM: {zb.state = "a.w.momentum_buffer"}
// MOMENTUM: "zb.sgd"(%{{[a-z0-9]+}}, %{{[0-9]+}}, %{{[a-z0-9]+}}, %{{[a-z0-9]+}}, %{{[a-z0-9]+}}) {{.*}}gradient_scale = 1.250000e-01 : f64, {{.*}}momentum = 7.500000e-01 : f64, nesterov = true
func.func @model(%x: tensor<4x4xf32> {zb.input = "x"}, %w: tensor<4x4xf32> {zb.param = "a.w"}) -> (tensor<f32> {zb.loss}) {
  %h = "zb.matmul"(%x, %w) : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
  %loss = "zb.reduce_sum"(%h) {axes = array<i64>} : (tensor<4x4xf32>) -> tensor<f32>
  return %loss : tensor<f32>
}
