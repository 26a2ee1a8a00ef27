module attributes {zb.level = "graph"} {
  func.func @model(%arg0: tensor<2x32xi64> {zb.input = "x"}, %arg1: tensor<2x32xi64> {zb.input = "y"}, %arg2: tensor<256x32xf32> {zb.param = "lm.transformer.wte.weight"}, %arg3: tensor<32x32xf32> {zb.param = "lm.transformer.wpe.weight"}, %arg4: tensor<32xf32> {zb.param = "lm.transformer.h.0.ln_1.weight"}, %arg5: tensor<32xf32> {zb.param = "lm.transformer.h.0.ln_1.bias"}, %arg6: tensor<32x32xf32> {zb.param = "lm.transformer.h.0.attn.attention.q_proj.weight"}, %arg7: tensor<32x32xf32> {zb.param = "lm.transformer.h.0.attn.attention.k_proj.weight"}, %arg8: tensor<32x32xf32> {zb.param = "lm.transformer.h.0.attn.attention.v_proj.weight"}, %arg9: tensor<32x32xf32> {zb.param = "lm.transformer.h.0.attn.attention.out_proj.weight"}, %arg10: tensor<32xf32> {zb.param = "lm.transformer.h.0.attn.attention.out_proj.bias"}, %arg11: tensor<32xf32> {zb.param = "lm.transformer.h.0.ln_2.weight"}, %arg12: tensor<32xf32> {zb.param = "lm.transformer.h.0.ln_2.bias"}, %arg13: tensor<128x32xf32> {zb.param = "lm.transformer.h.0.mlp.c_fc.weight"}, %arg14: tensor<128xf32> {zb.param = "lm.transformer.h.0.mlp.c_fc.bias"}, %arg15: tensor<32x128xf32> {zb.param = "lm.transformer.h.0.mlp.c_proj.weight"}, %arg16: tensor<32xf32> {zb.param = "lm.transformer.h.0.mlp.c_proj.bias"}, %arg17: tensor<32xf32> {zb.param = "lm.transformer.h.1.ln_1.weight"}, %arg18: tensor<32xf32> {zb.param = "lm.transformer.h.1.ln_1.bias"}, %arg19: tensor<32x32xf32> {zb.param = "lm.transformer.h.1.attn.attention.q_proj.weight"}, %arg20: tensor<32x32xf32> {zb.param = "lm.transformer.h.1.attn.attention.k_proj.weight"}, %arg21: tensor<32x32xf32> {zb.param = "lm.transformer.h.1.attn.attention.v_proj.weight"}, %arg22: tensor<32x32xf32> {zb.param = "lm.transformer.h.1.attn.attention.out_proj.weight"}, %arg23: tensor<32xf32> {zb.param = "lm.transformer.h.1.attn.attention.out_proj.bias"}, %arg24: tensor<32xf32> {zb.param = "lm.transformer.h.1.ln_2.weight"}, %arg25: tensor<32xf32> {zb.param = "lm.transformer.h.1.ln_2.bias"}, %arg26: tensor<128x32xf32> {zb.param = "lm.transformer.h.1.mlp.c_fc.weight"}, %arg27: tensor<128xf32> {zb.param = "lm.transformer.h.1.mlp.c_fc.bias"}, %arg28: tensor<32x128xf32> {zb.param = "lm.transformer.h.1.mlp.c_proj.weight"}, %arg29: tensor<32xf32> {zb.param = "lm.transformer.h.1.mlp.c_proj.bias"}, %arg30: tensor<32xf32> {zb.param = "lm.transformer.ln_f.weight"}, %arg31: tensor<32xf32> {zb.param = "lm.transformer.ln_f.bias"}) -> (tensor<f32> {zb.loss}) {
    %0 = "zb.gather"(%arg2, %arg0) {axis = 0 : i64} : (tensor<256x32xf32>, tensor<2x32xi64>) -> tensor<2x32x32xf32>
    %1 = "zb.constant"() {value = dense<[[0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 21, 22, 23, 24, 25, 26, 27, 28, 29, 30, 31]]> : tensor<1x32xi64>} : () -> tensor<1x32xi64>
    %2 = "zb.gather"(%arg3, %1) {axis = 0 : i64} : (tensor<32x32xf32>, tensor<1x32xi64>) -> tensor<1x32x32xf32>
    %3 = "zb.add"(%0, %2) : (tensor<2x32x32xf32>, tensor<1x32x32xf32>) -> tensor<2x32x32xf32>
    %4:3 = "zb.layer_norm"(%3, %arg4, %arg5) {axis = 2 : i64, epsilon = 9.9999997473787516E-6 : f64} : (tensor<2x32x32xf32>, tensor<32xf32>, tensor<32xf32>) -> (tensor<2x32x32xf32>, tensor<2x32x1xf32>, tensor<2x32x1xf32>)
    %5 = "zb.matmul"(%4#0, %arg6) {transpose_rhs = true} : (tensor<2x32x32xf32>, tensor<32x32xf32>) -> tensor<2x32x32xf32>
    %6 = "zb.matmul"(%4#0, %arg7) {transpose_rhs = true} : (tensor<2x32x32xf32>, tensor<32x32xf32>) -> tensor<2x32x32xf32>
    %7 = "zb.matmul"(%4#0, %arg8) {transpose_rhs = true} : (tensor<2x32x32xf32>, tensor<32x32xf32>) -> tensor<2x32x32xf32>
    %8 = "zb.reshape"(%5) {shape = array<i64: 2, 32, 4, 8>} : (tensor<2x32x32xf32>) -> tensor<2x32x4x8xf32>
    %9 = "zb.transpose"(%8) {permutation = array<i64: 0, 2, 1, 3>} : (tensor<2x32x4x8xf32>) -> tensor<2x4x32x8xf32>
    %10 = "zb.reshape"(%6) {shape = array<i64: 2, 32, 4, 8>} : (tensor<2x32x32xf32>) -> tensor<2x32x4x8xf32>
    %11 = "zb.reshape"(%7) {shape = array<i64: 2, 32, 4, 8>} : (tensor<2x32x32xf32>) -> tensor<2x32x4x8xf32>
    %12 = "zb.transpose"(%11) {permutation = array<i64: 0, 2, 1, 3>} : (tensor<2x32x4x8xf32>) -> tensor<2x4x32x8xf32>
    %13 = "zb.transpose"(%10) {permutation = array<i64: 0, 2, 1, 3>} : (tensor<2x32x4x8xf32>) -> tensor<2x4x32x8xf32>
    %14 = "zb.matmul"(%9, %13) {transpose_rhs = true} : (tensor<2x4x32x8xf32>, tensor<2x4x32x8xf32>) -> tensor<2x4x32x32xf32>
    %15 = "zb.constant"() {value = dense<"0x0100000003000000070000000F0000001F0000003F0000007F000000FF000000FF010000FF030000FF070000FF0F0000FF1F0000FF3F0000FF7F0000FFFF0000FFFF0100FFFF0300FFFF0700FFFF0F00FFFF1F00FFFF3F00FFFF7F00FFFFFF00FFFFFF01FFFFFF03FFFFFF07FFFFFF0FFFFFFF1FFFFFFF3FFFFFFF7FFFFFFFFF"> : tensor<1x1x32x32xi1>} : () -> tensor<1x1x32x32xi1>
    %16 = "zb.constant"() {value = dense<-3.40282347E+38> : tensor<f32>} : () -> tensor<f32>
    %17 = "zb.where"(%15, %14, %16) : (tensor<1x1x32x32xi1>, tensor<2x4x32x32xf32>, tensor<f32>) -> tensor<2x4x32x32xf32>
    %18 = "zb.triangle"() {diagonal = 0 : i64, dtype = "f32", lower = 0.000000e+00 : f64, shape = array<i64: 1, 1, 32, 32>, upper = -3.4028234663852886E+38 : f64} : () -> tensor<1x1x32x32xf32>
    %19 = "zb.add"(%17, %18) : (tensor<2x4x32x32xf32>, tensor<1x1x32x32xf32>) -> tensor<2x4x32x32xf32>
    %20 = "zb.softmax"(%19) {axis = 3 : i64} : (tensor<2x4x32x32xf32>) -> tensor<2x4x32x32xf32>
    %21 = "zb.matmul"(%20, %12) : (tensor<2x4x32x32xf32>, tensor<2x4x32x8xf32>) -> tensor<2x4x32x8xf32>
    %22 = "zb.transpose"(%21) {permutation = array<i64: 0, 2, 1, 3>} : (tensor<2x4x32x8xf32>) -> tensor<2x32x4x8xf32>
    %23 = "zb.reshape"(%22) {shape = array<i64: 2, 32, 32>} : (tensor<2x32x4x8xf32>) -> tensor<2x32x32xf32>
    %24 = "zb.matmul"(%23, %arg9, %arg10) {transpose_rhs = true} : (tensor<2x32x32xf32>, tensor<32x32xf32>, tensor<32xf32>) -> tensor<2x32x32xf32>
    %25 = "zb.add"(%24, %3) : (tensor<2x32x32xf32>, tensor<2x32x32xf32>) -> tensor<2x32x32xf32>
    %26:3 = "zb.layer_norm"(%25, %arg11, %arg12) {axis = 2 : i64, epsilon = 9.9999997473787516E-6 : f64} : (tensor<2x32x32xf32>, tensor<32xf32>, tensor<32xf32>) -> (tensor<2x32x32xf32>, tensor<2x32x1xf32>, tensor<2x32x1xf32>)
    %27 = "zb.matmul"(%26#0, %arg13, %arg14) {transpose_rhs = true} : (tensor<2x32x32xf32>, tensor<128x32xf32>, tensor<128xf32>) -> tensor<2x32x128xf32>
    %28 = "zb.gelu"(%27) {tanh = true} : (tensor<2x32x128xf32>) -> tensor<2x32x128xf32>
    %29 = "zb.matmul"(%28, %arg15, %arg16) {transpose_rhs = true} : (tensor<2x32x128xf32>, tensor<32x128xf32>, tensor<32xf32>) -> tensor<2x32x32xf32>
    %30 = "zb.add"(%25, %29) : (tensor<2x32x32xf32>, tensor<2x32x32xf32>) -> tensor<2x32x32xf32>
    %31:3 = "zb.layer_norm"(%30, %arg17, %arg18) {axis = 2 : i64, epsilon = 9.9999997473787516E-6 : f64} : (tensor<2x32x32xf32>, tensor<32xf32>, tensor<32xf32>) -> (tensor<2x32x32xf32>, tensor<2x32x1xf32>, tensor<2x32x1xf32>)
    %32 = "zb.matmul"(%31#0, %arg19) {transpose_rhs = true} : (tensor<2x32x32xf32>, tensor<32x32xf32>) -> tensor<2x32x32xf32>
    %33 = "zb.matmul"(%31#0, %arg20) {transpose_rhs = true} : (tensor<2x32x32xf32>, tensor<32x32xf32>) -> tensor<2x32x32xf32>
    %34 = "zb.matmul"(%31#0, %arg21) {transpose_rhs = true} : (tensor<2x32x32xf32>, tensor<32x32xf32>) -> tensor<2x32x32xf32>
    %35 = "zb.reshape"(%32) {shape = array<i64: 2, 32, 4, 8>} : (tensor<2x32x32xf32>) -> tensor<2x32x4x8xf32>
    %36 = "zb.transpose"(%35) {permutation = array<i64: 0, 2, 1, 3>} : (tensor<2x32x4x8xf32>) -> tensor<2x4x32x8xf32>
    %37 = "zb.reshape"(%33) {shape = array<i64: 2, 32, 4, 8>} : (tensor<2x32x32xf32>) -> tensor<2x32x4x8xf32>
    %38 = "zb.reshape"(%34) {shape = array<i64: 2, 32, 4, 8>} : (tensor<2x32x32xf32>) -> tensor<2x32x4x8xf32>
    %39 = "zb.transpose"(%38) {permutation = array<i64: 0, 2, 1, 3>} : (tensor<2x32x4x8xf32>) -> tensor<2x4x32x8xf32>
    %40 = "zb.transpose"(%37) {permutation = array<i64: 0, 2, 1, 3>} : (tensor<2x32x4x8xf32>) -> tensor<2x4x32x8xf32>
    %41 = "zb.matmul"(%36, %40) {transpose_rhs = true} : (tensor<2x4x32x8xf32>, tensor<2x4x32x8xf32>) -> tensor<2x4x32x32xf32>
    %42 = "zb.constant"() {value = dense<"0x0100000003000000070000000F0000001F0000003F0000007F000000FF000000FE010000FC030000F8070000F00F0000E01F0000C03F0000807F000000FF000000FE010000FC030000F8070000F00F0000E01F0000C03F0000807F000000FF000000FE010000FC030000F8070000F00F0000E01F0000C03F0000807F000000FF"> : tensor<1x1x32x32xi1>} : () -> tensor<1x1x32x32xi1>
    %43 = "zb.where"(%42, %41, %16) : (tensor<1x1x32x32xi1>, tensor<2x4x32x32xf32>, tensor<f32>) -> tensor<2x4x32x32xf32>
    %44 = "zb.add"(%43, %18) : (tensor<2x4x32x32xf32>, tensor<1x1x32x32xf32>) -> tensor<2x4x32x32xf32>
    %45 = "zb.softmax"(%44) {axis = 3 : i64} : (tensor<2x4x32x32xf32>) -> tensor<2x4x32x32xf32>
    %46 = "zb.matmul"(%45, %39) : (tensor<2x4x32x32xf32>, tensor<2x4x32x8xf32>) -> tensor<2x4x32x8xf32>
    %47 = "zb.transpose"(%46) {permutation = array<i64: 0, 2, 1, 3>} : (tensor<2x4x32x8xf32>) -> tensor<2x32x4x8xf32>
    %48 = "zb.reshape"(%47) {shape = array<i64: 2, 32, 32>} : (tensor<2x32x4x8xf32>) -> tensor<2x32x32xf32>
    %49 = "zb.matmul"(%48, %arg22, %arg23) {transpose_rhs = true} : (tensor<2x32x32xf32>, tensor<32x32xf32>, tensor<32xf32>) -> tensor<2x32x32xf32>
    %50 = "zb.add"(%49, %30) : (tensor<2x32x32xf32>, tensor<2x32x32xf32>) -> tensor<2x32x32xf32>
    %51:3 = "zb.layer_norm"(%50, %arg24, %arg25) {axis = 2 : i64, epsilon = 9.9999997473787516E-6 : f64} : (tensor<2x32x32xf32>, tensor<32xf32>, tensor<32xf32>) -> (tensor<2x32x32xf32>, tensor<2x32x1xf32>, tensor<2x32x1xf32>)
    %52 = "zb.matmul"(%51#0, %arg26, %arg27) {transpose_rhs = true} : (tensor<2x32x32xf32>, tensor<128x32xf32>, tensor<128xf32>) -> tensor<2x32x128xf32>
    %53 = "zb.gelu"(%52) {tanh = true} : (tensor<2x32x128xf32>) -> tensor<2x32x128xf32>
    %54 = "zb.matmul"(%53, %arg28, %arg29) {transpose_rhs = true} : (tensor<2x32x128xf32>, tensor<32x128xf32>, tensor<32xf32>) -> tensor<2x32x32xf32>
    %55 = "zb.add"(%50, %54) : (tensor<2x32x32xf32>, tensor<2x32x32xf32>) -> tensor<2x32x32xf32>
    %56:3 = "zb.layer_norm"(%55, %arg30, %arg31) {axis = 2 : i64, epsilon = 9.9999997473787516E-6 : f64} : (tensor<2x32x32xf32>, tensor<32xf32>, tensor<32xf32>) -> (tensor<2x32x32xf32>, tensor<2x32x1xf32>, tensor<2x32x1xf32>)
    %57 = "zb.matmul"(%56#0, %arg2) {transpose_rhs = true} : (tensor<2x32x32xf32>, tensor<256x32xf32>) -> tensor<2x32x256xf32>
    %58 = "zb.reshape"(%57) {shape = array<i64: 64, 256>} : (tensor<2x32x256xf32>) -> tensor<64x256xf32>
    %59 = "zb.reshape"(%arg1) {shape = array<i64: 64>} : (tensor<2x32xi64>) -> tensor<64xi64>
    %60:2 = "zb.cross_entropy"(%58, %59) {ignore_index = -100 : i64, reduction = "mean"} : (tensor<64x256xf32>, tensor<64xi64>) -> (tensor<f32>, tensor<64xf32>)
    return %60#0 : tensor<f32>
  }
}
