module @integers_i8 {
  func.func public @main() -> (tensor<16x24xi8>) {
    %0:3 = call @inputs() : () -> (tensor<24xi8>, tensor<24xi8>, tensor<24xi8>)
    %1 = call @expected() : () -> (tensor<16x24xi8>)
    %add = stablehlo.add %0#0, %0#1 : tensor<24xi8>
    %subtract = stablehlo.subtract %0#0, %0#1 : tensor<24xi8>
    %multiply = stablehlo.multiply %0#0, %0#1 : tensor<24xi8>
    %maximum = stablehlo.maximum %0#0, %0#1 : tensor<24xi8>
    %minimum = stablehlo.minimum %0#0, %0#1 : tensor<24xi8>
    %and = stablehlo.and %0#0, %0#1 : tensor<24xi8>
    %or = stablehlo.or %0#0, %0#1 : tensor<24xi8>
    %xor = stablehlo.xor %0#0, %0#1 : tensor<24xi8>
    %divide = stablehlo.divide %0#0, %0#1 : tensor<24xi8>
    %remainder = stablehlo.remainder %0#0, %0#1 : tensor<24xi8>
    %shift_left = stablehlo.shift_left %0#0, %0#2 : tensor<24xi8>
    %shift_right_logical = stablehlo.shift_right_logical %0#0, %0#2 : tensor<24xi8>
    %shift_right_arithmetic = stablehlo.shift_right_arithmetic %0#0, %0#2 : tensor<24xi8>
    %not = stablehlo.not %0#0 : tensor<24xi8>
    %negate = stablehlo.negate %0#0 : tensor<24xi8>
    %popcnt = stablehlo.popcnt %0#0 : tensor<24xi8>
    %r0 = stablehlo.reshape %add : (tensor<24xi8>) -> tensor<1x24xi8>
    %r1 = stablehlo.reshape %subtract : (tensor<24xi8>) -> tensor<1x24xi8>
    %r2 = stablehlo.reshape %multiply : (tensor<24xi8>) -> tensor<1x24xi8>
    %r3 = stablehlo.reshape %maximum : (tensor<24xi8>) -> tensor<1x24xi8>
    %r4 = stablehlo.reshape %minimum : (tensor<24xi8>) -> tensor<1x24xi8>
    %r5 = stablehlo.reshape %and : (tensor<24xi8>) -> tensor<1x24xi8>
    %r6 = stablehlo.reshape %or : (tensor<24xi8>) -> tensor<1x24xi8>
    %r7 = stablehlo.reshape %xor : (tensor<24xi8>) -> tensor<1x24xi8>
    %r8 = stablehlo.reshape %divide : (tensor<24xi8>) -> tensor<1x24xi8>
    %r9 = stablehlo.reshape %remainder : (tensor<24xi8>) -> tensor<1x24xi8>
    %r10 = stablehlo.reshape %shift_left : (tensor<24xi8>) -> tensor<1x24xi8>
    %r11 = stablehlo.reshape %shift_right_logical : (tensor<24xi8>) -> tensor<1x24xi8>
    %r12 = stablehlo.reshape %shift_right_arithmetic : (tensor<24xi8>) -> tensor<1x24xi8>
    %r13 = stablehlo.reshape %not : (tensor<24xi8>) -> tensor<1x24xi8>
    %r14 = stablehlo.reshape %negate : (tensor<24xi8>) -> tensor<1x24xi8>
    %r15 = stablehlo.reshape %popcnt : (tensor<24xi8>) -> tensor<1x24xi8>
    %out = stablehlo.concatenate %r0, %r1, %r2, %r3, %r4, %r5, %r6, %r7, %r8, %r9, %r10, %r11, %r12, %r13, %r14, %r15, dim = 0 : (tensor<1x24xi8>, tensor<1x24xi8>, tensor<1x24xi8>, tensor<1x24xi8>, tensor<1x24xi8>, tensor<1x24xi8>, tensor<1x24xi8>, tensor<1x24xi8>, tensor<1x24xi8>, tensor<1x24xi8>, tensor<1x24xi8>, tensor<1x24xi8>, tensor<1x24xi8>, tensor<1x24xi8>, tensor<1x24xi8>, tensor<1x24xi8>) -> tensor<16x24xi8>
    stablehlo.custom_call @check.expect_eq(%out, %1) {has_side_effect = true} : (tensor<16x24xi8>, tensor<16x24xi8>) -> ()
    return %out : tensor<16x24xi8>
  }
  func.func private @inputs() -> (tensor<24xi8>, tensor<24xi8>, tensor<24xi8>) {
    %c0 = stablehlo.constant dense<[-128, 127, 1, -25, 57, -105, -39, -86, 8, 102, 48, 7, -128, -73, -122, 60, 63, -72, 55, -16, 61, -94, 73, -90]> : tensor<24xi8>
    %c1 = stablehlo.constant dense<[-1, 7, 1, -45, -127, 16, 31, 44, 124, -105, 105, 64, 7, -36, 96, -28, 97, -5, 97, 27, -109, -5, 57, -55]> : tensor<24xi8>
    %c2 = stablehlo.constant dense<[0, 1, 7, 8, 5, 1, 7, 7, 2, 3, 2, 2, 5, 7, 3, 3, 2, 7, 0, 4, 5, 3, 1, 1]> : tensor<24xi8>
    return %c0, %c1, %c2 : tensor<24xi8>, tensor<24xi8>, tensor<24xi8>
  }
  func.func private @expected() -> (tensor<16x24xi8>) {
    %c0 = stablehlo.constant dense<[[127, -122, 2, -70, -70, -89, -8, -42, -124, -3, -103, 71, -121, -109, -26, 32, -96, -77, -104, 11, -48, -99, -126, 111], [-127, 120, 0, 20, -72, -121, -70, 126, -116, -49, -57, -57, 121, -37, 38, 88, -34, -67, -42, -43, -86, -89, 16, -35], [-128, 121, 1, 101, -71, 112, 71, 56, -32, 42, -80, -64, -128, 68, 64, 112, -33, 104, -41, 80, 7, -42, 65, 86], [-1, 127, 1, -25, 57, 16, 31, 44, 124, 102, 105, 64, 7, -36, 96, 60, 97, -5, 97, 27, 61, -5, 73, -55], [-128, 7, 1, -45, -127, -105, -39, -86, 8, -105, 48, 7, -128, -73, -122, -28, 63, -72, 55, -16, -109, -94, 57, -90], [-128, 7, 1, -61, 1, 16, 25, 40, 8, 6, 32, 0, 0, -108, 0, 36, 33, -72, 33, 16, 17, -94, 9, -128], [-1, 127, 1, -9, -71, -105, -33, -82, 124, -9, 121, 71, -121, -1, -26, -4, 127, -5, 119, -5, -65, -5, 121, -17], [127, 120, 0, 52, -72, -121, -58, -122, 116, -15, 89, 71, -121, 107, -26, -40, 94, 67, 86, -21, -82, 89, 112, 111], [-128, 18, 1, 0, 0, -6, -1, -1, 0, 0, 0, 0, -18, 2, -1, -2, 0, 14, 0, 0, 0, 18, 1, 1], [0, 1, 0, -25, 57, -9, -8, -42, 8, 102, 48, 7, -2, -1, -26, 4, 63, -2, 55, -16, 61, -4, 16, -35], [-128, -2, -128, 0, 32, 46, -128, 0, 32, 48, -64, 28, 0, -128, 48, -32, -4, 0, 55, 0, -96, 16, -110, 76], [-128, 63, 0, 0, 1, 75, 1, 1, 2, 12, 12, 1, 4, 1, 16, 7, 15, 1, 55, 15, 1, 20, 36, 83], [-128, 63, 0, -1, 1, -53, -1, -1, 2, 12, 12, 1, -4, -1, -16, 7, 15, -1, 55, -1, 1, -12, 36, -45], [127, -128, -2, 24, -58, 104, 38, 85, -9, -103, -49, -8, 127, 72, 121, -61, -64, 71, -56, 15, -62, 93, -74, 89], [-128, -127, -1, 25, -57, 105, 39, 86, -8, -102, -48, -7, -128, 73, 122, -60, -63, 72, -55, 16, -61, 94, -73, 90], [1, 7, 1, 6, 4, 5, 5, 4, 1, 4, 2, 3, 1, 6, 3, 4, 6, 4, 5, 4, 5, 3, 3, 4]]> : tensor<16x24xi8>
    return %c0 : tensor<16x24xi8>
  }
}
