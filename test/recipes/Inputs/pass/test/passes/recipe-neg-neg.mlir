// RUN: zb-opt --zb-recipe-neg-neg --zb-dce %s | FileCheck %s

// CHECK-LABEL: func.func @model
// CHECK-NOT: zb.neg
// CHECK: "zb.tanh"(%arg0)
module attributes {zb.level = "graph"} {
  func.func @model(%x: tensor<4xf32> {zb.input = "x"}) -> tensor<4xf32> {
    %0 = "zb.neg"(%x) : (tensor<4xf32>) -> tensor<4xf32>
    %1 = "zb.neg"(%0) : (tensor<4xf32>) -> tensor<4xf32>
    %2 = "zb.tanh"(%1) : (tensor<4xf32>) -> tensor<4xf32>
    return %2 : tensor<4xf32>
  }
}
