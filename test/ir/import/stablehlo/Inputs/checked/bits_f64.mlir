module @bits_f64 {
  func.func public @main() -> (tensor<7xi64>) {
    %0 = call @inputs() : () -> (tensor<7xf64>)
    %1 = call @expected() : () -> (tensor<7xi64>)
    %out = stablehlo.bitcast_convert %0 : (tensor<7xf64>) -> tensor<7xi64>
    stablehlo.custom_call @check.expect_eq(%out, %1) {has_side_effect = true} : (tensor<7xi64>, tensor<7xi64>) -> ()
    return %out : tensor<7xi64>
  }
  func.func private @inputs() -> (tensor<7xf64>) {
    %c0 = stablehlo.constant dense<[0.00000000000000000e+00, -0.00000000000000000e+00, 1.50000000000000000e+00, -2.75000000000000000e+00, 0x7FF0000000000000, 0xFFF0000000000000, 9.99999999999999955e-08]> : tensor<7xf64>
    return %c0 : tensor<7xf64>
  }
  func.func private @expected() -> (tensor<7xi64>) {
    %c0 = stablehlo.constant dense<[0, -9223372036854775808, 4609434218613702656, -4609997168567123968, 9218868437227405312, -4503599627370496, 4502148214488346440]> : tensor<7xi64>
    return %c0 : tensor<7xi64>
  }
}
