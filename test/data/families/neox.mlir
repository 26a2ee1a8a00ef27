module attributes {zb.level = "graph"} {
  func.func @model(%arg0: tensor<2x32xi64> {zb.input = "x"}, %arg1: tensor<2x32xi64> {zb.input = "y"}, %arg2: tensor<256x32xf32> {zb.param = "lm.gpt_neox.embed_in.weight"}, %arg3: tensor<32xf32> {zb.param = "lm.gpt_neox.layers.0.input_layernorm.weight"}, %arg4: tensor<32xf32> {zb.param = "lm.gpt_neox.layers.0.input_layernorm.bias"}, %arg5: tensor<96x32xf32> {zb.param = "lm.gpt_neox.layers.0.attention.query_key_value.weight"}, %arg6: tensor<96xf32> {zb.param = "lm.gpt_neox.layers.0.attention.query_key_value.bias"}, %arg7: tensor<32x32xf32> {zb.param = "lm.gpt_neox.layers.0.attention.dense.weight"}, %arg8: tensor<32xf32> {zb.param = "lm.gpt_neox.layers.0.attention.dense.bias"}, %arg9: tensor<32xf32> {zb.param = "lm.gpt_neox.layers.0.post_attention_layernorm.weight"}, %arg10: tensor<32xf32> {zb.param = "lm.gpt_neox.layers.0.post_attention_layernorm.bias"}, %arg11: tensor<64x32xf32> {zb.param = "lm.gpt_neox.layers.0.mlp.dense_h_to_4h.weight"}, %arg12: tensor<64xf32> {zb.param = "lm.gpt_neox.layers.0.mlp.dense_h_to_4h.bias"}, %arg13: tensor<32x64xf32> {zb.param = "lm.gpt_neox.layers.0.mlp.dense_4h_to_h.weight"}, %arg14: tensor<32xf32> {zb.param = "lm.gpt_neox.layers.0.mlp.dense_4h_to_h.bias"}, %arg15: tensor<32xf32> {zb.param = "lm.gpt_neox.layers.1.input_layernorm.weight"}, %arg16: tensor<32xf32> {zb.param = "lm.gpt_neox.layers.1.input_layernorm.bias"}, %arg17: tensor<96x32xf32> {zb.param = "lm.gpt_neox.layers.1.attention.query_key_value.weight"}, %arg18: tensor<96xf32> {zb.param = "lm.gpt_neox.layers.1.attention.query_key_value.bias"}, %arg19: tensor<32x32xf32> {zb.param = "lm.gpt_neox.layers.1.attention.dense.weight"}, %arg20: tensor<32xf32> {zb.param = "lm.gpt_neox.layers.1.attention.dense.bias"}, %arg21: tensor<32xf32> {zb.param = "lm.gpt_neox.layers.1.post_attention_layernorm.weight"}, %arg22: tensor<32xf32> {zb.param = "lm.gpt_neox.layers.1.post_attention_layernorm.bias"}, %arg23: tensor<64x32xf32> {zb.param = "lm.gpt_neox.layers.1.mlp.dense_h_to_4h.weight"}, %arg24: tensor<64xf32> {zb.param = "lm.gpt_neox.layers.1.mlp.dense_h_to_4h.bias"}, %arg25: tensor<32x64xf32> {zb.param = "lm.gpt_neox.layers.1.mlp.dense_4h_to_h.weight"}, %arg26: tensor<32xf32> {zb.param = "lm.gpt_neox.layers.1.mlp.dense_4h_to_h.bias"}, %arg27: tensor<32xf32> {zb.param = "lm.gpt_neox.final_layer_norm.weight"}, %arg28: tensor<32xf32> {zb.param = "lm.gpt_neox.final_layer_norm.bias"}, %arg29: tensor<256x32xf32> {zb.param = "lm.lm_head.weight"}) -> (tensor<f32> {zb.loss}) {
    %0 = "zb.gather"(%arg2, %arg0) {axis = 0 : i64} : (tensor<256x32xf32>, tensor<2x32xi64>) -> tensor<2x32x32xf32>
    %1:3 = "zb.layer_norm"(%0, %arg3, %arg4) {axis = 2 : i64, epsilon = 9.9999997473787516E-6 : f64} : (tensor<2x32x32xf32>, tensor<32xf32>, tensor<32xf32>) -> (tensor<2x32x32xf32>, tensor<2x32x1xf32>, tensor<2x32x1xf32>)
    %2 = "zb.matmul"(%1#0, %arg5, %arg6) {transpose_rhs = true} : (tensor<2x32x32xf32>, tensor<96x32xf32>, tensor<96xf32>) -> tensor<2x32x96xf32>
    %3 = "zb.reshape"(%2) {shape = array<i64: 2, 32, 4, 24>} : (tensor<2x32x96xf32>) -> tensor<2x32x4x24xf32>
    %4 = "zb.transpose"(%3) {permutation = array<i64: 0, 2, 1, 3>} : (tensor<2x32x4x24xf32>) -> tensor<2x4x32x24xf32>
    %5:3 = "zb.split"(%4) {axis = 3 : i64, sizes = array<i64: 8, 8, 8>} : (tensor<2x4x32x24xf32>) -> (tensor<2x4x32x8xf32>, tensor<2x4x32x8xf32>, tensor<2x4x32x8xf32>)
    %6 = "zb.slice"(%5#0) {sizes = array<i64: 2, 4, 32, 2>, starts = array<i64: 0, 0, 0, 0>, steps = array<i64: 1, 1, 1, 1>} : (tensor<2x4x32x8xf32>) -> tensor<2x4x32x2xf32>
    %7 = "zb.slice"(%5#0) {sizes = array<i64: 2, 4, 32, 6>, starts = array<i64: 0, 0, 0, 2>, steps = array<i64: 1, 1, 1, 1>} : (tensor<2x4x32x8xf32>) -> tensor<2x4x32x6xf32>
    %8 = "zb.slice"(%5#1) {sizes = array<i64: 2, 4, 32, 2>, starts = array<i64: 0, 0, 0, 0>, steps = array<i64: 1, 1, 1, 1>} : (tensor<2x4x32x8xf32>) -> tensor<2x4x32x2xf32>
    %9 = "zb.slice"(%5#1) {sizes = array<i64: 2, 4, 32, 6>, starts = array<i64: 0, 0, 0, 2>, steps = array<i64: 1, 1, 1, 1>} : (tensor<2x4x32x8xf32>) -> tensor<2x4x32x6xf32>
    %10 = "zb.constant"() {value = dense<[[[[1.000000e+00], [0.540302277], [-0.416146815], [-0.989992499], [-0.653643608], [0.28366217], [0.960170269], [0.753902256], [-0.145500034], [-0.911130249], [-0.839071512], [0.00442569796], [0.84385395], [0.907446801], [0.136737227], [-0.7596879], [-0.957659482], [-0.275163352], [0.660316706], [0.988704621], [0.408082068], [-0.547729254], [-0.999960839], [-0.53283304], [0.424179018], [0.991202831], [0.64691937], [-0.292138815], [-0.962605893], [-0.748057544], [0.154251456], [0.91474235]]]]> : tensor<1x1x32x1xf32>} : () -> tensor<1x1x32x1xf32>
    %11 = "zb.mul"(%6, %10) : (tensor<2x4x32x2xf32>, tensor<1x1x32x1xf32>) -> tensor<2x4x32x2xf32>
    %12 = "zb.slice"(%5#0) {sizes = array<i64: 2, 4, 32, 1>, starts = array<i64: 0, 0, 0, 0>, steps = array<i64: 1, 1, 1, 1>} : (tensor<2x4x32x8xf32>) -> tensor<2x4x32x1xf32>
    %13 = "zb.slice"(%5#0) {sizes = array<i64: 2, 4, 32, 1>, starts = array<i64: 0, 0, 0, 1>, steps = array<i64: 1, 1, 1, 1>} : (tensor<2x4x32x8xf32>) -> tensor<2x4x32x1xf32>
    %14 = "zb.neg"(%13) : (tensor<2x4x32x1xf32>) -> tensor<2x4x32x1xf32>
    %15 = "zb.concat"(%14, %12) {axis = 3 : i64} : (tensor<2x4x32x1xf32>, tensor<2x4x32x1xf32>) -> tensor<2x4x32x2xf32>
    %16 = "zb.constant"() {value = dense<[[[[0.000000e+00], [8.414710e-01], [0.909297406], [1.411200e-01], [-0.756802499], [-0.958924293], [-0.279415488], [0.656986594], [0.989358246], [0.412118465], [-0.54402107], [-0.999990224], [-0.536572933], [0.420167059], [0.99060738], [0.650287867], [-0.287903339], [-0.961397469], [-0.750987231], [0.149877205], [0.91294527], [0.836655616], [-0.00885130931], [-0.846220374], [-0.905578375], [-0.132351756], [0.7625584], [0.956375956], [0.270905793], [-0.663633882], [-0.988031625], [-0.404037654]]]]> : tensor<1x1x32x1xf32>} : () -> tensor<1x1x32x1xf32>
    %17 = "zb.mul"(%15, %16) : (tensor<2x4x32x2xf32>, tensor<1x1x32x1xf32>) -> tensor<2x4x32x2xf32>
    %18 = "zb.add"(%11, %17) : (tensor<2x4x32x2xf32>, tensor<2x4x32x2xf32>) -> tensor<2x4x32x2xf32>
    %19 = "zb.mul"(%8, %10) : (tensor<2x4x32x2xf32>, tensor<1x1x32x1xf32>) -> tensor<2x4x32x2xf32>
    %20 = "zb.slice"(%5#1) {sizes = array<i64: 2, 4, 32, 1>, starts = array<i64: 0, 0, 0, 0>, steps = array<i64: 1, 1, 1, 1>} : (tensor<2x4x32x8xf32>) -> tensor<2x4x32x1xf32>
    %21 = "zb.slice"(%5#1) {sizes = array<i64: 2, 4, 32, 1>, starts = array<i64: 0, 0, 0, 1>, steps = array<i64: 1, 1, 1, 1>} : (tensor<2x4x32x8xf32>) -> tensor<2x4x32x1xf32>
    %22 = "zb.neg"(%21) : (tensor<2x4x32x1xf32>) -> tensor<2x4x32x1xf32>
    %23 = "zb.concat"(%22, %20) {axis = 3 : i64} : (tensor<2x4x32x1xf32>, tensor<2x4x32x1xf32>) -> tensor<2x4x32x2xf32>
    %24 = "zb.mul"(%23, %16) : (tensor<2x4x32x2xf32>, tensor<1x1x32x1xf32>) -> tensor<2x4x32x2xf32>
    %25 = "zb.add"(%19, %24) : (tensor<2x4x32x2xf32>, tensor<2x4x32x2xf32>) -> tensor<2x4x32x2xf32>
    %26 = "zb.concat"(%18, %7) {axis = 3 : i64} : (tensor<2x4x32x2xf32>, tensor<2x4x32x6xf32>) -> tensor<2x4x32x8xf32>
    %27 = "zb.concat"(%25, %9) {axis = 3 : i64} : (tensor<2x4x32x2xf32>, tensor<2x4x32x6xf32>) -> tensor<2x4x32x8xf32>
    %28 = "zb.transpose"(%26) {permutation = array<i64: 0, 2, 1, 3>} : (tensor<2x4x32x8xf32>) -> tensor<2x32x4x8xf32>
    %29 = "zb.transpose"(%27) {permutation = array<i64: 0, 2, 1, 3>} : (tensor<2x4x32x8xf32>) -> tensor<2x32x4x8xf32>
    %30 = "zb.transpose"(%5#2) {permutation = array<i64: 0, 2, 1, 3>} : (tensor<2x4x32x8xf32>) -> tensor<2x32x4x8xf32>
    %31:2 = "zb.attention"(%28, %29, %30) {causal = true, scale = 0.35355338454246521 : f64} : (tensor<2x32x4x8xf32>, tensor<2x32x4x8xf32>, tensor<2x32x4x8xf32>) -> (tensor<2x32x4x8xf32>, tensor<2x4x32xf32>)
    %32 = "zb.reshape"(%31#0) {shape = array<i64: 2, 32, 32>} : (tensor<2x32x4x8xf32>) -> tensor<2x32x32xf32>
    %33 = "zb.matmul"(%32, %arg7, %arg8) {transpose_rhs = true} : (tensor<2x32x32xf32>, tensor<32x32xf32>, tensor<32xf32>) -> tensor<2x32x32xf32>
    %34:3 = "zb.layer_norm"(%0, %arg9, %arg10) {axis = 2 : i64, epsilon = 9.9999997473787516E-6 : f64} : (tensor<2x32x32xf32>, tensor<32xf32>, tensor<32xf32>) -> (tensor<2x32x32xf32>, tensor<2x32x1xf32>, tensor<2x32x1xf32>)
    %35 = "zb.matmul"(%34#0, %arg11, %arg12) {transpose_rhs = true} : (tensor<2x32x32xf32>, tensor<64x32xf32>, tensor<64xf32>) -> tensor<2x32x64xf32>
    %36 = "zb.gelu"(%35) : (tensor<2x32x64xf32>) -> tensor<2x32x64xf32>
    %37 = "zb.matmul"(%36, %arg13, %arg14) {transpose_rhs = true} : (tensor<2x32x64xf32>, tensor<32x64xf32>, tensor<32xf32>) -> tensor<2x32x32xf32>
    %38 = "zb.add"(%37, %33) : (tensor<2x32x32xf32>, tensor<2x32x32xf32>) -> tensor<2x32x32xf32>
    %39 = "zb.add"(%38, %0) : (tensor<2x32x32xf32>, tensor<2x32x32xf32>) -> tensor<2x32x32xf32>
    %40:3 = "zb.layer_norm"(%39, %arg15, %arg16) {axis = 2 : i64, epsilon = 9.9999997473787516E-6 : f64} : (tensor<2x32x32xf32>, tensor<32xf32>, tensor<32xf32>) -> (tensor<2x32x32xf32>, tensor<2x32x1xf32>, tensor<2x32x1xf32>)
    %41 = "zb.matmul"(%40#0, %arg17, %arg18) {transpose_rhs = true} : (tensor<2x32x32xf32>, tensor<96x32xf32>, tensor<96xf32>) -> tensor<2x32x96xf32>
    %42 = "zb.reshape"(%41) {shape = array<i64: 2, 32, 4, 24>} : (tensor<2x32x96xf32>) -> tensor<2x32x4x24xf32>
    %43 = "zb.transpose"(%42) {permutation = array<i64: 0, 2, 1, 3>} : (tensor<2x32x4x24xf32>) -> tensor<2x4x32x24xf32>
    %44:3 = "zb.split"(%43) {axis = 3 : i64, sizes = array<i64: 8, 8, 8>} : (tensor<2x4x32x24xf32>) -> (tensor<2x4x32x8xf32>, tensor<2x4x32x8xf32>, tensor<2x4x32x8xf32>)
    %45 = "zb.slice"(%44#0) {sizes = array<i64: 2, 4, 32, 2>, starts = array<i64: 0, 0, 0, 0>, steps = array<i64: 1, 1, 1, 1>} : (tensor<2x4x32x8xf32>) -> tensor<2x4x32x2xf32>
    %46 = "zb.slice"(%44#0) {sizes = array<i64: 2, 4, 32, 6>, starts = array<i64: 0, 0, 0, 2>, steps = array<i64: 1, 1, 1, 1>} : (tensor<2x4x32x8xf32>) -> tensor<2x4x32x6xf32>
    %47 = "zb.slice"(%44#1) {sizes = array<i64: 2, 4, 32, 2>, starts = array<i64: 0, 0, 0, 0>, steps = array<i64: 1, 1, 1, 1>} : (tensor<2x4x32x8xf32>) -> tensor<2x4x32x2xf32>
    %48 = "zb.slice"(%44#1) {sizes = array<i64: 2, 4, 32, 6>, starts = array<i64: 0, 0, 0, 2>, steps = array<i64: 1, 1, 1, 1>} : (tensor<2x4x32x8xf32>) -> tensor<2x4x32x6xf32>
    %49 = "zb.mul"(%45, %10) : (tensor<2x4x32x2xf32>, tensor<1x1x32x1xf32>) -> tensor<2x4x32x2xf32>
    %50 = "zb.slice"(%44#0) {sizes = array<i64: 2, 4, 32, 1>, starts = array<i64: 0, 0, 0, 0>, steps = array<i64: 1, 1, 1, 1>} : (tensor<2x4x32x8xf32>) -> tensor<2x4x32x1xf32>
    %51 = "zb.slice"(%44#0) {sizes = array<i64: 2, 4, 32, 1>, starts = array<i64: 0, 0, 0, 1>, steps = array<i64: 1, 1, 1, 1>} : (tensor<2x4x32x8xf32>) -> tensor<2x4x32x1xf32>
    %52 = "zb.neg"(%51) : (tensor<2x4x32x1xf32>) -> tensor<2x4x32x1xf32>
    %53 = "zb.concat"(%52, %50) {axis = 3 : i64} : (tensor<2x4x32x1xf32>, tensor<2x4x32x1xf32>) -> tensor<2x4x32x2xf32>
    %54 = "zb.mul"(%53, %16) : (tensor<2x4x32x2xf32>, tensor<1x1x32x1xf32>) -> tensor<2x4x32x2xf32>
    %55 = "zb.add"(%49, %54) : (tensor<2x4x32x2xf32>, tensor<2x4x32x2xf32>) -> tensor<2x4x32x2xf32>
    %56 = "zb.mul"(%47, %10) : (tensor<2x4x32x2xf32>, tensor<1x1x32x1xf32>) -> tensor<2x4x32x2xf32>
    %57 = "zb.slice"(%44#1) {sizes = array<i64: 2, 4, 32, 1>, starts = array<i64: 0, 0, 0, 0>, steps = array<i64: 1, 1, 1, 1>} : (tensor<2x4x32x8xf32>) -> tensor<2x4x32x1xf32>
    %58 = "zb.slice"(%44#1) {sizes = array<i64: 2, 4, 32, 1>, starts = array<i64: 0, 0, 0, 1>, steps = array<i64: 1, 1, 1, 1>} : (tensor<2x4x32x8xf32>) -> tensor<2x4x32x1xf32>
    %59 = "zb.neg"(%58) : (tensor<2x4x32x1xf32>) -> tensor<2x4x32x1xf32>
    %60 = "zb.concat"(%59, %57) {axis = 3 : i64} : (tensor<2x4x32x1xf32>, tensor<2x4x32x1xf32>) -> tensor<2x4x32x2xf32>
    %61 = "zb.mul"(%60, %16) : (tensor<2x4x32x2xf32>, tensor<1x1x32x1xf32>) -> tensor<2x4x32x2xf32>
    %62 = "zb.add"(%56, %61) : (tensor<2x4x32x2xf32>, tensor<2x4x32x2xf32>) -> tensor<2x4x32x2xf32>
    %63 = "zb.concat"(%55, %46) {axis = 3 : i64} : (tensor<2x4x32x2xf32>, tensor<2x4x32x6xf32>) -> tensor<2x4x32x8xf32>
    %64 = "zb.concat"(%62, %48) {axis = 3 : i64} : (tensor<2x4x32x2xf32>, tensor<2x4x32x6xf32>) -> tensor<2x4x32x8xf32>
    %65 = "zb.transpose"(%63) {permutation = array<i64: 0, 2, 1, 3>} : (tensor<2x4x32x8xf32>) -> tensor<2x32x4x8xf32>
    %66 = "zb.transpose"(%64) {permutation = array<i64: 0, 2, 1, 3>} : (tensor<2x4x32x8xf32>) -> tensor<2x32x4x8xf32>
    %67 = "zb.transpose"(%44#2) {permutation = array<i64: 0, 2, 1, 3>} : (tensor<2x4x32x8xf32>) -> tensor<2x32x4x8xf32>
    %68:2 = "zb.attention"(%65, %66, %67) {causal = true, scale = 0.35355338454246521 : f64} : (tensor<2x32x4x8xf32>, tensor<2x32x4x8xf32>, tensor<2x32x4x8xf32>) -> (tensor<2x32x4x8xf32>, tensor<2x4x32xf32>)
    %69 = "zb.reshape"(%68#0) {shape = array<i64: 2, 32, 32>} : (tensor<2x32x4x8xf32>) -> tensor<2x32x32xf32>
    %70 = "zb.matmul"(%69, %arg19, %arg20) {transpose_rhs = true} : (tensor<2x32x32xf32>, tensor<32x32xf32>, tensor<32xf32>) -> tensor<2x32x32xf32>
    %71:3 = "zb.layer_norm"(%39, %arg21, %arg22) {axis = 2 : i64, epsilon = 9.9999997473787516E-6 : f64} : (tensor<2x32x32xf32>, tensor<32xf32>, tensor<32xf32>) -> (tensor<2x32x32xf32>, tensor<2x32x1xf32>, tensor<2x32x1xf32>)
    %72 = "zb.matmul"(%71#0, %arg23, %arg24) {transpose_rhs = true} : (tensor<2x32x32xf32>, tensor<64x32xf32>, tensor<64xf32>) -> tensor<2x32x64xf32>
    %73 = "zb.gelu"(%72) : (tensor<2x32x64xf32>) -> tensor<2x32x64xf32>
    %74 = "zb.matmul"(%73, %arg25, %arg26) {transpose_rhs = true} : (tensor<2x32x64xf32>, tensor<32x64xf32>, tensor<32xf32>) -> tensor<2x32x32xf32>
    %75 = "zb.add"(%74, %70) : (tensor<2x32x32xf32>, tensor<2x32x32xf32>) -> tensor<2x32x32xf32>
    %76 = "zb.add"(%75, %39) : (tensor<2x32x32xf32>, tensor<2x32x32xf32>) -> tensor<2x32x32xf32>
    %77:3 = "zb.layer_norm"(%76, %arg27, %arg28) {axis = 2 : i64, epsilon = 9.9999997473787516E-6 : f64} : (tensor<2x32x32xf32>, tensor<32xf32>, tensor<32xf32>) -> (tensor<2x32x32xf32>, tensor<2x32x1xf32>, tensor<2x32x1xf32>)
    %78 = "zb.matmul"(%77#0, %arg29) {transpose_rhs = true} : (tensor<2x32x32xf32>, tensor<256x32xf32>) -> tensor<2x32x256xf32>
    %79 = "zb.reshape"(%78) {shape = array<i64: 64, 256>} : (tensor<2x32x256xf32>) -> tensor<64x256xf32>
    %80 = "zb.reshape"(%arg1) {shape = array<i64: 64>} : (tensor<2x32xi64>) -> tensor<64xi64>
    %81:2 = "zb.cross_entropy"(%79, %80) {ignore_index = -100 : i64, reduction = "mean"} : (tensor<64x256xf32>, tensor<64xi64>) -> (tensor<f32>, tensor<64xf32>)
    return %81#0 : tensor<f32>
  }
}
