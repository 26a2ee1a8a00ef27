module attributes {zb.level = "graph"} {
  func.func @model(%arg0: tensor<2x32xi64> {zb.input = "x"}, %arg1: tensor<2x32xi64> {zb.input = "y"}, %arg2: tensor<256x32xf32> {zb.param = "lm.bert.embeddings.word_embeddings.weight"}, %arg3: tensor<2x32xf32> {zb.param = "lm.bert.embeddings.token_type_embeddings.weight"}, %arg4: tensor<32x32xf32> {zb.param = "lm.bert.embeddings.position_embeddings.weight"}, %arg5: tensor<32xf32> {zb.param = "lm.bert.embeddings.LayerNorm.weight"}, %arg6: tensor<32xf32> {zb.param = "lm.bert.embeddings.LayerNorm.bias"}, %arg7: tensor<32x32xf32> {zb.param = "lm.bert.encoder.layer.0.attention.self.query.weight"}, %arg8: tensor<32xf32> {zb.param = "lm.bert.encoder.layer.0.attention.self.query.bias"}, %arg9: tensor<32x32xf32> {zb.param = "lm.bert.encoder.layer.0.attention.self.key.weight"}, %arg10: tensor<32xf32> {zb.param = "lm.bert.encoder.layer.0.attention.self.key.bias"}, %arg11: tensor<32x32xf32> {zb.param = "lm.bert.encoder.layer.0.attention.self.value.weight"}, %arg12: tensor<32xf32> {zb.param = "lm.bert.encoder.layer.0.attention.self.value.bias"}, %arg13: tensor<32x32xf32> {zb.param = "lm.bert.encoder.layer.0.attention.output.dense.weight"}, %arg14: tensor<32xf32> {zb.param = "lm.bert.encoder.layer.0.attention.output.dense.bias"}, %arg15: tensor<32xf32> {zb.param = "lm.bert.encoder.layer.0.attention.output.LayerNorm.weight"}, %arg16: tensor<32xf32> {zb.param = "lm.bert.encoder.layer.0.attention.output.LayerNorm.bias"}, %arg17: tensor<64x32xf32> {zb.param = "lm.bert.encoder.layer.0.intermediate.dense.weight"}, %arg18: tensor<64xf32> {zb.param = "lm.bert.encoder.layer.0.intermediate.dense.bias"}, %arg19: tensor<32x64xf32> {zb.param = "lm.bert.encoder.layer.0.output.dense.weight"}, %arg20: tensor<32xf32> {zb.param = "lm.bert.encoder.layer.0.output.dense.bias"}, %arg21: tensor<32xf32> {zb.param = "lm.bert.encoder.layer.0.output.LayerNorm.weight"}, %arg22: tensor<32xf32> {zb.param = "lm.bert.encoder.layer.0.output.LayerNorm.bias"}, %arg23: tensor<32x32xf32> {zb.param = "lm.bert.encoder.layer.1.attention.self.query.weight"}, %arg24: tensor<32xf32> {zb.param = "lm.bert.encoder.layer.1.attention.self.query.bias"}, %arg25: tensor<32x32xf32> {zb.param = "lm.bert.encoder.layer.1.attention.self.key.weight"}, %arg26: tensor<32xf32> {zb.param = "lm.bert.encoder.layer.1.attention.self.key.bias"}, %arg27: tensor<32x32xf32> {zb.param = "lm.bert.encoder.layer.1.attention.self.value.weight"}, %arg28: tensor<32xf32> {zb.param = "lm.bert.encoder.layer.1.attention.self.value.bias"}, %arg29: tensor<32x32xf32> {zb.param = "lm.bert.encoder.layer.1.attention.output.dense.weight"}, %arg30: tensor<32xf32> {zb.param = "lm.bert.encoder.layer.1.attention.output.dense.bias"}, %arg31: tensor<32xf32> {zb.param = "lm.bert.encoder.layer.1.attention.output.LayerNorm.weight"}, %arg32: tensor<32xf32> {zb.param = "lm.bert.encoder.layer.1.attention.output.LayerNorm.bias"}, %arg33: tensor<64x32xf32> {zb.param = "lm.bert.encoder.layer.1.intermediate.dense.weight"}, %arg34: tensor<64xf32> {zb.param = "lm.bert.encoder.layer.1.intermediate.dense.bias"}, %arg35: tensor<32x64xf32> {zb.param = "lm.bert.encoder.layer.1.output.dense.weight"}, %arg36: tensor<32xf32> {zb.param = "lm.bert.encoder.layer.1.output.dense.bias"}, %arg37: tensor<32xf32> {zb.param = "lm.bert.encoder.layer.1.output.LayerNorm.weight"}, %arg38: tensor<32xf32> {zb.param = "lm.bert.encoder.layer.1.output.LayerNorm.bias"}, %arg39: tensor<32x32xf32> {zb.param = "lm.cls.predictions.transform.dense.weight"}, %arg40: tensor<32xf32> {zb.param = "lm.cls.predictions.transform.dense.bias"}, %arg41: tensor<32xf32> {zb.param = "lm.cls.predictions.transform.LayerNorm.weight"}, %arg42: tensor<32xf32> {zb.param = "lm.cls.predictions.transform.LayerNorm.bias"}, %arg43: tensor<256xf32> {zb.param = "lm.cls.predictions.bias"}) -> (tensor<f32> {zb.loss}) {
    %0 = "zb.gather"(%arg2, %arg0) {axis = 0 : i64} : (tensor<256x32xf32>, tensor<2x32xi64>) -> tensor<2x32x32xf32>
    %1 = "zb.constant"() {value = dense<0> : tensor<i64>} : () -> tensor<i64>
    %2 = "zb.expand"(%1) {shape = array<i64: 2, 32>} : (tensor<i64>) -> tensor<2x32xi64>
    %3 = "zb.gather"(%arg3, %2) {axis = 0 : i64} : (tensor<2x32xf32>, tensor<2x32xi64>) -> tensor<2x32x32xf32>
    %4 = "zb.add"(%0, %3) : (tensor<2x32x32xf32>, tensor<2x32x32xf32>) -> tensor<2x32x32xf32>
    %5 = "zb.constant"() {value = dense<[[0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 21, 22, 23, 24, 25, 26, 27, 28, 29, 30, 31]]> : tensor<1x32xi64>} : () -> tensor<1x32xi64>
    %6 = "zb.gather"(%arg4, %5) {axis = 0 : i64} : (tensor<32x32xf32>, tensor<1x32xi64>) -> tensor<1x32x32xf32>
    %7 = "zb.add"(%4, %6) : (tensor<2x32x32xf32>, tensor<1x32x32xf32>) -> tensor<2x32x32xf32>
    %8:3 = "zb.layer_norm"(%7, %arg5, %arg6) {axis = 2 : i64, epsilon = 9.999999960041972E-13 : f64} : (tensor<2x32x32xf32>, tensor<32xf32>, tensor<32xf32>) -> (tensor<2x32x32xf32>, tensor<2x32x1xf32>, tensor<2x32x1xf32>)
    %9 = "zb.matmul"(%8#0, %arg7, %arg8) {transpose_rhs = true} : (tensor<2x32x32xf32>, tensor<32x32xf32>, tensor<32xf32>) -> tensor<2x32x32xf32>
    %10 = "zb.reshape"(%9) {shape = array<i64: 2, 32, 4, 8>} : (tensor<2x32x32xf32>) -> tensor<2x32x4x8xf32>
    %11 = "zb.matmul"(%8#0, %arg9, %arg10) {transpose_rhs = true} : (tensor<2x32x32xf32>, tensor<32x32xf32>, tensor<32xf32>) -> tensor<2x32x32xf32>
    %12 = "zb.reshape"(%11) {shape = array<i64: 2, 32, 4, 8>} : (tensor<2x32x32xf32>) -> tensor<2x32x4x8xf32>
    %13 = "zb.matmul"(%8#0, %arg11, %arg12) {transpose_rhs = true} : (tensor<2x32x32xf32>, tensor<32x32xf32>, tensor<32xf32>) -> tensor<2x32x32xf32>
    %14 = "zb.reshape"(%13) {shape = array<i64: 2, 32, 4, 8>} : (tensor<2x32x32xf32>) -> tensor<2x32x4x8xf32>
    %15 = "zb.constant"() {value = dense<0.000000e+00> : tensor<f32>} : () -> tensor<f32>
    %16:2 = "zb.attention"(%10, %12, %14, %15) {scale = 0.35355338454246521 : f64} : (tensor<2x32x4x8xf32>, tensor<2x32x4x8xf32>, tensor<2x32x4x8xf32>, tensor<f32>) -> (tensor<2x32x4x8xf32>, tensor<2x4x32xf32>)
    %17 = "zb.reshape"(%16#0) {shape = array<i64: 2, 32, 32>} : (tensor<2x32x4x8xf32>) -> tensor<2x32x32xf32>
    %18 = "zb.matmul"(%17, %arg13, %arg14) {transpose_rhs = true} : (tensor<2x32x32xf32>, tensor<32x32xf32>, tensor<32xf32>) -> tensor<2x32x32xf32>
    %19 = "zb.add"(%18, %8#0) : (tensor<2x32x32xf32>, tensor<2x32x32xf32>) -> tensor<2x32x32xf32>
    %20:3 = "zb.layer_norm"(%19, %arg15, %arg16) {axis = 2 : i64, epsilon = 9.999999960041972E-13 : f64} : (tensor<2x32x32xf32>, tensor<32xf32>, tensor<32xf32>) -> (tensor<2x32x32xf32>, tensor<2x32x1xf32>, tensor<2x32x1xf32>)
    %21 = "zb.matmul"(%20#0, %arg17, %arg18) {transpose_rhs = true} : (tensor<2x32x32xf32>, tensor<64x32xf32>, tensor<64xf32>) -> tensor<2x32x64xf32>
    %22 = "zb.gelu"(%21) : (tensor<2x32x64xf32>) -> tensor<2x32x64xf32>
    %23 = "zb.matmul"(%22, %arg19, %arg20) {transpose_rhs = true} : (tensor<2x32x64xf32>, tensor<32x64xf32>, tensor<32xf32>) -> tensor<2x32x32xf32>
    %24 = "zb.add"(%23, %20#0) : (tensor<2x32x32xf32>, tensor<2x32x32xf32>) -> tensor<2x32x32xf32>
    %25:3 = "zb.layer_norm"(%24, %arg21, %arg22) {axis = 2 : i64, epsilon = 9.999999960041972E-13 : f64} : (tensor<2x32x32xf32>, tensor<32xf32>, tensor<32xf32>) -> (tensor<2x32x32xf32>, tensor<2x32x1xf32>, tensor<2x32x1xf32>)
    %26 = "zb.matmul"(%25#0, %arg23, %arg24) {transpose_rhs = true} : (tensor<2x32x32xf32>, tensor<32x32xf32>, tensor<32xf32>) -> tensor<2x32x32xf32>
    %27 = "zb.reshape"(%26) {shape = array<i64: 2, 32, 4, 8>} : (tensor<2x32x32xf32>) -> tensor<2x32x4x8xf32>
    %28 = "zb.matmul"(%25#0, %arg25, %arg26) {transpose_rhs = true} : (tensor<2x32x32xf32>, tensor<32x32xf32>, tensor<32xf32>) -> tensor<2x32x32xf32>
    %29 = "zb.reshape"(%28) {shape = array<i64: 2, 32, 4, 8>} : (tensor<2x32x32xf32>) -> tensor<2x32x4x8xf32>
    %30 = "zb.matmul"(%25#0, %arg27, %arg28) {transpose_rhs = true} : (tensor<2x32x32xf32>, tensor<32x32xf32>, tensor<32xf32>) -> tensor<2x32x32xf32>
    %31 = "zb.reshape"(%30) {shape = array<i64: 2, 32, 4, 8>} : (tensor<2x32x32xf32>) -> tensor<2x32x4x8xf32>
    %32:2 = "zb.attention"(%27, %29, %31, %15) {scale = 0.35355338454246521 : f64} : (tensor<2x32x4x8xf32>, tensor<2x32x4x8xf32>, tensor<2x32x4x8xf32>, tensor<f32>) -> (tensor<2x32x4x8xf32>, tensor<2x4x32xf32>)
    %33 = "zb.reshape"(%32#0) {shape = array<i64: 2, 32, 32>} : (tensor<2x32x4x8xf32>) -> tensor<2x32x32xf32>
    %34 = "zb.matmul"(%33, %arg29, %arg30) {transpose_rhs = true} : (tensor<2x32x32xf32>, tensor<32x32xf32>, tensor<32xf32>) -> tensor<2x32x32xf32>
    %35 = "zb.add"(%34, %25#0) : (tensor<2x32x32xf32>, tensor<2x32x32xf32>) -> tensor<2x32x32xf32>
    %36:3 = "zb.layer_norm"(%35, %arg31, %arg32) {axis = 2 : i64, epsilon = 9.999999960041972E-13 : f64} : (tensor<2x32x32xf32>, tensor<32xf32>, tensor<32xf32>) -> (tensor<2x32x32xf32>, tensor<2x32x1xf32>, tensor<2x32x1xf32>)
    %37 = "zb.matmul"(%36#0, %arg33, %arg34) {transpose_rhs = true} : (tensor<2x32x32xf32>, tensor<64x32xf32>, tensor<64xf32>) -> tensor<2x32x64xf32>
    %38 = "zb.gelu"(%37) : (tensor<2x32x64xf32>) -> tensor<2x32x64xf32>
    %39 = "zb.matmul"(%38, %arg35, %arg36) {transpose_rhs = true} : (tensor<2x32x64xf32>, tensor<32x64xf32>, tensor<32xf32>) -> tensor<2x32x32xf32>
    %40 = "zb.add"(%39, %36#0) : (tensor<2x32x32xf32>, tensor<2x32x32xf32>) -> tensor<2x32x32xf32>
    %41:3 = "zb.layer_norm"(%40, %arg37, %arg38) {axis = 2 : i64, epsilon = 9.999999960041972E-13 : f64} : (tensor<2x32x32xf32>, tensor<32xf32>, tensor<32xf32>) -> (tensor<2x32x32xf32>, tensor<2x32x1xf32>, tensor<2x32x1xf32>)
    %42 = "zb.matmul"(%41#0, %arg39, %arg40) {transpose_rhs = true} : (tensor<2x32x32xf32>, tensor<32x32xf32>, tensor<32xf32>) -> tensor<2x32x32xf32>
    %43 = "zb.gelu"(%42) : (tensor<2x32x32xf32>) -> tensor<2x32x32xf32>
    %44:3 = "zb.layer_norm"(%43, %arg41, %arg42) {axis = 2 : i64, epsilon = 9.999999960041972E-13 : f64} : (tensor<2x32x32xf32>, tensor<32xf32>, tensor<32xf32>) -> (tensor<2x32x32xf32>, tensor<2x32x1xf32>, tensor<2x32x1xf32>)
    %45 = "zb.matmul"(%44#0, %arg2, %arg43) {transpose_rhs = true} : (tensor<2x32x32xf32>, tensor<256x32xf32>, tensor<256xf32>) -> tensor<2x32x256xf32>
    %46 = "zb.reshape"(%45) {shape = array<i64: 64, 256>} : (tensor<2x32x256xf32>) -> tensor<64x256xf32>
    %47 = "zb.reshape"(%arg1) {shape = array<i64: 64>} : (tensor<2x32xi64>) -> tensor<64xi64>
    %48:2 = "zb.cross_entropy"(%46, %47) {ignore_index = -100 : i64, reduction = "mean"} : (tensor<64x256xf32>, tensor<64xi64>) -> (tensor<f32>, tensor<64xf32>)
    return %48#0 : tensor<f32>
  }
}
