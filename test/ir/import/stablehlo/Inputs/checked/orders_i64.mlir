module @orders_i64 {
  func.func public @main() -> (tensor<6x16xi1>) {
    %0:2 = call @inputs() : () -> (tensor<16xi64>, tensor<16xi64>)
    %1 = call @expected() : () -> (tensor<6x16xi1>)
    %a0 = stablehlo.compare LT, %0#0, %0#1, SIGNED : (tensor<16xi64>, tensor<16xi64>) -> tensor<16xi1>
    %r0 = stablehlo.reshape %a0 : (tensor<16xi1>) -> tensor<1x16xi1>
    %a1 = stablehlo.compare LE, %0#0, %0#1, SIGNED : (tensor<16xi64>, tensor<16xi64>) -> tensor<16xi1>
    %r1 = stablehlo.reshape %a1 : (tensor<16xi1>) -> tensor<1x16xi1>
    %a2 = stablehlo.compare GT, %0#0, %0#1, SIGNED : (tensor<16xi64>, tensor<16xi64>) -> tensor<16xi1>
    %r2 = stablehlo.reshape %a2 : (tensor<16xi1>) -> tensor<1x16xi1>
    %a3 = stablehlo.compare GE, %0#0, %0#1, SIGNED : (tensor<16xi64>, tensor<16xi64>) -> tensor<16xi1>
    %r3 = stablehlo.reshape %a3 : (tensor<16xi1>) -> tensor<1x16xi1>
    %a4 = stablehlo.compare EQ, %0#0, %0#1, SIGNED : (tensor<16xi64>, tensor<16xi64>) -> tensor<16xi1>
    %r4 = stablehlo.reshape %a4 : (tensor<16xi1>) -> tensor<1x16xi1>
    %a5 = stablehlo.compare NE, %0#0, %0#1, SIGNED : (tensor<16xi64>, tensor<16xi64>) -> tensor<16xi1>
    %r5 = stablehlo.reshape %a5 : (tensor<16xi1>) -> tensor<1x16xi1>
    %out = stablehlo.concatenate %r0, %r1, %r2, %r3, %r4, %r5, dim = 0 : (tensor<1x16xi1>, tensor<1x16xi1>, tensor<1x16xi1>, tensor<1x16xi1>, tensor<1x16xi1>, tensor<1x16xi1>) -> tensor<6x16xi1>
    stablehlo.custom_call @check.expect_eq(%out, %1) {has_side_effect = true} : (tensor<6x16xi1>, tensor<6x16xi1>) -> ()
    return %out : tensor<6x16xi1>
  }
  func.func private @inputs() -> (tensor<16xi64>, tensor<16xi64>) {
    %c0 = stablehlo.constant dense<[-9223372036854775808, 9223372036854775807, 1, -3827163528806562484, 9016351143072390193, 755048876937578993, 5304843643565475253, 2717436975649016432, 2036483637741664336, -4653508640180033724, -3947712489456002643, 4594494347228649267, -6051810267577164715, -4097207965657391406, 308799508092448259, -638232431895634610]> : tensor<16xi64>
    %c1 = stablehlo.constant dense<[-9223372036854775808, 9223372036854775807, 1, 3234006573505410759, 9016351143072390193, 755048876937578993, 5304843643565475253, 2717436975649016432, 1124862587201670219, 1934581140225472200, 396489374377415522, 1862827715858896207, 3036524493159691880, -3953810381358630781, 7760907172157371033, 8656243321031006850]> : tensor<16xi64>
    return %c0, %c1 : tensor<16xi64>, tensor<16xi64>
  }
  func.func private @expected() -> (tensor<6x16xi1>) {
    %c0 = stablehlo.constant dense<[[false, false, false, true, false, false, false, false, false, true, true, false, true, true, true, true], [true, true, true, true, true, true, true, true, false, true, true, false, true, true, true, true], [false, false, false, false, false, false, false, false, true, false, false, true, false, false, false, false], [true, true, true, false, true, true, true, true, true, false, false, true, false, false, false, false], [true, true, true, false, true, true, true, true, false, false, false, false, false, false, false, false], [false, false, false, true, false, false, false, false, true, true, true, true, true, true, true, true]]> : tensor<6x16xi1>
    return %c0 : tensor<6x16xi1>
  }
}
