module @convert_i8 {
  func.func public @main() -> (tensor<12xi8>) {
    %0 = call @inputs() : () -> (tensor<12xi64>)
    %1 = call @expected() : () -> (tensor<12xi8>)
    %out = stablehlo.convert %0 : (tensor<12xi64>) -> tensor<12xi8>
    stablehlo.custom_call @check.expect_eq(%out, %1) {has_side_effect = true} : (tensor<12xi8>, tensor<12xi8>) -> ()
    return %out : tensor<12xi8>
  }
  func.func private @inputs() -> (tensor<12xi64>) {
    %c0 = stablehlo.constant dense<[-9223372036854775808, 9223372036854775807, 1, -6827167072820970393, 2443168576387703850, 6251457030374145747, -3495280205345819554, -5496460207704820545, -2583654137504577667, 2155875155106592842, 2639703255666697709, 9203671674780910210]> : tensor<12xi64>
    return %c0 : tensor<12xi64>
  }
  func.func private @expected() -> (tensor<12xi8>) {
    %c0 = stablehlo.constant dense<[0, -1, 1, 103, 42, -45, 94, -65, 125, 74, -19, -126]> : tensor<12xi8>
    return %c0 : tensor<12xi8>
  }
}
