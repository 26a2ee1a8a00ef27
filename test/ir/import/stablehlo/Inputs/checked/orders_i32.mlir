module @orders_i32 {
  func.func public @main() -> (tensor<6x16xi1>) {
    %0:2 = call @inputs() : () -> (tensor<16xi32>, tensor<16xi32>)
    %1 = call @expected() : () -> (tensor<6x16xi1>)
    %a0 = stablehlo.compare LT, %0#0, %0#1, SIGNED : (tensor<16xi32>, tensor<16xi32>) -> tensor<16xi1>
    %r0 = stablehlo.reshape %a0 : (tensor<16xi1>) -> tensor<1x16xi1>
    %a1 = stablehlo.compare LE, %0#0, %0#1, SIGNED : (tensor<16xi32>, tensor<16xi32>) -> tensor<16xi1>
    %r1 = stablehlo.reshape %a1 : (tensor<16xi1>) -> tensor<1x16xi1>
    %a2 = stablehlo.compare GT, %0#0, %0#1, SIGNED : (tensor<16xi32>, tensor<16xi32>) -> tensor<16xi1>
    %r2 = stablehlo.reshape %a2 : (tensor<16xi1>) -> tensor<1x16xi1>
    %a3 = stablehlo.compare GE, %0#0, %0#1, SIGNED : (tensor<16xi32>, tensor<16xi32>) -> tensor<16xi1>
    %r3 = stablehlo.reshape %a3 : (tensor<16xi1>) -> tensor<1x16xi1>
    %a4 = stablehlo.compare EQ, %0#0, %0#1, SIGNED : (tensor<16xi32>, tensor<16xi32>) -> tensor<16xi1>
    %r4 = stablehlo.reshape %a4 : (tensor<16xi1>) -> tensor<1x16xi1>
    %a5 = stablehlo.compare NE, %0#0, %0#1, SIGNED : (tensor<16xi32>, tensor<16xi32>) -> tensor<16xi1>
    %r5 = stablehlo.reshape %a5 : (tensor<16xi1>) -> tensor<1x16xi1>
    %out = stablehlo.concatenate %r0, %r1, %r2, %r3, %r4, %r5, dim = 0 : (tensor<1x16xi1>, tensor<1x16xi1>, tensor<1x16xi1>, tensor<1x16xi1>, tensor<1x16xi1>, tensor<1x16xi1>) -> tensor<6x16xi1>
    stablehlo.custom_call @check.expect_eq(%out, %1) {has_side_effect = true} : (tensor<6x16xi1>, tensor<6x16xi1>) -> ()
    return %out : tensor<6x16xi1>
  }
  func.func private @inputs() -> (tensor<16xi32>, tensor<16xi32>) {
    %c0 = stablehlo.constant dense<[-2147483648, 2147483647, 1, -1632090256, -1409865139, -1158544138, -1426528380, -1419805506, -1536163692, -2089399001, -1809918638, -1728509865, -1674740208, -1684213625, -1642882745, -1853216733]> : tensor<16xi32>
    %c1 = stablehlo.constant dense<[-2147483648, 2147483647, 1, -1144576467, -1409865139, -1158544138, -1426528380, -1419805506, -1451430694, -1109027805, -1755298797, -2041188531, -2019322400, -2089775322, -1584062965, -2019443905]> : tensor<16xi32>
    return %c0, %c1 : tensor<16xi32>, tensor<16xi32>
  }
  func.func private @expected() -> (tensor<6x16xi1>) {
    %c0 = stablehlo.constant dense<[[false, false, false, true, false, false, false, false, true, true, true, false, false, false, true, false], [true, true, true, true, true, true, true, true, true, true, true, false, false, false, true, false], [false, false, false, false, false, false, false, false, false, false, false, true, true, true, false, true], [true, true, true, false, true, true, true, true, false, false, false, true, true, true, false, true], [true, true, true, false, true, true, true, true, false, false, false, false, false, false, false, false], [false, false, false, true, false, false, false, false, true, true, true, true, true, true, true, true]]> : tensor<6x16xi1>
    return %c0 : tensor<6x16xi1>
  }
}
