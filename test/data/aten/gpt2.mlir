#f0 = loc("transformers/models/gpt2/modeling_gpt2.py":547:0)
#f1 = loc("transformers/models/gpt2/modeling_gpt2.py":567:0)
#f2 = loc("transformers/models/gpt2/modeling_gpt2.py":571:0)
#f3 = loc("transformers/models/gpt2/modeling_gpt2.py":572:0)
#f4 = loc("transformers/models/gpt2/modeling_gpt2.py":574:0)
#f5 = loc("transformers/models/gpt2/modeling_gpt2.py":575:0)
#f6 = loc("transformers/models/gpt2/modeling_gpt2.py":581:0)
#f7 = loc("transformers/models/gpt2/modeling_gpt2.py":601:0)
#f8 = loc("transformers/models/gpt2/modeling_gpt2.py":273:0)
#f9 = loc("transformers/pytorch_utils.py":119:0)
#f10 = loc("transformers/pytorch_utils.py":120:0)
#f11 = loc("transformers/models/gpt2/modeling_gpt2.py":185:0)
#f12 = loc("transformers/models/gpt2/modeling_gpt2.py":187:0)
#f13 = loc("transformers/models/gpt2/modeling_gpt2.py":188:0)
#f14 = loc("transformers/models/gpt2/modeling_gpt2.py":191:0)
#f15 = loc("transformers/models/gpt2/modeling_gpt2.py":196:0)
#f16 = loc("transformers/models/gpt2/modeling_gpt2.py":211:0)
#f17 = loc("transformers/models/gpt2/modeling_gpt2.py":222:0)
#f18 = loc("transformers/models/gpt2/modeling_gpt2.py":224:0)
#f19 = loc("transformers/models/gpt2/modeling_gpt2.py":282:0)
#f20 = loc("transformers/models/gpt2/modeling_gpt2.py":304:0)
#f21 = loc("transformers/activations.py":66:0)
#f22 = loc("transformers/models/gpt2/modeling_gpt2.py":242:0)
#f23 = loc("transformers/models/gpt2/modeling_gpt2.py":307:0)
#f24 = loc("transformers/models/gpt2/modeling_gpt2.py":617:0)
#f25 = loc("transformers/models/gpt2/modeling_gpt2.py":619:0)
#f26 = loc("transformers/models/gpt2/modeling_gpt2.py":694:0)
#f27 = loc("transformers/models/gpt2/modeling_gpt2.py":695:0)
#f28 = loc("transformers/models/gpt2/modeling_gpt2.py":700:0)
module attributes {aten.format = 1 : i64, aten.torch = "2.13.0", aten.values = "gpt2.safetensors"} {
  func.func @main(%arg0: tensor<40x16xf32> {aten.parameter = "lm.transformer.wte.weight", aten.names = ["lm.transformer.wte.weight", "lm.lm_head.weight"]},
                  %arg1: tensor<32x16xf32> {aten.parameter = "lm.transformer.wpe.weight"},
                  %arg2: tensor<16xf32> {aten.parameter = "lm.transformer.h.0.ln_1.weight"},
                  %arg3: tensor<16xf32> {aten.parameter = "lm.transformer.h.0.ln_1.bias"},
                  %arg4: tensor<16x48xf32> {aten.parameter = "lm.transformer.h.0.attn.c_attn.weight"},
                  %arg5: tensor<48xf32> {aten.parameter = "lm.transformer.h.0.attn.c_attn.bias"},
                  %arg6: tensor<16x16xf32> {aten.parameter = "lm.transformer.h.0.attn.c_proj.weight"},
                  %arg7: tensor<16xf32> {aten.parameter = "lm.transformer.h.0.attn.c_proj.bias"},
                  %arg8: tensor<16xf32> {aten.parameter = "lm.transformer.h.0.ln_2.weight"},
                  %arg9: tensor<16xf32> {aten.parameter = "lm.transformer.h.0.ln_2.bias"},
                  %arg10: tensor<16x64xf32> {aten.parameter = "lm.transformer.h.0.mlp.c_fc.weight"},
                  %arg11: tensor<64xf32> {aten.parameter = "lm.transformer.h.0.mlp.c_fc.bias"},
                  %arg12: tensor<64x16xf32> {aten.parameter = "lm.transformer.h.0.mlp.c_proj.weight"},
                  %arg13: tensor<16xf32> {aten.parameter = "lm.transformer.h.0.mlp.c_proj.bias"},
                  %arg14: tensor<16xf32> {aten.parameter = "lm.transformer.h.1.ln_1.weight"},
                  %arg15: tensor<16xf32> {aten.parameter = "lm.transformer.h.1.ln_1.bias"},
                  %arg16: tensor<16x48xf32> {aten.parameter = "lm.transformer.h.1.attn.c_attn.weight"},
                  %arg17: tensor<48xf32> {aten.parameter = "lm.transformer.h.1.attn.c_attn.bias"},
                  %arg18: tensor<16x16xf32> {aten.parameter = "lm.transformer.h.1.attn.c_proj.weight"},
                  %arg19: tensor<16xf32> {aten.parameter = "lm.transformer.h.1.attn.c_proj.bias"},
                  %arg20: tensor<16xf32> {aten.parameter = "lm.transformer.h.1.ln_2.weight"},
                  %arg21: tensor<16xf32> {aten.parameter = "lm.transformer.h.1.ln_2.bias"},
                  %arg22: tensor<16x64xf32> {aten.parameter = "lm.transformer.h.1.mlp.c_fc.weight"},
                  %arg23: tensor<64xf32> {aten.parameter = "lm.transformer.h.1.mlp.c_fc.bias"},
                  %arg24: tensor<64x16xf32> {aten.parameter = "lm.transformer.h.1.mlp.c_proj.weight"},
                  %arg25: tensor<16xf32> {aten.parameter = "lm.transformer.h.1.mlp.c_proj.bias"},
                  %arg26: tensor<16xf32> {aten.parameter = "lm.transformer.ln_f.weight"},
                  %arg27: tensor<16xf32> {aten.parameter = "lm.transformer.ln_f.bias"},
                  %arg28: tensor<0xf32> {aten.constant = "lm.transformer.h.0.attn.lifted_tensor_0"},
                  %arg29: tensor<0xf32> {aten.constant = "lm.transformer.h.0.attn.lifted_tensor_1"},
                  %arg30: tensor<0xf32> {aten.constant = "lm.transformer.h.1.attn.lifted_tensor_2"},
                  %arg31: tensor<0xf32> {aten.constant = "lm.transformer.h.1.attn.lifted_tensor_3"},
                  %arg32: tensor<2x12xi64> {aten.input = "input_ids"},
                  %arg33: tensor<2x12xi64> {aten.input = "labels"})
      -> (tensor<f32> {aten.output = "loss"}) {
    %none = "aten.none"() : () -> none
    %view = "aten.view"(%arg32) {size = array<i64: -1, 12>} : (tensor<2x12xi64>) -> tensor<2x12xi64> loc("lm.transformer (view)"(#f0))
    %embedding = "aten.embedding"(%arg0, %view) : (tensor<40x16xf32>, tensor<2x12xi64>) -> tensor<2x12x16xf32> loc("lm.transformer.wte (embedding)"(#f1))
    %arange = "aten.arange.start_step"() {start = 0 : i64, end = 12 : i64} : () -> tensor<12xi64> loc("lm.transformer (arange)"(#f2))
    %add = "aten.add.Tensor"(%arange) {other = 0 : i64} : (tensor<12xi64>) -> tensor<12xi64> loc("lm.transformer (add)"(#f2))
    %unsqueeze = "aten.unsqueeze"(%add) {dim = 0 : i64} : (tensor<12xi64>) -> tensor<1x12xi64> loc("lm.transformer (unsqueeze)"(#f3))
    %embedding_1 = "aten.embedding"(%arg1, %unsqueeze) : (tensor<32x16xf32>, tensor<1x12xi64>) -> tensor<1x12x16xf32> loc("lm.transformer.wpe (embedding_1)"(#f4))
    %add_1 = "aten.add.Tensor"(%embedding, %embedding_1) : (tensor<2x12x16xf32>, tensor<1x12x16xf32>) -> tensor<2x12x16xf32> loc("lm.transformer (add_1)"(#f5))
    %arange_3 = "aten.arange.start_step"() {start = 0 : i64, end = 12 : i64} : () -> tensor<12xi64> loc("lm.transformer (arange_3)"(#f6))
    %add_2 = "aten.add.Tensor"(%arange_3) {other = 0 : i64} : (tensor<12xi64>) -> tensor<12xi64> loc("lm.transformer (add_2)"(#f6))
    %arange_4 = "aten.arange.start_step"() {start = 0 : i64, end = 12 : i64} : () -> tensor<12xi64> loc("lm.transformer (arange_4)"(#f6))
    %add_3 = "aten.add.Tensor"(%arange_4) {other = 0 : i64} : (tensor<12xi64>) -> tensor<12xi64> loc("lm.transformer (add_3)"(#f6))
    %unsqueeze_7 = "aten.unsqueeze"(%add_2) {dim = 0 : i64} : (tensor<12xi64>) -> tensor<1x12xi64> loc("lm.transformer (unsqueeze_7)"(#f6))
    %unsqueeze_8 = "aten.unsqueeze"(%unsqueeze_7) {dim = 1 : i64} : (tensor<1x12xi64>) -> tensor<1x1x12xi64> loc("lm.transformer (unsqueeze_8)"(#f6))
    %unsqueeze_9 = "aten.unsqueeze"(%unsqueeze_8) {dim = 3 : i64} : (tensor<1x1x12xi64>) -> tensor<1x1x12x1xi64> loc("lm.transformer (unsqueeze_9)"(#f6))
    %unsqueeze_10 = "aten.unsqueeze"(%add_3) {dim = 0 : i64} : (tensor<12xi64>) -> tensor<1x12xi64> loc("lm.transformer (unsqueeze_10)"(#f6))
    %unsqueeze_11 = "aten.unsqueeze"(%unsqueeze_10) {dim = 1 : i64} : (tensor<1x12xi64>) -> tensor<1x1x12xi64> loc("lm.transformer (unsqueeze_11)"(#f6))
    %unsqueeze_12 = "aten.unsqueeze"(%unsqueeze_11) {dim = 2 : i64} : (tensor<1x1x12xi64>) -> tensor<1x1x1x12xi64> loc("lm.transformer (unsqueeze_12)"(#f6))
    %le = "aten.le.Tensor"(%unsqueeze_12, %unsqueeze_9) : (tensor<1x1x1x12xi64>, tensor<1x1x12x1xi64>) -> tensor<1x1x12x12xi1> loc("lm.transformer (le)"(#f6))
    %expand = "aten.expand"(%le) {size = array<i64: 2, -1, 12, 12>} : (tensor<1x1x12x12xi1>) -> tensor<2x1x12x12xi1> loc("lm.transformer (expand)"(#f6))
    %clone = "aten.clone"(%add_1) : (tensor<2x12x16xf32>) -> tensor<2x12x16xf32> loc("lm.transformer.drop (clone)"(#f7))
    %layer_norm = "aten.layer_norm"(%clone, %arg2, %arg3) {normalized_shape = array<i64: 16>, eps = 1.0e-05 : f64, cudnn_enable = false} : (tensor<2x12x16xf32>, tensor<16xf32>, tensor<16xf32>) -> tensor<2x12x16xf32> loc("lm.transformer.h.0.ln_1 (layer_norm)"(#f8))
    %view_1 = "aten.view"(%layer_norm) {size = array<i64: -1, 16>} : (tensor<2x12x16xf32>) -> tensor<24x16xf32> loc("lm.transformer.h.0.attn.c_attn (view_1)"(#f9))
    %addmm = "aten.addmm"(%arg5, %view_1, %arg4) : (tensor<48xf32>, tensor<24x16xf32>, tensor<16x48xf32>) -> tensor<24x48xf32> loc("lm.transformer.h.0.attn.c_attn (addmm)"(#f9))
    %view_2 = "aten.view"(%addmm) {size = array<i64: 2, 12, 48>} : (tensor<24x48xf32>) -> tensor<2x12x48xf32> loc("lm.transformer.h.0.attn.c_attn (view_2)"(#f10))
    %split_with_sizes:3 = "aten.split_with_sizes"(%view_2) {split_sizes = array<i64: 16, 16, 16>, dim = 2 : i64} : (tensor<2x12x48xf32>) -> (tensor<2x12x16xf32>, tensor<2x12x16xf32>, tensor<2x12x16xf32>) loc("lm.transformer.h.0.attn (split_with_sizes)"(#f11))
    %view_3 = "aten.view"(%split_with_sizes#1) {size = array<i64: 2, 12, -1, 4>} : (tensor<2x12x16xf32>) -> tensor<2x12x4x4xf32> loc("lm.transformer.h.0.attn (view_3)"(#f12))
    %permute = "aten.permute"(%view_3) {dims = array<i64: 0, 2, 1, 3>} : (tensor<2x12x4x4xf32>) -> tensor<2x4x12x4xf32> loc("lm.transformer.h.0.attn (permute)"(#f12))
    %view_4 = "aten.view"(%split_with_sizes#2) {size = array<i64: 2, 12, -1, 4>} : (tensor<2x12x16xf32>) -> tensor<2x12x4x4xf32> loc("lm.transformer.h.0.attn (view_4)"(#f13))
    %permute_1 = "aten.permute"(%view_4) {dims = array<i64: 0, 2, 1, 3>} : (tensor<2x12x4x4xf32>) -> tensor<2x4x12x4xf32> loc("lm.transformer.h.0.attn (permute_1)"(#f13))
    %view_5 = "aten.view"(%split_with_sizes#0) {size = array<i64: 2, 12, -1, 4>} : (tensor<2x12x16xf32>) -> tensor<2x12x4x4xf32> loc("lm.transformer.h.0.attn (view_5)"(#f14))
    %permute_2 = "aten.permute"(%view_5) {dims = array<i64: 0, 2, 1, 3>} : (tensor<2x12x4x4xf32>) -> tensor<2x4x12x4xf32> loc("lm.transformer.h.0.attn (permute_2)"(#f14))
    %clone_1 = "aten.clone"(%arg28) : (tensor<0xf32>) -> tensor<0xf32> loc("lm.transformer.h.0.attn (clone_1)"(#f15))
    %detach = "aten.detach"(%clone_1) : (tensor<0xf32>) -> tensor<0xf32> loc("lm.transformer.h.0.attn (detach)"(#f15))
    %clone_2 = "aten.clone"(%arg29) : (tensor<0xf32>) -> tensor<0xf32> loc("lm.transformer.h.0.attn (clone_2)"(#f15))
    %detach_1 = "aten.detach"(%clone_2) : (tensor<0xf32>) -> tensor<0xf32> loc("lm.transformer.h.0.attn (detach_1)"(#f15))
    %cat = "aten.cat"(%detach, %permute) {dim = -2 : i64} : (tensor<0xf32>, tensor<2x4x12x4xf32>) -> tensor<2x4x12x4xf32> loc("lm.transformer.h.0.attn (cat)"(#f15))
    %cat_1 = "aten.cat"(%detach_1, %permute_1) {dim = -2 : i64} : (tensor<0xf32>, tensor<2x4x12x4xf32>) -> tensor<2x4x12x4xf32> loc("lm.transformer.h.0.attn (cat_1)"(#f15))
    %scaled_dot_product_attention = "aten.scaled_dot_product_attention"(%permute_2, %cat, %cat_1, %expand) {scale = 0.5 : f64} : (tensor<2x4x12x4xf32>, tensor<2x4x12x4xf32>, tensor<2x4x12x4xf32>, tensor<2x1x12x12xi1>) -> tensor<2x4x12x4xf32> loc("lm.transformer.h.0.attn (scaled_dot_product_attention)"(#f16))
    %view_6 = "aten.view"(%scaled_dot_product_attention) {size = array<i64: 2, 4, 12, 4>} : (tensor<2x4x12x4xf32>) -> tensor<2x4x12x4xf32> loc("lm.transformer.h.0.attn (view_6)"(#f16))
    %permute_3 = "aten.permute"(%view_6) {dims = array<i64: 0, 2, 1, 3>} : (tensor<2x4x12x4xf32>) -> tensor<2x12x4x4xf32> loc("lm.transformer.h.0.attn (permute_3)"(#f16))
    %view_7 = "aten.view"(%permute_3) {size = array<i64: 2, 12, -1>} : (tensor<2x12x4x4xf32>) -> tensor<2x12x16xf32> loc("lm.transformer.h.0.attn (view_7)"(#f17))
    %view_8 = "aten.view"(%view_7) {size = array<i64: -1, 16>} : (tensor<2x12x16xf32>) -> tensor<24x16xf32> loc("lm.transformer.h.0.attn.c_proj (view_8)"(#f9))
    %addmm_1 = "aten.addmm"(%arg7, %view_8, %arg6) : (tensor<16xf32>, tensor<24x16xf32>, tensor<16x16xf32>) -> tensor<24x16xf32> loc("lm.transformer.h.0.attn.c_proj (addmm_1)"(#f9))
    %view_9 = "aten.view"(%addmm_1) {size = array<i64: 2, 12, 16>} : (tensor<24x16xf32>) -> tensor<2x12x16xf32> loc("lm.transformer.h.0.attn.c_proj (view_9)"(#f10))
    %clone_3 = "aten.clone"(%view_9) : (tensor<2x12x16xf32>) -> tensor<2x12x16xf32> loc("lm.transformer.h.0.attn.resid_dropout (clone_3)"(#f18))
    %add_4 = "aten.add.Tensor"(%clone_3, %clone) : (tensor<2x12x16xf32>, tensor<2x12x16xf32>) -> tensor<2x12x16xf32> loc("lm.transformer.h.0 (add_4)"(#f19))
    %layer_norm_1 = "aten.layer_norm"(%add_4, %arg8, %arg9) {normalized_shape = array<i64: 16>, eps = 1.0e-05 : f64, cudnn_enable = false} : (tensor<2x12x16xf32>, tensor<16xf32>, tensor<16xf32>) -> tensor<2x12x16xf32> loc("lm.transformer.h.0.ln_2 (layer_norm_1)"(#f20))
    %view_10 = "aten.view"(%layer_norm_1) {size = array<i64: -1, 16>} : (tensor<2x12x16xf32>) -> tensor<24x16xf32> loc("lm.transformer.h.0.mlp.c_fc (view_10)"(#f9))
    %addmm_2 = "aten.addmm"(%arg11, %view_10, %arg10) : (tensor<64xf32>, tensor<24x16xf32>, tensor<16x64xf32>) -> tensor<24x64xf32> loc("lm.transformer.h.0.mlp.c_fc (addmm_2)"(#f9))
    %view_11 = "aten.view"(%addmm_2) {size = array<i64: 2, 12, 64>} : (tensor<24x64xf32>) -> tensor<2x12x64xf32> loc("lm.transformer.h.0.mlp.c_fc (view_11)"(#f10))
    %mul = "aten.mul.Tensor"(%view_11) {other = 0.5 : f64} : (tensor<2x12x64xf32>) -> tensor<2x12x64xf32> loc("lm.transformer.h.0.mlp.act (mul)"(#f21))
    %pow_1 = "aten.pow.Tensor_Scalar"(%view_11) {exponent = 3.0 : f64} : (tensor<2x12x64xf32>) -> tensor<2x12x64xf32> loc("lm.transformer.h.0.mlp.act (pow_1)"(#f21))
    %mul_1 = "aten.mul.Tensor"(%pow_1) {other = 0.044715 : f64} : (tensor<2x12x64xf32>) -> tensor<2x12x64xf32> loc("lm.transformer.h.0.mlp.act (mul_1)"(#f21))
    %add_5 = "aten.add.Tensor"(%view_11, %mul_1) : (tensor<2x12x64xf32>, tensor<2x12x64xf32>) -> tensor<2x12x64xf32> loc("lm.transformer.h.0.mlp.act (add_5)"(#f21))
    %mul_2 = "aten.mul.Tensor"(%add_5) {other = 0.7978845608028654 : f64} : (tensor<2x12x64xf32>) -> tensor<2x12x64xf32> loc("lm.transformer.h.0.mlp.act (mul_2)"(#f21))
    %tanh = "aten.tanh"(%mul_2) : (tensor<2x12x64xf32>) -> tensor<2x12x64xf32> loc("lm.transformer.h.0.mlp.act (tanh)"(#f21))
    %add_6 = "aten.add.Tensor"(%tanh) {other = 1.0 : f64} : (tensor<2x12x64xf32>) -> tensor<2x12x64xf32> loc("lm.transformer.h.0.mlp.act (add_6)"(#f21))
    %mul_3 = "aten.mul.Tensor"(%mul, %add_6) : (tensor<2x12x64xf32>, tensor<2x12x64xf32>) -> tensor<2x12x64xf32> loc("lm.transformer.h.0.mlp.act (mul_3)"(#f21))
    %view_12 = "aten.view"(%mul_3) {size = array<i64: -1, 64>} : (tensor<2x12x64xf32>) -> tensor<24x64xf32> loc("lm.transformer.h.0.mlp.c_proj (view_12)"(#f9))
    %addmm_3 = "aten.addmm"(%arg13, %view_12, %arg12) : (tensor<16xf32>, tensor<24x64xf32>, tensor<64x16xf32>) -> tensor<24x16xf32> loc("lm.transformer.h.0.mlp.c_proj (addmm_3)"(#f9))
    %view_13 = "aten.view"(%addmm_3) {size = array<i64: 2, 12, 16>} : (tensor<24x16xf32>) -> tensor<2x12x16xf32> loc("lm.transformer.h.0.mlp.c_proj (view_13)"(#f10))
    %clone_4 = "aten.clone"(%view_13) : (tensor<2x12x16xf32>) -> tensor<2x12x16xf32> loc("lm.transformer.h.0.mlp.dropout (clone_4)"(#f22))
    %add_7 = "aten.add.Tensor"(%add_4, %clone_4) : (tensor<2x12x16xf32>, tensor<2x12x16xf32>) -> tensor<2x12x16xf32> loc("lm.transformer.h.0 (add_7)"(#f23))
    %layer_norm_2 = "aten.layer_norm"(%add_7, %arg14, %arg15) {normalized_shape = array<i64: 16>, eps = 1.0e-05 : f64, cudnn_enable = false} : (tensor<2x12x16xf32>, tensor<16xf32>, tensor<16xf32>) -> tensor<2x12x16xf32> loc("lm.transformer.h.1.ln_1 (layer_norm_2)"(#f8))
    %view_14 = "aten.view"(%layer_norm_2) {size = array<i64: -1, 16>} : (tensor<2x12x16xf32>) -> tensor<24x16xf32> loc("lm.transformer.h.1.attn.c_attn (view_14)"(#f9))
    %addmm_4 = "aten.addmm"(%arg17, %view_14, %arg16) : (tensor<48xf32>, tensor<24x16xf32>, tensor<16x48xf32>) -> tensor<24x48xf32> loc("lm.transformer.h.1.attn.c_attn (addmm_4)"(#f9))
    %view_15 = "aten.view"(%addmm_4) {size = array<i64: 2, 12, 48>} : (tensor<24x48xf32>) -> tensor<2x12x48xf32> loc("lm.transformer.h.1.attn.c_attn (view_15)"(#f10))
    %split_with_sizes_1:3 = "aten.split_with_sizes"(%view_15) {split_sizes = array<i64: 16, 16, 16>, dim = 2 : i64} : (tensor<2x12x48xf32>) -> (tensor<2x12x16xf32>, tensor<2x12x16xf32>, tensor<2x12x16xf32>) loc("lm.transformer.h.1.attn (split_with_sizes_1)"(#f11))
    %view_16 = "aten.view"(%split_with_sizes_1#1) {size = array<i64: 2, 12, -1, 4>} : (tensor<2x12x16xf32>) -> tensor<2x12x4x4xf32> loc("lm.transformer.h.1.attn (view_16)"(#f12))
    %permute_4 = "aten.permute"(%view_16) {dims = array<i64: 0, 2, 1, 3>} : (tensor<2x12x4x4xf32>) -> tensor<2x4x12x4xf32> loc("lm.transformer.h.1.attn (permute_4)"(#f12))
    %view_17 = "aten.view"(%split_with_sizes_1#2) {size = array<i64: 2, 12, -1, 4>} : (tensor<2x12x16xf32>) -> tensor<2x12x4x4xf32> loc("lm.transformer.h.1.attn (view_17)"(#f13))
    %permute_5 = "aten.permute"(%view_17) {dims = array<i64: 0, 2, 1, 3>} : (tensor<2x12x4x4xf32>) -> tensor<2x4x12x4xf32> loc("lm.transformer.h.1.attn (permute_5)"(#f13))
    %view_18 = "aten.view"(%split_with_sizes_1#0) {size = array<i64: 2, 12, -1, 4>} : (tensor<2x12x16xf32>) -> tensor<2x12x4x4xf32> loc("lm.transformer.h.1.attn (view_18)"(#f14))
    %permute_6 = "aten.permute"(%view_18) {dims = array<i64: 0, 2, 1, 3>} : (tensor<2x12x4x4xf32>) -> tensor<2x4x12x4xf32> loc("lm.transformer.h.1.attn (permute_6)"(#f14))
    %clone_5 = "aten.clone"(%arg30) : (tensor<0xf32>) -> tensor<0xf32> loc("lm.transformer.h.1.attn (clone_5)"(#f15))
    %detach_2 = "aten.detach"(%clone_5) : (tensor<0xf32>) -> tensor<0xf32> loc("lm.transformer.h.1.attn (detach_2)"(#f15))
    %clone_6 = "aten.clone"(%arg31) : (tensor<0xf32>) -> tensor<0xf32> loc("lm.transformer.h.1.attn (clone_6)"(#f15))
    %detach_3 = "aten.detach"(%clone_6) : (tensor<0xf32>) -> tensor<0xf32> loc("lm.transformer.h.1.attn (detach_3)"(#f15))
    %cat_2 = "aten.cat"(%detach_2, %permute_4) {dim = -2 : i64} : (tensor<0xf32>, tensor<2x4x12x4xf32>) -> tensor<2x4x12x4xf32> loc("lm.transformer.h.1.attn (cat_2)"(#f15))
    %cat_3 = "aten.cat"(%detach_3, %permute_5) {dim = -2 : i64} : (tensor<0xf32>, tensor<2x4x12x4xf32>) -> tensor<2x4x12x4xf32> loc("lm.transformer.h.1.attn (cat_3)"(#f15))
    %scaled_dot_product_attention_1 = "aten.scaled_dot_product_attention"(%permute_6, %cat_2, %cat_3, %expand) {scale = 0.5 : f64} : (tensor<2x4x12x4xf32>, tensor<2x4x12x4xf32>, tensor<2x4x12x4xf32>, tensor<2x1x12x12xi1>) -> tensor<2x4x12x4xf32> loc("lm.transformer.h.1.attn (scaled_dot_product_attention_1)"(#f16))
    %view_19 = "aten.view"(%scaled_dot_product_attention_1) {size = array<i64: 2, 4, 12, 4>} : (tensor<2x4x12x4xf32>) -> tensor<2x4x12x4xf32> loc("lm.transformer.h.1.attn (view_19)"(#f16))
    %permute_7 = "aten.permute"(%view_19) {dims = array<i64: 0, 2, 1, 3>} : (tensor<2x4x12x4xf32>) -> tensor<2x12x4x4xf32> loc("lm.transformer.h.1.attn (permute_7)"(#f16))
    %view_20 = "aten.view"(%permute_7) {size = array<i64: 2, 12, -1>} : (tensor<2x12x4x4xf32>) -> tensor<2x12x16xf32> loc("lm.transformer.h.1.attn (view_20)"(#f17))
    %view_21 = "aten.view"(%view_20) {size = array<i64: -1, 16>} : (tensor<2x12x16xf32>) -> tensor<24x16xf32> loc("lm.transformer.h.1.attn.c_proj (view_21)"(#f9))
    %addmm_5 = "aten.addmm"(%arg19, %view_21, %arg18) : (tensor<16xf32>, tensor<24x16xf32>, tensor<16x16xf32>) -> tensor<24x16xf32> loc("lm.transformer.h.1.attn.c_proj (addmm_5)"(#f9))
    %view_22 = "aten.view"(%addmm_5) {size = array<i64: 2, 12, 16>} : (tensor<24x16xf32>) -> tensor<2x12x16xf32> loc("lm.transformer.h.1.attn.c_proj (view_22)"(#f10))
    %clone_7 = "aten.clone"(%view_22) : (tensor<2x12x16xf32>) -> tensor<2x12x16xf32> loc("lm.transformer.h.1.attn.resid_dropout (clone_7)"(#f18))
    %add_8 = "aten.add.Tensor"(%clone_7, %add_7) : (tensor<2x12x16xf32>, tensor<2x12x16xf32>) -> tensor<2x12x16xf32> loc("lm.transformer.h.1 (add_8)"(#f19))
    %layer_norm_3 = "aten.layer_norm"(%add_8, %arg20, %arg21) {normalized_shape = array<i64: 16>, eps = 1.0e-05 : f64, cudnn_enable = false} : (tensor<2x12x16xf32>, tensor<16xf32>, tensor<16xf32>) -> tensor<2x12x16xf32> loc("lm.transformer.h.1.ln_2 (layer_norm_3)"(#f20))
    %view_23 = "aten.view"(%layer_norm_3) {size = array<i64: -1, 16>} : (tensor<2x12x16xf32>) -> tensor<24x16xf32> loc("lm.transformer.h.1.mlp.c_fc (view_23)"(#f9))
    %addmm_6 = "aten.addmm"(%arg23, %view_23, %arg22) : (tensor<64xf32>, tensor<24x16xf32>, tensor<16x64xf32>) -> tensor<24x64xf32> loc("lm.transformer.h.1.mlp.c_fc (addmm_6)"(#f9))
    %view_24 = "aten.view"(%addmm_6) {size = array<i64: 2, 12, 64>} : (tensor<24x64xf32>) -> tensor<2x12x64xf32> loc("lm.transformer.h.1.mlp.c_fc (view_24)"(#f10))
    %mul_4 = "aten.mul.Tensor"(%view_24) {other = 0.5 : f64} : (tensor<2x12x64xf32>) -> tensor<2x12x64xf32> loc("lm.transformer.h.1.mlp.act (mul_4)"(#f21))
    %pow_2 = "aten.pow.Tensor_Scalar"(%view_24) {exponent = 3.0 : f64} : (tensor<2x12x64xf32>) -> tensor<2x12x64xf32> loc("lm.transformer.h.1.mlp.act (pow_2)"(#f21))
    %mul_5 = "aten.mul.Tensor"(%pow_2) {other = 0.044715 : f64} : (tensor<2x12x64xf32>) -> tensor<2x12x64xf32> loc("lm.transformer.h.1.mlp.act (mul_5)"(#f21))
    %add_9 = "aten.add.Tensor"(%view_24, %mul_5) : (tensor<2x12x64xf32>, tensor<2x12x64xf32>) -> tensor<2x12x64xf32> loc("lm.transformer.h.1.mlp.act (add_9)"(#f21))
    %mul_6 = "aten.mul.Tensor"(%add_9) {other = 0.7978845608028654 : f64} : (tensor<2x12x64xf32>) -> tensor<2x12x64xf32> loc("lm.transformer.h.1.mlp.act (mul_6)"(#f21))
    %tanh_1 = "aten.tanh"(%mul_6) : (tensor<2x12x64xf32>) -> tensor<2x12x64xf32> loc("lm.transformer.h.1.mlp.act (tanh_1)"(#f21))
    %add_10 = "aten.add.Tensor"(%tanh_1) {other = 1.0 : f64} : (tensor<2x12x64xf32>) -> tensor<2x12x64xf32> loc("lm.transformer.h.1.mlp.act (add_10)"(#f21))
    %mul_7 = "aten.mul.Tensor"(%mul_4, %add_10) : (tensor<2x12x64xf32>, tensor<2x12x64xf32>) -> tensor<2x12x64xf32> loc("lm.transformer.h.1.mlp.act (mul_7)"(#f21))
    %view_25 = "aten.view"(%mul_7) {size = array<i64: -1, 64>} : (tensor<2x12x64xf32>) -> tensor<24x64xf32> loc("lm.transformer.h.1.mlp.c_proj (view_25)"(#f9))
    %addmm_7 = "aten.addmm"(%arg25, %view_25, %arg24) : (tensor<16xf32>, tensor<24x64xf32>, tensor<64x16xf32>) -> tensor<24x16xf32> loc("lm.transformer.h.1.mlp.c_proj (addmm_7)"(#f9))
    %view_26 = "aten.view"(%addmm_7) {size = array<i64: 2, 12, 16>} : (tensor<24x16xf32>) -> tensor<2x12x16xf32> loc("lm.transformer.h.1.mlp.c_proj (view_26)"(#f10))
    %clone_8 = "aten.clone"(%view_26) : (tensor<2x12x16xf32>) -> tensor<2x12x16xf32> loc("lm.transformer.h.1.mlp.dropout (clone_8)"(#f22))
    %add_11 = "aten.add.Tensor"(%add_8, %clone_8) : (tensor<2x12x16xf32>, tensor<2x12x16xf32>) -> tensor<2x12x16xf32> loc("lm.transformer.h.1 (add_11)"(#f23))
    %layer_norm_4 = "aten.layer_norm"(%add_11, %arg26, %arg27) {normalized_shape = array<i64: 16>, eps = 1.0e-05 : f64, cudnn_enable = false} : (tensor<2x12x16xf32>, tensor<16xf32>, tensor<16xf32>) -> tensor<2x12x16xf32> loc("lm.transformer.ln_f (layer_norm_4)"(#f24))
    %view_27 = "aten.view"(%layer_norm_4) {size = array<i64: -1, 12, 16>} : (tensor<2x12x16xf32>) -> tensor<2x12x16xf32> loc("lm.transformer (view_27)"(#f25))
    %alias = "aten.alias"(%view_27) : (tensor<2x12x16xf32>) -> tensor<2x12x16xf32> loc("lm (alias)"(#f26))
    %linear = "aten.linear"(%alias, %arg0) : (tensor<2x12x16xf32>, tensor<40x16xf32>) -> tensor<2x12x40xf32> loc("lm.lm_head (linear)"(#f27))
    %constant_pad_nd = "aten.constant_pad_nd"(%arg33) {pad = array<i64: 0, 1>, value = -100.0 : f64} : (tensor<2x12xi64>) -> tensor<2x13xi64> loc("lm (constant_pad_nd)"(#f28))
    %slice_1 = "aten.slice.Tensor"(%constant_pad_nd) {dim = 1 : i64, start = 1 : i64, end = 9223372036854775807 : i64} : (tensor<2x13xi64>) -> tensor<2x12xi64> loc("lm (slice_1)"(#f28))
    %clone_9 = "aten.clone"(%slice_1) : (tensor<2x12xi64>) -> tensor<2x12xi64> loc("lm (clone_9)"(#f28))
    %view_28 = "aten.view"(%linear) {size = array<i64: -1, 40>} : (tensor<2x12x40xf32>) -> tensor<24x40xf32> loc("lm (view_28)"(#f28))
    %view_29 = "aten.view"(%clone_9) {size = array<i64: -1>} : (tensor<2x12xi64>) -> tensor<24xi64> loc("lm (view_29)"(#f28))
    %cross_entropy_loss = "aten.cross_entropy_loss"(%view_28, %view_29) : (tensor<24x40xf32>, tensor<24xi64>) -> tensor<f32> loc("lm (cross_entropy_loss)"(#f28))
    return %cross_entropy_loss : tensor<f32>
  }
}
