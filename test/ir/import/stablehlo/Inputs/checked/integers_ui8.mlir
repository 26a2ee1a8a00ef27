module @integers_ui8 {
  func.func public @main() -> (tensor<15x24xui8>) {
    %0:3 = call @inputs() : () -> (tensor<24xui8>, tensor<24xui8>, tensor<24xui8>)
    %1 = call @expected() : () -> (tensor<15x24xui8>)
    %add = stablehlo.add %0#0, %0#1 : tensor<24xui8>
    %subtract = stablehlo.subtract %0#0, %0#1 : tensor<24xui8>
    %multiply = stablehlo.multiply %0#0, %0#1 : tensor<24xui8>
    %maximum = stablehlo.maximum %0#0, %0#1 : tensor<24xui8>
    %minimum = stablehlo.minimum %0#0, %0#1 : tensor<24xui8>
    %and = stablehlo.and %0#0, %0#1 : tensor<24xui8>
    %or = stablehlo.or %0#0, %0#1 : tensor<24xui8>
    %xor = stablehlo.xor %0#0, %0#1 : tensor<24xui8>
    %divide = stablehlo.divide %0#0, %0#1 : tensor<24xui8>
    %remainder = stablehlo.remainder %0#0, %0#1 : tensor<24xui8>
    %shift_left = stablehlo.shift_left %0#0, %0#2 : tensor<24xui8>
    %shift_right_logical = stablehlo.shift_right_logical %0#0, %0#2 : tensor<24xui8>
    %not = stablehlo.not %0#0 : tensor<24xui8>
    %negate = stablehlo.negate %0#0 : tensor<24xui8>
    %popcnt = stablehlo.popcnt %0#0 : tensor<24xui8>
    %r0 = stablehlo.reshape %add : (tensor<24xui8>) -> tensor<1x24xui8>
    %r1 = stablehlo.reshape %subtract : (tensor<24xui8>) -> tensor<1x24xui8>
    %r2 = stablehlo.reshape %multiply : (tensor<24xui8>) -> tensor<1x24xui8>
    %r3 = stablehlo.reshape %maximum : (tensor<24xui8>) -> tensor<1x24xui8>
    %r4 = stablehlo.reshape %minimum : (tensor<24xui8>) -> tensor<1x24xui8>
    %r5 = stablehlo.reshape %and : (tensor<24xui8>) -> tensor<1x24xui8>
    %r6 = stablehlo.reshape %or : (tensor<24xui8>) -> tensor<1x24xui8>
    %r7 = stablehlo.reshape %xor : (tensor<24xui8>) -> tensor<1x24xui8>
    %r8 = stablehlo.reshape %divide : (tensor<24xui8>) -> tensor<1x24xui8>
    %r9 = stablehlo.reshape %remainder : (tensor<24xui8>) -> tensor<1x24xui8>
    %r10 = stablehlo.reshape %shift_left : (tensor<24xui8>) -> tensor<1x24xui8>
    %r11 = stablehlo.reshape %shift_right_logical : (tensor<24xui8>) -> tensor<1x24xui8>
    %r12 = stablehlo.reshape %not : (tensor<24xui8>) -> tensor<1x24xui8>
    %r13 = stablehlo.reshape %negate : (tensor<24xui8>) -> tensor<1x24xui8>
    %r14 = stablehlo.reshape %popcnt : (tensor<24xui8>) -> tensor<1x24xui8>
    %out = stablehlo.concatenate %r0, %r1, %r2, %r3, %r4, %r5, %r6, %r7, %r8, %r9, %r10, %r11, %r12, %r13, %r14, dim = 0 : (tensor<1x24xui8>, tensor<1x24xui8>, tensor<1x24xui8>, tensor<1x24xui8>, tensor<1x24xui8>, tensor<1x24xui8>, tensor<1x24xui8>, tensor<1x24xui8>, tensor<1x24xui8>, tensor<1x24xui8>, tensor<1x24xui8>, tensor<1x24xui8>, tensor<1x24xui8>, tensor<1x24xui8>, tensor<1x24xui8>) -> tensor<15x24xui8>
    stablehlo.custom_call @check.expect_eq(%out, %1) {has_side_effect = true} : (tensor<15x24xui8>, tensor<15x24xui8>) -> ()
    return %out : tensor<15x24xui8>
  }
  func.func private @inputs() -> (tensor<24xui8>, tensor<24xui8>, tensor<24xui8>) {
    %c0 = stablehlo.constant dense<[0, 255, 1, 252, 59, 48, 43, 218, 54, 239, 205, 39, 157, 204, 29, 54, 117, 149, 219, 209, 239, 100, 233, 29]> : tensor<24xui8>
    %c1 = stablehlo.constant dense<[3, 255, 1, 134, 162, 106, 116, 93, 234, 5, 49, 76, 232, 182, 165, 87, 4, 76, 75, 120, 213, 158, 220, 51]> : tensor<24xui8>
    %c2 = stablehlo.constant dense<[0, 1, 7, 8, 7, 7, 1, 4, 4, 5, 4, 7, 5, 2, 1, 6, 7, 3, 3, 2, 7, 4, 0, 5]> : tensor<24xui8>
    return %c0, %c1, %c2 : tensor<24xui8>, tensor<24xui8>, tensor<24xui8>
  }
  func.func private @expected() -> (tensor<15x24xui8>) {
    %c0 = stablehlo.constant dense<[[3, 254, 2, 130, 221, 154, 159, 55, 32, 244, 254, 115, 133, 130, 194, 141, 121, 225, 38, 73, 196, 2, 197, 80], [253, 0, 0, 118, 153, 198, 183, 125, 76, 234, 156, 219, 181, 22, 120, 223, 113, 73, 144, 89, 26, 198, 13, 234], [0, 1, 1, 232, 86, 224, 124, 50, 92, 171, 61, 148, 72, 8, 177, 90, 212, 60, 41, 248, 219, 184, 60, 199], [3, 255, 1, 252, 162, 106, 116, 218, 234, 239, 205, 76, 232, 204, 165, 87, 117, 149, 219, 209, 239, 158, 233, 51], [0, 255, 1, 134, 59, 48, 43, 93, 54, 5, 49, 39, 157, 182, 29, 54, 4, 76, 75, 120, 213, 100, 220, 29], [0, 255, 1, 132, 34, 32, 32, 88, 34, 5, 1, 4, 136, 132, 5, 22, 4, 4, 75, 80, 197, 4, 200, 17], [3, 255, 1, 254, 187, 122, 127, 223, 254, 239, 253, 111, 253, 254, 189, 119, 117, 221, 219, 249, 255, 254, 253, 63], [3, 0, 0, 122, 153, 90, 95, 135, 220, 234, 252, 107, 117, 122, 184, 97, 113, 217, 144, 169, 58, 250, 53, 46], [0, 1, 1, 1, 0, 0, 0, 2, 0, 47, 4, 0, 0, 1, 0, 0, 29, 1, 2, 1, 1, 0, 1, 0], [0, 0, 0, 118, 59, 48, 43, 32, 54, 4, 9, 39, 157, 22, 29, 54, 1, 73, 69, 89, 26, 100, 13, 29], [0, 254, 128, 0, 128, 0, 86, 160, 96, 224, 208, 128, 160, 48, 58, 128, 128, 168, 216, 68, 128, 64, 233, 160], [0, 127, 0, 0, 0, 0, 21, 13, 3, 7, 12, 0, 4, 51, 14, 0, 0, 18, 27, 52, 1, 6, 233, 0], [255, 0, 254, 3, 196, 207, 212, 37, 201, 16, 50, 216, 98, 51, 226, 201, 138, 106, 36, 46, 16, 155, 22, 226], [0, 1, 255, 4, 197, 208, 213, 38, 202, 17, 51, 217, 99, 52, 227, 202, 139, 107, 37, 47, 17, 156, 23, 227], [0, 8, 1, 6, 5, 2, 4, 5, 4, 7, 5, 4, 5, 4, 4, 4, 5, 4, 6, 4, 7, 3, 5, 4]]> : tensor<15x24xui8>
    return %c0 : tensor<15x24xui8>
  }
}
