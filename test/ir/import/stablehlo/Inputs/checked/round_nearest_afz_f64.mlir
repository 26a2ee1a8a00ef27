module @round_nearest_afz_f64 {
  func.func public @main() -> (tensor<8xf64>) {
    %0 = call @inputs() : () -> (tensor<8xf64>)
    %1 = call @expected() : () -> (tensor<8xf64>)
    %out = stablehlo.round_nearest_afz %0 : tensor<8xf64>
    stablehlo.custom_call @check.expect_close(%out, %1) {has_side_effect = true} : (tensor<8xf64>, tensor<8xf64>) -> ()
    return %out : tensor<8xf64>
  }
  func.func private @inputs() -> (tensor<8xf64>) {
    %c0 = stablehlo.constant dense<[5.00000000000000000e-01, -5.00000000000000000e-01, 4.99999970197677612e-01, 1.50000000000000000e+00, 2.50000000000000000e+00, -2.50000000000000000e+00, 1.00000000000000000e+09, -3.00000011920928955e-01]> : tensor<8xf64>
    return %c0 : tensor<8xf64>
  }
  func.func private @expected() -> (tensor<8xf64>) {
    %c0 = stablehlo.constant dense<[1.00000000000000000e+00, -1.00000000000000000e+00, 0.00000000000000000e+00, 2.00000000000000000e+00, 3.00000000000000000e+00, -3.00000000000000000e+00, 1.00000000000000000e+09, -0.00000000000000000e+00]> : tensor<8xf64>
    return %c0 : tensor<8xf64>
  }
}
