// zb-partition: two matmuls on two ranks (the program of the walkthrough).
// RUN: zb-opt --zb-partition=ranks=2 %s | FileCheck %s
// RUN: zb-opt '--zb-partition=ranks=2,cuts="#0"' %s | FileCheck %s --check-prefix=NUMBER
// RUN: not zb-opt '--zb-partition=ranks=2,cuts="#00"' %s 2>&1 | FileCheck %s --check-prefix=NONUMBER
// RUN: zb-opt '--zb-partition=ranks=2,layout="Et|tL"' %s | FileCheck %s --check-prefix=LAYOUT
// RUN: zb-opt '--zb-partition=ranks=2,layout="even:first=1"' %s | FileCheck %s --check-prefix=LAYOUT
// RUN: not zb-opt '--zb-partition=ranks=2,layout="E|ttL"' %s 2>&1 | FileCheck %s --check-prefix=EMPTY
// RUN: not zb-opt '--zb-partition=ranks=2,layout="Ettt|L"' %s 2>&1 | FileCheck %s --check-prefix=COUNT
// RUN: not zb-opt '--zb-partition=ranks=2,layout="even",cuts="#0"' %s 2>&1 | FileCheck %s --check-prefix=BOTH

// A cut after the op of a number.
// NUMBER: zb.id = 0 : i64, zb.stage = 0
// NUMBER: zb.id = 1 : i64, zb.stage = 1
// NONUMBER: no op is named '#00' to cut after
// A cut where a layer ends, by the module paths of ops.
// LAYOUT: zb.id = 1 : i64, zb.stage = 0
// LAYOUT: zb.id = 2 : i64, zb.stage = 1
// EMPTY: error: layout: virtual stage 0 would have no op of the model
// EMPTY: hint: each stage needs one
// COUNT: error: layout: 'Ettt|L' has 3 layers t, the model has 2: blocks.0 .. blocks.1
// BOTH: error: layout: cuts say where stages end, too

// CHECK: module attributes {zb.chunks = 1 : i64, zb.level = "staged", zb.placement = "plain", zb.ranks = 2 : i64, zb.stage_rank = array<i64: 0, 1>}
// The matmuls have equal costs; the cut goes where the fewest bytes cross, and gradient ops follow the op they differentiate.
// CHECK: "zb.matmul"{{.*}}zb.id = 0 : i64, zb.stage = 0
// CHECK: "zb.relu"{{.*}}zb.id = 1 : i64, zb.stage = 0
// CHECK: "zb.matmul"{{.*}}zb.id = 2 : i64, zb.stage = 1
// CHECK: "zb.cross_entropy"{{.*}}zb.id = 3 : i64, zb.stage = 1
// A constant has no stage.
// CHECK: "zb.constant"() {value = dense<1.000000e+00> : tensor<f32>, zb.of = 3 : i64}
// CHECK: "zb.cross_entropy_grad"{{.*}}zb.of = 3 : i64, zb.stage = 1
// CHECK: "zb.matmul"{{.*}}transpose_rhs = true, zb.of = 2 : i64, zb.stage = 1
// CHECK: "zb.matmul"{{.*}}transpose_lhs = true, zb.of = 2 : i64, zb.stage = 1
// CHECK: "zb.accumulate"{{.*}}parameter = "net.w1"{{.*}}zb.stage = 1
// CHECK: "zb.relu_grad"{{.*}}zb.of = 1 : i64, zb.stage = 0
// CHECK: "zb.matmul"{{.*}}zb.of = 0 : i64, zb.stage = 0
// CHECK: "zb.accumulate"{{.*}}parameter = "net.w0"{{.*}}zb.stage = 0
// CHECK: "zb.adamw"(%arg2{{.*}}zb.stage = 0
// CHECK: "zb.adamw"(%arg3{{.*}}zb.stage = 1

