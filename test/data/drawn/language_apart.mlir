module attributes {aten.format = 1 : i64, aten.torch = "2.13.0"} {
  func.func @main(%arg0: tensor<24x12xf32> {aten.parameter = "e.weight"},
                  %arg1: tensor<12xf32> {aten.parameter = "layers.0.n.weight"},
                  %arg2: tensor<12xf32> {aten.parameter = "layers.0.n.bias"},
                  %arg3: tensor<12x12xf32> {aten.parameter = "layers.0.a.q.weight"},
                  %arg4: tensor<12xf32> {aten.parameter = "layers.0.a.q.bias"},
                  %arg5: tensor<12x12xf32> {aten.parameter = "layers.0.a.o.weight"},
                  %arg6: tensor<12xf32> {aten.parameter = "layers.0.a.o.bias"},
                  %arg7: tensor<12x12xf32> {aten.parameter = "layers.0.a.k.weight"},
                  %arg8: tensor<12xf32> {aten.parameter = "layers.0.a.k.bias"},
                  %arg9: tensor<12x12xf32> {aten.parameter = "layers.0.a.v.weight"},
                  %arg10: tensor<12xf32> {aten.parameter = "layers.0.a.v.bias"},
                  %arg11: tensor<12xf32> {aten.parameter = "layers.0.m.weight"},
                  %arg12: tensor<12xf32> {aten.parameter = "layers.0.m.bias"},
                  %arg13: tensor<24x12xf32> {aten.parameter = "layers.0.up.weight"},
                  %arg14: tensor<24xf32> {aten.parameter = "layers.0.up.bias"},
                  %arg15: tensor<12x24xf32> {aten.parameter = "layers.0.down.weight"},
                  %arg16: tensor<12xf32> {aten.parameter = "layers.0.down.bias"},
                  %arg17: tensor<12xf32> {aten.parameter = "layers.1.n.weight"},
                  %arg18: tensor<12xf32> {aten.parameter = "layers.1.n.bias"},
                  %arg19: tensor<12x12xf32> {aten.parameter = "layers.1.a.q.weight"},
                  %arg20: tensor<12xf32> {aten.parameter = "layers.1.a.q.bias"},
                  %arg21: tensor<12x12xf32> {aten.parameter = "layers.1.a.o.weight"},
                  %arg22: tensor<12xf32> {aten.parameter = "layers.1.a.o.bias"},
                  %arg23: tensor<12x12xf32> {aten.parameter = "layers.1.a.k.weight"},
                  %arg24: tensor<12xf32> {aten.parameter = "layers.1.a.k.bias"},
                  %arg25: tensor<12x12xf32> {aten.parameter = "layers.1.a.v.weight"},
                  %arg26: tensor<12xf32> {aten.parameter = "layers.1.a.v.bias"},
                  %arg27: tensor<12xf32> {aten.parameter = "layers.1.m.weight"},
                  %arg28: tensor<12xf32> {aten.parameter = "layers.1.m.bias"},
                  %arg29: tensor<24x12xf32> {aten.parameter = "layers.1.up.weight"},
                  %arg30: tensor<24xf32> {aten.parameter = "layers.1.up.bias"},
                  %arg31: tensor<12x24xf32> {aten.parameter = "layers.1.down.weight"},
                  %arg32: tensor<12xf32> {aten.parameter = "layers.1.down.bias"},
                  %arg33: tensor<24x12xf32> {aten.parameter = "h.weight"},
                  %arg34: tensor<2x6xi64> {aten.input = "x"},
                  %arg35: tensor<2x6xi64> {aten.input = "y"})
      -> (tensor<f32> {aten.output = "loss"}) {
    %none = "aten.none"() : () -> none
    %embedding = "aten.embedding"(%arg0, %arg34) : (tensor<24x12xf32>, tensor<2x6xi64>) -> tensor<2x6x12xf32>
    %layer_norm = "aten.layer_norm"(%embedding, %arg1, %arg2) {normalized_shape = array<i64: 12>, eps = 1.0e-05 : f64, cudnn_enable = false} : (tensor<2x6x12xf32>, tensor<12xf32>, tensor<12xf32>) -> tensor<2x6x12xf32>
    %linear = "aten.linear"(%layer_norm, %arg3, %arg4) : (tensor<2x6x12xf32>, tensor<12x12xf32>, tensor<12xf32>) -> tensor<2x6x12xf32>
    %view = "aten.view"(%linear) {size = array<i64: 2, 6, -1, 4>} : (tensor<2x6x12xf32>) -> tensor<2x6x3x4xf32>
    %permute = "aten.permute"(%view) {dims = array<i64: 0, 2, 1, 3>} : (tensor<2x6x3x4xf32>) -> tensor<2x3x6x4xf32>
    %linear_1 = "aten.linear"(%layer_norm, %arg7, %arg8) : (tensor<2x6x12xf32>, tensor<12x12xf32>, tensor<12xf32>) -> tensor<2x6x12xf32>
    %view_1 = "aten.view"(%linear_1) {size = array<i64: 2, 6, -1, 4>} : (tensor<2x6x12xf32>) -> tensor<2x6x3x4xf32>
    %permute_1 = "aten.permute"(%view_1) {dims = array<i64: 0, 2, 1, 3>} : (tensor<2x6x3x4xf32>) -> tensor<2x3x6x4xf32>
    %linear_2 = "aten.linear"(%layer_norm, %arg9, %arg10) : (tensor<2x6x12xf32>, tensor<12x12xf32>, tensor<12xf32>) -> tensor<2x6x12xf32>
    %view_2 = "aten.view"(%linear_2) {size = array<i64: 2, 6, -1, 4>} : (tensor<2x6x12xf32>) -> tensor<2x6x3x4xf32>
    %permute_2 = "aten.permute"(%view_2) {dims = array<i64: 0, 2, 1, 3>} : (tensor<2x6x3x4xf32>) -> tensor<2x3x6x4xf32>
    %scaled_dot_product_attention = "aten.scaled_dot_product_attention"(%permute, %permute_1, %permute_2) {dropout_p = 0.0 : f64, is_causal = true} : (tensor<2x3x6x4xf32>, tensor<2x3x6x4xf32>, tensor<2x3x6x4xf32>) -> tensor<2x3x6x4xf32>
    %permute_3 = "aten.permute"(%scaled_dot_product_attention) {dims = array<i64: 0, 2, 1, 3>} : (tensor<2x3x6x4xf32>) -> tensor<2x6x3x4xf32>
    %view_3 = "aten.view"(%permute_3) {size = array<i64: 2, 6, 12>} : (tensor<2x6x3x4xf32>) -> tensor<2x6x12xf32>
    %linear_3 = "aten.linear"(%view_3, %arg5, %arg6) : (tensor<2x6x12xf32>, tensor<12x12xf32>, tensor<12xf32>) -> tensor<2x6x12xf32>
    %add = "aten.add.Tensor"(%embedding, %linear_3) : (tensor<2x6x12xf32>, tensor<2x6x12xf32>) -> tensor<2x6x12xf32>
    %layer_norm_1 = "aten.layer_norm"(%add, %arg11, %arg12) {normalized_shape = array<i64: 12>, eps = 1.0e-05 : f64, cudnn_enable = false} : (tensor<2x6x12xf32>, tensor<12xf32>, tensor<12xf32>) -> tensor<2x6x12xf32>
    %linear_4 = "aten.linear"(%layer_norm_1, %arg13, %arg14) : (tensor<2x6x12xf32>, tensor<24x12xf32>, tensor<24xf32>) -> tensor<2x6x24xf32>
    %gelu = "aten.gelu"(%linear_4) : (tensor<2x6x24xf32>) -> tensor<2x6x24xf32>
    %linear_5 = "aten.linear"(%gelu, %arg15, %arg16) : (tensor<2x6x24xf32>, tensor<12x24xf32>, tensor<12xf32>) -> tensor<2x6x12xf32>
    %add_1 = "aten.add.Tensor"(%add, %linear_5) : (tensor<2x6x12xf32>, tensor<2x6x12xf32>) -> tensor<2x6x12xf32>
    %layer_norm_2 = "aten.layer_norm"(%add_1, %arg17, %arg18) {normalized_shape = array<i64: 12>, eps = 1.0e-05 : f64, cudnn_enable = false} : (tensor<2x6x12xf32>, tensor<12xf32>, tensor<12xf32>) -> tensor<2x6x12xf32>
    %linear_6 = "aten.linear"(%layer_norm_2, %arg19, %arg20) : (tensor<2x6x12xf32>, tensor<12x12xf32>, tensor<12xf32>) -> tensor<2x6x12xf32>
    %view_4 = "aten.view"(%linear_6) {size = array<i64: 2, 6, -1, 4>} : (tensor<2x6x12xf32>) -> tensor<2x6x3x4xf32>
    %permute_4 = "aten.permute"(%view_4) {dims = array<i64: 0, 2, 1, 3>} : (tensor<2x6x3x4xf32>) -> tensor<2x3x6x4xf32>
    %linear_7 = "aten.linear"(%layer_norm_2, %arg23, %arg24) : (tensor<2x6x12xf32>, tensor<12x12xf32>, tensor<12xf32>) -> tensor<2x6x12xf32>
    %view_5 = "aten.view"(%linear_7) {size = array<i64: 2, 6, -1, 4>} : (tensor<2x6x12xf32>) -> tensor<2x6x3x4xf32>
    %permute_5 = "aten.permute"(%view_5) {dims = array<i64: 0, 2, 1, 3>} : (tensor<2x6x3x4xf32>) -> tensor<2x3x6x4xf32>
    %linear_8 = "aten.linear"(%layer_norm_2, %arg25, %arg26) : (tensor<2x6x12xf32>, tensor<12x12xf32>, tensor<12xf32>) -> tensor<2x6x12xf32>
    %view_6 = "aten.view"(%linear_8) {size = array<i64: 2, 6, -1, 4>} : (tensor<2x6x12xf32>) -> tensor<2x6x3x4xf32>
    %permute_6 = "aten.permute"(%view_6) {dims = array<i64: 0, 2, 1, 3>} : (tensor<2x6x3x4xf32>) -> tensor<2x3x6x4xf32>
    %scaled_dot_product_attention_1 = "aten.scaled_dot_product_attention"(%permute_4, %permute_5, %permute_6) {dropout_p = 0.0 : f64, is_causal = true} : (tensor<2x3x6x4xf32>, tensor<2x3x6x4xf32>, tensor<2x3x6x4xf32>) -> tensor<2x3x6x4xf32>
    %permute_7 = "aten.permute"(%scaled_dot_product_attention_1) {dims = array<i64: 0, 2, 1, 3>} : (tensor<2x3x6x4xf32>) -> tensor<2x6x3x4xf32>
    %view_7 = "aten.view"(%permute_7) {size = array<i64: 2, 6, 12>} : (tensor<2x6x3x4xf32>) -> tensor<2x6x12xf32>
    %linear_9 = "aten.linear"(%view_7, %arg21, %arg22) : (tensor<2x6x12xf32>, tensor<12x12xf32>, tensor<12xf32>) -> tensor<2x6x12xf32>
    %add_2 = "aten.add.Tensor"(%add_1, %linear_9) : (tensor<2x6x12xf32>, tensor<2x6x12xf32>) -> tensor<2x6x12xf32>
    %layer_norm_3 = "aten.layer_norm"(%add_2, %arg27, %arg28) {normalized_shape = array<i64: 12>, eps = 1.0e-05 : f64, cudnn_enable = false} : (tensor<2x6x12xf32>, tensor<12xf32>, tensor<12xf32>) -> tensor<2x6x12xf32>
    %linear_10 = "aten.linear"(%layer_norm_3, %arg29, %arg30) : (tensor<2x6x12xf32>, tensor<24x12xf32>, tensor<24xf32>) -> tensor<2x6x24xf32>
    %gelu_1 = "aten.gelu"(%linear_10) : (tensor<2x6x24xf32>) -> tensor<2x6x24xf32>
    %linear_11 = "aten.linear"(%gelu_1, %arg31, %arg32) : (tensor<2x6x24xf32>, tensor<12x24xf32>, tensor<12xf32>) -> tensor<2x6x12xf32>
    %add_3 = "aten.add.Tensor"(%add_2, %linear_11) : (tensor<2x6x12xf32>, tensor<2x6x12xf32>) -> tensor<2x6x12xf32>
    %linear_12 = "aten.linear"(%add_3, %arg33) : (tensor<2x6x12xf32>, tensor<24x12xf32>) -> tensor<2x6x24xf32>
    %view_8 = "aten.view"(%linear_12) {size = array<i64: 12, 24>} : (tensor<2x6x24xf32>) -> tensor<12x24xf32>
    %view_9 = "aten.view"(%arg35) {size = array<i64: 12>} : (tensor<2x6xi64>) -> tensor<12xi64>
    %cross_entropy_loss = "aten.cross_entropy_loss"(%view_8, %view_9) : (tensor<12x24xf32>, tensor<12xi64>) -> tensor<f32>
    return %cross_entropy_loss : tensor<f32>
  }
}
