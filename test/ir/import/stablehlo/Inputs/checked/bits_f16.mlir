module @bits_f16 {
  func.func public @main() -> (tensor<7xui16>) {
    %0 = call @inputs() : () -> (tensor<7xf16>)
    %1 = call @expected() : () -> (tensor<7xui16>)
    %out = stablehlo.bitcast_convert %0 : (tensor<7xf16>) -> tensor<7xui16>
    stablehlo.custom_call @check.expect_eq(%out, %1) {has_side_effect = true} : (tensor<7xui16>, tensor<7xui16>) -> ()
    return %out : tensor<7xui16>
  }
  func.func private @inputs() -> (tensor<7xf16>) {
    %c0 = stablehlo.constant dense<[0.00000000000000000e+00, -0.00000000000000000e+00, 1.50000000000000000e+00, -2.75000000000000000e+00, 0x7C00, 0xFC00, 1.19209289550781250e-07]> : tensor<7xf16>
    return %c0 : tensor<7xf16>
  }
  func.func private @expected() -> (tensor<7xui16>) {
    %c0 = stablehlo.constant dense<[0, 32768, 15872, 49536, 31744, 64512, 2]> : tensor<7xui16>
    return %c0 : tensor<7xui16>
  }
}
