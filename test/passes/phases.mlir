// zb-classify, phases of the optimizer: SUM adds sums of gradients and scales them; NORM makes of them what every update needs; UPDATE is
// what reads a parameter, or what such an op made. zb-outline puts the phases into one function.
// RUN: zb-opt --zb-classify %s | FileCheck %s
// RUN: zb-opt --zb-classify --zb-outline %s | FileCheck %s --check-prefix=ONE

// CHECK: %[[K:.*]] = "zb.constant"{{.*}}zb.class = "LOAD"
// CHECK: %[[A0:.*]] = "zb.accumulate"{{.*}}use = 0{{.*}}zb.class = "W"
// CHECK: %[[A1:.*]] = "zb.accumulate"{{.*}}use = 1{{.*}}zb.class = "W"
// CHECK: %[[S:.*]] = "zb.add"(%[[A1]], %[[A0]]){{.*}}zb.class = "SUM"
// CHECK: %[[T:.*]] = "zb.mul"(%[[S]], %[[K]]){{.*}}zb.class = "SUM"
// CHECK: %[[V:.*]] = "zb.reshape"(%[[T]]){{.*}}zb.class = "SUM"
// A square is no scaling; a sum of squares is no sum of gradients.
// CHECK: %[[Q:.*]] = "zb.mul"(%[[T]], %[[T]]){{.*}}zb.class = "NORM"
// CHECK: %[[N:.*]] = "zb.add"(%[[Q]], %[[Q]]){{.*}}zb.class = "NORM"
// CHECK: %[[R:.*]] = "zb.rsqrt"(%[[N]]){{.*}}zb.class = "NORM"
// CHECK: %[[G:.*]] = "zb.mul"(%[[T]], %[[R]]){{.*}}zb.class = "NORM"
// Weight decay reads the parameter.
// CHECK: %[[D:.*]] = "zb.add"(%[[G]], %arg1){{.*}}zb.class = "UPDATE"
// CHECK: "zb.sub"(%arg1, %[[D]]){{.*}}zb.class = "UPDATE"

// ONE: func.func private @s0_UPDATE(
// ONE: "zb.add"{{.*}}zb.class = "SUM"
// ONE: "zb.mul"{{.*}}zb.class = "NORM"
// ONE: "zb.sub"{{.*}}zb.class = "UPDATE"
// ONE-NOT: _SUM
module attributes {zb.chunks = 1 : i64, zb.level = "staged", zb.placement = "plain", zb.ranks = 1 : i64, zb.stage_rank = array<i64: 0>} {
  func.func @model(%arg0: tensor<4xf32> {zb.input = "x"}, %arg1: tensor<4xf32> {zb.param = "w"}) -> (tensor<f32> {zb.loss}, tensor<4xf32> {zb.update = "w"}) {
    %k = "zb.constant"() {value = dense<5.000000e-01> : tensor<4xf32>} : () -> tensor<4xf32>
    %y = "zb.mul"(%arg0, %arg1) {zb.stage = 0 : i64} : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
    %loss = "zb.reduce_sum"(%y) {axes = array<i64: 0>, keepdims = false, zb.stage = 0 : i64} : (tensor<4xf32>) -> tensor<f32>
    %a0 = "zb.accumulate"(%arg0) {parameter = "w", use = 0 : i64, zb.stage = 0 : i64} : (tensor<4xf32>) -> tensor<4xf32>
    %a1 = "zb.accumulate"(%y) {parameter = "w", use = 1 : i64, zb.stage = 0 : i64} : (tensor<4xf32>) -> tensor<4xf32>
    %s = "zb.add"(%a1, %a0) {zb.stage = 0 : i64} : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
    %t = "zb.mul"(%s, %k) {zb.stage = 0 : i64} : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
    %v = "zb.reshape"(%t) {shape = array<i64: 2, 2>, zb.stage = 0 : i64} : (tensor<4xf32>) -> tensor<2x2xf32>
    %q = "zb.mul"(%t, %t) {zb.stage = 0 : i64} : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
    %n = "zb.add"(%q, %q) {zb.stage = 0 : i64} : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
    %r = "zb.rsqrt"(%n) {zb.stage = 0 : i64} : (tensor<4xf32>) -> tensor<4xf32>
    %g = "zb.mul"(%t, %r) {zb.stage = 0 : i64} : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
    %d = "zb.add"(%g, %arg1) {zb.stage = 0 : i64} : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
    %w = "zb.sub"(%arg1, %d) {zb.stage = 0 : i64} : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
    return %loss, %w : tensor<f32>, tensor<4xf32>
  }
}
