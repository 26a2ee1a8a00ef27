module @convert_f64_ui64 {
  func.func public @main() -> (tensor<5xui64>) {
    %0 = call @inputs() : () -> (tensor<5xf64>)
    %1 = call @expected() : () -> (tensor<5xui64>)
    %out = stablehlo.convert %0 : (tensor<5xf64>) -> tensor<5xui64>
    stablehlo.custom_call @check.expect_eq(%out, %1) {has_side_effect = true} : (tensor<5xui64>, tensor<5xui64>) -> ()
    return %out : tensor<5xui64>
  }
  func.func private @inputs() -> (tensor<5xf64>) {
    %c0 = stablehlo.constant dense<[0.00000000000000000e+00, 1.89999999999999991e+00, 9.22337203685477581e+18, 1.84467440737095496e+19, 1.00000000000000000e+15]> : tensor<5xf64>
    return %c0 : tensor<5xf64>
  }
  func.func private @expected() -> (tensor<5xui64>) {
    %c0 = stablehlo.constant dense<[0, 1, 9223372036854775808, 18446744073709549568, 1000000000000000]> : tensor<5xui64>
    return %c0 : tensor<5xui64>
  }
}
