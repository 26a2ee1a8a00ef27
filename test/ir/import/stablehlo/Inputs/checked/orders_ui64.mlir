module @orders_ui64 {
  func.func public @main() -> (tensor<6x16xi1>) {
    %0:2 = call @inputs() : () -> (tensor<16xui64>, tensor<16xui64>)
    %1 = call @expected() : () -> (tensor<6x16xi1>)
    %a0 = stablehlo.compare LT, %0#0, %0#1, UNSIGNED : (tensor<16xui64>, tensor<16xui64>) -> tensor<16xi1>
    %r0 = stablehlo.reshape %a0 : (tensor<16xi1>) -> tensor<1x16xi1>
    %a1 = stablehlo.compare LE, %0#0, %0#1, UNSIGNED : (tensor<16xui64>, tensor<16xui64>) -> tensor<16xi1>
    %r1 = stablehlo.reshape %a1 : (tensor<16xi1>) -> tensor<1x16xi1>
    %a2 = stablehlo.compare GT, %0#0, %0#1, UNSIGNED : (tensor<16xui64>, tensor<16xui64>) -> tensor<16xi1>
    %r2 = stablehlo.reshape %a2 : (tensor<16xi1>) -> tensor<1x16xi1>
    %a3 = stablehlo.compare GE, %0#0, %0#1, UNSIGNED : (tensor<16xui64>, tensor<16xui64>) -> tensor<16xi1>
    %r3 = stablehlo.reshape %a3 : (tensor<16xi1>) -> tensor<1x16xi1>
    %a4 = stablehlo.compare EQ, %0#0, %0#1, UNSIGNED : (tensor<16xui64>, tensor<16xui64>) -> tensor<16xi1>
    %r4 = stablehlo.reshape %a4 : (tensor<16xi1>) -> tensor<1x16xi1>
    %a5 = stablehlo.compare NE, %0#0, %0#1, UNSIGNED : (tensor<16xui64>, tensor<16xui64>) -> tensor<16xi1>
    %r5 = stablehlo.reshape %a5 : (tensor<16xi1>) -> tensor<1x16xi1>
    %out = stablehlo.concatenate %r0, %r1, %r2, %r3, %r4, %r5, dim = 0 : (tensor<1x16xi1>, tensor<1x16xi1>, tensor<1x16xi1>, tensor<1x16xi1>, tensor<1x16xi1>, tensor<1x16xi1>) -> tensor<6x16xi1>
    stablehlo.custom_call @check.expect_eq(%out, %1) {has_side_effect = true} : (tensor<6x16xi1>, tensor<6x16xi1>) -> ()
    return %out : tensor<6x16xi1>
  }
  func.func private @inputs() -> (tensor<16xui64>, tensor<16xui64>) {
    %c0 = stablehlo.constant dense<[0, 18446744073709551615, 1, 9583678029727160564, 10692685314242076502, 2598317139791139207, 18214096622248551647, 12715562752248801354, 14704709338540175930, 12025697031105541663, 2557074784838137497, 6546062701073166116, 4368251224334938719, 8628361940029017028, 11379249442584114871, 3786711930344178212]> : tensor<16xui64>
    %c1 = stablehlo.constant dense<[0, 18446744073709551615, 1, 10526795191969237508, 10692685314242076502, 2598317139791139207, 18214096622248551647, 12715562752248801354, 4216419629355597806, 17686459512161513794, 2670283542957093384, 3694650560695403030, 6182407202126152461, 10143140125360748952, 5310003686209989712, 13809232829742804636]> : tensor<16xui64>
    return %c0, %c1 : tensor<16xui64>, tensor<16xui64>
  }
  func.func private @expected() -> (tensor<6x16xi1>) {
    %c0 = stablehlo.constant dense<[[false, false, false, true, false, false, false, false, false, true, true, false, true, true, false, true], [true, true, true, true, true, true, true, true, false, true, true, false, true, true, false, true], [false, false, false, false, false, false, false, false, true, false, false, true, false, false, true, false], [true, true, true, false, true, true, true, true, true, false, false, true, false, false, true, false], [true, true, true, false, true, true, true, true, false, false, false, false, false, false, false, false], [false, false, false, true, false, false, false, false, true, true, true, true, true, true, true, true]]> : tensor<6x16xi1>
    return %c0 : tensor<6x16xi1>
  }
}
