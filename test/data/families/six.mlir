module attributes {zb.level = "graph"} {
  func.func @model(%arg0: tensor<2x32xi64> {zb.input = "x"}, %arg1: tensor<2x32xi64> {zb.input = "y"}, %arg2: tensor<257x192xf32> {zb.param = "lm.transformer.wte.weight"}, %arg3: tensor<32x192xf32> {zb.param = "lm.transformer.wpe.weight"}, %arg4: tensor<192xf32> {zb.param = "lm.transformer.h.0.ln_1.weight"}, %arg5: tensor<192xf32> {zb.param = "lm.transformer.h.0.ln_1.bias"}, %arg6: tensor<192x576xf32> {zb.param = "lm.transformer.h.0.attn.c_attn.weight"}, %arg7: tensor<576xf32> {zb.param = "lm.transformer.h.0.attn.c_attn.bias"}, %arg8: tensor<192x192xf32> {zb.param = "lm.transformer.h.0.attn.c_proj.weight"}, %arg9: tensor<192xf32> {zb.param = "lm.transformer.h.0.attn.c_proj.bias"}, %arg10: tensor<192xf32> {zb.param = "lm.transformer.h.0.ln_2.weight"}, %arg11: tensor<192xf32> {zb.param = "lm.transformer.h.0.ln_2.bias"}, %arg12: tensor<192x768xf32> {zb.param = "lm.transformer.h.0.mlp.c_fc.weight"}, %arg13: tensor<768xf32> {zb.param = "lm.transformer.h.0.mlp.c_fc.bias"}, %arg14: tensor<768x192xf32> {zb.param = "lm.transformer.h.0.mlp.c_proj.weight"}, %arg15: tensor<192xf32> {zb.param = "lm.transformer.h.0.mlp.c_proj.bias"}, %arg16: tensor<192xf32> {zb.param = "lm.transformer.h.1.ln_1.weight"}, %arg17: tensor<192xf32> {zb.param = "lm.transformer.h.1.ln_1.bias"}, %arg18: tensor<192x576xf32> {zb.param = "lm.transformer.h.1.attn.c_attn.weight"}, %arg19: tensor<576xf32> {zb.param = "lm.transformer.h.1.attn.c_attn.bias"}, %arg20: tensor<192x192xf32> {zb.param = "lm.transformer.h.1.attn.c_proj.weight"}, %arg21: tensor<192xf32> {zb.param = "lm.transformer.h.1.attn.c_proj.bias"}, %arg22: tensor<192xf32> {zb.param = "lm.transformer.h.1.ln_2.weight"}, %arg23: tensor<192xf32> {zb.param = "lm.transformer.h.1.ln_2.bias"}, %arg24: tensor<192x768xf32> {zb.param = "lm.transformer.h.1.mlp.c_fc.weight"}, %arg25: tensor<768xf32> {zb.param = "lm.transformer.h.1.mlp.c_fc.bias"}, %arg26: tensor<768x192xf32> {zb.param = "lm.transformer.h.1.mlp.c_proj.weight"}, %arg27: tensor<192xf32> {zb.param = "lm.transformer.h.1.mlp.c_proj.bias"}, %arg28: tensor<192xf32> {zb.param = "lm.transformer.ln_f.weight"}, %arg29: tensor<192xf32> {zb.param = "lm.transformer.ln_f.bias"}) -> (tensor<f32> {zb.loss}) {
    %0 = "zb.gather"(%arg2, %arg0) {axis = 0 : i64} : (tensor<257x192xf32>, tensor<2x32xi64>) -> tensor<2x32x192xf32>
    %1 = "zb.constant"() {value = dense<[[0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 21, 22, 23, 24, 25, 26, 27, 28, 29, 30, 31]]> : tensor<1x32xi64>} : () -> tensor<1x32xi64>
    %2 = "zb.gather"(%arg3, %1) {axis = 0 : i64} : (tensor<32x192xf32>, tensor<1x32xi64>) -> tensor<1x32x192xf32>
    %3 = "zb.add"(%0, %2) : (tensor<2x32x192xf32>, tensor<1x32x192xf32>) -> tensor<2x32x192xf32>
    %4:3 = "zb.layer_norm"(%3, %arg4, %arg5) {axis = 2 : i64, epsilon = 9.9999997473787516E-6 : f64} : (tensor<2x32x192xf32>, tensor<192xf32>, tensor<192xf32>) -> (tensor<2x32x192xf32>, tensor<2x32x1xf32>, tensor<2x32x1xf32>)
    %5 = "zb.reshape"(%4#0) {shape = array<i64: 64, 192>} : (tensor<2x32x192xf32>) -> tensor<64x192xf32>
    %6 = "zb.matmul"(%5, %arg6, %arg7) : (tensor<64x192xf32>, tensor<192x576xf32>, tensor<576xf32>) -> tensor<64x576xf32>
    %7 = "zb.reshape"(%6) {shape = array<i64: 2, 32, 576>} : (tensor<64x576xf32>) -> tensor<2x32x576xf32>
    %8:3 = "zb.split"(%7) {axis = 2 : i64, sizes = array<i64: 192, 192, 192>} : (tensor<2x32x576xf32>) -> (tensor<2x32x192xf32>, tensor<2x32x192xf32>, tensor<2x32x192xf32>)
    %9 = "zb.reshape"(%8#1) {shape = array<i64: 2, 32, 6, 32>} : (tensor<2x32x192xf32>) -> tensor<2x32x6x32xf32>
    %10 = "zb.reshape"(%8#2) {shape = array<i64: 2, 32, 6, 32>} : (tensor<2x32x192xf32>) -> tensor<2x32x6x32xf32>
    %11 = "zb.reshape"(%8#0) {shape = array<i64: 2, 32, 6, 32>} : (tensor<2x32x192xf32>) -> tensor<2x32x6x32xf32>
    %12:2 = "zb.attention"(%11, %9, %10) {causal = true, scale = 0.1767766922712326 : f64} : (tensor<2x32x6x32xf32>, tensor<2x32x6x32xf32>, tensor<2x32x6x32xf32>) -> (tensor<2x32x6x32xf32>, tensor<2x6x32xf32>)
    %13 = "zb.reshape"(%12#0) {shape = array<i64: 64, 192>} : (tensor<2x32x6x32xf32>) -> tensor<64x192xf32>
    %14 = "zb.matmul"(%13, %arg8, %arg9) : (tensor<64x192xf32>, tensor<192x192xf32>, tensor<192xf32>) -> tensor<64x192xf32>
    %15 = "zb.reshape"(%14) {shape = array<i64: 2, 32, 192>} : (tensor<64x192xf32>) -> tensor<2x32x192xf32>
    %16 = "zb.add"(%15, %3) : (tensor<2x32x192xf32>, tensor<2x32x192xf32>) -> tensor<2x32x192xf32>
    %17:3 = "zb.layer_norm"(%16, %arg10, %arg11) {axis = 2 : i64, epsilon = 9.9999997473787516E-6 : f64} : (tensor<2x32x192xf32>, tensor<192xf32>, tensor<192xf32>) -> (tensor<2x32x192xf32>, tensor<2x32x1xf32>, tensor<2x32x1xf32>)
    %18 = "zb.reshape"(%17#0) {shape = array<i64: 64, 192>} : (tensor<2x32x192xf32>) -> tensor<64x192xf32>
    %19 = "zb.matmul"(%18, %arg12, %arg13) : (tensor<64x192xf32>, tensor<192x768xf32>, tensor<768xf32>) -> tensor<64x768xf32>
    %20 = "zb.reshape"(%19) {shape = array<i64: 2, 32, 768>} : (tensor<64x768xf32>) -> tensor<2x32x768xf32>
    %21 = "zb.gelu"(%20) {tanh = true} : (tensor<2x32x768xf32>) -> tensor<2x32x768xf32>
    %22 = "zb.reshape"(%21) {shape = array<i64: 64, 768>} : (tensor<2x32x768xf32>) -> tensor<64x768xf32>
    %23 = "zb.matmul"(%22, %arg14, %arg15) : (tensor<64x768xf32>, tensor<768x192xf32>, tensor<192xf32>) -> tensor<64x192xf32>
    %24 = "zb.reshape"(%23) {shape = array<i64: 2, 32, 192>} : (tensor<64x192xf32>) -> tensor<2x32x192xf32>
    %25 = "zb.add"(%16, %24) : (tensor<2x32x192xf32>, tensor<2x32x192xf32>) -> tensor<2x32x192xf32>
    %26:3 = "zb.layer_norm"(%25, %arg16, %arg17) {axis = 2 : i64, epsilon = 9.9999997473787516E-6 : f64} : (tensor<2x32x192xf32>, tensor<192xf32>, tensor<192xf32>) -> (tensor<2x32x192xf32>, tensor<2x32x1xf32>, tensor<2x32x1xf32>)
    %27 = "zb.reshape"(%26#0) {shape = array<i64: 64, 192>} : (tensor<2x32x192xf32>) -> tensor<64x192xf32>
    %28 = "zb.matmul"(%27, %arg18, %arg19) : (tensor<64x192xf32>, tensor<192x576xf32>, tensor<576xf32>) -> tensor<64x576xf32>
    %29 = "zb.reshape"(%28) {shape = array<i64: 2, 32, 576>} : (tensor<64x576xf32>) -> tensor<2x32x576xf32>
    %30:3 = "zb.split"(%29) {axis = 2 : i64, sizes = array<i64: 192, 192, 192>} : (tensor<2x32x576xf32>) -> (tensor<2x32x192xf32>, tensor<2x32x192xf32>, tensor<2x32x192xf32>)
    %31 = "zb.reshape"(%30#1) {shape = array<i64: 2, 32, 6, 32>} : (tensor<2x32x192xf32>) -> tensor<2x32x6x32xf32>
    %32 = "zb.reshape"(%30#2) {shape = array<i64: 2, 32, 6, 32>} : (tensor<2x32x192xf32>) -> tensor<2x32x6x32xf32>
    %33 = "zb.reshape"(%30#0) {shape = array<i64: 2, 32, 6, 32>} : (tensor<2x32x192xf32>) -> tensor<2x32x6x32xf32>
    %34:2 = "zb.attention"(%33, %31, %32) {causal = true, scale = 0.1767766922712326 : f64} : (tensor<2x32x6x32xf32>, tensor<2x32x6x32xf32>, tensor<2x32x6x32xf32>) -> (tensor<2x32x6x32xf32>, tensor<2x6x32xf32>)
    %35 = "zb.reshape"(%34#0) {shape = array<i64: 64, 192>} : (tensor<2x32x6x32xf32>) -> tensor<64x192xf32>
    %36 = "zb.matmul"(%35, %arg20, %arg21) : (tensor<64x192xf32>, tensor<192x192xf32>, tensor<192xf32>) -> tensor<64x192xf32>
    %37 = "zb.reshape"(%36) {shape = array<i64: 2, 32, 192>} : (tensor<64x192xf32>) -> tensor<2x32x192xf32>
    %38 = "zb.add"(%37, %25) : (tensor<2x32x192xf32>, tensor<2x32x192xf32>) -> tensor<2x32x192xf32>
    %39:3 = "zb.layer_norm"(%38, %arg22, %arg23) {axis = 2 : i64, epsilon = 9.9999997473787516E-6 : f64} : (tensor<2x32x192xf32>, tensor<192xf32>, tensor<192xf32>) -> (tensor<2x32x192xf32>, tensor<2x32x1xf32>, tensor<2x32x1xf32>)
    %40 = "zb.reshape"(%39#0) {shape = array<i64: 64, 192>} : (tensor<2x32x192xf32>) -> tensor<64x192xf32>
    %41 = "zb.matmul"(%40, %arg24, %arg25) : (tensor<64x192xf32>, tensor<192x768xf32>, tensor<768xf32>) -> tensor<64x768xf32>
    %42 = "zb.reshape"(%41) {shape = array<i64: 2, 32, 768>} : (tensor<64x768xf32>) -> tensor<2x32x768xf32>
    %43 = "zb.gelu"(%42) {tanh = true} : (tensor<2x32x768xf32>) -> tensor<2x32x768xf32>
    %44 = "zb.reshape"(%43) {shape = array<i64: 64, 768>} : (tensor<2x32x768xf32>) -> tensor<64x768xf32>
    %45 = "zb.matmul"(%44, %arg26, %arg27) : (tensor<64x768xf32>, tensor<768x192xf32>, tensor<192xf32>) -> tensor<64x192xf32>
    %46 = "zb.reshape"(%45) {shape = array<i64: 2, 32, 192>} : (tensor<64x192xf32>) -> tensor<2x32x192xf32>
    %47 = "zb.add"(%38, %46) : (tensor<2x32x192xf32>, tensor<2x32x192xf32>) -> tensor<2x32x192xf32>
    %48:3 = "zb.layer_norm"(%47, %arg28, %arg29) {axis = 2 : i64, epsilon = 9.9999997473787516E-6 : f64} : (tensor<2x32x192xf32>, tensor<192xf32>, tensor<192xf32>) -> (tensor<2x32x192xf32>, tensor<2x32x1xf32>, tensor<2x32x1xf32>)
    %49 = "zb.matmul"(%48#0, %arg2) {transpose_rhs = true} : (tensor<2x32x192xf32>, tensor<257x192xf32>) -> tensor<2x32x257xf32>
    %50 = "zb.reshape"(%49) {shape = array<i64: 64, 257>} : (tensor<2x32x257xf32>) -> tensor<64x257xf32>
    %51 = "zb.reshape"(%arg1) {shape = array<i64: 64>} : (tensor<2x32xi64>) -> tensor<64xi64>
    %52:2 = "zb.cross_entropy"(%50, %51) {ignore_index = -100 : i64, reduction = "mean"} : (tensor<64x257xf32>, tensor<64xi64>) -> (tensor<f32>, tensor<64xf32>)
    return %52#0 : tensor<f32>
  }
}
