module @integers_i16 {
  func.func public @main() -> (tensor<16x24xi16>) {
    %0:3 = call @inputs() : () -> (tensor<24xi16>, tensor<24xi16>, tensor<24xi16>)
    %1 = call @expected() : () -> (tensor<16x24xi16>)
    %add = stablehlo.add %0#0, %0#1 : tensor<24xi16>
    %subtract = stablehlo.subtract %0#0, %0#1 : tensor<24xi16>
    %multiply = stablehlo.multiply %0#0, %0#1 : tensor<24xi16>
    %maximum = stablehlo.maximum %0#0, %0#1 : tensor<24xi16>
    %minimum = stablehlo.minimum %0#0, %0#1 : tensor<24xi16>
    %and = stablehlo.and %0#0, %0#1 : tensor<24xi16>
    %or = stablehlo.or %0#0, %0#1 : tensor<24xi16>
    %xor = stablehlo.xor %0#0, %0#1 : tensor<24xi16>
    %divide = stablehlo.divide %0#0, %0#1 : tensor<24xi16>
    %remainder = stablehlo.remainder %0#0, %0#1 : tensor<24xi16>
    %shift_left = stablehlo.shift_left %0#0, %0#2 : tensor<24xi16>
    %shift_right_logical = stablehlo.shift_right_logical %0#0, %0#2 : tensor<24xi16>
    %shift_right_arithmetic = stablehlo.shift_right_arithmetic %0#0, %0#2 : tensor<24xi16>
    %not = stablehlo.not %0#0 : tensor<24xi16>
    %negate = stablehlo.negate %0#0 : tensor<24xi16>
    %popcnt = stablehlo.popcnt %0#0 : tensor<24xi16>
    %r0 = stablehlo.reshape %add : (tensor<24xi16>) -> tensor<1x24xi16>
    %r1 = stablehlo.reshape %subtract : (tensor<24xi16>) -> tensor<1x24xi16>
    %r2 = stablehlo.reshape %multiply : (tensor<24xi16>) -> tensor<1x24xi16>
    %r3 = stablehlo.reshape %maximum : (tensor<24xi16>) -> tensor<1x24xi16>
    %r4 = stablehlo.reshape %minimum : (tensor<24xi16>) -> tensor<1x24xi16>
    %r5 = stablehlo.reshape %and : (tensor<24xi16>) -> tensor<1x24xi16>
    %r6 = stablehlo.reshape %or : (tensor<24xi16>) -> tensor<1x24xi16>
    %r7 = stablehlo.reshape %xor : (tensor<24xi16>) -> tensor<1x24xi16>
    %r8 = stablehlo.reshape %divide : (tensor<24xi16>) -> tensor<1x24xi16>
    %r9 = stablehlo.reshape %remainder : (tensor<24xi16>) -> tensor<1x24xi16>
    %r10 = stablehlo.reshape %shift_left : (tensor<24xi16>) -> tensor<1x24xi16>
    %r11 = stablehlo.reshape %shift_right_logical : (tensor<24xi16>) -> tensor<1x24xi16>
    %r12 = stablehlo.reshape %shift_right_arithmetic : (tensor<24xi16>) -> tensor<1x24xi16>
    %r13 = stablehlo.reshape %not : (tensor<24xi16>) -> tensor<1x24xi16>
    %r14 = stablehlo.reshape %negate : (tensor<24xi16>) -> tensor<1x24xi16>
    %r15 = stablehlo.reshape %popcnt : (tensor<24xi16>) -> tensor<1x24xi16>
    %out = stablehlo.concatenate %r0, %r1, %r2, %r3, %r4, %r5, %r6, %r7, %r8, %r9, %r10, %r11, %r12, %r13, %r14, %r15, dim = 0 : (tensor<1x24xi16>, tensor<1x24xi16>, tensor<1x24xi16>, tensor<1x24xi16>, tensor<1x24xi16>, tensor<1x24xi16>, tensor<1x24xi16>, tensor<1x24xi16>, tensor<1x24xi16>, tensor<1x24xi16>, tensor<1x24xi16>, tensor<1x24xi16>, tensor<1x24xi16>, tensor<1x24xi16>, tensor<1x24xi16>, tensor<1x24xi16>) -> tensor<16x24xi16>
    stablehlo.custom_call @check.expect_eq(%out, %1) {has_side_effect = true} : (tensor<16x24xi16>, tensor<16x24xi16>) -> ()
    return %out : tensor<16x24xi16>
  }
  func.func private @inputs() -> (tensor<24xi16>, tensor<24xi16>, tensor<24xi16>) {
    %c0 = stablehlo.constant dense<[-32768, 32767, 1, -28627, -6540, -9842, -3223, 19296, 31839, 26807, -7278, 1993, -17067, -30719, -19570, 29232, 11761, 9377, 31699, 11602, -26163, 15626, -2636, -9701]> : tensor<24xi16>
    %c1 = stablehlo.constant dense<[-1, 7, 1, 14078, -9418, -15012, -17679, -14720, 29927, 28336, -17364, 12078, -19486, 6783, 24069, 14480, -8181, -4960, -23004, -30820, 32349, 12093, 23018, -10256]> : tensor<24xi16>
    %c2 = stablehlo.constant dense<[0, 1, 15, 16, 15, 7, 12, 15, 10, 2, 0, 14, 15, 14, 14, 13, 3, 9, 13, 8, 3, 7, 1, 10]> : tensor<24xi16>
    return %c0, %c1, %c2 : tensor<24xi16>, tensor<24xi16>, tensor<24xi16>
  }
  func.func private @expected() -> (tensor<16x24xi16>) {
    %c0 = stablehlo.constant dense<[[32767, -32762, 2, -14549, -15958, -24854, -20902, 4576, -3770, -10393, -24642, 14071, 28983, -23936, 4499, -21824, 3580, 4417, 8695, -19218, 6186, 27719, 20382, -19957], [-32767, 32760, 0, 22831, 2878, 5170, 14456, -31520, 1912, -1529, 10086, -10085, 2419, 28034, 21897, 14752, 19942, 14337, -10833, -23114, 7024, 3533, -25654, 555], [-32768, 32761, 1, -30042, -10120, 29960, 28633, -4096, 17849, -24624, 21784, 19742, -27638, -28033, -23098, -17664, -9893, 20640, 15276, -9224, -14983, 24930, 10888, 9808], [-1, 32767, 1, 14078, -6540, -9842, -3223, 19296, 31839, 28336, -7278, 12078, -17067, 6783, 24069, 29232, 11761, 9377, 31699, 11602, 32349, 15626, 23018, -9701], [-32768, 7, 1, -28627, -9418, -15012, -17679, -14720, 29927, 26807, -17364, 1993, -19486, -30719, -19570, 14480, -8181, -4960, -23004, -30820, -26163, 12093, -2636, -10256], [-32768, 7, 1, 4140, -15820, -16116, -19871, 16896, 29767, 26800, -24576, 1800, -20160, 2049, 4612, 12304, 8193, 9376, 8704, 1296, 6221, 11528, 20896, -11760], [-1, 32767, 1, -18689, -138, -8738, -1031, -12320, 31999, 28343, -66, 12271, -16393, -25985, -113, 31408, -4613, -4959, -9, -20514, -35, 16191, -514, -8197], [32767, 32760, 0, -22829, 15682, 7378, 18840, -29216, 2232, 1543, 24510, 10471, 3767, -28034, -4725, 19104, -12806, -14335, -8713, -21810, -6256, 4663, -21410, 3563], [-32768, 4681, 1, -2, 0, 0, 0, -1, 1, 0, 0, 0, 0, -4, 0, 2, -1, -1, -1, 0, 0, 1, 0, 0], [0, 0, 0, -471, -6540, -9842, -3223, 4576, 1912, 26807, -7278, 1993, -17067, -3587, -19570, 272, 3580, 4417, 8695, 11602, -26163, 3533, -2636, -9701], [-32768, -2, -32768, 0, 0, -14592, -28672, 0, 31744, -23844, -7278, 16384, -32768, 16384, -32768, 0, 28552, 16896, 24576, 20992, -12696, -31488, -5272, 27648], [-32768, 16383, 0, 0, 1, 435, 15, 0, 31, 6701, -7278, 0, 1, 2, 2, 3, 1470, 18, 3, 45, 4921, 122, 31450, 54], [-32768, 16383, 0, -1, -1, -77, -1, 0, 31, 6701, -7278, 0, -1, -2, -2, 3, 1470, 18, 3, 45, -3271, 122, -1318, -10], [32767, -32768, -2, 28626, 6539, 9841, 3222, -19297, -31840, -26808, 7277, -1994, 17066, 30718, 19569, -29233, -11762, -9378, -31700, -11603, 26162, -15627, 2635, 9700], [-32768, -32767, -1, 28627, 6540, 9842, 3223, -19296, -31839, -26807, 7278, -1993, 17067, 30719, 19570, -29232, -11761, -9377, -31699, -11602, 26163, -15626, 2636, 9701], [1, 15, 1, 6, 9, 9, 10, 6, 11, 9, 8, 7, 10, 3, 9, 6, 9, 5, 11, 7, 9, 7, 10, 9]]> : tensor<16x24xi16>
    return %c0 : tensor<16x24xi16>
  }
}
