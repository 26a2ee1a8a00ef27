module @power_i16 {
  func.func public @main() -> (tensor<12xi16>) {
    %0:2 = call @inputs() : () -> (tensor<12xi16>, tensor<12xi16>)
    %1 = call @expected() : () -> (tensor<12xi16>)
    %out = stablehlo.power %0#0, %0#1 : tensor<12xi16>
    stablehlo.custom_call @check.expect_eq(%out, %1) {has_side_effect = true} : (tensor<12xi16>, tensor<12xi16>) -> ()
    return %out : tensor<12xi16>
  }
  func.func private @inputs() -> (tensor<12xi16>, tensor<12xi16>) {
    %c0 = stablehlo.constant dense<[-32768, 32767, 1, 12049, -19434, -8913, -28581, 28877, 10201, 20045, -1, 1]> : tensor<12xi16>
    %c1 = stablehlo.constant dense<[0, 1, 2, 3, 5, 7, 0, 1, 2, 3, -1, -2]> : tensor<12xi16>
    return %c0, %c1 : tensor<12xi16>, tensor<12xi16>
  }
  func.func private @expected() -> (tensor<12xi16>) {
    %c0 = stablehlo.constant dense<[1, 32767, 1, 16433, -7328, -177, 1, 28877, -10767, 29013, -1, 1]> : tensor<12xi16>
    return %c0 : tensor<12xi16>
  }
}
