module attributes {aten.format = 1 : i64, aten.torch = "2.13.0"} {
  func.func @main(%arg0: tensor<12x12xf32> {aten.parameter = "a.weight"},
                  %arg1: tensor<12xf32> {aten.parameter = "a.bias"},
                  %arg2: tensor<36x12xf32> {aten.parameter = "d.layers.0.self_attn.in_proj_weight"},
                  %arg3: tensor<36xf32> {aten.parameter = "d.layers.0.self_attn.in_proj_bias"},
                  %arg4: tensor<12x12xf32> {aten.parameter = "d.layers.0.self_attn.out_proj.weight"},
                  %arg5: tensor<12xf32> {aten.parameter = "d.layers.0.self_attn.out_proj.bias"},
                  %arg6: tensor<36x12xf32> {aten.parameter = "d.layers.0.multihead_attn.in_proj_weight"},
                  %arg7: tensor<36xf32> {aten.parameter = "d.layers.0.multihead_attn.in_proj_bias"},
                  %arg8: tensor<12x12xf32> {aten.parameter = "d.layers.0.multihead_attn.out_proj.weight"},
                  %arg9: tensor<12xf32> {aten.parameter = "d.layers.0.multihead_attn.out_proj.bias"},
                  %arg10: tensor<24x12xf32> {aten.parameter = "d.layers.0.linear1.weight"},
                  %arg11: tensor<24xf32> {aten.parameter = "d.layers.0.linear1.bias"},
                  %arg12: tensor<12x24xf32> {aten.parameter = "d.layers.0.linear2.weight"},
                  %arg13: tensor<12xf32> {aten.parameter = "d.layers.0.linear2.bias"},
                  %arg14: tensor<12xf32> {aten.parameter = "d.layers.0.norm1.weight"},
                  %arg15: tensor<12xf32> {aten.parameter = "d.layers.0.norm1.bias"},
                  %arg16: tensor<12xf32> {aten.parameter = "d.layers.0.norm2.weight"},
                  %arg17: tensor<12xf32> {aten.parameter = "d.layers.0.norm2.bias"},
                  %arg18: tensor<12xf32> {aten.parameter = "d.layers.0.norm3.weight"},
                  %arg19: tensor<12xf32> {aten.parameter = "d.layers.0.norm3.bias"},
                  %arg20: tensor<36x12xf32> {aten.parameter = "d.layers.1.self_attn.in_proj_weight"},
                  %arg21: tensor<36xf32> {aten.parameter = "d.layers.1.self_attn.in_proj_bias"},
                  %arg22: tensor<12x12xf32> {aten.parameter = "d.layers.1.self_attn.out_proj.weight"},
                  %arg23: tensor<12xf32> {aten.parameter = "d.layers.1.self_attn.out_proj.bias"},
                  %arg24: tensor<36x12xf32> {aten.parameter = "d.layers.1.multihead_attn.in_proj_weight"},
                  %arg25: tensor<36xf32> {aten.parameter = "d.layers.1.multihead_attn.in_proj_bias"},
                  %arg26: tensor<12x12xf32> {aten.parameter = "d.layers.1.multihead_attn.out_proj.weight"},
                  %arg27: tensor<12xf32> {aten.parameter = "d.layers.1.multihead_attn.out_proj.bias"},
                  %arg28: tensor<24x12xf32> {aten.parameter = "d.layers.1.linear1.weight"},
                  %arg29: tensor<24xf32> {aten.parameter = "d.layers.1.linear1.bias"},
                  %arg30: tensor<12x24xf32> {aten.parameter = "d.layers.1.linear2.weight"},
                  %arg31: tensor<12xf32> {aten.parameter = "d.layers.1.linear2.bias"},
                  %arg32: tensor<12xf32> {aten.parameter = "d.layers.1.norm1.weight"},
                  %arg33: tensor<12xf32> {aten.parameter = "d.layers.1.norm1.bias"},
                  %arg34: tensor<12xf32> {aten.parameter = "d.layers.1.norm2.weight"},
                  %arg35: tensor<12xf32> {aten.parameter = "d.layers.1.norm2.bias"},
                  %arg36: tensor<12xf32> {aten.parameter = "d.layers.1.norm3.weight"},
                  %arg37: tensor<12xf32> {aten.parameter = "d.layers.1.norm3.bias"},
                  %arg38: tensor<2x6x12xf32> {aten.input = "x"},
                  %arg39: tensor<2x4x12xf32> {aten.input = "y"})
      -> (tensor<f32> {aten.output = "loss"}) {
    %none = "aten.none"() : () -> none
    %linear = "aten.linear"(%arg38, %arg0, %arg1) : (tensor<2x6x12xf32>, tensor<12x12xf32>, tensor<12xf32>) -> tensor<2x6x12xf32>
    %layer_norm = "aten.layer_norm"(%linear, %arg14, %arg15) {normalized_shape = array<i64: 12>, eps = 1.0e-05 : f64, cudnn_enable = false} : (tensor<2x6x12xf32>, tensor<12xf32>, tensor<12xf32>) -> tensor<2x6x12xf32>
    %permute = "aten.permute"(%layer_norm) {dims = array<i64: 1, 0, 2>} : (tensor<2x6x12xf32>) -> tensor<6x2x12xf32>
    %linear_1 = "aten.linear"(%permute, %arg2, %arg3) : (tensor<6x2x12xf32>, tensor<36x12xf32>, tensor<36xf32>) -> tensor<6x2x36xf32>
    %view = "aten.view"(%linear_1) {size = array<i64: 6, 2, 3, 12>} : (tensor<6x2x36xf32>) -> tensor<6x2x3x12xf32>
    %unsqueeze = "aten.unsqueeze"(%view) {dim = 0 : i64} : (tensor<6x2x3x12xf32>) -> tensor<1x6x2x3x12xf32>
    %permute_1 = "aten.permute"(%unsqueeze) {dims = array<i64: 3, 1, 2, 0, 4>} : (tensor<1x6x2x3x12xf32>) -> tensor<3x6x2x1x12xf32>
    %squeeze = "aten.squeeze.dims"(%permute_1) {dim = array<i64: -2>} : (tensor<3x6x2x1x12xf32>) -> tensor<3x6x2x12xf32>
    %clone = "aten.clone"(%squeeze) : (tensor<3x6x2x12xf32>) -> tensor<3x6x2x12xf32>
    %select = "aten.select.int"(%clone) {dim = 0 : i64, index = 0 : i64} : (tensor<3x6x2x12xf32>) -> tensor<6x2x12xf32>
    %select_1 = "aten.select.int"(%clone) {dim = 0 : i64, index = 1 : i64} : (tensor<3x6x2x12xf32>) -> tensor<6x2x12xf32>
    %select_2 = "aten.select.int"(%clone) {dim = 0 : i64, index = 2 : i64} : (tensor<3x6x2x12xf32>) -> tensor<6x2x12xf32>
    %view_1 = "aten.view"(%select) {size = array<i64: 6, 4, 6>} : (tensor<6x2x12xf32>) -> tensor<6x4x6xf32>
    %permute_2 = "aten.permute"(%view_1) {dims = array<i64: 1, 0, 2>} : (tensor<6x4x6xf32>) -> tensor<4x6x6xf32>
    %view_2 = "aten.view"(%select_1) {size = array<i64: 6, 4, 6>} : (tensor<6x2x12xf32>) -> tensor<6x4x6xf32>
    %permute_3 = "aten.permute"(%view_2) {dims = array<i64: 1, 0, 2>} : (tensor<6x4x6xf32>) -> tensor<4x6x6xf32>
    %view_3 = "aten.view"(%select_2) {size = array<i64: 6, 4, 6>} : (tensor<6x2x12xf32>) -> tensor<6x4x6xf32>
    %permute_4 = "aten.permute"(%view_3) {dims = array<i64: 1, 0, 2>} : (tensor<6x4x6xf32>) -> tensor<4x6x6xf32>
    %view_4 = "aten.view"(%permute_2) {size = array<i64: 2, 2, 6, 6>} : (tensor<4x6x6xf32>) -> tensor<2x2x6x6xf32>
    %view_5 = "aten.view"(%permute_3) {size = array<i64: 2, 2, 6, 6>} : (tensor<4x6x6xf32>) -> tensor<2x2x6x6xf32>
    %view_6 = "aten.view"(%permute_4) {size = array<i64: 2, 2, 6, 6>} : (tensor<4x6x6xf32>) -> tensor<2x2x6x6xf32>
    %scaled_dot_product_attention = "aten.scaled_dot_product_attention"(%view_4, %view_5, %view_6) : (tensor<2x2x6x6xf32>, tensor<2x2x6x6xf32>, tensor<2x2x6x6xf32>) -> tensor<2x2x6x6xf32>
    %permute_5 = "aten.permute"(%scaled_dot_product_attention) {dims = array<i64: 2, 0, 1, 3>} : (tensor<2x2x6x6xf32>) -> tensor<6x2x2x6xf32>
    %view_7 = "aten.view"(%permute_5) {size = array<i64: 12, 12>} : (tensor<6x2x2x6xf32>) -> tensor<12x12xf32>
    %linear_2 = "aten.linear"(%view_7, %arg4, %arg5) : (tensor<12x12xf32>, tensor<12x12xf32>, tensor<12xf32>) -> tensor<12x12xf32>
    %view_8 = "aten.view"(%linear_2) {size = array<i64: 6, 2, 12>} : (tensor<12x12xf32>) -> tensor<6x2x12xf32>
    %permute_6 = "aten.permute"(%view_8) {dims = array<i64: 1, 0, 2>} : (tensor<6x2x12xf32>) -> tensor<2x6x12xf32>
    %clone_1 = "aten.clone"(%permute_6) : (tensor<2x6x12xf32>) -> tensor<2x6x12xf32>
    %add = "aten.add.Tensor"(%linear, %clone_1) : (tensor<2x6x12xf32>, tensor<2x6x12xf32>) -> tensor<2x6x12xf32>
    %layer_norm_1 = "aten.layer_norm"(%add, %arg16, %arg17) {normalized_shape = array<i64: 12>, eps = 1.0e-05 : f64, cudnn_enable = false} : (tensor<2x6x12xf32>, tensor<12xf32>, tensor<12xf32>) -> tensor<2x6x12xf32>
    %permute_7 = "aten.permute"(%layer_norm_1) {dims = array<i64: 1, 0, 2>} : (tensor<2x6x12xf32>) -> tensor<6x2x12xf32>
    %permute_8 = "aten.permute"(%arg39) {dims = array<i64: 1, 0, 2>} : (tensor<2x4x12xf32>) -> tensor<4x2x12xf32>
    %split_with_sizes:2 = "aten.split_with_sizes"(%arg6) {split_sizes = array<i64: 12, 24>} : (tensor<36x12xf32>) -> (tensor<12x12xf32>, tensor<24x12xf32>)
    %split_with_sizes_1:2 = "aten.split_with_sizes"(%arg7) {split_sizes = array<i64: 12, 24>} : (tensor<36xf32>) -> (tensor<12xf32>, tensor<24xf32>)
    %linear_3 = "aten.linear"(%permute_7, %split_with_sizes#0, %split_with_sizes_1#0) : (tensor<6x2x12xf32>, tensor<12x12xf32>, tensor<12xf32>) -> tensor<6x2x12xf32>
    %linear_4 = "aten.linear"(%permute_8, %split_with_sizes#1, %split_with_sizes_1#1) : (tensor<4x2x12xf32>, tensor<24x12xf32>, tensor<24xf32>) -> tensor<4x2x24xf32>
    %view_9 = "aten.view"(%linear_4) {size = array<i64: 4, 2, 2, 12>} : (tensor<4x2x24xf32>) -> tensor<4x2x2x12xf32>
    %unsqueeze_1 = "aten.unsqueeze"(%view_9) {dim = 0 : i64} : (tensor<4x2x2x12xf32>) -> tensor<1x4x2x2x12xf32>
    %permute_9 = "aten.permute"(%unsqueeze_1) {dims = array<i64: 3, 1, 2, 0, 4>} : (tensor<1x4x2x2x12xf32>) -> tensor<2x4x2x1x12xf32>
    %squeeze_1 = "aten.squeeze.dims"(%permute_9) {dim = array<i64: -2>} : (tensor<2x4x2x1x12xf32>) -> tensor<2x4x2x12xf32>
    %clone_2 = "aten.clone"(%squeeze_1) : (tensor<2x4x2x12xf32>) -> tensor<2x4x2x12xf32>
    %select_3 = "aten.select.int"(%clone_2) {dim = 0 : i64, index = 0 : i64} : (tensor<2x4x2x12xf32>) -> tensor<4x2x12xf32>
    %select_4 = "aten.select.int"(%clone_2) {dim = 0 : i64, index = 1 : i64} : (tensor<2x4x2x12xf32>) -> tensor<4x2x12xf32>
    %view_10 = "aten.view"(%linear_3) {size = array<i64: 6, 4, 6>} : (tensor<6x2x12xf32>) -> tensor<6x4x6xf32>
    %permute_10 = "aten.permute"(%view_10) {dims = array<i64: 1, 0, 2>} : (tensor<6x4x6xf32>) -> tensor<4x6x6xf32>
    %view_11 = "aten.view"(%select_3) {size = array<i64: 4, 4, 6>} : (tensor<4x2x12xf32>) -> tensor<4x4x6xf32>
    %permute_11 = "aten.permute"(%view_11) {dims = array<i64: 1, 0, 2>} : (tensor<4x4x6xf32>) -> tensor<4x4x6xf32>
    %view_12 = "aten.view"(%select_4) {size = array<i64: 4, 4, 6>} : (tensor<4x2x12xf32>) -> tensor<4x4x6xf32>
    %permute_12 = "aten.permute"(%view_12) {dims = array<i64: 1, 0, 2>} : (tensor<4x4x6xf32>) -> tensor<4x4x6xf32>
    %view_13 = "aten.view"(%permute_10) {size = array<i64: 2, 2, 6, 6>} : (tensor<4x6x6xf32>) -> tensor<2x2x6x6xf32>
    %view_14 = "aten.view"(%permute_11) {size = array<i64: 2, 2, 4, 6>} : (tensor<4x4x6xf32>) -> tensor<2x2x4x6xf32>
    %view_15 = "aten.view"(%permute_12) {size = array<i64: 2, 2, 4, 6>} : (tensor<4x4x6xf32>) -> tensor<2x2x4x6xf32>
    %scaled_dot_product_attention_1 = "aten.scaled_dot_product_attention"(%view_13, %view_14, %view_15) : (tensor<2x2x6x6xf32>, tensor<2x2x4x6xf32>, tensor<2x2x4x6xf32>) -> tensor<2x2x6x6xf32>
    %permute_13 = "aten.permute"(%scaled_dot_product_attention_1) {dims = array<i64: 2, 0, 1, 3>} : (tensor<2x2x6x6xf32>) -> tensor<6x2x2x6xf32>
    %view_16 = "aten.view"(%permute_13) {size = array<i64: 12, 12>} : (tensor<6x2x2x6xf32>) -> tensor<12x12xf32>
    %linear_5 = "aten.linear"(%view_16, %arg8, %arg9) : (tensor<12x12xf32>, tensor<12x12xf32>, tensor<12xf32>) -> tensor<12x12xf32>
    %view_17 = "aten.view"(%linear_5) {size = array<i64: 6, 2, 12>} : (tensor<12x12xf32>) -> tensor<6x2x12xf32>
    %permute_14 = "aten.permute"(%view_17) {dims = array<i64: 1, 0, 2>} : (tensor<6x2x12xf32>) -> tensor<2x6x12xf32>
    %clone_3 = "aten.clone"(%permute_14) : (tensor<2x6x12xf32>) -> tensor<2x6x12xf32>
    %add_1 = "aten.add.Tensor"(%add, %clone_3) : (tensor<2x6x12xf32>, tensor<2x6x12xf32>) -> tensor<2x6x12xf32>
    %layer_norm_2 = "aten.layer_norm"(%add_1, %arg18, %arg19) {normalized_shape = array<i64: 12>, eps = 1.0e-05 : f64, cudnn_enable = false} : (tensor<2x6x12xf32>, tensor<12xf32>, tensor<12xf32>) -> tensor<2x6x12xf32>
    %linear_6 = "aten.linear"(%layer_norm_2, %arg10, %arg11) : (tensor<2x6x12xf32>, tensor<24x12xf32>, tensor<24xf32>) -> tensor<2x6x24xf32>
    %relu = "aten.relu"(%linear_6) : (tensor<2x6x24xf32>) -> tensor<2x6x24xf32>
    %clone_4 = "aten.clone"(%relu) : (tensor<2x6x24xf32>) -> tensor<2x6x24xf32>
    %linear_7 = "aten.linear"(%clone_4, %arg12, %arg13) : (tensor<2x6x24xf32>, tensor<12x24xf32>, tensor<12xf32>) -> tensor<2x6x12xf32>
    %clone_5 = "aten.clone"(%linear_7) : (tensor<2x6x12xf32>) -> tensor<2x6x12xf32>
    %add_2 = "aten.add.Tensor"(%add_1, %clone_5) : (tensor<2x6x12xf32>, tensor<2x6x12xf32>) -> tensor<2x6x12xf32>
    %layer_norm_3 = "aten.layer_norm"(%add_2, %arg32, %arg33) {normalized_shape = array<i64: 12>, eps = 1.0e-05 : f64, cudnn_enable = false} : (tensor<2x6x12xf32>, tensor<12xf32>, tensor<12xf32>) -> tensor<2x6x12xf32>
    %permute_15 = "aten.permute"(%layer_norm_3) {dims = array<i64: 1, 0, 2>} : (tensor<2x6x12xf32>) -> tensor<6x2x12xf32>
    %linear_8 = "aten.linear"(%permute_15, %arg20, %arg21) : (tensor<6x2x12xf32>, tensor<36x12xf32>, tensor<36xf32>) -> tensor<6x2x36xf32>
    %view_18 = "aten.view"(%linear_8) {size = array<i64: 6, 2, 3, 12>} : (tensor<6x2x36xf32>) -> tensor<6x2x3x12xf32>
    %unsqueeze_2 = "aten.unsqueeze"(%view_18) {dim = 0 : i64} : (tensor<6x2x3x12xf32>) -> tensor<1x6x2x3x12xf32>
    %permute_16 = "aten.permute"(%unsqueeze_2) {dims = array<i64: 3, 1, 2, 0, 4>} : (tensor<1x6x2x3x12xf32>) -> tensor<3x6x2x1x12xf32>
    %squeeze_2 = "aten.squeeze.dims"(%permute_16) {dim = array<i64: -2>} : (tensor<3x6x2x1x12xf32>) -> tensor<3x6x2x12xf32>
    %clone_6 = "aten.clone"(%squeeze_2) : (tensor<3x6x2x12xf32>) -> tensor<3x6x2x12xf32>
    %select_5 = "aten.select.int"(%clone_6) {dim = 0 : i64, index = 0 : i64} : (tensor<3x6x2x12xf32>) -> tensor<6x2x12xf32>
    %select_6 = "aten.select.int"(%clone_6) {dim = 0 : i64, index = 1 : i64} : (tensor<3x6x2x12xf32>) -> tensor<6x2x12xf32>
    %select_7 = "aten.select.int"(%clone_6) {dim = 0 : i64, index = 2 : i64} : (tensor<3x6x2x12xf32>) -> tensor<6x2x12xf32>
    %view_19 = "aten.view"(%select_5) {size = array<i64: 6, 4, 6>} : (tensor<6x2x12xf32>) -> tensor<6x4x6xf32>
    %permute_17 = "aten.permute"(%view_19) {dims = array<i64: 1, 0, 2>} : (tensor<6x4x6xf32>) -> tensor<4x6x6xf32>
    %view_20 = "aten.view"(%select_6) {size = array<i64: 6, 4, 6>} : (tensor<6x2x12xf32>) -> tensor<6x4x6xf32>
    %permute_18 = "aten.permute"(%view_20) {dims = array<i64: 1, 0, 2>} : (tensor<6x4x6xf32>) -> tensor<4x6x6xf32>
    %view_21 = "aten.view"(%select_7) {size = array<i64: 6, 4, 6>} : (tensor<6x2x12xf32>) -> tensor<6x4x6xf32>
    %permute_19 = "aten.permute"(%view_21) {dims = array<i64: 1, 0, 2>} : (tensor<6x4x6xf32>) -> tensor<4x6x6xf32>
    %view_22 = "aten.view"(%permute_17) {size = array<i64: 2, 2, 6, 6>} : (tensor<4x6x6xf32>) -> tensor<2x2x6x6xf32>
    %view_23 = "aten.view"(%permute_18) {size = array<i64: 2, 2, 6, 6>} : (tensor<4x6x6xf32>) -> tensor<2x2x6x6xf32>
    %view_24 = "aten.view"(%permute_19) {size = array<i64: 2, 2, 6, 6>} : (tensor<4x6x6xf32>) -> tensor<2x2x6x6xf32>
    %scaled_dot_product_attention_2 = "aten.scaled_dot_product_attention"(%view_22, %view_23, %view_24) : (tensor<2x2x6x6xf32>, tensor<2x2x6x6xf32>, tensor<2x2x6x6xf32>) -> tensor<2x2x6x6xf32>
    %permute_20 = "aten.permute"(%scaled_dot_product_attention_2) {dims = array<i64: 2, 0, 1, 3>} : (tensor<2x2x6x6xf32>) -> tensor<6x2x2x6xf32>
    %view_25 = "aten.view"(%permute_20) {size = array<i64: 12, 12>} : (tensor<6x2x2x6xf32>) -> tensor<12x12xf32>
    %linear_9 = "aten.linear"(%view_25, %arg22, %arg23) : (tensor<12x12xf32>, tensor<12x12xf32>, tensor<12xf32>) -> tensor<12x12xf32>
    %view_26 = "aten.view"(%linear_9) {size = array<i64: 6, 2, 12>} : (tensor<12x12xf32>) -> tensor<6x2x12xf32>
    %permute_21 = "aten.permute"(%view_26) {dims = array<i64: 1, 0, 2>} : (tensor<6x2x12xf32>) -> tensor<2x6x12xf32>
    %clone_7 = "aten.clone"(%permute_21) : (tensor<2x6x12xf32>) -> tensor<2x6x12xf32>
    %add_3 = "aten.add.Tensor"(%add_2, %clone_7) : (tensor<2x6x12xf32>, tensor<2x6x12xf32>) -> tensor<2x6x12xf32>
    %layer_norm_4 = "aten.layer_norm"(%add_3, %arg34, %arg35) {normalized_shape = array<i64: 12>, eps = 1.0e-05 : f64, cudnn_enable = false} : (tensor<2x6x12xf32>, tensor<12xf32>, tensor<12xf32>) -> tensor<2x6x12xf32>
    %permute_22 = "aten.permute"(%layer_norm_4) {dims = array<i64: 1, 0, 2>} : (tensor<2x6x12xf32>) -> tensor<6x2x12xf32>
    %permute_23 = "aten.permute"(%arg39) {dims = array<i64: 1, 0, 2>} : (tensor<2x4x12xf32>) -> tensor<4x2x12xf32>
    %split_with_sizes_2:2 = "aten.split_with_sizes"(%arg24) {split_sizes = array<i64: 12, 24>} : (tensor<36x12xf32>) -> (tensor<12x12xf32>, tensor<24x12xf32>)
    %split_with_sizes_3:2 = "aten.split_with_sizes"(%arg25) {split_sizes = array<i64: 12, 24>} : (tensor<36xf32>) -> (tensor<12xf32>, tensor<24xf32>)
    %linear_10 = "aten.linear"(%permute_22, %split_with_sizes_2#0, %split_with_sizes_3#0) : (tensor<6x2x12xf32>, tensor<12x12xf32>, tensor<12xf32>) -> tensor<6x2x12xf32>
    %linear_11 = "aten.linear"(%permute_23, %split_with_sizes_2#1, %split_with_sizes_3#1) : (tensor<4x2x12xf32>, tensor<24x12xf32>, tensor<24xf32>) -> tensor<4x2x24xf32>
    %view_27 = "aten.view"(%linear_11) {size = array<i64: 4, 2, 2, 12>} : (tensor<4x2x24xf32>) -> tensor<4x2x2x12xf32>
    %unsqueeze_3 = "aten.unsqueeze"(%view_27) {dim = 0 : i64} : (tensor<4x2x2x12xf32>) -> tensor<1x4x2x2x12xf32>
    %permute_24 = "aten.permute"(%unsqueeze_3) {dims = array<i64: 3, 1, 2, 0, 4>} : (tensor<1x4x2x2x12xf32>) -> tensor<2x4x2x1x12xf32>
    %squeeze_3 = "aten.squeeze.dims"(%permute_24) {dim = array<i64: -2>} : (tensor<2x4x2x1x12xf32>) -> tensor<2x4x2x12xf32>
    %clone_8 = "aten.clone"(%squeeze_3) : (tensor<2x4x2x12xf32>) -> tensor<2x4x2x12xf32>
    %select_8 = "aten.select.int"(%clone_8) {dim = 0 : i64, index = 0 : i64} : (tensor<2x4x2x12xf32>) -> tensor<4x2x12xf32>
    %select_9 = "aten.select.int"(%clone_8) {dim = 0 : i64, index = 1 : i64} : (tensor<2x4x2x12xf32>) -> tensor<4x2x12xf32>
    %view_28 = "aten.view"(%linear_10) {size = array<i64: 6, 4, 6>} : (tensor<6x2x12xf32>) -> tensor<6x4x6xf32>
    %permute_25 = "aten.permute"(%view_28) {dims = array<i64: 1, 0, 2>} : (tensor<6x4x6xf32>) -> tensor<4x6x6xf32>
    %view_29 = "aten.view"(%select_8) {size = array<i64: 4, 4, 6>} : (tensor<4x2x12xf32>) -> tensor<4x4x6xf32>
    %permute_26 = "aten.permute"(%view_29) {dims = array<i64: 1, 0, 2>} : (tensor<4x4x6xf32>) -> tensor<4x4x6xf32>
    %view_30 = "aten.view"(%select_9) {size = array<i64: 4, 4, 6>} : (tensor<4x2x12xf32>) -> tensor<4x4x6xf32>
    %permute_27 = "aten.permute"(%view_30) {dims = array<i64: 1, 0, 2>} : (tensor<4x4x6xf32>) -> tensor<4x4x6xf32>
    %view_31 = "aten.view"(%permute_25) {size = array<i64: 2, 2, 6, 6>} : (tensor<4x6x6xf32>) -> tensor<2x2x6x6xf32>
    %view_32 = "aten.view"(%permute_26) {size = array<i64: 2, 2, 4, 6>} : (tensor<4x4x6xf32>) -> tensor<2x2x4x6xf32>
    %view_33 = "aten.view"(%permute_27) {size = array<i64: 2, 2, 4, 6>} : (tensor<4x4x6xf32>) -> tensor<2x2x4x6xf32>
    %scaled_dot_product_attention_3 = "aten.scaled_dot_product_attention"(%view_31, %view_32, %view_33) : (tensor<2x2x6x6xf32>, tensor<2x2x4x6xf32>, tensor<2x2x4x6xf32>) -> tensor<2x2x6x6xf32>
    %permute_28 = "aten.permute"(%scaled_dot_product_attention_3) {dims = array<i64: 2, 0, 1, 3>} : (tensor<2x2x6x6xf32>) -> tensor<6x2x2x6xf32>
    %view_34 = "aten.view"(%permute_28) {size = array<i64: 12, 12>} : (tensor<6x2x2x6xf32>) -> tensor<12x12xf32>
    %linear_12 = "aten.linear"(%view_34, %arg26, %arg27) : (tensor<12x12xf32>, tensor<12x12xf32>, tensor<12xf32>) -> tensor<12x12xf32>
    %view_35 = "aten.view"(%linear_12) {size = array<i64: 6, 2, 12>} : (tensor<12x12xf32>) -> tensor<6x2x12xf32>
    %permute_29 = "aten.permute"(%view_35) {dims = array<i64: 1, 0, 2>} : (tensor<6x2x12xf32>) -> tensor<2x6x12xf32>
    %clone_9 = "aten.clone"(%permute_29) : (tensor<2x6x12xf32>) -> tensor<2x6x12xf32>
    %add_4 = "aten.add.Tensor"(%add_3, %clone_9) : (tensor<2x6x12xf32>, tensor<2x6x12xf32>) -> tensor<2x6x12xf32>
    %layer_norm_5 = "aten.layer_norm"(%add_4, %arg36, %arg37) {normalized_shape = array<i64: 12>, eps = 1.0e-05 : f64, cudnn_enable = false} : (tensor<2x6x12xf32>, tensor<12xf32>, tensor<12xf32>) -> tensor<2x6x12xf32>
    %linear_13 = "aten.linear"(%layer_norm_5, %arg28, %arg29) : (tensor<2x6x12xf32>, tensor<24x12xf32>, tensor<24xf32>) -> tensor<2x6x24xf32>
    %relu_1 = "aten.relu"(%linear_13) : (tensor<2x6x24xf32>) -> tensor<2x6x24xf32>
    %clone_10 = "aten.clone"(%relu_1) : (tensor<2x6x24xf32>) -> tensor<2x6x24xf32>
    %linear_14 = "aten.linear"(%clone_10, %arg30, %arg31) : (tensor<2x6x24xf32>, tensor<12x24xf32>, tensor<12xf32>) -> tensor<2x6x12xf32>
    %clone_11 = "aten.clone"(%linear_14) : (tensor<2x6x12xf32>) -> tensor<2x6x12xf32>
    %add_5 = "aten.add.Tensor"(%add_4, %clone_11) : (tensor<2x6x12xf32>, tensor<2x6x12xf32>) -> tensor<2x6x12xf32>
    %pow_1 = "aten.pow.Tensor_Scalar"(%add_5) {exponent = 2 : i64} : (tensor<2x6x12xf32>) -> tensor<2x6x12xf32>
    %mean = "aten.mean"(%pow_1) : (tensor<2x6x12xf32>) -> tensor<f32>
    return %mean : tensor<f32>
  }
}
