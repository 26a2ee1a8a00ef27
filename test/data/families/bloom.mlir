module attributes {zb.level = "graph"} {
  func.func @model(%arg0: tensor<2x32xi64> {zb.input = "x"}, %arg1: tensor<2x32xi64> {zb.input = "y"}, %arg2: tensor<256x32xf32> {zb.param = "lm.transformer.word_embeddings.weight"}, %arg3: tensor<32xf32> {zb.param = "lm.transformer.word_embeddings_layernorm.weight"}, %arg4: tensor<32xf32> {zb.param = "lm.transformer.word_embeddings_layernorm.bias"}, %arg5: tensor<32xf32> {zb.param = "lm.transformer.h.0.input_layernorm.weight"}, %arg6: tensor<32xf32> {zb.param = "lm.transformer.h.0.input_layernorm.bias"}, %arg7: tensor<96x32xf32> {zb.param = "lm.transformer.h.0.self_attention.query_key_value.weight"}, %arg8: tensor<96xf32> {zb.param = "lm.transformer.h.0.self_attention.query_key_value.bias"}, %arg9: tensor<32x32xf32> {zb.param = "lm.transformer.h.0.self_attention.dense.weight"}, %arg10: tensor<32xf32> {zb.param = "lm.transformer.h.0.self_attention.dense.bias"}, %arg11: tensor<32xf32> {zb.param = "lm.transformer.h.0.post_attention_layernorm.weight"}, %arg12: tensor<32xf32> {zb.param = "lm.transformer.h.0.post_attention_layernorm.bias"}, %arg13: tensor<128x32xf32> {zb.param = "lm.transformer.h.0.mlp.dense_h_to_4h.weight"}, %arg14: tensor<128xf32> {zb.param = "lm.transformer.h.0.mlp.dense_h_to_4h.bias"}, %arg15: tensor<32x128xf32> {zb.param = "lm.transformer.h.0.mlp.dense_4h_to_h.weight"}, %arg16: tensor<32xf32> {zb.param = "lm.transformer.h.0.mlp.dense_4h_to_h.bias"}, %arg17: tensor<32xf32> {zb.param = "lm.transformer.h.1.input_layernorm.weight"}, %arg18: tensor<32xf32> {zb.param = "lm.transformer.h.1.input_layernorm.bias"}, %arg19: tensor<96x32xf32> {zb.param = "lm.transformer.h.1.self_attention.query_key_value.weight"}, %arg20: tensor<96xf32> {zb.param = "lm.transformer.h.1.self_attention.query_key_value.bias"}, %arg21: tensor<32x32xf32> {zb.param = "lm.transformer.h.1.self_attention.dense.weight"}, %arg22: tensor<32xf32> {zb.param = "lm.transformer.h.1.self_attention.dense.bias"}, %arg23: tensor<32xf32> {zb.param = "lm.transformer.h.1.post_attention_layernorm.weight"}, %arg24: tensor<32xf32> {zb.param = "lm.transformer.h.1.post_attention_layernorm.bias"}, %arg25: tensor<128x32xf32> {zb.param = "lm.transformer.h.1.mlp.dense_h_to_4h.weight"}, %arg26: tensor<128xf32> {zb.param = "lm.transformer.h.1.mlp.dense_h_to_4h.bias"}, %arg27: tensor<32x128xf32> {zb.param = "lm.transformer.h.1.mlp.dense_4h_to_h.weight"}, %arg28: tensor<32xf32> {zb.param = "lm.transformer.h.1.mlp.dense_4h_to_h.bias"}, %arg29: tensor<32xf32> {zb.param = "lm.transformer.ln_f.weight"}, %arg30: tensor<32xf32> {zb.param = "lm.transformer.ln_f.bias"}) -> (tensor<f32> {zb.loss}) {
    %0 = "zb.gather"(%arg2, %arg0) {axis = 0 : i64} : (tensor<256x32xf32>, tensor<2x32xi64>) -> tensor<2x32x32xf32>
    %1:3 = "zb.layer_norm"(%0, %arg3, %arg4) {axis = 2 : i64, epsilon = 9.9999997473787516E-6 : f64} : (tensor<2x32x32xf32>, tensor<32xf32>, tensor<32xf32>) -> (tensor<2x32x32xf32>, tensor<2x32x1xf32>, tensor<2x32x1xf32>)
    %2:3 = "zb.layer_norm"(%1#0, %arg5, %arg6) {axis = 2 : i64, epsilon = 9.9999997473787516E-6 : f64} : (tensor<2x32x32xf32>, tensor<32xf32>, tensor<32xf32>) -> (tensor<2x32x32xf32>, tensor<2x32x1xf32>, tensor<2x32x1xf32>)
    %3 = "zb.matmul"(%2#0, %arg7, %arg8) {transpose_rhs = true} : (tensor<2x32x32xf32>, tensor<96x32xf32>, tensor<96xf32>) -> tensor<2x32x96xf32>
    %4 = "zb.reshape"(%3) {shape = array<i64: 2, 32, 4, 3, 8>} : (tensor<2x32x96xf32>) -> tensor<2x32x4x3x8xf32>
    %5 = "zb.constant"() {value = dense<0> : tensor<i64>} : () -> tensor<i64>
    %6 = "zb.gather"(%4, %5) {axis = 3 : i64} : (tensor<2x32x4x3x8xf32>, tensor<i64>) -> tensor<2x32x4x8xf32>
    %7 = "zb.transpose"(%6) {permutation = array<i64: 0, 2, 1, 3>} : (tensor<2x32x4x8xf32>) -> tensor<2x4x32x8xf32>
    %8 = "zb.constant"() {value = dense<1> : tensor<i64>} : () -> tensor<i64>
    %9 = "zb.gather"(%4, %8) {axis = 3 : i64} : (tensor<2x32x4x3x8xf32>, tensor<i64>) -> tensor<2x32x4x8xf32>
    %10 = "zb.transpose"(%9) {permutation = array<i64: 0, 2, 1, 3>} : (tensor<2x32x4x8xf32>) -> tensor<2x4x32x8xf32>
    %11 = "zb.constant"() {value = dense<2> : tensor<i64>} : () -> tensor<i64>
    %12 = "zb.gather"(%4, %11) {axis = 3 : i64} : (tensor<2x32x4x3x8xf32>, tensor<i64>) -> tensor<2x32x4x8xf32>
    %13 = "zb.transpose"(%12) {permutation = array<i64: 0, 2, 1, 3>} : (tensor<2x32x4x8xf32>) -> tensor<2x4x32x8xf32>
    %14 = "zb.reshape"(%7) {shape = array<i64: 8, 32, 8>} : (tensor<2x4x32x8xf32>) -> tensor<8x32x8xf32>
    %15 = "zb.reshape"(%10) {shape = array<i64: 8, 32, 8>} : (tensor<2x4x32x8xf32>) -> tensor<8x32x8xf32>
    %16 = "zb.matmul"(%14, %15) {transpose_rhs = true} : (tensor<8x32x8xf32>, tensor<8x32x8xf32>) -> tensor<8x32x32xf32>
    %17 = "zb.constant"() {value = dense<0.353553385> : tensor<f32>} : () -> tensor<f32>
    %18 = "zb.mul"(%16, %17) : (tensor<8x32x32xf32>, tensor<f32>) -> tensor<8x32x32xf32>
    %19 = "zb.constant"() {value = dense<"0x000000000000803E0000003F0000403F0000803F0000A03F0000C03F0000E03F0000004000001040000020400000304000004040000050400000604000007040000080400000884000009040000098400000A0400000A8400000B0400000B8400000C0400000C8400000D0400000D8400000E0400000E8400000F0400000F840000000000000803D0000003E0000403E0000803E0000A03E0000C03E0000E03E0000003F0000103F0000203F0000303F0000403F0000503F0000603F0000703F0000803F0000883F0000903F0000983F0000A03F0000A83F0000B03F0000B83F0000C03F0000C83F0000D03F0000D83F0000E03F0000E83F0000F03F0000F83F000000000000803C0000003D0000403D0000803D0000A03D0000C03D0000E03D0000003E0000103E0000203E0000303E0000403E0000503E0000603E0000703E0000803E0000883E0000903E0000983E0000A03E0000A83E0000B03E0000B83E0000C03E0000C83E0000D03E0000D83E0000E03E0000E83E0000F03E0000F83E000000000000803B0000003C0000403C0000803C0000A03C0000C03C0000E03C0000003D0000103D0000203D0000303D0000403D0000503D0000603D0000703D0000803D0000883D0000903D0000983D0000A03D0000A83D0000B03D0000B83D0000C03D0000C83D0000D03D0000D83D0000E03D0000E83D0000F03D0000F83D000000000000803E0000003F0000403F0000803F0000A03F0000C03F0000E03F0000004000001040000020400000304000004040000050400000604000007040000080400000884000009040000098400000A0400000A8400000B0400000B8400000C0400000C8400000D0400000D8400000E0400000E8400000F0400000F840000000000000803D0000003E0000403E0000803E0000A03E0000C03E0000E03E0000003F0000103F0000203F0000303F0000403F0000503F0000603F0000703F0000803F0000883F0000903F0000983F0000A03F0000A83F0000B03F0000B83F0000C03F0000C83F0000D03F0000D83F0000E03F0000E83F0000F03F0000F83F000000000000803C0000003D0000403D0000803D0000A03D0000C03D0000E03D0000003E0000103E0000203E0000303E0000403E0000503E0000603E0000703E0000803E0000883E0000903E0000983E0000A03E0000A83E0000B03E0000B83E0000C03E0000C83E0000D03E0000D83E0000E03E0000E83E0000F03E0000F83E000000000000803B0000003C0000403C0000803C0000A03C0000C03C0000E03C0000003D0000103D0000203D0000303D0000403D0000503D0000603D0000703D0000803D0000883D0000903D0000983D0000A03D0000A83D0000B03D0000B83D0000C03D0000C83D0000D03D0000D83D0000E03D0000E83D0000F03D0000F83D"> : tensor<8x1x32xf32>} : () -> tensor<8x1x32xf32>
    %20 = "zb.add"(%18, %19) : (tensor<8x32x32xf32>, tensor<8x1x32xf32>) -> tensor<8x32x32xf32>
    %21 = "zb.reshape"(%20) {shape = array<i64: 2, 4, 32, 32>} : (tensor<8x32x32xf32>) -> tensor<2x4x32x32xf32>
    %22 = "zb.triangle"() {diagonal = 0 : i64, dtype = "f32", lower = 0.000000e+00 : f64, shape = array<i64: 1, 1, 32, 32>, upper = -3.4028234663852886E+38 : f64} : () -> tensor<1x1x32x32xf32>
    %23 = "zb.add"(%21, %22) : (tensor<2x4x32x32xf32>, tensor<1x1x32x32xf32>) -> tensor<2x4x32x32xf32>
    %24 = "zb.softmax"(%23) {axis = 3 : i64} : (tensor<2x4x32x32xf32>) -> tensor<2x4x32x32xf32>
    %25 = "zb.matmul"(%24, %13) : (tensor<2x4x32x32xf32>, tensor<2x4x32x8xf32>) -> tensor<2x4x32x8xf32>
    %26 = "zb.transpose"(%25) {permutation = array<i64: 0, 2, 1, 3>} : (tensor<2x4x32x8xf32>) -> tensor<2x32x4x8xf32>
    %27 = "zb.reshape"(%26) {shape = array<i64: 2, 32, 32>} : (tensor<2x32x4x8xf32>) -> tensor<2x32x32xf32>
    %28 = "zb.matmul"(%27, %arg9, %arg10) {transpose_rhs = true} : (tensor<2x32x32xf32>, tensor<32x32xf32>, tensor<32xf32>) -> tensor<2x32x32xf32>
    %29 = "zb.add"(%1#0, %28) : (tensor<2x32x32xf32>, tensor<2x32x32xf32>) -> tensor<2x32x32xf32>
    %30:3 = "zb.layer_norm"(%29, %arg11, %arg12) {axis = 2 : i64, epsilon = 9.9999997473787516E-6 : f64} : (tensor<2x32x32xf32>, tensor<32xf32>, tensor<32xf32>) -> (tensor<2x32x32xf32>, tensor<2x32x1xf32>, tensor<2x32x1xf32>)
    %31 = "zb.matmul"(%30#0, %arg13, %arg14) {transpose_rhs = true} : (tensor<2x32x32xf32>, tensor<128x32xf32>, tensor<128xf32>) -> tensor<2x32x128xf32>
    %32 = "zb.gelu"(%31) {tanh = true} : (tensor<2x32x128xf32>) -> tensor<2x32x128xf32>
    %33 = "zb.matmul"(%32, %arg15, %arg16) {transpose_rhs = true} : (tensor<2x32x128xf32>, tensor<32x128xf32>, tensor<32xf32>) -> tensor<2x32x32xf32>
    %34 = "zb.add"(%29, %33) : (tensor<2x32x32xf32>, tensor<2x32x32xf32>) -> tensor<2x32x32xf32>
    %35:3 = "zb.layer_norm"(%34, %arg17, %arg18) {axis = 2 : i64, epsilon = 9.9999997473787516E-6 : f64} : (tensor<2x32x32xf32>, tensor<32xf32>, tensor<32xf32>) -> (tensor<2x32x32xf32>, tensor<2x32x1xf32>, tensor<2x32x1xf32>)
    %36 = "zb.matmul"(%35#0, %arg19, %arg20) {transpose_rhs = true} : (tensor<2x32x32xf32>, tensor<96x32xf32>, tensor<96xf32>) -> tensor<2x32x96xf32>
    %37 = "zb.reshape"(%36) {shape = array<i64: 2, 32, 4, 3, 8>} : (tensor<2x32x96xf32>) -> tensor<2x32x4x3x8xf32>
    %38 = "zb.gather"(%37, %5) {axis = 3 : i64} : (tensor<2x32x4x3x8xf32>, tensor<i64>) -> tensor<2x32x4x8xf32>
    %39 = "zb.transpose"(%38) {permutation = array<i64: 0, 2, 1, 3>} : (tensor<2x32x4x8xf32>) -> tensor<2x4x32x8xf32>
    %40 = "zb.gather"(%37, %8) {axis = 3 : i64} : (tensor<2x32x4x3x8xf32>, tensor<i64>) -> tensor<2x32x4x8xf32>
    %41 = "zb.transpose"(%40) {permutation = array<i64: 0, 2, 1, 3>} : (tensor<2x32x4x8xf32>) -> tensor<2x4x32x8xf32>
    %42 = "zb.gather"(%37, %11) {axis = 3 : i64} : (tensor<2x32x4x3x8xf32>, tensor<i64>) -> tensor<2x32x4x8xf32>
    %43 = "zb.transpose"(%42) {permutation = array<i64: 0, 2, 1, 3>} : (tensor<2x32x4x8xf32>) -> tensor<2x4x32x8xf32>
    %44 = "zb.reshape"(%39) {shape = array<i64: 8, 32, 8>} : (tensor<2x4x32x8xf32>) -> tensor<8x32x8xf32>
    %45 = "zb.reshape"(%41) {shape = array<i64: 8, 32, 8>} : (tensor<2x4x32x8xf32>) -> tensor<8x32x8xf32>
    %46 = "zb.matmul"(%44, %45) {transpose_rhs = true} : (tensor<8x32x8xf32>, tensor<8x32x8xf32>) -> tensor<8x32x32xf32>
    %47 = "zb.mul"(%46, %17) : (tensor<8x32x32xf32>, tensor<f32>) -> tensor<8x32x32xf32>
    %48 = "zb.add"(%47, %19) : (tensor<8x32x32xf32>, tensor<8x1x32xf32>) -> tensor<8x32x32xf32>
    %49 = "zb.reshape"(%48) {shape = array<i64: 2, 4, 32, 32>} : (tensor<8x32x32xf32>) -> tensor<2x4x32x32xf32>
    %50 = "zb.add"(%49, %22) : (tensor<2x4x32x32xf32>, tensor<1x1x32x32xf32>) -> tensor<2x4x32x32xf32>
    %51 = "zb.softmax"(%50) {axis = 3 : i64} : (tensor<2x4x32x32xf32>) -> tensor<2x4x32x32xf32>
    %52 = "zb.matmul"(%51, %43) : (tensor<2x4x32x32xf32>, tensor<2x4x32x8xf32>) -> tensor<2x4x32x8xf32>
    %53 = "zb.transpose"(%52) {permutation = array<i64: 0, 2, 1, 3>} : (tensor<2x4x32x8xf32>) -> tensor<2x32x4x8xf32>
    %54 = "zb.reshape"(%53) {shape = array<i64: 2, 32, 32>} : (tensor<2x32x4x8xf32>) -> tensor<2x32x32xf32>
    %55 = "zb.matmul"(%54, %arg21, %arg22) {transpose_rhs = true} : (tensor<2x32x32xf32>, tensor<32x32xf32>, tensor<32xf32>) -> tensor<2x32x32xf32>
    %56 = "zb.add"(%34, %55) : (tensor<2x32x32xf32>, tensor<2x32x32xf32>) -> tensor<2x32x32xf32>
    %57:3 = "zb.layer_norm"(%56, %arg23, %arg24) {axis = 2 : i64, epsilon = 9.9999997473787516E-6 : f64} : (tensor<2x32x32xf32>, tensor<32xf32>, tensor<32xf32>) -> (tensor<2x32x32xf32>, tensor<2x32x1xf32>, tensor<2x32x1xf32>)
    %58 = "zb.matmul"(%57#0, %arg25, %arg26) {transpose_rhs = true} : (tensor<2x32x32xf32>, tensor<128x32xf32>, tensor<128xf32>) -> tensor<2x32x128xf32>
    %59 = "zb.gelu"(%58) {tanh = true} : (tensor<2x32x128xf32>) -> tensor<2x32x128xf32>
    %60 = "zb.matmul"(%59, %arg27, %arg28) {transpose_rhs = true} : (tensor<2x32x128xf32>, tensor<32x128xf32>, tensor<32xf32>) -> tensor<2x32x32xf32>
    %61 = "zb.add"(%56, %60) : (tensor<2x32x32xf32>, tensor<2x32x32xf32>) -> tensor<2x32x32xf32>
    %62:3 = "zb.layer_norm"(%61, %arg29, %arg30) {axis = 2 : i64, epsilon = 9.9999997473787516E-6 : f64} : (tensor<2x32x32xf32>, tensor<32xf32>, tensor<32xf32>) -> (tensor<2x32x32xf32>, tensor<2x32x1xf32>, tensor<2x32x1xf32>)
    %63 = "zb.matmul"(%62#0, %arg2) {transpose_rhs = true} : (tensor<2x32x32xf32>, tensor<256x32xf32>) -> tensor<2x32x256xf32>
    %64 = "zb.reshape"(%63) {shape = array<i64: 64, 256>} : (tensor<2x32x256xf32>) -> tensor<64x256xf32>
    %65 = "zb.reshape"(%arg1) {shape = array<i64: 64>} : (tensor<2x32xi64>) -> tensor<64xi64>
    %66:2 = "zb.cross_entropy"(%64, %65) {ignore_index = -100 : i64, reduction = "mean"} : (tensor<64x256xf32>, tensor<64xi64>) -> (tensor<f32>, tensor<64xf32>)
    return %66#0 : tensor<f32>
  }
}
