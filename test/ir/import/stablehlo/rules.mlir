// What JAX differentiates by a rule of its own is told by its formula, or by the function that it is in. Numbers:
// test/e2e/points.py.
// RUN: zbc %s -o %t --ranks 1 --train v --train w --optimizer sgd:lr=1 --dump-ir %t.dump > %t.txt && FileCheck %s < %t.dump/00_zb-canonicalize.mlir

// CHECK: func.func @model(%[[X:.*]]: tensor<8xf32> {zb.input = "x"}, %[[W:.*]]: tensor<8xf32> {zb.param = "w"}, %[[V:.*]]: tensor<1xf32> {zb.param = "v"})
module @jit_loss {
  func.func public @main(%v: tensor<1xf32> loc("v"), %w: tensor<8xf32> loc("w"), %x: tensor<8xf32> loc("x")) -> tensor<f32> {
    %zero = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %0 = stablehlo.broadcast_in_dim %zero, dims = [] : (tensor<f32>) -> tensor<8xf32>
    // Outside of JAX's functions maximum is what it says; inside of them, with or without a number, it is relu.
    // CHECK: %[[MAX:.*]] = "zb.max"(%[[W]], %{{.*}})
    %1 = stablehlo.maximum %w, %0 : tensor<8xf32>
    // CHECK: %[[RELU:.*]] = "zb.relu"(%[[MAX]])
    %2 = call @relu_12(%1) : (tensor<8xf32>) -> tensor<8xf32>
    // CHECK: "zb.max"(%[[RELU]], %{{.*}})
    %3 = call @relu_of_mine(%2) : (tensor<8xf32>) -> tensor<8xf32>
    // The slope of relu6 is 0 at both ends.
    // CHECK: %[[INSIDE:.*]] = "zb.where"(%{{.*}}, %[[TOP:.*]], %{{.*}})
    // CHECK: "zb.slope"(%[[INSIDE]], %{{.*}})
    // CHECK: %[[SIX:.*]] = "zb.add"
    %4 = call @relu6(%3) : (tensor<8xf32>) -> tensor<8xf32>
    // Of a zero it is softplus, whichever operand that is, and whatever the order of sums is.
    // CHECK: %[[PLUS:.*]] = "zb.softplus"(%[[SIX]])
    %5 = call @softplus(%0, %4) : (tensor<8xf32>, tensor<8xf32>) -> tensor<8xf32>
    // CHECK: %[[SHARE:.*]] = "zb.sigmoid"(%{{.*}})
    // CHECK: %[[DETACHED:.*]] = "zb.detach"(%[[SHARE]])
    // CHECK: "zb.slope"(%[[PLUS]], %[[DETACHED]])
    // CHECK-NOT: "zb.slope"
    %6 = call @softplus(%5, %x) : (tensor<8xf32>, tensor<8xf32>) -> tensor<8xf32>
    // CHECK: %[[GATE:.*]] = "zb.sigmoid"(
    %7 = stablehlo.negate %6 : tensor<8xf32>
    %8 = stablehlo.exponential %7 : tensor<8xf32>
    %one = stablehlo.constant dense<1.000000e+00> : tensor<8xf32>
    %9 = stablehlo.add %8, %one : tensor<8xf32>
    %10 = stablehlo.divide %one, %9 : tensor<8xf32>
    // A part of a formula may be a parameter itself.
    // CHECK: "zb.max"(%[[GATE]], %[[V]])
    %shaped = stablehlo.reshape %v : (tensor<1xf32>) -> tensor<f32>
    %spread = stablehlo.broadcast_in_dim %shaped, dims = [] : (tensor<f32>) -> tensor<8xf32>
    %larger = stablehlo.maximum %10, %spread : tensor<8xf32>
    // 2 / (1 + exp(-x)) is no sigmoid.
    // CHECK: "zb.neg"(
    // CHECK-NEXT: "zb.exp"
    %11 = stablehlo.negate %larger : tensor<8xf32>
    %12 = stablehlo.exponential %11 : tensor<8xf32>
    %13 = stablehlo.add %12, %one : tensor<8xf32>
    %two = stablehlo.constant dense<2.000000e+00> : tensor<8xf32>
    %14 = stablehlo.divide %two, %13 : tensor<8xf32>
    %15 = stablehlo.reduce(%14 init: %zero) applies stablehlo.add across dimensions = [0] : (tensor<8xf32>, tensor<f32>) -> tensor<f32>
    return %15 : tensor<f32>
  }
  func.func private @relu_12(%a: tensor<8xf32>) -> tensor<8xf32> {
    %zero = stablehlo.constant dense<0.000000e+00> : tensor<8xf32>
    %0 = stablehlo.maximum %zero, %a : tensor<8xf32>
    return %0 : tensor<8xf32>
  }
  func.func private @relu_of_mine(%a: tensor<8xf32>) -> tensor<8xf32> {
    %zero = stablehlo.constant dense<0.000000e+00> : tensor<8xf32>
    %0 = stablehlo.maximum %a, %zero : tensor<8xf32>
    return %0 : tensor<8xf32>
  }
  func.func private @relu6(%a: tensor<8xf32>) -> tensor<8xf32> {
    %zero = stablehlo.constant dense<0.000000e+00> : tensor<8xf32>
    %0 = stablehlo.maximum %a, %zero : tensor<8xf32>
    %six = stablehlo.constant dense<6.000000e+00> : tensor<8xf32>
    %1 = stablehlo.minimum %0, %six : tensor<8xf32>
    return %1 : tensor<8xf32>
  }
  func.func private @softplus(%a: tensor<8xf32>, %b: tensor<8xf32>) -> tensor<8xf32> {
    %0 = stablehlo.maximum %a, %b : tensor<8xf32>
    %1 = stablehlo.subtract %a, %b : tensor<8xf32>
    %2 = stablehlo.compare NE, %1, %1, FLOAT : (tensor<8xf32>, tensor<8xf32>) -> tensor<8xi1>
    %3 = stablehlo.add %b, %a : tensor<8xf32>
    %4 = stablehlo.abs %1 : tensor<8xf32>
    %5 = stablehlo.negate %4 : tensor<8xf32>
    %6 = stablehlo.exponential %5 : tensor<8xf32>
    %7 = stablehlo.log_plus_one %6 : tensor<8xf32>
    %8 = stablehlo.add %7, %0 : tensor<8xf32>
    %9 = stablehlo.select %2, %3, %8 : tensor<8xi1>, tensor<8xf32>
    return %9 : tensor<8xf32>
  }
}
