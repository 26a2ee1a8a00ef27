module @slice_of_nothing {
  func.func public @main() -> (tensor<2x10xf32>) {
    %0 = call @inputs() : () -> (tensor<2x5xf32>)
    %1 = call @expected() : () -> (tensor<2x10xf32>)
    %a = stablehlo.slice %0 [0:2, 5:5] : (tensor<2x5xf32>) -> tensor<2x0xf32>
    %b = stablehlo.slice %0 [0:2, 0:5] : (tensor<2x5xf32>) -> tensor<2x5xf32>
    %out = stablehlo.concatenate %a, %b, %b, %a, dim = 1 : (tensor<2x0xf32>, tensor<2x5xf32>, tensor<2x5xf32>, tensor<2x0xf32>) -> tensor<2x10xf32>
    stablehlo.custom_call @check.expect_eq(%out, %1) {has_side_effect = true} : (tensor<2x10xf32>, tensor<2x10xf32>) -> ()
    return %out : tensor<2x10xf32>
  }
  func.func private @inputs() -> (tensor<2x5xf32>) {
    %c0 = stablehlo.constant dense<[[1.00000000000000000e+00, 8.00000000000000000e+00, -7.00000000000000000e+00, -4.00000000000000000e+00, 5.00000000000000000e+00], [2.00000000000000000e+00, -3.00000000000000000e+00, -4.00000000000000000e+00, 3.00000000000000000e+00, -2.00000000000000000e+00]]> : tensor<2x5xf32>
    return %c0 : tensor<2x5xf32>
  }
  func.func private @expected() -> (tensor<2x10xf32>) {
    %c0 = stablehlo.constant dense<[[1.00000000000000000e+00, 8.00000000000000000e+00, -7.00000000000000000e+00, -4.00000000000000000e+00, 5.00000000000000000e+00, 1.00000000000000000e+00, 8.00000000000000000e+00, -7.00000000000000000e+00, -4.00000000000000000e+00, 5.00000000000000000e+00], [2.00000000000000000e+00, -3.00000000000000000e+00, -4.00000000000000000e+00, 3.00000000000000000e+00, -2.00000000000000000e+00, 2.00000000000000000e+00, -3.00000000000000000e+00, -4.00000000000000000e+00, 3.00000000000000000e+00, -2.00000000000000000e+00]]> : tensor<2x10xf32>
    return %c0 : tensor<2x10xf32>
  }
}
