module @top_k {
  func.func public @main() -> (tensor<3x4xf32>, tensor<3x4xi32>) {
    %0 = call @inputs() : () -> (tensor<3x9xf32>)
    %1:2 = call @expected() : () -> (tensor<3x4xf32>, tensor<3x4xi32>)
    %out:2 = chlo.top_k(%0, k = 4) : tensor<3x9xf32> -> (tensor<3x4xf32>, tensor<3x4xi32>)
    stablehlo.custom_call @check.expect_eq(%out#0, %1#0) {has_side_effect = true} : (tensor<3x4xf32>, tensor<3x4xf32>) -> ()
    stablehlo.custom_call @check.expect_eq(%out#1, %1#1) {has_side_effect = true} : (tensor<3x4xi32>, tensor<3x4xi32>) -> ()
    return %out#0, %out#1 : tensor<3x4xf32>, tensor<3x4xi32>
  }
  func.func private @inputs() -> (tensor<3x9xf32>) {
    %c0 = stablehlo.constant dense<[[9.75000000000000000e+00, 9.75000000000000000e+00, -8.00000000000000000e+00, 3.75000000000000000e+00, -8.00000000000000000e+00, 4.00000000000000000e+00, 7.25000000000000000e+00, -8.00000000000000000e+00, 4.00000000000000000e+00], [-6.25000000000000000e+00, -6.75000000000000000e+00, -4.50000000000000000e+00, -2.50000000000000000e-01, -4.50000000000000000e+00, 2.00000000000000000e+00, -8.75000000000000000e+00, 7.75000000000000000e+00, -2.50000000000000000e+00], [3.75000000000000000e+00, -4.00000000000000000e+00, -5.50000000000000000e+00, 9.00000000000000000e+00, -5.50000000000000000e+00, -5.25000000000000000e+00, -9.75000000000000000e+00, -8.25000000000000000e+00, -1.50000000000000000e+00]]> : tensor<3x9xf32>
    return %c0 : tensor<3x9xf32>
  }
  func.func private @expected() -> (tensor<3x4xf32>, tensor<3x4xi32>) {
    %c0 = stablehlo.constant dense<[[9.75000000000000000e+00, 9.75000000000000000e+00, 7.25000000000000000e+00, 4.00000000000000000e+00], [7.75000000000000000e+00, 2.00000000000000000e+00, -2.50000000000000000e-01, -2.50000000000000000e+00], [9.00000000000000000e+00, 3.75000000000000000e+00, -1.50000000000000000e+00, -4.00000000000000000e+00]]> : tensor<3x4xf32>
    %c1 = stablehlo.constant dense<[[0, 1, 6, 5], [7, 5, 3, 8], [3, 0, 8, 1]]> : tensor<3x4xi32>
    return %c0, %c1 : tensor<3x4xf32>, tensor<3x4xi32>
  }
}
