#f0 = loc("test/e2e/aten_models.py":187:0)
#f1 = loc("test/e2e/aten_models.py":188:0)
#f2 = loc("test/e2e/aten_models.py":190:0)
#f3 = loc("test/e2e/aten_models.py":191:0)
module attributes {aten.format = 1 : i64, aten.torch = "2.13.0", aten.values = "vision.safetensors"} {
  func.func @main(%arg0: tensor<1x1x16xf32> {aten.parameter = "token"},
                  %arg1: tensor<1x17x16xf32> {aten.parameter = "places"},
                  %arg2: tensor<16x48xf32> {aten.parameter = "patch.weight"},
                  %arg3: tensor<16xf32> {aten.parameter = "patch.bias"},
                  %arg4: tensor<48x16xf32> {aten.parameter = "layers.0.self_attn.in_proj_weight"},
                  %arg5: tensor<48xf32> {aten.parameter = "layers.0.self_attn.in_proj_bias"},
                  %arg6: tensor<16x16xf32> {aten.parameter = "layers.0.self_attn.out_proj.weight"},
                  %arg7: tensor<16xf32> {aten.parameter = "layers.0.self_attn.out_proj.bias"},
                  %arg8: tensor<32x16xf32> {aten.parameter = "layers.0.linear1.weight"},
                  %arg9: tensor<32xf32> {aten.parameter = "layers.0.linear1.bias"},
                  %arg10: tensor<16x32xf32> {aten.parameter = "layers.0.linear2.weight"},
                  %arg11: tensor<16xf32> {aten.parameter = "layers.0.linear2.bias"},
                  %arg12: tensor<16xf32> {aten.parameter = "layers.0.norm1.weight"},
                  %arg13: tensor<16xf32> {aten.parameter = "layers.0.norm1.bias"},
                  %arg14: tensor<16xf32> {aten.parameter = "layers.0.norm2.weight"},
                  %arg15: tensor<16xf32> {aten.parameter = "layers.0.norm2.bias"},
                  %arg16: tensor<48x16xf32> {aten.parameter = "layers.1.self_attn.in_proj_weight"},
                  %arg17: tensor<48xf32> {aten.parameter = "layers.1.self_attn.in_proj_bias"},
                  %arg18: tensor<16x16xf32> {aten.parameter = "layers.1.self_attn.out_proj.weight"},
                  %arg19: tensor<16xf32> {aten.parameter = "layers.1.self_attn.out_proj.bias"},
                  %arg20: tensor<32x16xf32> {aten.parameter = "layers.1.linear1.weight"},
                  %arg21: tensor<32xf32> {aten.parameter = "layers.1.linear1.bias"},
                  %arg22: tensor<16x32xf32> {aten.parameter = "layers.1.linear2.weight"},
                  %arg23: tensor<16xf32> {aten.parameter = "layers.1.linear2.bias"},
                  %arg24: tensor<16xf32> {aten.parameter = "layers.1.norm1.weight"},
                  %arg25: tensor<16xf32> {aten.parameter = "layers.1.norm1.bias"},
                  %arg26: tensor<16xf32> {aten.parameter = "layers.1.norm2.weight"},
                  %arg27: tensor<16xf32> {aten.parameter = "layers.1.norm2.bias"},
                  %arg28: tensor<10x16xf32> {aten.parameter = "head.weight"},
                  %arg29: tensor<10xf32> {aten.parameter = "head.bias"},
                  %arg30: tensor<2x3x16x16xf32> {aten.input = "pixels"},
                  %arg31: tensor<2xi64> {aten.input = "labels"})
      -> (tensor<f32> {aten.output = "loss"}) {
    %none = "aten.none"() : () -> none
    %view = "aten.view"(%arg30) {size = array<i64: 2, 3, 4, 4, 4, 4>} : (tensor<2x3x16x16xf32>) -> tensor<2x3x4x4x4x4xf32> loc("view"(#f0))
    %permute = "aten.permute"(%view) {dims = array<i64: 0, 2, 4, 1, 3, 5>} : (tensor<2x3x4x4x4x4xf32>) -> tensor<2x4x4x3x4x4xf32> loc("permute"(#f0))
    %clone = "aten.clone"(%permute) : (tensor<2x4x4x3x4x4xf32>) -> tensor<2x4x4x3x4x4xf32> loc("clone"(#f0))
    %view_1 = "aten.view"(%clone) {size = array<i64: 2, 4, 4, 48>} : (tensor<2x4x4x3x4x4xf32>) -> tensor<2x4x4x48xf32> loc("view_1"(#f0))
    %view_2 = "aten.view"(%view_1) {size = array<i64: 2, 16, 48>} : (tensor<2x4x4x48xf32>) -> tensor<2x16x48xf32> loc("view_2"(#f0))
    %expand = "aten.expand"(%arg0) {size = array<i64: 2, -1, -1>} : (tensor<1x1x16xf32>) -> tensor<2x1x16xf32> loc("expand"(#f1))
    %linear = "aten.linear"(%view_2, %arg2, %arg3) : (tensor<2x16x48xf32>, tensor<16x48xf32>, tensor<16xf32>) -> tensor<2x16x16xf32> loc("patch (linear)"(#f1))
    %cat = "aten.cat"(%expand, %linear) {dim = 1 : i64} : (tensor<2x1x16xf32>, tensor<2x16x16xf32>) -> tensor<2x17x16xf32> loc("cat"(#f1))
    %add = "aten.add.Tensor"(%cat, %arg1) : (tensor<2x17x16xf32>, tensor<1x17x16xf32>) -> tensor<2x17x16xf32> loc("add"(#f1))
    %layer_norm = "aten.layer_norm"(%add, %arg12, %arg13) {normalized_shape = array<i64: 16>, eps = 1.0e-05 : f64, cudnn_enable = false} : (tensor<2x17x16xf32>, tensor<16xf32>, tensor<16xf32>) -> tensor<2x17x16xf32> loc("layers.0.norm1 (layer_norm)"(#f2))
    %permute_1 = "aten.permute"(%layer_norm) {dims = array<i64: 1, 0, 2>} : (tensor<2x17x16xf32>) -> tensor<17x2x16xf32> loc("layers.0.self_attn (permute_1)"(#f2))
    %linear_1 = "aten.linear"(%permute_1, %arg4, %arg5) : (tensor<17x2x16xf32>, tensor<48x16xf32>, tensor<48xf32>) -> tensor<17x2x48xf32> loc("layers.0.self_attn (linear_1)"(#f2))
    %view_3 = "aten.view"(%linear_1) {size = array<i64: 17, 2, 3, 16>} : (tensor<17x2x48xf32>) -> tensor<17x2x3x16xf32> loc("layers.0.self_attn (view_3)"(#f2))
    %unsqueeze = "aten.unsqueeze"(%view_3) {dim = 0 : i64} : (tensor<17x2x3x16xf32>) -> tensor<1x17x2x3x16xf32> loc("layers.0.self_attn (unsqueeze)"(#f2))
    %permute_2 = "aten.permute"(%unsqueeze) {dims = array<i64: 3, 1, 2, 0, 4>} : (tensor<1x17x2x3x16xf32>) -> tensor<3x17x2x1x16xf32> loc("layers.0.self_attn (permute_2)"(#f2))
    %squeeze = "aten.squeeze.dims"(%permute_2) {dim = array<i64: -2>} : (tensor<3x17x2x1x16xf32>) -> tensor<3x17x2x16xf32> loc("layers.0.self_attn (squeeze)"(#f2))
    %clone_1 = "aten.clone"(%squeeze) : (tensor<3x17x2x16xf32>) -> tensor<3x17x2x16xf32> loc("layers.0.self_attn (clone_1)"(#f2))
    %select = "aten.select.int"(%clone_1) {dim = 0 : i64, index = 0 : i64} : (tensor<3x17x2x16xf32>) -> tensor<17x2x16xf32> loc("layers.0.self_attn (select)"(#f2))
    %select_1 = "aten.select.int"(%clone_1) {dim = 0 : i64, index = 1 : i64} : (tensor<3x17x2x16xf32>) -> tensor<17x2x16xf32> loc("layers.0.self_attn (select_1)"(#f2))
    %select_2 = "aten.select.int"(%clone_1) {dim = 0 : i64, index = 2 : i64} : (tensor<3x17x2x16xf32>) -> tensor<17x2x16xf32> loc("layers.0.self_attn (select_2)"(#f2))
    %view_4 = "aten.view"(%select) {size = array<i64: 17, 8, 4>} : (tensor<17x2x16xf32>) -> tensor<17x8x4xf32> loc("layers.0.self_attn (view_4)"(#f2))
    %permute_3 = "aten.permute"(%view_4) {dims = array<i64: 1, 0, 2>} : (tensor<17x8x4xf32>) -> tensor<8x17x4xf32> loc("layers.0.self_attn (permute_3)"(#f2))
    %view_5 = "aten.view"(%select_1) {size = array<i64: 17, 8, 4>} : (tensor<17x2x16xf32>) -> tensor<17x8x4xf32> loc("layers.0.self_attn (view_5)"(#f2))
    %permute_4 = "aten.permute"(%view_5) {dims = array<i64: 1, 0, 2>} : (tensor<17x8x4xf32>) -> tensor<8x17x4xf32> loc("layers.0.self_attn (permute_4)"(#f2))
    %view_6 = "aten.view"(%select_2) {size = array<i64: 17, 8, 4>} : (tensor<17x2x16xf32>) -> tensor<17x8x4xf32> loc("layers.0.self_attn (view_6)"(#f2))
    %permute_5 = "aten.permute"(%view_6) {dims = array<i64: 1, 0, 2>} : (tensor<17x8x4xf32>) -> tensor<8x17x4xf32> loc("layers.0.self_attn (permute_5)"(#f2))
    %view_7 = "aten.view"(%permute_3) {size = array<i64: 2, 4, 17, 4>} : (tensor<8x17x4xf32>) -> tensor<2x4x17x4xf32> loc("layers.0.self_attn (view_7)"(#f2))
    %view_8 = "aten.view"(%permute_4) {size = array<i64: 2, 4, 17, 4>} : (tensor<8x17x4xf32>) -> tensor<2x4x17x4xf32> loc("layers.0.self_attn (view_8)"(#f2))
    %view_9 = "aten.view"(%permute_5) {size = array<i64: 2, 4, 17, 4>} : (tensor<8x17x4xf32>) -> tensor<2x4x17x4xf32> loc("layers.0.self_attn (view_9)"(#f2))
    %scaled_dot_product_attention = "aten.scaled_dot_product_attention"(%view_7, %view_8, %view_9) : (tensor<2x4x17x4xf32>, tensor<2x4x17x4xf32>, tensor<2x4x17x4xf32>) -> tensor<2x4x17x4xf32> loc("layers.0.self_attn (scaled_dot_product_attention)"(#f2))
    %permute_6 = "aten.permute"(%scaled_dot_product_attention) {dims = array<i64: 2, 0, 1, 3>} : (tensor<2x4x17x4xf32>) -> tensor<17x2x4x4xf32> loc("layers.0.self_attn (permute_6)"(#f2))
    %view_10 = "aten.view"(%permute_6) {size = array<i64: 34, 16>} : (tensor<17x2x4x4xf32>) -> tensor<34x16xf32> loc("layers.0.self_attn (view_10)"(#f2))
    %linear_2 = "aten.linear"(%view_10, %arg6, %arg7) : (tensor<34x16xf32>, tensor<16x16xf32>, tensor<16xf32>) -> tensor<34x16xf32> loc("layers.0.self_attn (linear_2)"(#f2))
    %view_11 = "aten.view"(%linear_2) {size = array<i64: 17, 2, 16>} : (tensor<34x16xf32>) -> tensor<17x2x16xf32> loc("layers.0.self_attn (view_11)"(#f2))
    %permute_7 = "aten.permute"(%view_11) {dims = array<i64: 1, 0, 2>} : (tensor<17x2x16xf32>) -> tensor<2x17x16xf32> loc("layers.0.self_attn (permute_7)"(#f2))
    %clone_2 = "aten.clone"(%permute_7) : (tensor<2x17x16xf32>) -> tensor<2x17x16xf32> loc("layers.0.dropout1 (clone_2)"(#f2))
    %add_1 = "aten.add.Tensor"(%add, %clone_2) : (tensor<2x17x16xf32>, tensor<2x17x16xf32>) -> tensor<2x17x16xf32> loc("layers.0 (add_1)"(#f2))
    %layer_norm_1 = "aten.layer_norm"(%add_1, %arg14, %arg15) {normalized_shape = array<i64: 16>, eps = 1.0e-05 : f64, cudnn_enable = false} : (tensor<2x17x16xf32>, tensor<16xf32>, tensor<16xf32>) -> tensor<2x17x16xf32> loc("layers.0.norm2 (layer_norm_1)"(#f2))
    %linear_3 = "aten.linear"(%layer_norm_1, %arg8, %arg9) : (tensor<2x17x16xf32>, tensor<32x16xf32>, tensor<32xf32>) -> tensor<2x17x32xf32> loc("layers.0.linear1 (linear_3)"(#f2))
    %gelu = "aten.gelu"(%linear_3) : (tensor<2x17x32xf32>) -> tensor<2x17x32xf32> loc("layers.0 (gelu)"(#f2))
    %clone_3 = "aten.clone"(%gelu) : (tensor<2x17x32xf32>) -> tensor<2x17x32xf32> loc("layers.0.dropout (clone_3)"(#f2))
    %linear_4 = "aten.linear"(%clone_3, %arg10, %arg11) : (tensor<2x17x32xf32>, tensor<16x32xf32>, tensor<16xf32>) -> tensor<2x17x16xf32> loc("layers.0.linear2 (linear_4)"(#f2))
    %clone_4 = "aten.clone"(%linear_4) : (tensor<2x17x16xf32>) -> tensor<2x17x16xf32> loc("layers.0.dropout2 (clone_4)"(#f2))
    %add_2 = "aten.add.Tensor"(%add_1, %clone_4) : (tensor<2x17x16xf32>, tensor<2x17x16xf32>) -> tensor<2x17x16xf32> loc("layers.0 (add_2)"(#f2))
    %layer_norm_2 = "aten.layer_norm"(%add_2, %arg24, %arg25) {normalized_shape = array<i64: 16>, eps = 1.0e-05 : f64, cudnn_enable = false} : (tensor<2x17x16xf32>, tensor<16xf32>, tensor<16xf32>) -> tensor<2x17x16xf32> loc("layers.1.norm1 (layer_norm_2)"(#f2))
    %permute_8 = "aten.permute"(%layer_norm_2) {dims = array<i64: 1, 0, 2>} : (tensor<2x17x16xf32>) -> tensor<17x2x16xf32> loc("layers.1.self_attn (permute_8)"(#f2))
    %linear_5 = "aten.linear"(%permute_8, %arg16, %arg17) : (tensor<17x2x16xf32>, tensor<48x16xf32>, tensor<48xf32>) -> tensor<17x2x48xf32> loc("layers.1.self_attn (linear_5)"(#f2))
    %view_12 = "aten.view"(%linear_5) {size = array<i64: 17, 2, 3, 16>} : (tensor<17x2x48xf32>) -> tensor<17x2x3x16xf32> loc("layers.1.self_attn (view_12)"(#f2))
    %unsqueeze_1 = "aten.unsqueeze"(%view_12) {dim = 0 : i64} : (tensor<17x2x3x16xf32>) -> tensor<1x17x2x3x16xf32> loc("layers.1.self_attn (unsqueeze_1)"(#f2))
    %permute_9 = "aten.permute"(%unsqueeze_1) {dims = array<i64: 3, 1, 2, 0, 4>} : (tensor<1x17x2x3x16xf32>) -> tensor<3x17x2x1x16xf32> loc("layers.1.self_attn (permute_9)"(#f2))
    %squeeze_1 = "aten.squeeze.dims"(%permute_9) {dim = array<i64: -2>} : (tensor<3x17x2x1x16xf32>) -> tensor<3x17x2x16xf32> loc("layers.1.self_attn (squeeze_1)"(#f2))
    %clone_5 = "aten.clone"(%squeeze_1) : (tensor<3x17x2x16xf32>) -> tensor<3x17x2x16xf32> loc("layers.1.self_attn (clone_5)"(#f2))
    %select_3 = "aten.select.int"(%clone_5) {dim = 0 : i64, index = 0 : i64} : (tensor<3x17x2x16xf32>) -> tensor<17x2x16xf32> loc("layers.1.self_attn (select_3)"(#f2))
    %select_4 = "aten.select.int"(%clone_5) {dim = 0 : i64, index = 1 : i64} : (tensor<3x17x2x16xf32>) -> tensor<17x2x16xf32> loc("layers.1.self_attn (select_4)"(#f2))
    %select_5 = "aten.select.int"(%clone_5) {dim = 0 : i64, index = 2 : i64} : (tensor<3x17x2x16xf32>) -> tensor<17x2x16xf32> loc("layers.1.self_attn (select_5)"(#f2))
    %view_13 = "aten.view"(%select_3) {size = array<i64: 17, 8, 4>} : (tensor<17x2x16xf32>) -> tensor<17x8x4xf32> loc("layers.1.self_attn (view_13)"(#f2))
    %permute_10 = "aten.permute"(%view_13) {dims = array<i64: 1, 0, 2>} : (tensor<17x8x4xf32>) -> tensor<8x17x4xf32> loc("layers.1.self_attn (permute_10)"(#f2))
    %view_14 = "aten.view"(%select_4) {size = array<i64: 17, 8, 4>} : (tensor<17x2x16xf32>) -> tensor<17x8x4xf32> loc("layers.1.self_attn (view_14)"(#f2))
    %permute_11 = "aten.permute"(%view_14) {dims = array<i64: 1, 0, 2>} : (tensor<17x8x4xf32>) -> tensor<8x17x4xf32> loc("layers.1.self_attn (permute_11)"(#f2))
    %view_15 = "aten.view"(%select_5) {size = array<i64: 17, 8, 4>} : (tensor<17x2x16xf32>) -> tensor<17x8x4xf32> loc("layers.1.self_attn (view_15)"(#f2))
    %permute_12 = "aten.permute"(%view_15) {dims = array<i64: 1, 0, 2>} : (tensor<17x8x4xf32>) -> tensor<8x17x4xf32> loc("layers.1.self_attn (permute_12)"(#f2))
    %view_16 = "aten.view"(%permute_10) {size = array<i64: 2, 4, 17, 4>} : (tensor<8x17x4xf32>) -> tensor<2x4x17x4xf32> loc("layers.1.self_attn (view_16)"(#f2))
    %view_17 = "aten.view"(%permute_11) {size = array<i64: 2, 4, 17, 4>} : (tensor<8x17x4xf32>) -> tensor<2x4x17x4xf32> loc("layers.1.self_attn (view_17)"(#f2))
    %view_18 = "aten.view"(%permute_12) {size = array<i64: 2, 4, 17, 4>} : (tensor<8x17x4xf32>) -> tensor<2x4x17x4xf32> loc("layers.1.self_attn (view_18)"(#f2))
    %scaled_dot_product_attention_1 = "aten.scaled_dot_product_attention"(%view_16, %view_17, %view_18) : (tensor<2x4x17x4xf32>, tensor<2x4x17x4xf32>, tensor<2x4x17x4xf32>) -> tensor<2x4x17x4xf32> loc("layers.1.self_attn (scaled_dot_product_attention_1)"(#f2))
    %permute_13 = "aten.permute"(%scaled_dot_product_attention_1) {dims = array<i64: 2, 0, 1, 3>} : (tensor<2x4x17x4xf32>) -> tensor<17x2x4x4xf32> loc("layers.1.self_attn (permute_13)"(#f2))
    %view_19 = "aten.view"(%permute_13) {size = array<i64: 34, 16>} : (tensor<17x2x4x4xf32>) -> tensor<34x16xf32> loc("layers.1.self_attn (view_19)"(#f2))
    %linear_6 = "aten.linear"(%view_19, %arg18, %arg19) : (tensor<34x16xf32>, tensor<16x16xf32>, tensor<16xf32>) -> tensor<34x16xf32> loc("layers.1.self_attn (linear_6)"(#f2))
    %view_20 = "aten.view"(%linear_6) {size = array<i64: 17, 2, 16>} : (tensor<34x16xf32>) -> tensor<17x2x16xf32> loc("layers.1.self_attn (view_20)"(#f2))
    %permute_14 = "aten.permute"(%view_20) {dims = array<i64: 1, 0, 2>} : (tensor<17x2x16xf32>) -> tensor<2x17x16xf32> loc("layers.1.self_attn (permute_14)"(#f2))
    %clone_6 = "aten.clone"(%permute_14) : (tensor<2x17x16xf32>) -> tensor<2x17x16xf32> loc("layers.1.dropout1 (clone_6)"(#f2))
    %add_3 = "aten.add.Tensor"(%add_2, %clone_6) : (tensor<2x17x16xf32>, tensor<2x17x16xf32>) -> tensor<2x17x16xf32> loc("layers.1 (add_3)"(#f2))
    %layer_norm_3 = "aten.layer_norm"(%add_3, %arg26, %arg27) {normalized_shape = array<i64: 16>, eps = 1.0e-05 : f64, cudnn_enable = false} : (tensor<2x17x16xf32>, tensor<16xf32>, tensor<16xf32>) -> tensor<2x17x16xf32> loc("layers.1.norm2 (layer_norm_3)"(#f2))
    %linear_7 = "aten.linear"(%layer_norm_3, %arg20, %arg21) : (tensor<2x17x16xf32>, tensor<32x16xf32>, tensor<32xf32>) -> tensor<2x17x32xf32> loc("layers.1.linear1 (linear_7)"(#f2))
    %gelu_1 = "aten.gelu"(%linear_7) : (tensor<2x17x32xf32>) -> tensor<2x17x32xf32> loc("layers.1 (gelu_1)"(#f2))
    %clone_7 = "aten.clone"(%gelu_1) : (tensor<2x17x32xf32>) -> tensor<2x17x32xf32> loc("layers.1.dropout (clone_7)"(#f2))
    %linear_8 = "aten.linear"(%clone_7, %arg22, %arg23) : (tensor<2x17x32xf32>, tensor<16x32xf32>, tensor<16xf32>) -> tensor<2x17x16xf32> loc("layers.1.linear2 (linear_8)"(#f2))
    %clone_8 = "aten.clone"(%linear_8) : (tensor<2x17x16xf32>) -> tensor<2x17x16xf32> loc("layers.1.dropout2 (clone_8)"(#f2))
    %add_4 = "aten.add.Tensor"(%add_3, %clone_8) : (tensor<2x17x16xf32>, tensor<2x17x16xf32>) -> tensor<2x17x16xf32> loc("layers.1 (add_4)"(#f2))
    %select_6 = "aten.select.int"(%add_4) {dim = 1 : i64, index = 0 : i64} : (tensor<2x17x16xf32>) -> tensor<2x16xf32> loc("select_6"(#f3))
    %linear_9 = "aten.linear"(%select_6, %arg28, %arg29) : (tensor<2x16xf32>, tensor<10x16xf32>, tensor<10xf32>) -> tensor<2x10xf32> loc("head (linear_9)"(#f3))
    %cross_entropy_loss = "aten.cross_entropy_loss"(%linear_9, %arg31) {reduction = 1 : i64, ignore_index = -100 : i64, label_smoothing = 0.1 : f64} : (tensor<2x10xf32>, tensor<2xi64>) -> tensor<f32> loc("cross_entropy_loss"(#f3))
    return %cross_entropy_loss : tensor<f32>
  }
}
