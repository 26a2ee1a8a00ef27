module @orders_i8 {
  func.func public @main() -> (tensor<6x16xi1>) {
    %0:2 = call @inputs() : () -> (tensor<16xi8>, tensor<16xi8>)
    %1 = call @expected() : () -> (tensor<6x16xi1>)
    %a0 = stablehlo.compare LT, %0#0, %0#1, SIGNED : (tensor<16xi8>, tensor<16xi8>) -> tensor<16xi1>
    %r0 = stablehlo.reshape %a0 : (tensor<16xi1>) -> tensor<1x16xi1>
    %a1 = stablehlo.compare LE, %0#0, %0#1, SIGNED : (tensor<16xi8>, tensor<16xi8>) -> tensor<16xi1>
    %r1 = stablehlo.reshape %a1 : (tensor<16xi1>) -> tensor<1x16xi1>
    %a2 = stablehlo.compare GT, %0#0, %0#1, SIGNED : (tensor<16xi8>, tensor<16xi8>) -> tensor<16xi1>
    %r2 = stablehlo.reshape %a2 : (tensor<16xi1>) -> tensor<1x16xi1>
    %a3 = stablehlo.compare GE, %0#0, %0#1, SIGNED : (tensor<16xi8>, tensor<16xi8>) -> tensor<16xi1>
    %r3 = stablehlo.reshape %a3 : (tensor<16xi1>) -> tensor<1x16xi1>
    %a4 = stablehlo.compare EQ, %0#0, %0#1, SIGNED : (tensor<16xi8>, tensor<16xi8>) -> tensor<16xi1>
    %r4 = stablehlo.reshape %a4 : (tensor<16xi1>) -> tensor<1x16xi1>
    %a5 = stablehlo.compare NE, %0#0, %0#1, SIGNED : (tensor<16xi8>, tensor<16xi8>) -> tensor<16xi1>
    %r5 = stablehlo.reshape %a5 : (tensor<16xi1>) -> tensor<1x16xi1>
    %out = stablehlo.concatenate %r0, %r1, %r2, %r3, %r4, %r5, dim = 0 : (tensor<1x16xi1>, tensor<1x16xi1>, tensor<1x16xi1>, tensor<1x16xi1>, tensor<1x16xi1>, tensor<1x16xi1>) -> tensor<6x16xi1>
    stablehlo.custom_call @check.expect_eq(%out, %1) {has_side_effect = true} : (tensor<6x16xi1>, tensor<6x16xi1>) -> ()
    return %out : tensor<6x16xi1>
  }
  func.func private @inputs() -> (tensor<16xi8>, tensor<16xi8>) {
    %c0 = stablehlo.constant dense<[-128, 127, 1, -103, 67, 0, -111, -89, 103, 83, -52, -104, 71, -27, 123, 60]> : tensor<16xi8>
    %c1 = stablehlo.constant dense<[-128, 127, 1, 58, 67, 0, -111, -89, 27, -63, -126, 107, -120, 11, -118, -8]> : tensor<16xi8>
    return %c0, %c1 : tensor<16xi8>, tensor<16xi8>
  }
  func.func private @expected() -> (tensor<6x16xi1>) {
    %c0 = stablehlo.constant dense<[[false, false, false, true, false, false, false, false, false, false, false, true, false, true, false, false], [true, true, true, true, true, true, true, true, false, false, false, true, false, true, false, false], [false, false, false, false, false, false, false, false, true, true, true, false, true, false, true, true], [true, true, true, false, true, true, true, true, true, true, true, false, true, false, true, true], [true, true, true, false, true, true, true, true, false, false, false, false, false, false, false, false], [false, false, false, true, false, false, false, false, true, true, true, true, true, true, true, true]]> : tensor<6x16xi1>
    return %c0 : tensor<6x16xi1>
  }
}
