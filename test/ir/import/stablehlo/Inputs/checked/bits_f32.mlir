module @bits_f32 {
  func.func public @main() -> (tensor<7xui32>) {
    %0 = call @inputs() : () -> (tensor<7xf32>)
    %1 = call @expected() : () -> (tensor<7xui32>)
    %out = stablehlo.bitcast_convert %0 : (tensor<7xf32>) -> tensor<7xui32>
    stablehlo.custom_call @check.expect_eq(%out, %1) {has_side_effect = true} : (tensor<7xui32>, tensor<7xui32>) -> ()
    return %out : tensor<7xui32>
  }
  func.func private @inputs() -> (tensor<7xf32>) {
    %c0 = stablehlo.constant dense<[0.00000000000000000e+00, -0.00000000000000000e+00, 1.50000000000000000e+00, -2.75000000000000000e+00, 0x7F800000, 0xFF800000, 1.00000001168609742e-07]> : tensor<7xf32>
    return %c0 : tensor<7xf32>
  }
  func.func private @expected() -> (tensor<7xui32>) {
    %c0 = stablehlo.constant dense<[0, 2147483648, 1069547520, 3224371200, 2139095040, 4286578688, 869711765]> : tensor<7xui32>
    return %c0 : tensor<7xui32>
  }
}
