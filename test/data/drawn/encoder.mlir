module attributes {aten.format = 1 : i64, aten.torch = "2.13.0"} {
  func.func @main(%arg0: tensor<36x12xf32> {aten.parameter = "e.layers.0.self_attn.in_proj_weight"},
                  %arg1: tensor<36xf32> {aten.parameter = "e.layers.0.self_attn.in_proj_bias"},
                  %arg2: tensor<12x12xf32> {aten.parameter = "e.layers.0.self_attn.out_proj.weight"},
                  %arg3: tensor<12xf32> {aten.parameter = "e.layers.0.self_attn.out_proj.bias"},
                  %arg4: tensor<24x12xf32> {aten.parameter = "e.layers.0.linear1.weight"},
                  %arg5: tensor<24xf32> {aten.parameter = "e.layers.0.linear1.bias"},
                  %arg6: tensor<12x24xf32> {aten.parameter = "e.layers.0.linear2.weight"},
                  %arg7: tensor<12xf32> {aten.parameter = "e.layers.0.linear2.bias"},
                  %arg8: tensor<12xf32> {aten.parameter = "e.layers.0.norm1.weight"},
                  %arg9: tensor<12xf32> {aten.parameter = "e.layers.0.norm1.bias"},
                  %arg10: tensor<12xf32> {aten.parameter = "e.layers.0.norm2.weight"},
                  %arg11: tensor<12xf32> {aten.parameter = "e.layers.0.norm2.bias"},
                  %arg12: tensor<36x12xf32> {aten.parameter = "e.layers.1.self_attn.in_proj_weight"},
                  %arg13: tensor<36xf32> {aten.parameter = "e.layers.1.self_attn.in_proj_bias"},
                  %arg14: tensor<12x12xf32> {aten.parameter = "e.layers.1.self_attn.out_proj.weight"},
                  %arg15: tensor<12xf32> {aten.parameter = "e.layers.1.self_attn.out_proj.bias"},
                  %arg16: tensor<24x12xf32> {aten.parameter = "e.layers.1.linear1.weight"},
                  %arg17: tensor<24xf32> {aten.parameter = "e.layers.1.linear1.bias"},
                  %arg18: tensor<12x24xf32> {aten.parameter = "e.layers.1.linear2.weight"},
                  %arg19: tensor<12xf32> {aten.parameter = "e.layers.1.linear2.bias"},
                  %arg20: tensor<12xf32> {aten.parameter = "e.layers.1.norm1.weight"},
                  %arg21: tensor<12xf32> {aten.parameter = "e.layers.1.norm1.bias"},
                  %arg22: tensor<12xf32> {aten.parameter = "e.layers.1.norm2.weight"},
                  %arg23: tensor<12xf32> {aten.parameter = "e.layers.1.norm2.bias"},
                  %arg24: tensor<2x6x12xf32> {aten.input = "x"})
      -> (tensor<f32> {aten.output = "loss"}) {
    %none = "aten.none"() : () -> none
    %permute = "aten.permute"(%arg24) {dims = array<i64: 1, 0, 2>} : (tensor<2x6x12xf32>) -> tensor<6x2x12xf32>
    %linear = "aten.linear"(%permute, %arg0, %arg1) : (tensor<6x2x12xf32>, tensor<36x12xf32>, tensor<36xf32>) -> tensor<6x2x36xf32>
    %view = "aten.view"(%linear) {size = array<i64: 6, 2, 3, 12>} : (tensor<6x2x36xf32>) -> tensor<6x2x3x12xf32>
    %unsqueeze = "aten.unsqueeze"(%view) {dim = 0 : i64} : (tensor<6x2x3x12xf32>) -> tensor<1x6x2x3x12xf32>
    %permute_1 = "aten.permute"(%unsqueeze) {dims = array<i64: 3, 1, 2, 0, 4>} : (tensor<1x6x2x3x12xf32>) -> tensor<3x6x2x1x12xf32>
    %squeeze = "aten.squeeze.dims"(%permute_1) {dim = array<i64: -2>} : (tensor<3x6x2x1x12xf32>) -> tensor<3x6x2x12xf32>
    %clone = "aten.clone"(%squeeze) : (tensor<3x6x2x12xf32>) -> tensor<3x6x2x12xf32>
    %select = "aten.select.int"(%clone) {dim = 0 : i64, index = 0 : i64} : (tensor<3x6x2x12xf32>) -> tensor<6x2x12xf32>
    %select_1 = "aten.select.int"(%clone) {dim = 0 : i64, index = 1 : i64} : (tensor<3x6x2x12xf32>) -> tensor<6x2x12xf32>
    %select_2 = "aten.select.int"(%clone) {dim = 0 : i64, index = 2 : i64} : (tensor<3x6x2x12xf32>) -> tensor<6x2x12xf32>
    %view_1 = "aten.view"(%select) {size = array<i64: 6, 6, 4>} : (tensor<6x2x12xf32>) -> tensor<6x6x4xf32>
    %permute_2 = "aten.permute"(%view_1) {dims = array<i64: 1, 0, 2>} : (tensor<6x6x4xf32>) -> tensor<6x6x4xf32>
    %view_2 = "aten.view"(%select_1) {size = array<i64: 6, 6, 4>} : (tensor<6x2x12xf32>) -> tensor<6x6x4xf32>
    %permute_3 = "aten.permute"(%view_2) {dims = array<i64: 1, 0, 2>} : (tensor<6x6x4xf32>) -> tensor<6x6x4xf32>
    %view_3 = "aten.view"(%select_2) {size = array<i64: 6, 6, 4>} : (tensor<6x2x12xf32>) -> tensor<6x6x4xf32>
    %permute_4 = "aten.permute"(%view_3) {dims = array<i64: 1, 0, 2>} : (tensor<6x6x4xf32>) -> tensor<6x6x4xf32>
    %view_4 = "aten.view"(%permute_2) {size = array<i64: 2, 3, 6, 4>} : (tensor<6x6x4xf32>) -> tensor<2x3x6x4xf32>
    %view_5 = "aten.view"(%permute_3) {size = array<i64: 2, 3, 6, 4>} : (tensor<6x6x4xf32>) -> tensor<2x3x6x4xf32>
    %view_6 = "aten.view"(%permute_4) {size = array<i64: 2, 3, 6, 4>} : (tensor<6x6x4xf32>) -> tensor<2x3x6x4xf32>
    %scaled_dot_product_attention = "aten.scaled_dot_product_attention"(%view_4, %view_5, %view_6) : (tensor<2x3x6x4xf32>, tensor<2x3x6x4xf32>, tensor<2x3x6x4xf32>) -> tensor<2x3x6x4xf32>
    %permute_5 = "aten.permute"(%scaled_dot_product_attention) {dims = array<i64: 2, 0, 1, 3>} : (tensor<2x3x6x4xf32>) -> tensor<6x2x3x4xf32>
    %view_7 = "aten.view"(%permute_5) {size = array<i64: 12, 12>} : (tensor<6x2x3x4xf32>) -> tensor<12x12xf32>
    %linear_1 = "aten.linear"(%view_7, %arg2, %arg3) : (tensor<12x12xf32>, tensor<12x12xf32>, tensor<12xf32>) -> tensor<12x12xf32>
    %view_8 = "aten.view"(%linear_1) {size = array<i64: 6, 2, 12>} : (tensor<12x12xf32>) -> tensor<6x2x12xf32>
    %permute_6 = "aten.permute"(%view_8) {dims = array<i64: 1, 0, 2>} : (tensor<6x2x12xf32>) -> tensor<2x6x12xf32>
    %clone_1 = "aten.clone"(%permute_6) : (tensor<2x6x12xf32>) -> tensor<2x6x12xf32>
    %add = "aten.add.Tensor"(%arg24, %clone_1) : (tensor<2x6x12xf32>, tensor<2x6x12xf32>) -> tensor<2x6x12xf32>
    %layer_norm = "aten.layer_norm"(%add, %arg8, %arg9) {normalized_shape = array<i64: 12>, eps = 1.0e-05 : f64, cudnn_enable = false} : (tensor<2x6x12xf32>, tensor<12xf32>, tensor<12xf32>) -> tensor<2x6x12xf32>
    %linear_2 = "aten.linear"(%layer_norm, %arg4, %arg5) : (tensor<2x6x12xf32>, tensor<24x12xf32>, tensor<24xf32>) -> tensor<2x6x24xf32>
    %relu = "aten.relu"(%linear_2) : (tensor<2x6x24xf32>) -> tensor<2x6x24xf32>
    %clone_2 = "aten.clone"(%relu) : (tensor<2x6x24xf32>) -> tensor<2x6x24xf32>
    %linear_3 = "aten.linear"(%clone_2, %arg6, %arg7) : (tensor<2x6x24xf32>, tensor<12x24xf32>, tensor<12xf32>) -> tensor<2x6x12xf32>
    %clone_3 = "aten.clone"(%linear_3) : (tensor<2x6x12xf32>) -> tensor<2x6x12xf32>
    %add_1 = "aten.add.Tensor"(%layer_norm, %clone_3) : (tensor<2x6x12xf32>, tensor<2x6x12xf32>) -> tensor<2x6x12xf32>
    %layer_norm_1 = "aten.layer_norm"(%add_1, %arg10, %arg11) {normalized_shape = array<i64: 12>, eps = 1.0e-05 : f64, cudnn_enable = false} : (tensor<2x6x12xf32>, tensor<12xf32>, tensor<12xf32>) -> tensor<2x6x12xf32>
    %permute_7 = "aten.permute"(%layer_norm_1) {dims = array<i64: 1, 0, 2>} : (tensor<2x6x12xf32>) -> tensor<6x2x12xf32>
    %linear_4 = "aten.linear"(%permute_7, %arg12, %arg13) : (tensor<6x2x12xf32>, tensor<36x12xf32>, tensor<36xf32>) -> tensor<6x2x36xf32>
    %view_9 = "aten.view"(%linear_4) {size = array<i64: 6, 2, 3, 12>} : (tensor<6x2x36xf32>) -> tensor<6x2x3x12xf32>
    %unsqueeze_1 = "aten.unsqueeze"(%view_9) {dim = 0 : i64} : (tensor<6x2x3x12xf32>) -> tensor<1x6x2x3x12xf32>
    %permute_8 = "aten.permute"(%unsqueeze_1) {dims = array<i64: 3, 1, 2, 0, 4>} : (tensor<1x6x2x3x12xf32>) -> tensor<3x6x2x1x12xf32>
    %squeeze_1 = "aten.squeeze.dims"(%permute_8) {dim = array<i64: -2>} : (tensor<3x6x2x1x12xf32>) -> tensor<3x6x2x12xf32>
    %clone_4 = "aten.clone"(%squeeze_1) : (tensor<3x6x2x12xf32>) -> tensor<3x6x2x12xf32>
    %select_3 = "aten.select.int"(%clone_4) {dim = 0 : i64, index = 0 : i64} : (tensor<3x6x2x12xf32>) -> tensor<6x2x12xf32>
    %select_4 = "aten.select.int"(%clone_4) {dim = 0 : i64, index = 1 : i64} : (tensor<3x6x2x12xf32>) -> tensor<6x2x12xf32>
    %select_5 = "aten.select.int"(%clone_4) {dim = 0 : i64, index = 2 : i64} : (tensor<3x6x2x12xf32>) -> tensor<6x2x12xf32>
    %view_10 = "aten.view"(%select_3) {size = array<i64: 6, 6, 4>} : (tensor<6x2x12xf32>) -> tensor<6x6x4xf32>
    %permute_9 = "aten.permute"(%view_10) {dims = array<i64: 1, 0, 2>} : (tensor<6x6x4xf32>) -> tensor<6x6x4xf32>
    %view_11 = "aten.view"(%select_4) {size = array<i64: 6, 6, 4>} : (tensor<6x2x12xf32>) -> tensor<6x6x4xf32>
    %permute_10 = "aten.permute"(%view_11) {dims = array<i64: 1, 0, 2>} : (tensor<6x6x4xf32>) -> tensor<6x6x4xf32>
    %view_12 = "aten.view"(%select_5) {size = array<i64: 6, 6, 4>} : (tensor<6x2x12xf32>) -> tensor<6x6x4xf32>
    %permute_11 = "aten.permute"(%view_12) {dims = array<i64: 1, 0, 2>} : (tensor<6x6x4xf32>) -> tensor<6x6x4xf32>
    %view_13 = "aten.view"(%permute_9) {size = array<i64: 2, 3, 6, 4>} : (tensor<6x6x4xf32>) -> tensor<2x3x6x4xf32>
    %view_14 = "aten.view"(%permute_10) {size = array<i64: 2, 3, 6, 4>} : (tensor<6x6x4xf32>) -> tensor<2x3x6x4xf32>
    %view_15 = "aten.view"(%permute_11) {size = array<i64: 2, 3, 6, 4>} : (tensor<6x6x4xf32>) -> tensor<2x3x6x4xf32>
    %scaled_dot_product_attention_1 = "aten.scaled_dot_product_attention"(%view_13, %view_14, %view_15) : (tensor<2x3x6x4xf32>, tensor<2x3x6x4xf32>, tensor<2x3x6x4xf32>) -> tensor<2x3x6x4xf32>
    %permute_12 = "aten.permute"(%scaled_dot_product_attention_1) {dims = array<i64: 2, 0, 1, 3>} : (tensor<2x3x6x4xf32>) -> tensor<6x2x3x4xf32>
    %view_16 = "aten.view"(%permute_12) {size = array<i64: 12, 12>} : (tensor<6x2x3x4xf32>) -> tensor<12x12xf32>
    %linear_5 = "aten.linear"(%view_16, %arg14, %arg15) : (tensor<12x12xf32>, tensor<12x12xf32>, tensor<12xf32>) -> tensor<12x12xf32>
    %view_17 = "aten.view"(%linear_5) {size = array<i64: 6, 2, 12>} : (tensor<12x12xf32>) -> tensor<6x2x12xf32>
    %permute_13 = "aten.permute"(%view_17) {dims = array<i64: 1, 0, 2>} : (tensor<6x2x12xf32>) -> tensor<2x6x12xf32>
    %clone_5 = "aten.clone"(%permute_13) : (tensor<2x6x12xf32>) -> tensor<2x6x12xf32>
    %add_2 = "aten.add.Tensor"(%layer_norm_1, %clone_5) : (tensor<2x6x12xf32>, tensor<2x6x12xf32>) -> tensor<2x6x12xf32>
    %layer_norm_2 = "aten.layer_norm"(%add_2, %arg20, %arg21) {normalized_shape = array<i64: 12>, eps = 1.0e-05 : f64, cudnn_enable = false} : (tensor<2x6x12xf32>, tensor<12xf32>, tensor<12xf32>) -> tensor<2x6x12xf32>
    %linear_6 = "aten.linear"(%layer_norm_2, %arg16, %arg17) : (tensor<2x6x12xf32>, tensor<24x12xf32>, tensor<24xf32>) -> tensor<2x6x24xf32>
    %relu_1 = "aten.relu"(%linear_6) : (tensor<2x6x24xf32>) -> tensor<2x6x24xf32>
    %clone_6 = "aten.clone"(%relu_1) : (tensor<2x6x24xf32>) -> tensor<2x6x24xf32>
    %linear_7 = "aten.linear"(%clone_6, %arg18, %arg19) : (tensor<2x6x24xf32>, tensor<12x24xf32>, tensor<12xf32>) -> tensor<2x6x12xf32>
    %clone_7 = "aten.clone"(%linear_7) : (tensor<2x6x12xf32>) -> tensor<2x6x12xf32>
    %add_3 = "aten.add.Tensor"(%layer_norm_2, %clone_7) : (tensor<2x6x12xf32>, tensor<2x6x12xf32>) -> tensor<2x6x12xf32>
    %layer_norm_3 = "aten.layer_norm"(%add_3, %arg22, %arg23) {normalized_shape = array<i64: 12>, eps = 1.0e-05 : f64, cudnn_enable = false} : (tensor<2x6x12xf32>, tensor<12xf32>, tensor<12xf32>) -> tensor<2x6x12xf32>
    %pow_1 = "aten.pow.Tensor_Scalar"(%layer_norm_3) {exponent = 2 : i64} : (tensor<2x6x12xf32>) -> tensor<2x6x12xf32>
    %mean = "aten.mean"(%pow_1) : (tensor<2x6x12xf32>) -> tensor<f32>
    return %mean : tensor<f32>
  }
}