module attributes {zb.level = "split"} {
  func.func @model(%arg0: tensor<4x8xf32> {zb.input = "x"}, %arg1: tensor<4xi64> {zb.input = "y"}, %arg2: tensor<8x16xf32> {zb.param = "net.w0"}, %arg3: tensor<16x8xf32> {zb.param = "net.w1"}, %arg4: tensor<8x16xf32> {zb.state = "net.w0.exp_avg"}, %arg5: tensor<8x16xf32> {zb.state = "net.w0.exp_avg_sq"}, %arg6: tensor<16x8xf32> {zb.state = "net.w1.exp_avg"}, %arg7: tensor<16x8xf32> {zb.state = "net.w1.exp_avg_sq"}, %arg8: tensor<i64> {zb.step}, %s0: tensor<2xf64> {zb.defaults = array<f64: 1.000000e-03, 1.000000e-02>, zb.own = 0 : i64, zb.setting = "net.w0.update"}, %s1: tensor<2xf64> {zb.defaults = array<f64: 1.000000e-03, 1.000000e-02>, zb.own = 0 : i64, zb.setting = "net.w1.update"}) -> (tensor<f32> {zb.loss}, tensor<8x16xf32> {zb.update = "net.w0"}, tensor<16x8xf32> {zb.update = "net.w1"}, tensor<8x16xf32> {zb.update = "net.w0.exp_avg"}, tensor<8x16xf32> {zb.update = "net.w0.exp_avg_sq"}, tensor<16x8xf32> {zb.update = "net.w1.exp_avg"}, tensor<16x8xf32> {zb.update = "net.w1.exp_avg_sq"}) {
    %0 = "zb.matmul"(%arg0, %arg2) {zb.id = 0 : i64} : (tensor<4x8xf32>, tensor<8x16xf32>) -> tensor<4x16xf32> loc("blocks.0.up (m0)")
    %1 = "zb.relu"(%0) {zb.id = 1 : i64} : (tensor<4x16xf32>) -> tensor<4x16xf32> loc("blocks.0.act (r)")
    %2 = "zb.matmul"(%1, %arg3) {zb.id = 2 : i64} : (tensor<4x16xf32>, tensor<16x8xf32>) -> tensor<4x8xf32> loc("blocks.1 (m1)")
    %3:2 = "zb.cross_entropy"(%2, %arg1) {reduction = "mean", zb.id = 3 : i64} : (tensor<4x8xf32>, tensor<4xi64>) -> (tensor<f32>, tensor<4xf32>)
    %4 = "zb.constant"() {value = dense<1.000000e+00> : tensor<f32>, zb.of = 3 : i64} : () -> tensor<f32>
    %5 = "zb.cross_entropy_grad"(%2, %arg1, %3#1, %4) {reduction = "mean", zb.of = 3 : i64} : (tensor<4x8xf32>, tensor<4xi64>, tensor<4xf32>, tensor<f32>) -> tensor<4x8xf32>
    %6 = "zb.matmul"(%5, %arg3) {transpose_rhs = true, zb.of = 2 : i64} : (tensor<4x8xf32>, tensor<16x8xf32>) -> tensor<4x16xf32>
    %7 = "zb.matmul"(%1, %5) {transpose_lhs = true, zb.of = 2 : i64} : (tensor<4x16xf32>, tensor<4x8xf32>) -> tensor<16x8xf32>
    %8 = "zb.accumulate"(%7) {parameter = "net.w1", use = 0 : i64, zb.in_product, zb.of = 2 : i64} : (tensor<16x8xf32>) -> tensor<16x8xf32>
    %9 = "zb.relu_grad"(%1, %6) {zb.of = 1 : i64} : (tensor<4x16xf32>, tensor<4x16xf32>) -> tensor<4x16xf32>
    %10 = "zb.matmul"(%arg0, %9) {transpose_lhs = true, zb.of = 0 : i64} : (tensor<4x8xf32>, tensor<4x16xf32>) -> tensor<8x16xf32>
    %11 = "zb.accumulate"(%10) {parameter = "net.w0", use = 0 : i64, zb.in_product, zb.of = 0 : i64} : (tensor<8x16xf32>) -> tensor<8x16xf32>
    %12:3 = "zb.adamw"(%arg2, %11, %arg4, %arg5, %arg8, %s0) {beta1 = 9.000000e-01 : f64, beta2 = 0.99899999999999999 : f64, eps = 1.000000e-08 : f64, gradient_scale = 5.000000e-01 : f64} : (tensor<8x16xf32>, tensor<8x16xf32>, tensor<8x16xf32>, tensor<8x16xf32>, tensor<i64>, tensor<2xf64>) -> (tensor<8x16xf32>, tensor<8x16xf32>, tensor<8x16xf32>)
    %13:3 = "zb.adamw"(%arg3, %8, %arg6, %arg7, %arg8, %s1) {beta1 = 9.000000e-01 : f64, beta2 = 0.99899999999999999 : f64, eps = 1.000000e-08 : f64, gradient_scale = 5.000000e-01 : f64} : (tensor<16x8xf32>, tensor<16x8xf32>, tensor<16x8xf32>, tensor<16x8xf32>, tensor<i64>, tensor<2xf64>) -> (tensor<16x8xf32>, tensor<16x8xf32>, tensor<16x8xf32>)
    return %3#0, %12#0, %13#0, %12#1, %12#2, %13#1, %13#2 : tensor<f32>, tensor<8x16xf32>, tensor<16x8xf32>, tensor<8x16xf32>, tensor<8x16xf32>, tensor<16x8xf32>, tensor<16x8xf32>
  }
}
