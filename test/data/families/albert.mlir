module attributes {zb.level = "graph"} {
  func.func @model(%arg0: tensor<2x32xi64> {zb.input = "x"}, %arg1: tensor<2x32xi64> {zb.input = "y"}, %arg2: tensor<256x16xf32> {zb.param = "lm.albert.embeddings.word_embeddings.weight"}, %arg3: tensor<2x16xf32> {zb.param = "lm.albert.embeddings.token_type_embeddings.weight"}, %arg4: tensor<32x16xf32> {zb.param = "lm.albert.embeddings.position_embeddings.weight"}, %arg5: tensor<16xf32> {zb.param = "lm.albert.embeddings.LayerNorm.weight"}, %arg6: tensor<16xf32> {zb.param = "lm.albert.embeddings.LayerNorm.bias"}, %arg7: tensor<32x16xf32> {zb.param = "lm.albert.encoder.embedding_hidden_mapping_in.weight"}, %arg8: tensor<32xf32> {zb.param = "lm.albert.encoder.embedding_hidden_mapping_in.bias"}, %arg9: tensor<32x32xf32> {zb.param = "lm.albert.encoder.albert_layer_groups.0.albert_layers.0.attention.query.weight"}, %arg10: tensor<32xf32> {zb.param = "lm.albert.encoder.albert_layer_groups.0.albert_layers.0.attention.query.bias"}, %arg11: tensor<32x32xf32> {zb.param = "lm.albert.encoder.albert_layer_groups.0.albert_layers.0.attention.key.weight"}, %arg12: tensor<32xf32> {zb.param = "lm.albert.encoder.albert_layer_groups.0.albert_layers.0.attention.key.bias"}, %arg13: tensor<32x32xf32> {zb.param = "lm.albert.encoder.albert_layer_groups.0.albert_layers.0.attention.value.weight"}, %arg14: tensor<32xf32> {zb.param = "lm.albert.encoder.albert_layer_groups.0.albert_layers.0.attention.value.bias"}, %arg15: tensor<32x32xf32> {zb.param = "lm.albert.encoder.albert_layer_groups.0.albert_layers.0.attention.dense.weight"}, %arg16: tensor<32xf32> {zb.param = "lm.albert.encoder.albert_layer_groups.0.albert_layers.0.attention.dense.bias"}, %arg17: tensor<32xf32> {zb.param = "lm.albert.encoder.albert_layer_groups.0.albert_layers.0.attention.LayerNorm.weight"}, %arg18: tensor<32xf32> {zb.param = "lm.albert.encoder.albert_layer_groups.0.albert_layers.0.attention.LayerNorm.bias"}, %arg19: tensor<64x32xf32> {zb.param = "lm.albert.encoder.albert_layer_groups.0.albert_layers.0.ffn.weight"}, %arg20: tensor<64xf32> {zb.param = "lm.albert.encoder.albert_layer_groups.0.albert_layers.0.ffn.bias"}, %arg21: tensor<32x64xf32> {zb.param = "lm.albert.encoder.albert_layer_groups.0.albert_layers.0.ffn_output.weight"}, %arg22: tensor<32xf32> {zb.param = "lm.albert.encoder.albert_layer_groups.0.albert_layers.0.ffn_output.bias"}, %arg23: tensor<32xf32> {zb.param = "lm.albert.encoder.albert_layer_groups.0.albert_layers.0.full_layer_layer_norm.weight"}, %arg24: tensor<32xf32> {zb.param = "lm.albert.encoder.albert_layer_groups.0.albert_layers.0.full_layer_layer_norm.bias"}, %arg25: tensor<16x32xf32> {zb.param = "lm.predictions.dense.weight"}, %arg26: tensor<16xf32> {zb.param = "lm.predictions.dense.bias"}, %arg27: tensor<16xf32> {zb.param = "lm.predictions.LayerNorm.weight"}, %arg28: tensor<16xf32> {zb.param = "lm.predictions.LayerNorm.bias"}, %arg29: tensor<256xf32> {zb.param = "lm.predictions.bias"}) -> (tensor<f32> {zb.loss}) {
    %0 = "zb.gather"(%arg2, %arg0) {axis = 0 : i64} : (tensor<256x16xf32>, tensor<2x32xi64>) -> tensor<2x32x16xf32>
    %1 = "zb.constant"() {value = dense<0> : tensor<i64>} : () -> tensor<i64>
    %2 = "zb.expand"(%1) {shape = array<i64: 2, 32>} : (tensor<i64>) -> tensor<2x32xi64>
    %3 = "zb.gather"(%arg3, %2) {axis = 0 : i64} : (tensor<2x16xf32>, tensor<2x32xi64>) -> tensor<2x32x16xf32>
    %4 = "zb.add"(%0, %3) : (tensor<2x32x16xf32>, tensor<2x32x16xf32>) -> tensor<2x32x16xf32>
    %5 = "zb.constant"() {value = dense<[[0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 21, 22, 23, 24, 25, 26, 27, 28, 29, 30, 31]]> : tensor<1x32xi64>} : () -> tensor<1x32xi64>
    %6 = "zb.gather"(%arg4, %5) {axis = 0 : i64} : (tensor<32x16xf32>, tensor<1x32xi64>) -> tensor<1x32x16xf32>
    %7 = "zb.add"(%4, %6) : (tensor<2x32x16xf32>, tensor<1x32x16xf32>) -> tensor<2x32x16xf32>
    %8:3 = "zb.layer_norm"(%7, %arg5, %arg6) {axis = 2 : i64, epsilon = 9.999999960041972E-13 : f64} : (tensor<2x32x16xf32>, tensor<16xf32>, tensor<16xf32>) -> (tensor<2x32x16xf32>, tensor<2x32x1xf32>, tensor<2x32x1xf32>)
    %9 = "zb.matmul"(%8#0, %arg7, %arg8) {transpose_rhs = true} : (tensor<2x32x16xf32>, tensor<32x16xf32>, tensor<32xf32>) -> tensor<2x32x32xf32>
    %10 = "zb.matmul"(%9, %arg9, %arg10) {transpose_rhs = true} : (tensor<2x32x32xf32>, tensor<32x32xf32>, tensor<32xf32>) -> tensor<2x32x32xf32>
    %11 = "zb.reshape"(%10) {shape = array<i64: 2, 32, 4, 8>} : (tensor<2x32x32xf32>) -> tensor<2x32x4x8xf32>
    %12 = "zb.matmul"(%9, %arg11, %arg12) {transpose_rhs = true} : (tensor<2x32x32xf32>, tensor<32x32xf32>, tensor<32xf32>) -> tensor<2x32x32xf32>
    %13 = "zb.reshape"(%12) {shape = array<i64: 2, 32, 4, 8>} : (tensor<2x32x32xf32>) -> tensor<2x32x4x8xf32>
    %14 = "zb.matmul"(%9, %arg13, %arg14) {transpose_rhs = true} : (tensor<2x32x32xf32>, tensor<32x32xf32>, tensor<32xf32>) -> tensor<2x32x32xf32>
    %15 = "zb.reshape"(%14) {shape = array<i64: 2, 32, 4, 8>} : (tensor<2x32x32xf32>) -> tensor<2x32x4x8xf32>
    %16 = "zb.constant"() {value = dense<0.000000e+00> : tensor<f32>} : () -> tensor<f32>
    %17:2 = "zb.attention"(%11, %13, %15, %16) {scale = 0.35355338454246521 : f64} : (tensor<2x32x4x8xf32>, tensor<2x32x4x8xf32>, tensor<2x32x4x8xf32>, tensor<f32>) -> (tensor<2x32x4x8xf32>, tensor<2x4x32xf32>)
    %18 = "zb.reshape"(%17#0) {shape = array<i64: 2, 32, 32>} : (tensor<2x32x4x8xf32>) -> tensor<2x32x32xf32>
    %19 = "zb.matmul"(%18, %arg15, %arg16) {transpose_rhs = true} : (tensor<2x32x32xf32>, tensor<32x32xf32>, tensor<32xf32>) -> tensor<2x32x32xf32>
    %20 = "zb.add"(%9, %19) : (tensor<2x32x32xf32>, tensor<2x32x32xf32>) -> tensor<2x32x32xf32>
    %21:3 = "zb.layer_norm"(%20, %arg17, %arg18) {axis = 2 : i64, epsilon = 9.999999960041972E-13 : f64} : (tensor<2x32x32xf32>, tensor<32xf32>, tensor<32xf32>) -> (tensor<2x32x32xf32>, tensor<2x32x1xf32>, tensor<2x32x1xf32>)
    %22 = "zb.matmul"(%21#0, %arg19, %arg20) {transpose_rhs = true} : (tensor<2x32x32xf32>, tensor<64x32xf32>, tensor<64xf32>) -> tensor<2x32x64xf32>
    %23 = "zb.gelu"(%22) {tanh = true} : (tensor<2x32x64xf32>) -> tensor<2x32x64xf32>
    %24 = "zb.matmul"(%23, %arg21, %arg22) {transpose_rhs = true} : (tensor<2x32x64xf32>, tensor<32x64xf32>, tensor<32xf32>) -> tensor<2x32x32xf32>
    %25 = "zb.add"(%24, %21#0) : (tensor<2x32x32xf32>, tensor<2x32x32xf32>) -> tensor<2x32x32xf32>
    %26:3 = "zb.layer_norm"(%25, %arg23, %arg24) {axis = 2 : i64, epsilon = 9.999999960041972E-13 : f64} : (tensor<2x32x32xf32>, tensor<32xf32>, tensor<32xf32>) -> (tensor<2x32x32xf32>, tensor<2x32x1xf32>, tensor<2x32x1xf32>)
    %27 = "zb.matmul"(%26#0, %arg9, %arg10) {transpose_rhs = true} : (tensor<2x32x32xf32>, tensor<32x32xf32>, tensor<32xf32>) -> tensor<2x32x32xf32>
    %28 = "zb.reshape"(%27) {shape = array<i64: 2, 32, 4, 8>} : (tensor<2x32x32xf32>) -> tensor<2x32x4x8xf32>
    %29 = "zb.matmul"(%26#0, %arg11, %arg12) {transpose_rhs = true} : (tensor<2x32x32xf32>, tensor<32x32xf32>, tensor<32xf32>) -> tensor<2x32x32xf32>
    %30 = "zb.reshape"(%29) {shape = array<i64: 2, 32, 4, 8>} : (tensor<2x32x32xf32>) -> tensor<2x32x4x8xf32>
    %31 = "zb.matmul"(%26#0, %arg13, %arg14) {transpose_rhs = true} : (tensor<2x32x32xf32>, tensor<32x32xf32>, tensor<32xf32>) -> tensor<2x32x32xf32>
    %32 = "zb.reshape"(%31) {shape = array<i64: 2, 32, 4, 8>} : (tensor<2x32x32xf32>) -> tensor<2x32x4x8xf32>
    %33:2 = "zb.attention"(%28, %30, %32, %16) {scale = 0.35355338454246521 : f64} : (tensor<2x32x4x8xf32>, tensor<2x32x4x8xf32>, tensor<2x32x4x8xf32>, tensor<f32>) -> (tensor<2x32x4x8xf32>, tensor<2x4x32xf32>)
    %34 = "zb.reshape"(%33#0) {shape = array<i64: 2, 32, 32>} : (tensor<2x32x4x8xf32>) -> tensor<2x32x32xf32>
    %35 = "zb.matmul"(%34, %arg15, %arg16) {transpose_rhs = true} : (tensor<2x32x32xf32>, tensor<32x32xf32>, tensor<32xf32>) -> tensor<2x32x32xf32>
    %36 = "zb.add"(%26#0, %35) : (tensor<2x32x32xf32>, tensor<2x32x32xf32>) -> tensor<2x32x32xf32>
    %37:3 = "zb.layer_norm"(%36, %arg17, %arg18) {axis = 2 : i64, epsilon = 9.999999960041972E-13 : f64} : (tensor<2x32x32xf32>, tensor<32xf32>, tensor<32xf32>) -> (tensor<2x32x32xf32>, tensor<2x32x1xf32>, tensor<2x32x1xf32>)
    %38 = "zb.matmul"(%37#0, %arg19, %arg20) {transpose_rhs = true} : (tensor<2x32x32xf32>, tensor<64x32xf32>, tensor<64xf32>) -> tensor<2x32x64xf32>
    %39 = "zb.gelu"(%38) {tanh = true} : (tensor<2x32x64xf32>) -> tensor<2x32x64xf32>
    %40 = "zb.matmul"(%39, %arg21, %arg22) {transpose_rhs = true} : (tensor<2x32x64xf32>, tensor<32x64xf32>, tensor<32xf32>) -> tensor<2x32x32xf32>
    %41 = "zb.add"(%40, %37#0) : (tensor<2x32x32xf32>, tensor<2x32x32xf32>) -> tensor<2x32x32xf32>
    %42:3 = "zb.layer_norm"(%41, %arg23, %arg24) {axis = 2 : i64, epsilon = 9.999999960041972E-13 : f64} : (tensor<2x32x32xf32>, tensor<32xf32>, tensor<32xf32>) -> (tensor<2x32x32xf32>, tensor<2x32x1xf32>, tensor<2x32x1xf32>)
    %43 = "zb.matmul"(%42#0, %arg25, %arg26) {transpose_rhs = true} : (tensor<2x32x32xf32>, tensor<16x32xf32>, tensor<16xf32>) -> tensor<2x32x16xf32>
    %44 = "zb.gelu"(%43) {tanh = true} : (tensor<2x32x16xf32>) -> tensor<2x32x16xf32>
    %45:3 = "zb.layer_norm"(%44, %arg27, %arg28) {axis = 2 : i64, epsilon = 9.999999960041972E-13 : f64} : (tensor<2x32x16xf32>, tensor<16xf32>, tensor<16xf32>) -> (tensor<2x32x16xf32>, tensor<2x32x1xf32>, tensor<2x32x1xf32>)
    %46 = "zb.matmul"(%45#0, %arg2, %arg29) {transpose_rhs = true} : (tensor<2x32x16xf32>, tensor<256x16xf32>, tensor<256xf32>) -> tensor<2x32x256xf32>
    %47 = "zb.reshape"(%46) {shape = array<i64: 64, 256>} : (tensor<2x32x256xf32>) -> tensor<64x256xf32>
    %48 = "zb.reshape"(%arg1) {shape = array<i64: 64>} : (tensor<2x32xi64>) -> tensor<64xi64>
    %49:2 = "zb.cross_entropy"(%47, %48) {ignore_index = -100 : i64, reduction = "mean"} : (tensor<64x256xf32>, tensor<64xi64>) -> (tensor<f32>, tensor<64xf32>)
    return %49#0 : tensor<f32>
  }
}
