// The printed form of StableHLO, op for op: each line is read as its generic form. Numbers: test/e2e/stablehlo.py.
// RUN: zbc %s -o %t --ranks 1 --train w --optimizer sgd:lr=1 --dump-ir %t.dump > %t.txt && FileCheck %s < %t.dump/00_zb-canonicalize.mlir

// CHECK: func.func @model(%[[X:.*]]: tensor<4x6xf32> {zb.input = "x"}, %[[W:.*]]: tensor<3x6xf32> {zb.param = "w"})
module @jit_loss {
  func.func public @main(%arg0: tensor<3x6xf32> loc("w"), %arg1: tensor<4x6xf32> loc("x")) -> (tensor<f32> {jax.result_info = "result"}) {
    %0 = stablehlo.transpose %arg0, dims = [1, 0] : (tensor<3x6xf32>) -> tensor<6x3xf32>
    // CHECK: "zb.matmul"(%[[X]], %[[W]]) {transpose_rhs = true}
    %1 = stablehlo.dot_general %arg1, %0, contracting_dims = [1] x [0], precision = [DEFAULT, DEFAULT] : (tensor<4x6xf32>, tensor<6x3xf32>) -> tensor<4x3xf32>
    %cst = stablehlo.constant dense<[0.5, -1.0, 2.0]> : tensor<3xf32>
    %2 = stablehlo.broadcast_in_dim %cst, dims = [1] : (tensor<3xf32>) -> tensor<4x3xf32>
    // CHECK: "zb.add"
    %3 = stablehlo.add %1, %2 : tensor<4x3xf32>
    // CHECK: "zb.slice"({{.*}}) {sizes = array<i64: 2, 2>, starts = array<i64: 0, 0>, steps = array<i64: 2, 2>}
    %4 = stablehlo.slice %3 [0:4:2, 0:3:2] : (tensor<4x3xf32>) -> tensor<2x2xf32>
    %cst_0 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    // CHECK: "zb.concat"
    %5 = stablehlo.pad %4, %cst_0, low = [0, 1], high = [0, 0], interior = [0, 0] : (tensor<2x2xf32>, tensor<f32>) -> tensor<2x3xf32>
    %6 = stablehlo.concatenate %3, %5, dim = 0 : (tensor<4x3xf32>, tensor<2x3xf32>) -> tensor<6x3xf32>
    %7 = stablehlo.iota dim = 0 : tensor<6x3xf32>
    // CHECK: "zb.greater"
    %8 = stablehlo.compare GT, %6, %7, FLOAT : (tensor<6x3xf32>, tensor<6x3xf32>) -> tensor<6x3xi1>
    // CHECK: "zb.where"
    %9 = stablehlo.select %8, %6, %7 : tensor<6x3xi1>, tensor<6x3xf32>
    // CHECK: "zb.mul"
    %10 = chlo.square %9 : tensor<6x3xf32> -> tensor<6x3xf32>
    %c = stablehlo.constant dense<0> : tensor<i32>
    // CHECK: "zb.tanh"
    // CHECK-NEXT: "zb.tanh"
    // CHECK-NOT: "zb.tanh"
    %11:2 = stablehlo.while(%i = %c, %x = %10) : tensor<i32>, tensor<6x3xf32>
    cond {
      %c_1 = stablehlo.constant dense<2> : tensor<i32>
      %20 = stablehlo.compare LT, %i, %c_1, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
      stablehlo.return %20 : tensor<i1>
    } do {
      %20 = stablehlo.tanh %x : tensor<6x3xf32>
      %c_1 = stablehlo.constant dense<1> : tensor<i32>
      %21 = stablehlo.add %i, %c_1 : tensor<i32>
      stablehlo.return %21, %20 : tensor<i32>, tensor<6x3xf32>
    }
    // CHECK: "zb.slice"({{.*}}) {sizes = array<i64: 2, 3>, starts = array<i64: 4, 0>, steps = array<i64: 1, 1>}
    %c_2 = stablehlo.constant dense<5> : tensor<i32>
    %12 = stablehlo.dynamic_slice %11#1, %c_2, %c, sizes = [2, 3] : (tensor<6x3xf32>, tensor<i32>, tensor<i32>) -> tensor<2x3xf32>
    // CHECK: "zb.reshape"({{.*}}) {shape = array<i64: 6>}
    %13 = call @inner(%12) : (tensor<2x3xf32>) -> tensor<6xf32>
    // CHECK: "zb.reduce_sum"({{.*}}) {axes = array<i64: 0>}
    %14 = stablehlo.reduce(%13 init: %cst_0) applies stablehlo.add across dimensions = [0] : (tensor<6xf32>, tensor<f32>) -> tensor<f32>
    return %14 : tensor<f32>
  }
  func.func private @inner(%arg0: tensor<2x3xf32>) -> tensor<6xf32> {
    %0 = stablehlo.reshape %arg0 : (tensor<2x3xf32>) -> tensor<6xf32>
    return %0 : tensor<6xf32>
  }
}
