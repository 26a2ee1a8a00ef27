#f0 = loc("test/e2e/aten_models.py":122:0)
#f1 = loc("test/e2e/aten_models.py":106:0)
#f2 = loc("test/e2e/aten_models.py":107:0)
#f3 = loc("test/e2e/aten_models.py":108:0)
#f4 = loc("test/e2e/aten_models.py":109:0)
#f5 = loc("test/e2e/aten_models.py":125:0)
#f6 = loc("test/e2e/aten_models.py":126:0)
module attributes {aten.format = 1 : i64, aten.torch = "2.13.0", aten.values = "dropout.safetensors"} {
  func.func @main(%arg0: tensor<40x16xf32> {aten.parameter = "wte.weight", aten.names = ["wte.weight", "lm_head.weight"]},
                  %arg1: tensor<12x16xf32> {aten.parameter = "wpe.weight"},
                  %arg2: tensor<16xf32> {aten.parameter = "h.0.ln_1.weight"},
                  %arg3: tensor<16xf32> {aten.parameter = "h.0.ln_1.bias"},
                  %arg4: tensor<16xf32> {aten.parameter = "h.0.ln_2.weight"},
                  %arg5: tensor<16xf32> {aten.parameter = "h.0.ln_2.bias"},
                  %arg6: tensor<48x16xf32> {aten.parameter = "h.0.c_attn.weight"},
                  %arg7: tensor<48xf32> {aten.parameter = "h.0.c_attn.bias"},
                  %arg8: tensor<16x16xf32> {aten.parameter = "h.0.c_proj.weight"},
                  %arg9: tensor<16xf32> {aten.parameter = "h.0.c_proj.bias"},
                  %arg10: tensor<64x16xf32> {aten.parameter = "h.0.mlp.0.weight"},
                  %arg11: tensor<64xf32> {aten.parameter = "h.0.mlp.0.bias"},
                  %arg12: tensor<16x64xf32> {aten.parameter = "h.0.mlp.2.weight"},
                  %arg13: tensor<16xf32> {aten.parameter = "h.0.mlp.2.bias"},
                  %arg14: tensor<16xf32> {aten.parameter = "h.1.ln_1.weight"},
                  %arg15: tensor<16xf32> {aten.parameter = "h.1.ln_1.bias"},
                  %arg16: tensor<16xf32> {aten.parameter = "h.1.ln_2.weight"},
                  %arg17: tensor<16xf32> {aten.parameter = "h.1.ln_2.bias"},
                  %arg18: tensor<48x16xf32> {aten.parameter = "h.1.c_attn.weight"},
                  %arg19: tensor<48xf32> {aten.parameter = "h.1.c_attn.bias"},
                  %arg20: tensor<16x16xf32> {aten.parameter = "h.1.c_proj.weight"},
                  %arg21: tensor<16xf32> {aten.parameter = "h.1.c_proj.bias"},
                  %arg22: tensor<64x16xf32> {aten.parameter = "h.1.mlp.0.weight"},
                  %arg23: tensor<64xf32> {aten.parameter = "h.1.mlp.0.bias"},
                  %arg24: tensor<16x64xf32> {aten.parameter = "h.1.mlp.2.weight"},
                  %arg25: tensor<16xf32> {aten.parameter = "h.1.mlp.2.bias"},
                  %arg26: tensor<16xf32> {aten.parameter = "ln_f.weight"},
                  %arg27: tensor<16xf32> {aten.parameter = "ln_f.bias"},
                  %arg28: tensor<2x12xi64> {aten.input = "x"},
                  %arg29: tensor<2x12xi64> {aten.input = "y"})
      -> (tensor<f32> {aten.output = "loss"}, tensor<2x12x40xf32> {aten.output = "logits"}) {
    %none = "aten.none"() : () -> none
    %embedding = "aten.embedding"(%arg0, %arg28) : (tensor<40x16xf32>, tensor<2x12xi64>) -> tensor<2x12x16xf32> loc("wte (embedding)"(#f0))
    %arange = "aten.arange.start_step"() {start = 0 : i64, end = 12 : i64} : () -> tensor<12xi64> loc("arange"(#f0))
    %embedding_1 = "aten.embedding"(%arg1, %arange) : (tensor<12x16xf32>, tensor<12xi64>) -> tensor<12x16xf32> loc("wpe (embedding_1)"(#f0))
    %add = "aten.add.Tensor"(%embedding, %embedding_1) : (tensor<2x12x16xf32>, tensor<12x16xf32>) -> tensor<2x12x16xf32> loc("add"(#f0))
    %layer_norm = "aten.layer_norm"(%add, %arg2, %arg3) {normalized_shape = array<i64: 16>, eps = 1.0e-05 : f64, cudnn_enable = false} : (tensor<2x12x16xf32>, tensor<16xf32>, tensor<16xf32>) -> tensor<2x12x16xf32> loc("h.0.ln_1 (layer_norm)"(#f1))
    %linear = "aten.linear"(%layer_norm, %arg6, %arg7) : (tensor<2x12x16xf32>, tensor<48x16xf32>, tensor<48xf32>) -> tensor<2x12x48xf32> loc("h.0.c_attn (linear)"(#f1))
    %split_with_sizes:3 = "aten.split_with_sizes"(%linear) {split_sizes = array<i64: 16, 16, 16>, dim = 2 : i64} : (tensor<2x12x48xf32>) -> (tensor<2x12x16xf32>, tensor<2x12x16xf32>, tensor<2x12x16xf32>) loc("h.0 (split_with_sizes)"(#f1))
    %view = "aten.view"(%split_with_sizes#0) {size = array<i64: 2, 12, 4, 4>} : (tensor<2x12x16xf32>) -> tensor<2x12x4x4xf32> loc("h.0 (view)"(#f1))
    %permute = "aten.permute"(%view) {dims = array<i64: 0, 2, 1, 3>} : (tensor<2x12x4x4xf32>) -> tensor<2x4x12x4xf32> loc("h.0 (permute)"(#f1))
    %view_1 = "aten.view"(%split_with_sizes#1) {size = array<i64: 2, 12, 4, 4>} : (tensor<2x12x16xf32>) -> tensor<2x12x4x4xf32> loc("h.0 (view_1)"(#f1))
    %permute_1 = "aten.permute"(%view_1) {dims = array<i64: 0, 2, 1, 3>} : (tensor<2x12x4x4xf32>) -> tensor<2x4x12x4xf32> loc("h.0 (permute_1)"(#f1))
    %view_2 = "aten.view"(%split_with_sizes#2) {size = array<i64: 2, 12, 4, 4>} : (tensor<2x12x16xf32>) -> tensor<2x12x4x4xf32> loc("h.0 (view_2)"(#f1))
    %permute_2 = "aten.permute"(%view_2) {dims = array<i64: 0, 2, 1, 3>} : (tensor<2x12x4x4xf32>) -> tensor<2x4x12x4xf32> loc("h.0 (permute_2)"(#f1))
    %scaled_dot_product_attention = "aten.scaled_dot_product_attention"(%permute, %permute_1, %permute_2) {dropout_p = 0.2 : f64, is_causal = true} : (tensor<2x4x12x4xf32>, tensor<2x4x12x4xf32>, tensor<2x4x12x4xf32>) -> tensor<2x4x12x4xf32> loc("h.0 (scaled_dot_product_attention)"(#f2))
    %permute_3 = "aten.permute"(%scaled_dot_product_attention) {dims = array<i64: 0, 2, 1, 3>} : (tensor<2x4x12x4xf32>) -> tensor<2x12x4x4xf32> loc("h.0 (permute_3)"(#f3))
    %clone = "aten.clone"(%permute_3) : (tensor<2x12x4x4xf32>) -> tensor<2x12x4x4xf32> loc("h.0 (clone)"(#f3))
    %view_3 = "aten.view"(%clone) {size = array<i64: 2, 12, 16>} : (tensor<2x12x4x4xf32>) -> tensor<2x12x16xf32> loc("h.0 (view_3)"(#f3))
    %linear_1 = "aten.linear"(%view_3, %arg8, %arg9) : (tensor<2x12x16xf32>, tensor<16x16xf32>, tensor<16xf32>) -> tensor<2x12x16xf32> loc("h.0.c_proj (linear_1)"(#f3))
    %add_1 = "aten.add.Tensor"(%add, %linear_1) : (tensor<2x12x16xf32>, tensor<2x12x16xf32>) -> tensor<2x12x16xf32> loc("h.0 (add_1)"(#f3))
    %layer_norm_1 = "aten.layer_norm"(%add_1, %arg4, %arg5) {normalized_shape = array<i64: 16>, eps = 1.0e-05 : f64, cudnn_enable = false} : (tensor<2x12x16xf32>, tensor<16xf32>, tensor<16xf32>) -> tensor<2x12x16xf32> loc("h.0.ln_2 (layer_norm_1)"(#f4))
    %linear_2 = "aten.linear"(%layer_norm_1, %arg10, %arg11) : (tensor<2x12x16xf32>, tensor<64x16xf32>, tensor<64xf32>) -> tensor<2x12x64xf32> loc("h.0.mlp.0 (linear_2)"(#f4))
    %gelu = "aten.gelu"(%linear_2) : (tensor<2x12x64xf32>) -> tensor<2x12x64xf32> loc("h.0.mlp.1 (gelu)"(#f4))
    %linear_3 = "aten.linear"(%gelu, %arg12, %arg13) : (tensor<2x12x64xf32>, tensor<16x64xf32>, tensor<16xf32>) -> tensor<2x12x16xf32> loc("h.0.mlp.2 (linear_3)"(#f4))
    %native_dropout:2 = "aten.native_dropout"(%linear_3) {p = 0.2 : f64, train = true} : (tensor<2x12x16xf32>) -> (tensor<2x12x16xf32>, tensor<2x12x16xi1>) loc("h.0.mlp.3 (native_dropout)"(#f4))
    %add_2 = "aten.add.Tensor"(%add_1, %native_dropout#0) : (tensor<2x12x16xf32>, tensor<2x12x16xf32>) -> tensor<2x12x16xf32> loc("h.0 (add_2)"(#f4))
    %layer_norm_2 = "aten.layer_norm"(%add_2, %arg14, %arg15) {normalized_shape = array<i64: 16>, eps = 1.0e-05 : f64, cudnn_enable = false} : (tensor<2x12x16xf32>, tensor<16xf32>, tensor<16xf32>) -> tensor<2x12x16xf32> loc("h.1.ln_1 (layer_norm_2)"(#f1))
    %linear_4 = "aten.linear"(%layer_norm_2, %arg18, %arg19) : (tensor<2x12x16xf32>, tensor<48x16xf32>, tensor<48xf32>) -> tensor<2x12x48xf32> loc("h.1.c_attn (linear_4)"(#f1))
    %split_with_sizes_1:3 = "aten.split_with_sizes"(%linear_4) {split_sizes = array<i64: 16, 16, 16>, dim = 2 : i64} : (tensor<2x12x48xf32>) -> (tensor<2x12x16xf32>, tensor<2x12x16xf32>, tensor<2x12x16xf32>) loc("h.1 (split_with_sizes_1)"(#f1))
    %view_4 = "aten.view"(%split_with_sizes_1#0) {size = array<i64: 2, 12, 4, 4>} : (tensor<2x12x16xf32>) -> tensor<2x12x4x4xf32> loc("h.1 (view_4)"(#f1))
    %permute_4 = "aten.permute"(%view_4) {dims = array<i64: 0, 2, 1, 3>} : (tensor<2x12x4x4xf32>) -> tensor<2x4x12x4xf32> loc("h.1 (permute_4)"(#f1))
    %view_5 = "aten.view"(%split_with_sizes_1#1) {size = array<i64: 2, 12, 4, 4>} : (tensor<2x12x16xf32>) -> tensor<2x12x4x4xf32> loc("h.1 (view_5)"(#f1))
    %permute_5 = "aten.permute"(%view_5) {dims = array<i64: 0, 2, 1, 3>} : (tensor<2x12x4x4xf32>) -> tensor<2x4x12x4xf32> loc("h.1 (permute_5)"(#f1))
    %view_6 = "aten.view"(%split_with_sizes_1#2) {size = array<i64: 2, 12, 4, 4>} : (tensor<2x12x16xf32>) -> tensor<2x12x4x4xf32> loc("h.1 (view_6)"(#f1))
    %permute_6 = "aten.permute"(%view_6) {dims = array<i64: 0, 2, 1, 3>} : (tensor<2x12x4x4xf32>) -> tensor<2x4x12x4xf32> loc("h.1 (permute_6)"(#f1))
    %scaled_dot_product_attention_1 = "aten.scaled_dot_product_attention"(%permute_4, %permute_5, %permute_6) {dropout_p = 0.2 : f64, is_causal = true} : (tensor<2x4x12x4xf32>, tensor<2x4x12x4xf32>, tensor<2x4x12x4xf32>) -> tensor<2x4x12x4xf32> loc("h.1 (scaled_dot_product_attention_1)"(#f2))
    %permute_7 = "aten.permute"(%scaled_dot_product_attention_1) {dims = array<i64: 0, 2, 1, 3>} : (tensor<2x4x12x4xf32>) -> tensor<2x12x4x4xf32> loc("h.1 (permute_7)"(#f3))
    %clone_1 = "aten.clone"(%permute_7) : (tensor<2x12x4x4xf32>) -> tensor<2x12x4x4xf32> loc("h.1 (clone_1)"(#f3))
    %view_7 = "aten.view"(%clone_1) {size = array<i64: 2, 12, 16>} : (tensor<2x12x4x4xf32>) -> tensor<2x12x16xf32> loc("h.1 (view_7)"(#f3))
    %linear_5 = "aten.linear"(%view_7, %arg20, %arg21) : (tensor<2x12x16xf32>, tensor<16x16xf32>, tensor<16xf32>) -> tensor<2x12x16xf32> loc("h.1.c_proj (linear_5)"(#f3))
    %add_3 = "aten.add.Tensor"(%add_2, %linear_5) : (tensor<2x12x16xf32>, tensor<2x12x16xf32>) -> tensor<2x12x16xf32> loc("h.1 (add_3)"(#f3))
    %layer_norm_3 = "aten.layer_norm"(%add_3, %arg16, %arg17) {normalized_shape = array<i64: 16>, eps = 1.0e-05 : f64, cudnn_enable = false} : (tensor<2x12x16xf32>, tensor<16xf32>, tensor<16xf32>) -> tensor<2x12x16xf32> loc("h.1.ln_2 (layer_norm_3)"(#f4))
    %linear_6 = "aten.linear"(%layer_norm_3, %arg22, %arg23) : (tensor<2x12x16xf32>, tensor<64x16xf32>, tensor<64xf32>) -> tensor<2x12x64xf32> loc("h.1.mlp.0 (linear_6)"(#f4))
    %gelu_1 = "aten.gelu"(%linear_6) : (tensor<2x12x64xf32>) -> tensor<2x12x64xf32> loc("h.1.mlp.1 (gelu_1)"(#f4))
    %linear_7 = "aten.linear"(%gelu_1, %arg24, %arg25) : (tensor<2x12x64xf32>, tensor<16x64xf32>, tensor<16xf32>) -> tensor<2x12x16xf32> loc("h.1.mlp.2 (linear_7)"(#f4))
    %native_dropout_1:2 = "aten.native_dropout"(%linear_7) {p = 0.2 : f64, train = true} : (tensor<2x12x16xf32>) -> (tensor<2x12x16xf32>, tensor<2x12x16xi1>) loc("h.1.mlp.3 (native_dropout_1)"(#f4))
    %add_4 = "aten.add.Tensor"(%add_3, %native_dropout_1#0) : (tensor<2x12x16xf32>, tensor<2x12x16xf32>) -> tensor<2x12x16xf32> loc("h.1 (add_4)"(#f4))
    %layer_norm_4 = "aten.layer_norm"(%add_4, %arg26, %arg27) {normalized_shape = array<i64: 16>, eps = 1.0e-05 : f64, cudnn_enable = false} : (tensor<2x12x16xf32>, tensor<16xf32>, tensor<16xf32>) -> tensor<2x12x16xf32> loc("ln_f (layer_norm_4)"(#f5))
    %linear_8 = "aten.linear"(%layer_norm_4, %arg0) : (tensor<2x12x16xf32>, tensor<40x16xf32>) -> tensor<2x12x40xf32> loc("lm_head (linear_8)"(#f5))
    %view_8 = "aten.view"(%linear_8) {size = array<i64: -1, 40>} : (tensor<2x12x40xf32>) -> tensor<24x40xf32> loc("view_8"(#f6))
    %view_9 = "aten.view"(%arg29) {size = array<i64: -1>} : (tensor<2x12xi64>) -> tensor<24xi64> loc("view_9"(#f6))
    %cross_entropy_loss = "aten.cross_entropy_loss"(%view_8, %view_9) {reduction = 1 : i64, ignore_index = -1 : i64} : (tensor<24x40xf32>, tensor<24xi64>) -> tensor<f32> loc("cross_entropy_loss"(#f6))
    return %cross_entropy_loss, %linear_8 : tensor<f32>, tensor<2x12x40xf32>
  }
}
