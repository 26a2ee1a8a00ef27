module @integers_ui16 {
  func.func public @main() -> (tensor<15x24xui16>) {
    %0:3 = call @inputs() : () -> (tensor<24xui16>, tensor<24xui16>, tensor<24xui16>)
    %1 = call @expected() : () -> (tensor<15x24xui16>)
    %add = stablehlo.add %0#0, %0#1 : tensor<24xui16>
    %subtract = stablehlo.subtract %0#0, %0#1 : tensor<24xui16>
    %multiply = stablehlo.multiply %0#0, %0#1 : tensor<24xui16>
    %maximum = stablehlo.maximum %0#0, %0#1 : tensor<24xui16>
    %minimum = stablehlo.minimum %0#0, %0#1 : tensor<24xui16>
    %and = stablehlo.and %0#0, %0#1 : tensor<24xui16>
    %or = stablehlo.or %0#0, %0#1 : tensor<24xui16>
    %xor = stablehlo.xor %0#0, %0#1 : tensor<24xui16>
    %divide = stablehlo.divide %0#0, %0#1 : tensor<24xui16>
    %remainder = stablehlo.remainder %0#0, %0#1 : tensor<24xui16>
    %shift_left = stablehlo.shift_left %0#0, %0#2 : tensor<24xui16>
    %shift_right_logical = stablehlo.shift_right_logical %0#0, %0#2 : tensor<24xui16>
    %not = stablehlo.not %0#0 : tensor<24xui16>
    %negate = stablehlo.negate %0#0 : tensor<24xui16>
    %popcnt = stablehlo.popcnt %0#0 : tensor<24xui16>
    %r0 = stablehlo.reshape %add : (tensor<24xui16>) -> tensor<1x24xui16>
    %r1 = stablehlo.reshape %subtract : (tensor<24xui16>) -> tensor<1x24xui16>
    %r2 = stablehlo.reshape %multiply : (tensor<24xui16>) -> tensor<1x24xui16>
    %r3 = stablehlo.reshape %maximum : (tensor<24xui16>) -> tensor<1x24xui16>
    %r4 = stablehlo.reshape %minimum : (tensor<24xui16>) -> tensor<1x24xui16>
    %r5 = stablehlo.reshape %and : (tensor<24xui16>) -> tensor<1x24xui16>
    %r6 = stablehlo.reshape %or : (tensor<24xui16>) -> tensor<1x24xui16>
    %r7 = stablehlo.reshape %xor : (tensor<24xui16>) -> tensor<1x24xui16>
    %r8 = stablehlo.reshape %divide : (tensor<24xui16>) -> tensor<1x24xui16>
    %r9 = stablehlo.reshape %remainder : (tensor<24xui16>) -> tensor<1x24xui16>
    %r10 = stablehlo.reshape %shift_left : (tensor<24xui16>) -> tensor<1x24xui16>
    %r11 = stablehlo.reshape %shift_right_logical : (tensor<24xui16>) -> tensor<1x24xui16>
    %r12 = stablehlo.reshape %not : (tensor<24xui16>) -> tensor<1x24xui16>
    %r13 = stablehlo.reshape %negate : (tensor<24xui16>) -> tensor<1x24xui16>
    %r14 = stablehlo.reshape %popcnt : (tensor<24xui16>) -> tensor<1x24xui16>
    %out = stablehlo.concatenate %r0, %r1, %r2, %r3, %r4, %r5, %r6, %r7, %r8, %r9, %r10, %r11, %r12, %r13, %r14, dim = 0 : (tensor<1x24xui16>, tensor<1x24xui16>, tensor<1x24xui16>, tensor<1x24xui16>, tensor<1x24xui16>, tensor<1x24xui16>, tensor<1x24xui16>, tensor<1x24xui16>, tensor<1x24xui16>, tensor<1x24xui16>, tensor<1x24xui16>, tensor<1x24xui16>, tensor<1x24xui16>, tensor<1x24xui16>, tensor<1x24xui16>) -> tensor<15x24xui16>
    stablehlo.custom_call @check.expect_eq(%out, %1) {has_side_effect = true} : (tensor<15x24xui16>, tensor<15x24xui16>) -> ()
    return %out : tensor<15x24xui16>
  }
  func.func private @inputs() -> (tensor<24xui16>, tensor<24xui16>, tensor<24xui16>) {
    %c0 = stablehlo.constant dense<[0, 65535, 1, 32381, 7153, 20318, 53100, 46668, 48497, 11674, 31100, 53089, 9908, 39777, 10646, 14517, 9996, 28716, 58644, 39345, 59576, 42930, 7574, 35781]> : tensor<24xui16>
    %c1 = stablehlo.constant dense<[3, 65535, 1, 21904, 58614, 52292, 43110, 54722, 19254, 32765, 41979, 52240, 5500, 41064, 6217, 37559, 42190, 33982, 35365, 42225, 21769, 36367, 65184, 1941]> : tensor<24xui16>
    %c2 = stablehlo.constant dense<[0, 1, 15, 16, 6, 4, 0, 4, 1, 5, 2, 11, 15, 11, 4, 8, 13, 11, 13, 7, 5, 7, 5, 14]> : tensor<24xui16>
    return %c0, %c1, %c2 : tensor<24xui16>, tensor<24xui16>, tensor<24xui16>
  }
  func.func private @expected() -> (tensor<15x24xui16>) {
    %c0 = stablehlo.constant dense<[[3, 65534, 2, 54285, 231, 7074, 30674, 35854, 2215, 44439, 7543, 39793, 15408, 15305, 16863, 52076, 52186, 62698, 28473, 16034, 15809, 13761, 7222, 37722], [65533, 0, 0, 10477, 14075, 33562, 9990, 57482, 29243, 44445, 54657, 849, 4408, 64249, 4429, 42494, 33342, 60270, 23279, 62656, 37807, 6563, 7926, 33840], [0, 1, 1, 42832, 32150, 64760, 34056, 24984, 4310, 30514, 4244, 16912, 33584, 49000, 60358, 50019, 7080, 61608, 58340, 5025, 18040, 36718, 20928, 48297], [3, 65535, 1, 32381, 58614, 52292, 53100, 54722, 48497, 32765, 41979, 53089, 9908, 41064, 10646, 37559, 42190, 33982, 58644, 42225, 59576, 42930, 65184, 35781], [0, 65535, 1, 21904, 7153, 20318, 43110, 46668, 19254, 11674, 31100, 52240, 5500, 39777, 6217, 14517, 9996, 28716, 35365, 39345, 21769, 36367, 7574, 1941], [0, 65535, 1, 21520, 240, 19524, 34916, 37952, 2352, 11672, 8568, 52224, 1076, 32864, 2048, 4277, 9228, 44, 32772, 32945, 16392, 34306, 7296, 901], [3, 65535, 1, 32765, 65527, 53086, 61294, 63438, 65399, 32767, 64511, 53105, 14332, 47977, 14815, 47799, 42958, 62654, 61237, 48625, 64953, 44991, 65462, 36821], [3, 0, 0, 11245, 65287, 33562, 26378, 25486, 63047, 21095, 55943, 881, 13256, 15113, 12767, 43522, 33730, 62610, 28465, 15680, 48561, 10685, 58166, 35920], [0, 1, 1, 1, 0, 0, 1, 0, 2, 0, 0, 1, 1, 0, 1, 0, 0, 0, 1, 0, 2, 1, 0, 18], [0, 0, 0, 10477, 7153, 20318, 9990, 46668, 9989, 11674, 31100, 849, 4408, 39777, 4429, 14517, 9996, 28716, 23279, 39345, 16038, 6563, 7574, 843], [0, 65534, 32768, 0, 64576, 62944, 53100, 25792, 31458, 45888, 58864, 2048, 0, 2048, 39264, 46336, 32768, 24576, 32768, 55424, 5888, 55552, 45760, 16384], [0, 32767, 0, 0, 111, 1269, 53100, 2916, 24248, 364, 7775, 25, 0, 19, 665, 56, 1, 14, 7, 307, 1861, 335, 236, 2], [65535, 0, 65534, 33154, 58382, 45217, 12435, 18867, 17038, 53861, 34435, 12446, 55627, 25758, 54889, 51018, 55539, 36819, 6891, 26190, 5959, 22605, 57961, 29754], [0, 1, 65535, 33155, 58383, 45218, 12436, 18868, 17039, 53862, 34436, 12447, 55628, 25759, 54890, 51019, 55540, 36820, 6892, 26191, 5960, 22606, 57962, 29755], [0, 16, 1, 12, 9, 10, 10, 8, 10, 8, 10, 9, 7, 8, 7, 8, 6, 6, 7, 8, 8, 9, 8, 8]]> : tensor<15x24xui16>
    return %c0 : tensor<15x24xui16>
  }
}
