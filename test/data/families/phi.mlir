module attributes {zb.level = "graph"} {
  func.func @model(%arg0: tensor<2x32xi64> {zb.input = "x"}, %arg1: tensor<2x32xi64> {zb.input = "y"}, %arg2: tensor<256x32xf32> {zb.param = "lm.model.embed_tokens.weight"}, %arg3: tensor<32xf32> {zb.param = "lm.model.layers.0.input_layernorm.weight"}, %arg4: tensor<32xf32> {zb.param = "lm.model.layers.0.input_layernorm.bias"}, %arg5: tensor<32x32xf32> {zb.param = "lm.model.layers.0.self_attn.q_proj.weight"}, %arg6: tensor<32xf32> {zb.param = "lm.model.layers.0.self_attn.q_proj.bias"}, %arg7: tensor<32x32xf32> {zb.param = "lm.model.layers.0.self_attn.k_proj.weight"}, %arg8: tensor<32xf32> {zb.param = "lm.model.layers.0.self_attn.k_proj.bias"}, %arg9: tensor<32x32xf32> {zb.param = "lm.model.layers.0.self_attn.v_proj.weight"}, %arg10: tensor<32xf32> {zb.param = "lm.model.layers.0.self_attn.v_proj.bias"}, %arg11: tensor<32x32xf32> {zb.param = "lm.model.layers.0.self_attn.dense.weight"}, %arg12: tensor<32xf32> {zb.param = "lm.model.layers.0.self_attn.dense.bias"}, %arg13: tensor<64x32xf32> {zb.param = "lm.model.layers.0.mlp.fc1.weight"}, %arg14: tensor<64xf32> {zb.param = "lm.model.layers.0.mlp.fc1.bias"}, %arg15: tensor<32x64xf32> {zb.param = "lm.model.layers.0.mlp.fc2.weight"}, %arg16: tensor<32xf32> {zb.param = "lm.model.layers.0.mlp.fc2.bias"}, %arg17: tensor<32xf32> {zb.param = "lm.model.layers.1.input_layernorm.weight"}, %arg18: tensor<32xf32> {zb.param = "lm.model.layers.1.input_layernorm.bias"}, %arg19: tensor<32x32xf32> {zb.param = "lm.model.layers.1.self_attn.q_proj.weight"}, %arg20: tensor<32xf32> {zb.param = "lm.model.layers.1.self_attn.q_proj.bias"}, %arg21: tensor<32x32xf32> {zb.param = "lm.model.layers.1.self_attn.k_proj.weight"}, %arg22: tensor<32xf32> {zb.param = "lm.model.layers.1.self_attn.k_proj.bias"}, %arg23: tensor<32x32xf32> {zb.param = "lm.model.layers.1.self_attn.v_proj.weight"}, %arg24: tensor<32xf32> {zb.param = "lm.model.layers.1.self_attn.v_proj.bias"}, %arg25: tensor<32x32xf32> {zb.param = "lm.model.layers.1.self_attn.dense.weight"}, %arg26: tensor<32xf32> {zb.param = "lm.model.layers.1.self_attn.dense.bias"}, %arg27: tensor<64x32xf32> {zb.param = "lm.model.layers.1.mlp.fc1.weight"}, %arg28: tensor<64xf32> {zb.param = "lm.model.layers.1.mlp.fc1.bias"}, %arg29: tensor<32x64xf32> {zb.param = "lm.model.layers.1.mlp.fc2.weight"}, %arg30: tensor<32xf32> {zb.param = "lm.model.layers.1.mlp.fc2.bias"}, %arg31: tensor<32xf32> {zb.param = "lm.model.final_layernorm.weight"}, %arg32: tensor<32xf32> {zb.param = "lm.model.final_layernorm.bias"}, %arg33: tensor<256x32xf32> {zb.param = "lm.lm_head.weight"}, %arg34: tensor<256xf32> {zb.param = "lm.lm_head.bias"}) -> (tensor<f32> {zb.loss}) {
    %0 = "zb.gather"(%arg2, %arg0) {axis = 0 : i64} : (tensor<256x32xf32>, tensor<2x32xi64>) -> tensor<2x32x32xf32>
    %1:3 = "zb.layer_norm"(%0, %arg3, %arg4) {axis = 2 : i64, epsilon = 9.9999997473787516E-6 : f64} : (tensor<2x32x32xf32>, tensor<32xf32>, tensor<32xf32>) -> (tensor<2x32x32xf32>, tensor<2x32x1xf32>, tensor<2x32x1xf32>)
    %2 = "zb.matmul"(%1#0, %arg5, %arg6) {transpose_rhs = true} : (tensor<2x32x32xf32>, tensor<32x32xf32>, tensor<32xf32>) -> tensor<2x32x32xf32>
    %3 = "zb.reshape"(%2) {shape = array<i64: 2, 32, 4, 8>} : (tensor<2x32x32xf32>) -> tensor<2x32x4x8xf32>
    %4 = "zb.matmul"(%1#0, %arg7, %arg8) {transpose_rhs = true} : (tensor<2x32x32xf32>, tensor<32x32xf32>, tensor<32xf32>) -> tensor<2x32x32xf32>
    %5 = "zb.reshape"(%4) {shape = array<i64: 2, 32, 4, 8>} : (tensor<2x32x32xf32>) -> tensor<2x32x4x8xf32>
    %6 = "zb.matmul"(%1#0, %arg9, %arg10) {transpose_rhs = true} : (tensor<2x32x32xf32>, tensor<32x32xf32>, tensor<32xf32>) -> tensor<2x32x32xf32>
    %7 = "zb.reshape"(%6) {shape = array<i64: 2, 32, 4, 8>} : (tensor<2x32x32xf32>) -> tensor<2x32x4x8xf32>
    %8 = "zb.slice"(%3) {sizes = array<i64: 2, 32, 4, 4>, starts = array<i64: 0, 0, 0, 0>, steps = array<i64: 1, 1, 1, 1>} : (tensor<2x32x4x8xf32>) -> tensor<2x32x4x4xf32>
    %9 = "zb.constant"() {value = dense<"0x0000803F0000803F0000803F0000803F40510A3FB9FC7F3F40510A3FB9FC7F3F3211D5BEE5F27F3F3211D5BEE5F27F3F26707DBF83E27F3F26707DBF83E27F3F305527BF94CB7F3F305527BF94CB7F3F2B3C913E19AE7F3F2B3C913E19AE7F3FB8CD753F128A7F3FB8CD753F128A7F3FBDFF403F815F7F3FBDFF403F815F7F3FF6FD14BE662E7F3FF6FD14BE662E7F3FD53F69BFC2F67E3FD53F69BFC2F67E3F64CD56BF98B87E3F64CD56BF98B87E3F7205913BE8737E3F7205913BE8737E3FD006583FB5287E3FD006583FB5287E3F6F4E683F00D77D3F6F4E683F00D77D3FD8040C3ECC7E7D3FD8040C3ECC7E7D3FE87A42BF1A207D3FE87A42BF1A207D3F2C2975BFEDBA7C3F2C2975BFEDBA7C3F36E28CBE494F7C3F36E28CBE494F7C3F840A293F2EDD7B3F840A293F2EDD7B3FBF1B7D3FA1647B3FBF1B7D3FA1647B3F22F0D03EA5E57A3F22F0D03EA5E57A3FFC370CBF3C607A3FFC370CBF3C607A3F6FFD7FBF6AD4793F6FFD7FBF6AD4793FBF6708BF3342793FBF6708BF3342793FFE2DD93E9BA9783FFE2DD93E9BA9783F78BF7D3FA50A783F78BF7D3FA50A783F829C253F5565773F829C253F5565773F389395BEB1B9763F389395BEB1B9763F576D76BFBB07763F576D76BFBB07763FB3803FBF794F753FB3803FBF794F753F18F41D3EEF90743F18F41D3EEF90743F8E2C6A3F22CC733F8E2C6A3F22CC733F"> : tensor<1x32x1x4xf32>} : () -> tensor<1x32x1x4xf32>
    %10 = "zb.mul"(%8, %9) : (tensor<2x32x4x4xf32>, tensor<1x32x1x4xf32>) -> tensor<2x32x4x4xf32>
    %11 = "zb.slice"(%3) {sizes = array<i64: 2, 32, 4, 2>, starts = array<i64: 0, 0, 0, 2>, steps = array<i64: 1, 1, 1, 1>} : (tensor<2x32x4x8xf32>) -> tensor<2x32x4x2xf32>
    %12 = "zb.neg"(%11) : (tensor<2x32x4x2xf32>) -> tensor<2x32x4x2xf32>
    %13 = "zb.slice"(%3) {sizes = array<i64: 2, 32, 4, 2>, starts = array<i64: 0, 0, 0, 0>, steps = array<i64: 1, 1, 1, 1>} : (tensor<2x32x4x8xf32>) -> tensor<2x32x4x2xf32>
    %14 = "zb.concat"(%12, %13) {axis = 3 : i64} : (tensor<2x32x4x2xf32>, tensor<2x32x4x2xf32>) -> tensor<2x32x4x4xf32>
    %15 = "zb.constant"() {value = dense<"0x00000000000000000000000000000000A56A573F57D6233CA56A573F57D6233CB7C7683F3ED4A33CB7C7683F3ED4A33CC381103E1FB9F53CC381103E1FB9F53CCFBD41BFDBCB233DCFBD41BFDBCB233D107C75BFF4B64C3D107C75BFF4B64C3D8C0F8FBED19C753D8C0F8FBED19C753D4630283F323E8F3D4630283F323E8F3D95467D3F50AAA33D95467D3F50AAA33D3101D33E3E12B83D3101D33E3E12B83DF7440BBF7675CC3DF7440BBF7675CC3D5CFF7FBF72D3E03D5CFF7FBF72D3E03DD85C09BFAC2BF53DD85C09BFAC2BF53D2320D73ED0BE043E2320D73ED0BE043E72987D3F64E40E3E72987D3F64E40E3E4479263F4F06193E4479263F4F06193E116893BE5024233E116893BE5024233E251E76BF233E2D3E251E76BF233E2D3EB34040BF8753373EB34040BF8753373E6979193E3A64413E6979193E3A64413EC8B6693FF86F4B3EC8B6693FF86F4B3E102F563F8376553E102F563F8376553E150511BC96775F3E150511BC96775F3EE6A158BFF072693EE6A158BFF072693EFCD367BF5168733EFCD367BF5168733E388707BE77577D3E388707BE77577D3E0737433F10A0833E0737433F10A0833E0ED5743F0591883E0ED5743F0591883E2AB48A3E7D7E8D3E2AB48A3E7D7E8D3EE9E329BF5468923EE9E329BF5468923EA4EF7CBF6C4E973EA4EF7CBF6C4E973E06DECEBEA5309C3E06DECEBEA5309C3E"> : tensor<1x32x1x4xf32>} : () -> tensor<1x32x1x4xf32>
    %16 = "zb.mul"(%14, %15) : (tensor<2x32x4x4xf32>, tensor<1x32x1x4xf32>) -> tensor<2x32x4x4xf32>
    %17 = "zb.add"(%10, %16) : (tensor<2x32x4x4xf32>, tensor<2x32x4x4xf32>) -> tensor<2x32x4x4xf32>
    %18 = "zb.slice"(%3) {sizes = array<i64: 2, 32, 4, 4>, starts = array<i64: 0, 0, 0, 4>, steps = array<i64: 1, 1, 1, 1>} : (tensor<2x32x4x8xf32>) -> tensor<2x32x4x4xf32>
    %19 = "zb.concat"(%17, %18) {axis = 3 : i64} : (tensor<2x32x4x4xf32>, tensor<2x32x4x4xf32>) -> tensor<2x32x4x8xf32>
    %20 = "zb.slice"(%5) {sizes = array<i64: 2, 32, 4, 4>, starts = array<i64: 0, 0, 0, 0>, steps = array<i64: 1, 1, 1, 1>} : (tensor<2x32x4x8xf32>) -> tensor<2x32x4x4xf32>
    %21 = "zb.mul"(%20, %9) : (tensor<2x32x4x4xf32>, tensor<1x32x1x4xf32>) -> tensor<2x32x4x4xf32>
    %22 = "zb.slice"(%5) {sizes = array<i64: 2, 32, 4, 2>, starts = array<i64: 0, 0, 0, 2>, steps = array<i64: 1, 1, 1, 1>} : (tensor<2x32x4x8xf32>) -> tensor<2x32x4x2xf32>
    %23 = "zb.neg"(%22) : (tensor<2x32x4x2xf32>) -> tensor<2x32x4x2xf32>
    %24 = "zb.slice"(%5) {sizes = array<i64: 2, 32, 4, 2>, starts = array<i64: 0, 0, 0, 0>, steps = array<i64: 1, 1, 1, 1>} : (tensor<2x32x4x8xf32>) -> tensor<2x32x4x2xf32>
    %25 = "zb.concat"(%23, %24) {axis = 3 : i64} : (tensor<2x32x4x2xf32>, tensor<2x32x4x2xf32>) -> tensor<2x32x4x4xf32>
    %26 = "zb.mul"(%25, %15) : (tensor<2x32x4x4xf32>, tensor<1x32x1x4xf32>) -> tensor<2x32x4x4xf32>
    %27 = "zb.add"(%21, %26) : (tensor<2x32x4x4xf32>, tensor<2x32x4x4xf32>) -> tensor<2x32x4x4xf32>
    %28 = "zb.slice"(%5) {sizes = array<i64: 2, 32, 4, 4>, starts = array<i64: 0, 0, 0, 4>, steps = array<i64: 1, 1, 1, 1>} : (tensor<2x32x4x8xf32>) -> tensor<2x32x4x4xf32>
    %29 = "zb.concat"(%27, %28) {axis = 3 : i64} : (tensor<2x32x4x4xf32>, tensor<2x32x4x4xf32>) -> tensor<2x32x4x8xf32>
    %30:2 = "zb.attention"(%19, %29, %7) {causal = true, scale = 0.35355338454246521 : f64} : (tensor<2x32x4x8xf32>, tensor<2x32x4x8xf32>, tensor<2x32x4x8xf32>) -> (tensor<2x32x4x8xf32>, tensor<2x4x32xf32>)
    %31 = "zb.reshape"(%30#0) {shape = array<i64: 2, 32, 32>} : (tensor<2x32x4x8xf32>) -> tensor<2x32x32xf32>
    %32 = "zb.matmul"(%31, %arg11, %arg12) {transpose_rhs = true} : (tensor<2x32x32xf32>, tensor<32x32xf32>, tensor<32xf32>) -> tensor<2x32x32xf32>
    %33 = "zb.matmul"(%1#0, %arg13, %arg14) {transpose_rhs = true} : (tensor<2x32x32xf32>, tensor<64x32xf32>, tensor<64xf32>) -> tensor<2x32x64xf32>
    %34 = "zb.gelu"(%33) {tanh = true} : (tensor<2x32x64xf32>) -> tensor<2x32x64xf32>
    %35 = "zb.matmul"(%34, %arg15, %arg16) {transpose_rhs = true} : (tensor<2x32x64xf32>, tensor<32x64xf32>, tensor<32xf32>) -> tensor<2x32x32xf32>
    %36 = "zb.add"(%32, %35) : (tensor<2x32x32xf32>, tensor<2x32x32xf32>) -> tensor<2x32x32xf32>
    %37 = "zb.add"(%36, %0) : (tensor<2x32x32xf32>, tensor<2x32x32xf32>) -> tensor<2x32x32xf32>
    %38:3 = "zb.layer_norm"(%37, %arg17, %arg18) {axis = 2 : i64, epsilon = 9.9999997473787516E-6 : f64} : (tensor<2x32x32xf32>, tensor<32xf32>, tensor<32xf32>) -> (tensor<2x32x32xf32>, tensor<2x32x1xf32>, tensor<2x32x1xf32>)
    %39 = "zb.matmul"(%38#0, %arg19, %arg20) {transpose_rhs = true} : (tensor<2x32x32xf32>, tensor<32x32xf32>, tensor<32xf32>) -> tensor<2x32x32xf32>
    %40 = "zb.reshape"(%39) {shape = array<i64: 2, 32, 4, 8>} : (tensor<2x32x32xf32>) -> tensor<2x32x4x8xf32>
    %41 = "zb.matmul"(%38#0, %arg21, %arg22) {transpose_rhs = true} : (tensor<2x32x32xf32>, tensor<32x32xf32>, tensor<32xf32>) -> tensor<2x32x32xf32>
    %42 = "zb.reshape"(%41) {shape = array<i64: 2, 32, 4, 8>} : (tensor<2x32x32xf32>) -> tensor<2x32x4x8xf32>
    %43 = "zb.matmul"(%38#0, %arg23, %arg24) {transpose_rhs = true} : (tensor<2x32x32xf32>, tensor<32x32xf32>, tensor<32xf32>) -> tensor<2x32x32xf32>
    %44 = "zb.reshape"(%43) {shape = array<i64: 2, 32, 4, 8>} : (tensor<2x32x32xf32>) -> tensor<2x32x4x8xf32>
    %45 = "zb.slice"(%40) {sizes = array<i64: 2, 32, 4, 4>, starts = array<i64: 0, 0, 0, 0>, steps = array<i64: 1, 1, 1, 1>} : (tensor<2x32x4x8xf32>) -> tensor<2x32x4x4xf32>
    %46 = "zb.mul"(%45, %9) : (tensor<2x32x4x4xf32>, tensor<1x32x1x4xf32>) -> tensor<2x32x4x4xf32>
    %47 = "zb.slice"(%40) {sizes = array<i64: 2, 32, 4, 2>, starts = array<i64: 0, 0, 0, 2>, steps = array<i64: 1, 1, 1, 1>} : (tensor<2x32x4x8xf32>) -> tensor<2x32x4x2xf32>
    %48 = "zb.neg"(%47) : (tensor<2x32x4x2xf32>) -> tensor<2x32x4x2xf32>
    %49 = "zb.slice"(%40) {sizes = array<i64: 2, 32, 4, 2>, starts = array<i64: 0, 0, 0, 0>, steps = array<i64: 1, 1, 1, 1>} : (tensor<2x32x4x8xf32>) -> tensor<2x32x4x2xf32>
    %50 = "zb.concat"(%48, %49) {axis = 3 : i64} : (tensor<2x32x4x2xf32>, tensor<2x32x4x2xf32>) -> tensor<2x32x4x4xf32>
    %51 = "zb.mul"(%50, %15) : (tensor<2x32x4x4xf32>, tensor<1x32x1x4xf32>) -> tensor<2x32x4x4xf32>
    %52 = "zb.add"(%46, %51) : (tensor<2x32x4x4xf32>, tensor<2x32x4x4xf32>) -> tensor<2x32x4x4xf32>
    %53 = "zb.slice"(%40) {sizes = array<i64: 2, 32, 4, 4>, starts = array<i64: 0, 0, 0, 4>, steps = array<i64: 1, 1, 1, 1>} : (tensor<2x32x4x8xf32>) -> tensor<2x32x4x4xf32>
    %54 = "zb.concat"(%52, %53) {axis = 3 : i64} : (tensor<2x32x4x4xf32>, tensor<2x32x4x4xf32>) -> tensor<2x32x4x8xf32>
    %55 = "zb.slice"(%42) {sizes = array<i64: 2, 32, 4, 4>, starts = array<i64: 0, 0, 0, 0>, steps = array<i64: 1, 1, 1, 1>} : (tensor<2x32x4x8xf32>) -> tensor<2x32x4x4xf32>
    %56 = "zb.mul"(%55, %9) : (tensor<2x32x4x4xf32>, tensor<1x32x1x4xf32>) -> tensor<2x32x4x4xf32>
    %57 = "zb.slice"(%42) {sizes = array<i64: 2, 32, 4, 2>, starts = array<i64: 0, 0, 0, 2>, steps = array<i64: 1, 1, 1, 1>} : (tensor<2x32x4x8xf32>) -> tensor<2x32x4x2xf32>
    %58 = "zb.neg"(%57) : (tensor<2x32x4x2xf32>) -> tensor<2x32x4x2xf32>
    %59 = "zb.slice"(%42) {sizes = array<i64: 2, 32, 4, 2>, starts = array<i64: 0, 0, 0, 0>, steps = array<i64: 1, 1, 1, 1>} : (tensor<2x32x4x8xf32>) -> tensor<2x32x4x2xf32>
    %60 = "zb.concat"(%58, %59) {axis = 3 : i64} : (tensor<2x32x4x2xf32>, tensor<2x32x4x2xf32>) -> tensor<2x32x4x4xf32>
    %61 = "zb.mul"(%60, %15) : (tensor<2x32x4x4xf32>, tensor<1x32x1x4xf32>) -> tensor<2x32x4x4xf32>
    %62 = "zb.add"(%56, %61) : (tensor<2x32x4x4xf32>, tensor<2x32x4x4xf32>) -> tensor<2x32x4x4xf32>
    %63 = "zb.slice"(%42) {sizes = array<i64: 2, 32, 4, 4>, starts = array<i64: 0, 0, 0, 4>, steps = array<i64: 1, 1, 1, 1>} : (tensor<2x32x4x8xf32>) -> tensor<2x32x4x4xf32>
    %64 = "zb.concat"(%62, %63) {axis = 3 : i64} : (tensor<2x32x4x4xf32>, tensor<2x32x4x4xf32>) -> tensor<2x32x4x8xf32>
    %65:2 = "zb.attention"(%54, %64, %44) {causal = true, scale = 0.35355338454246521 : f64} : (tensor<2x32x4x8xf32>, tensor<2x32x4x8xf32>, tensor<2x32x4x8xf32>) -> (tensor<2x32x4x8xf32>, tensor<2x4x32xf32>)
    %66 = "zb.reshape"(%65#0) {shape = array<i64: 2, 32, 32>} : (tensor<2x32x4x8xf32>) -> tensor<2x32x32xf32>
    %67 = "zb.matmul"(%66, %arg25, %arg26) {transpose_rhs = true} : (tensor<2x32x32xf32>, tensor<32x32xf32>, tensor<32xf32>) -> tensor<2x32x32xf32>
    %68 = "zb.matmul"(%38#0, %arg27, %arg28) {transpose_rhs = true} : (tensor<2x32x32xf32>, tensor<64x32xf32>, tensor<64xf32>) -> tensor<2x32x64xf32>
    %69 = "zb.gelu"(%68) {tanh = true} : (tensor<2x32x64xf32>) -> tensor<2x32x64xf32>
    %70 = "zb.matmul"(%69, %arg29, %arg30) {transpose_rhs = true} : (tensor<2x32x64xf32>, tensor<32x64xf32>, tensor<32xf32>) -> tensor<2x32x32xf32>
    %71 = "zb.add"(%67, %70) : (tensor<2x32x32xf32>, tensor<2x32x32xf32>) -> tensor<2x32x32xf32>
    %72 = "zb.add"(%71, %37) : (tensor<2x32x32xf32>, tensor<2x32x32xf32>) -> tensor<2x32x32xf32>
    %73:3 = "zb.layer_norm"(%72, %arg31, %arg32) {axis = 2 : i64, epsilon = 9.9999997473787516E-6 : f64} : (tensor<2x32x32xf32>, tensor<32xf32>, tensor<32xf32>) -> (tensor<2x32x32xf32>, tensor<2x32x1xf32>, tensor<2x32x1xf32>)
    %74 = "zb.matmul"(%73#0, %arg33, %arg34) {transpose_rhs = true} : (tensor<2x32x32xf32>, tensor<256x32xf32>, tensor<256xf32>) -> tensor<2x32x256xf32>
    %75 = "zb.reshape"(%74) {shape = array<i64: 64, 256>} : (tensor<2x32x256xf32>) -> tensor<64x256xf32>
    %76 = "zb.reshape"(%arg1) {shape = array<i64: 64>} : (tensor<2x32xi64>) -> tensor<64xi64>
    %77:2 = "zb.cross_entropy"(%75, %76) {ignore_index = -100 : i64, reduction = "mean"} : (tensor<64x256xf32>, tensor<64xi64>) -> (tensor<f32>, tensor<64xf32>)
    return %77#0 : tensor<f32>
  }
}
