// zb-verify says what zb-opt says of a program that it reads, and changes nothing.
// RUN: zb-opt --zb-verify --split-input-file --verify-diagnostics %s
// RUN: not zb-opt --no-verify --zb-verify --split-input-file %s 2>&1 | FileCheck %s

// CHECK: verify-errors.mlir:9:8: error: zb.add: the type of result 0 is wrong: expected tensor<2x3xf32>, got tensor<2x4xf32>
func.func @wrong(%x: tensor<2x3xf32>) -> tensor<2x4xf32> {
  // The hint is a line of its own.
  // expected-error@+1 {{zb.add: the type of result 0 is wrong: expected tensor<2x3xf32>, got tensor<2x4xf32>}}
  %y = "zb.add"(%x, %x) : (tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<2x4xf32>
  return %y : tensor<2x4xf32>
}

// -----

// CHECK: func.func @right(%arg0: tensor<2x3xf32>) -> tensor<2x3xf32>
// CHECK-NEXT: %0 = "zb.add"(%arg0, %arg0) : (tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<2x3xf32>
// CHECK-NEXT: return %0
func.func @right(%x: tensor<2x3xf32>) -> tensor<2x3xf32> {
  %y = "zb.add"(%x, %x) : (tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<2x3xf32>
  return %y : tensor<2x3xf32>
}
