module @convert_ui32 {
  func.func public @main() -> (tensor<12xui32>) {
    %0 = call @inputs() : () -> (tensor<12xi64>)
    %1 = call @expected() : () -> (tensor<12xui32>)
    %out = stablehlo.convert %0 : (tensor<12xi64>) -> tensor<12xui32>
    stablehlo.custom_call @check.expect_eq(%out, %1) {has_side_effect = true} : (tensor<12xui32>, tensor<12xui32>) -> ()
    return %out : tensor<12xui32>
  }
  func.func private @inputs() -> (tensor<12xi64>) {
    %c0 = stablehlo.constant dense<[-9223372036854775808, 9223372036854775807, 1, 3547213318531558935, -8157223938006164198, 858350949547361046, -4004318440371915683, -2770425807342027298, -5936411351368441399, 1199485187113079106, -3972599711562165673, 1859037733448209270]> : tensor<12xi64>
    return %c0 : tensor<12xi64>
  }
  func.func private @expected() -> (tensor<12xui32>) {
    %c0 = stablehlo.constant dense<[0, 4294967295, 1, 563850775, 366239002, 274973462, 571864157, 349027806, 286679497, 725078338, 763662935, 238703478]> : tensor<12xui32>
    return %c0 : tensor<12xui32>
  }
}
