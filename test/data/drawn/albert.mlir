module attributes {aten.format = 1 : i64, aten.torch = "2.13.0", aten.values = "albert.safetensors"} {
  func.func @main(%arg0: tensor<24x12xf32> {aten.parameter = "e.weight", aten.names = ["e.weight", "h.weight"]},
                  %arg1: tensor<12xf32> {aten.parameter = "layers.0.n.weight", aten.names = ["layers.0.n.weight", "layers.1.n.weight", "layers.2.n.weight", "layers.3.n.weight"]},
                  %arg2: tensor<12xf32> {aten.parameter = "layers.0.n.bias", aten.names = ["layers.0.n.bias", "layers.1.n.bias", "layers.2.n.bias", "layers.3.n.bias"]},
                  %arg3: tensor<12x12xf32> {aten.parameter = "layers.0.a.q.weight", aten.names = ["layers.0.a.q.weight", "layers.1.a.q.weight", "layers.2.a.q.weight", "layers.3.a.q.weight"]},
                  %arg4: tensor<12xf32> {aten.parameter = "layers.0.a.q.bias", aten.names = ["layers.0.a.q.bias", "layers.1.a.q.bias", "layers.2.a.q.bias", "layers.3.a.q.bias"]},
                  %arg5: tensor<12x12xf32> {aten.parameter = "layers.0.a.o.weight", aten.names = ["layers.0.a.o.weight", "layers.1.a.o.weight", "layers.2.a.o.weight", "layers.3.a.o.weight"]},
                  %arg6: tensor<12xf32> {aten.parameter = "layers.0.a.o.bias", aten.names = ["layers.0.a.o.bias", "layers.1.a.o.bias", "layers.2.a.o.bias", "layers.3.a.o.bias"]},
                  %arg7: tensor<12x12xf32> {aten.parameter = "layers.0.a.k.weight", aten.names = ["layers.0.a.k.weight", "layers.1.a.k.weight", "layers.2.a.k.weight", "layers.3.a.k.weight"]},
                  %arg8: tensor<12xf32> {aten.parameter = "layers.0.a.k.bias", aten.names = ["layers.0.a.k.bias", "layers.1.a.k.bias", "layers.2.a.k.bias", "layers.3.a.k.bias"]},
                  %arg9: tensor<12x12xf32> {aten.parameter = "layers.0.a.v.weight", aten.names = ["layers.0.a.v.weight", "layers.1.a.v.weight", "layers.2.a.v.weight", "layers.3.a.v.weight"]},
                  %arg10: tensor<12xf32> {aten.parameter = "layers.0.a.v.bias", aten.names = ["layers.0.a.v.bias", "layers.1.a.v.bias", "layers.2.a.v.bias", "layers.3.a.v.bias"]},
                  %arg11: tensor<12xf32> {aten.parameter = "layers.0.m.weight", aten.names = ["layers.0.m.weight", "layers.1.m.weight", "layers.2.m.weight", "layers.3.m.weight"]},
                  %arg12: tensor<12xf32> {aten.parameter = "layers.0.m.bias", aten.names = ["layers.0.m.bias", "layers.1.m.bias", "layers.2.m.bias", "layers.3.m.bias"]},
                  %arg13: tensor<24x12xf32> {aten.parameter = "layers.0.up.weight", aten.names = ["layers.0.up.weight", "layers.1.up.weight", "layers.2.up.weight", "layers.3.up.weight"]},
                  %arg14: tensor<24xf32> {aten.parameter = "layers.0.up.bias", aten.names = ["layers.0.up.bias", "layers.1.up.bias", "layers.2.up.bias", "layers.3.up.bias"]},
                  %arg15: tensor<12x24xf32> {aten.parameter = "layers.0.down.weight", aten.names = ["layers.0.down.weight", "layers.1.down.weight", "layers.2.down.weight", "layers.3.down.weight"]},
                  %arg16: tensor<12xf32> {aten.parameter = "layers.0.down.bias", aten.names = ["layers.0.down.bias", "layers.1.down.bias", "layers.2.down.bias", "layers.3.down.bias"]},
                  %arg17: tensor<2x6xi64> {aten.input = "x"},
                  %arg18: tensor<2x6xi64> {aten.input = "y"})
      -> (tensor<f32> {aten.output = "loss"}) {
    %none = "aten.none"() : () -> none
    %embedding = "aten.embedding"(%arg0, %arg17) : (tensor<24x12xf32>, tensor<2x6xi64>) -> tensor<2x6x12xf32>
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
    %layer_norm_2 = "aten.layer_norm"(%add_1, %arg1, %arg2) {normalized_shape = array<i64: 12>, eps = 1.0e-05 : f64, cudnn_enable = false} : (tensor<2x6x12xf32>, tensor<12xf32>, tensor<12xf32>) -> tensor<2x6x12xf32>
    %linear_6 = "aten.linear"(%layer_norm_2, %arg3, %arg4) : (tensor<2x6x12xf32>, tensor<12x12xf32>, tensor<12xf32>) -> tensor<2x6x12xf32>
    %view_4 = "aten.view"(%linear_6) {size = array<i64: 2, 6, -1, 4>} : (tensor<2x6x12xf32>) -> tensor<2x6x3x4xf32>
    %permute_4 = "aten.permute"(%view_4) {dims = array<i64: 0, 2, 1, 3>} : (tensor<2x6x3x4xf32>) -> tensor<2x3x6x4xf32>
    %linear_7 = "aten.linear"(%layer_norm_2, %arg7, %arg8) : (tensor<2x6x12xf32>, tensor<12x12xf32>, tensor<12xf32>) -> tensor<2x6x12xf32>
    %view_5 = "aten.view"(%linear_7) {size = array<i64: 2, 6, -1, 4>} : (tensor<2x6x12xf32>) -> tensor<2x6x3x4xf32>
    %permute_5 = "aten.permute"(%view_5) {dims = array<i64: 0, 2, 1, 3>} : (tensor<2x6x3x4xf32>) -> tensor<2x3x6x4xf32>
    %linear_8 = "aten.linear"(%layer_norm_2, %arg9, %arg10) : (tensor<2x6x12xf32>, tensor<12x12xf32>, tensor<12xf32>) -> tensor<2x6x12xf32>
    %view_6 = "aten.view"(%linear_8) {size = array<i64: 2, 6, -1, 4>} : (tensor<2x6x12xf32>) -> tensor<2x6x3x4xf32>
    %permute_6 = "aten.permute"(%view_6) {dims = array<i64: 0, 2, 1, 3>} : (tensor<2x6x3x4xf32>) -> tensor<2x3x6x4xf32>
    %scaled_dot_product_attention_1 = "aten.scaled_dot_product_attention"(%permute_4, %permute_5, %permute_6) {dropout_p = 0.0 : f64, is_causal = true} : (tensor<2x3x6x4xf32>, tensor<2x3x6x4xf32>, tensor<2x3x6x4xf32>) -> tensor<2x3x6x4xf32>
    %permute_7 = "aten.permute"(%scaled_dot_product_attention_1) {dims = array<i64: 0, 2, 1, 3>} : (tensor<2x3x6x4xf32>) -> tensor<2x6x3x4xf32>
    %view_7 = "aten.view"(%permute_7) {size = array<i64: 2, 6, 12>} : (tensor<2x6x3x4xf32>) -> tensor<2x6x12xf32>
    %linear_9 = "aten.linear"(%view_7, %arg5, %arg6) : (tensor<2x6x12xf32>, tensor<12x12xf32>, tensor<12xf32>) -> tensor<2x6x12xf32>
    %add_2 = "aten.add.Tensor"(%add_1, %linear_9) : (tensor<2x6x12xf32>, tensor<2x6x12xf32>) -> tensor<2x6x12xf32>
    %layer_norm_3 = "aten.layer_norm"(%add_2, %arg11, %arg12) {normalized_shape = array<i64: 12>, eps = 1.0e-05 : f64, cudnn_enable = false} : (tensor<2x6x12xf32>, tensor<12xf32>, tensor<12xf32>) -> tensor<2x6x12xf32>
    %linear_10 = "aten.linear"(%layer_norm_3, %arg13, %arg14) : (tensor<2x6x12xf32>, tensor<24x12xf32>, tensor<24xf32>) -> tensor<2x6x24xf32>
    %gelu_1 = "aten.gelu"(%linear_10) : (tensor<2x6x24xf32>) -> tensor<2x6x24xf32>
    %linear_11 = "aten.linear"(%gelu_1, %arg15, %arg16) : (tensor<2x6x24xf32>, tensor<12x24xf32>, tensor<12xf32>) -> tensor<2x6x12xf32>
    %add_3 = "aten.add.Tensor"(%add_2, %linear_11) : (tensor<2x6x12xf32>, tensor<2x6x12xf32>) -> tensor<2x6x12xf32>
    %layer_norm_4 = "aten.layer_norm"(%add_3, %arg1, %arg2) {normalized_shape = array<i64: 12>, eps = 1.0e-05 : f64, cudnn_enable = false} : (tensor<2x6x12xf32>, tensor<12xf32>, tensor<12xf32>) -> tensor<2x6x12xf32>
    %linear_12 = "aten.linear"(%layer_norm_4, %arg3, %arg4) : (tensor<2x6x12xf32>, tensor<12x12xf32>, tensor<12xf32>) -> tensor<2x6x12xf32>
    %view_8 = "aten.view"(%linear_12) {size = array<i64: 2, 6, -1, 4>} : (tensor<2x6x12xf32>) -> tensor<2x6x3x4xf32>
    %permute_8 = "aten.permute"(%view_8) {dims = array<i64: 0, 2, 1, 3>} : (tensor<2x6x3x4xf32>) -> tensor<2x3x6x4xf32>
    %linear_13 = "aten.linear"(%layer_norm_4, %arg7, %arg8) : (tensor<2x6x12xf32>, tensor<12x12xf32>, tensor<12xf32>) -> tensor<2x6x12xf32>
    %view_9 = "aten.view"(%linear_13) {size = array<i64: 2, 6, -1, 4>} : (tensor<2x6x12xf32>) -> tensor<2x6x3x4xf32>
    %permute_9 = "aten.permute"(%view_9) {dims = array<i64: 0, 2, 1, 3>} : (tensor<2x6x3x4xf32>) -> tensor<2x3x6x4xf32>
    %linear_14 = "aten.linear"(%layer_norm_4, %arg9, %arg10) : (tensor<2x6x12xf32>, tensor<12x12xf32>, tensor<12xf32>) -> tensor<2x6x12xf32>
    %view_10 = "aten.view"(%linear_14) {size = array<i64: 2, 6, -1, 4>} : (tensor<2x6x12xf32>) -> tensor<2x6x3x4xf32>
    %permute_10 = "aten.permute"(%view_10) {dims = array<i64: 0, 2, 1, 3>} : (tensor<2x6x3x4xf32>) -> tensor<2x3x6x4xf32>
    %scaled_dot_product_attention_2 = "aten.scaled_dot_product_attention"(%permute_8, %permute_9, %permute_10) {dropout_p = 0.0 : f64, is_causal = true} : (tensor<2x3x6x4xf32>, tensor<2x3x6x4xf32>, tensor<2x3x6x4xf32>) -> tensor<2x3x6x4xf32>
    %permute_11 = "aten.permute"(%scaled_dot_product_attention_2) {dims = array<i64: 0, 2, 1, 3>} : (tensor<2x3x6x4xf32>) -> tensor<2x6x3x4xf32>
    %view_11 = "aten.view"(%permute_11) {size = array<i64: 2, 6, 12>} : (tensor<2x6x3x4xf32>) -> tensor<2x6x12xf32>
    %linear_15 = "aten.linear"(%view_11, %arg5, %arg6) : (tensor<2x6x12xf32>, tensor<12x12xf32>, tensor<12xf32>) -> tensor<2x6x12xf32>
    %add_4 = "aten.add.Tensor"(%add_3, %linear_15) : (tensor<2x6x12xf32>, tensor<2x6x12xf32>) -> tensor<2x6x12xf32>
    %layer_norm_5 = "aten.layer_norm"(%add_4, %arg11, %arg12) {normalized_shape = array<i64: 12>, eps = 1.0e-05 : f64, cudnn_enable = false} : (tensor<2x6x12xf32>, tensor<12xf32>, tensor<12xf32>) -> tensor<2x6x12xf32>
    %linear_16 = "aten.linear"(%layer_norm_5, %arg13, %arg14) : (tensor<2x6x12xf32>, tensor<24x12xf32>, tensor<24xf32>) -> tensor<2x6x24xf32>
    %gelu_2 = "aten.gelu"(%linear_16) : (tensor<2x6x24xf32>) -> tensor<2x6x24xf32>
    %linear_17 = "aten.linear"(%gelu_2, %arg15, %arg16) : (tensor<2x6x24xf32>, tensor<12x24xf32>, tensor<12xf32>) -> tensor<2x6x12xf32>
    %add_5 = "aten.add.Tensor"(%add_4, %linear_17) : (tensor<2x6x12xf32>, tensor<2x6x12xf32>) -> tensor<2x6x12xf32>
    %layer_norm_6 = "aten.layer_norm"(%add_5, %arg1, %arg2) {normalized_shape = array<i64: 12>, eps = 1.0e-05 : f64, cudnn_enable = false} : (tensor<2x6x12xf32>, tensor<12xf32>, tensor<12xf32>) -> tensor<2x6x12xf32>
    %linear_18 = "aten.linear"(%layer_norm_6, %arg3, %arg4) : (tensor<2x6x12xf32>, tensor<12x12xf32>, tensor<12xf32>) -> tensor<2x6x12xf32>
    %view_12 = "aten.view"(%linear_18) {size = array<i64: 2, 6, -1, 4>} : (tensor<2x6x12xf32>) -> tensor<2x6x3x4xf32>
    %permute_12 = "aten.permute"(%view_12) {dims = array<i64: 0, 2, 1, 3>} : (tensor<2x6x3x4xf32>) -> tensor<2x3x6x4xf32>
    %linear_19 = "aten.linear"(%layer_norm_6, %arg7, %arg8) : (tensor<2x6x12xf32>, tensor<12x12xf32>, tensor<12xf32>) -> tensor<2x6x12xf32>
    %view_13 = "aten.view"(%linear_19) {size = array<i64: 2, 6, -1, 4>} : (tensor<2x6x12xf32>) -> tensor<2x6x3x4xf32>
    %permute_13 = "aten.permute"(%view_13) {dims = array<i64: 0, 2, 1, 3>} : (tensor<2x6x3x4xf32>) -> tensor<2x3x6x4xf32>
    %linear_20 = "aten.linear"(%layer_norm_6, %arg9, %arg10) : (tensor<2x6x12xf32>, tensor<12x12xf32>, tensor<12xf32>) -> tensor<2x6x12xf32>
    %view_14 = "aten.view"(%linear_20) {size = array<i64: 2, 6, -1, 4>} : (tensor<2x6x12xf32>) -> tensor<2x6x3x4xf32>
    %permute_14 = "aten.permute"(%view_14) {dims = array<i64: 0, 2, 1, 3>} : (tensor<2x6x3x4xf32>) -> tensor<2x3x6x4xf32>
    %scaled_dot_product_attention_3 = "aten.scaled_dot_product_attention"(%permute_12, %permute_13, %permute_14) {dropout_p = 0.0 : f64, is_causal = true} : (tensor<2x3x6x4xf32>, tensor<2x3x6x4xf32>, tensor<2x3x6x4xf32>) -> tensor<2x3x6x4xf32>
    %permute_15 = "aten.permute"(%scaled_dot_product_attention_3) {dims = array<i64: 0, 2, 1, 3>} : (tensor<2x3x6x4xf32>) -> tensor<2x6x3x4xf32>
    %view_15 = "aten.view"(%permute_15) {size = array<i64: 2, 6, 12>} : (tensor<2x6x3x4xf32>) -> tensor<2x6x12xf32>
    %linear_21 = "aten.linear"(%view_15, %arg5, %arg6) : (tensor<2x6x12xf32>, tensor<12x12xf32>, tensor<12xf32>) -> tensor<2x6x12xf32>
    %add_6 = "aten.add.Tensor"(%add_5, %linear_21) : (tensor<2x6x12xf32>, tensor<2x6x12xf32>) -> tensor<2x6x12xf32>
    %layer_norm_7 = "aten.layer_norm"(%add_6, %arg11, %arg12) {normalized_shape = array<i64: 12>, eps = 1.0e-05 : f64, cudnn_enable = false} : (tensor<2x6x12xf32>, tensor<12xf32>, tensor<12xf32>) -> tensor<2x6x12xf32>
    %linear_22 = "aten.linear"(%layer_norm_7, %arg13, %arg14) : (tensor<2x6x12xf32>, tensor<24x12xf32>, tensor<24xf32>) -> tensor<2x6x24xf32>
    %gelu_3 = "aten.gelu"(%linear_22) : (tensor<2x6x24xf32>) -> tensor<2x6x24xf32>
    %linear_23 = "aten.linear"(%gelu_3, %arg15, %arg16) : (tensor<2x6x24xf32>, tensor<12x24xf32>, tensor<12xf32>) -> tensor<2x6x12xf32>
    %add_7 = "aten.add.Tensor"(%add_6, %linear_23) : (tensor<2x6x12xf32>, tensor<2x6x12xf32>) -> tensor<2x6x12xf32>
    %linear_24 = "aten.linear"(%add_7, %arg0) : (tensor<2x6x12xf32>, tensor<24x12xf32>) -> tensor<2x6x24xf32>
    %view_16 = "aten.view"(%linear_24) {size = array<i64: 12, 24>} : (tensor<2x6x24xf32>) -> tensor<12x24xf32>
    %view_17 = "aten.view"(%arg18) {size = array<i64: 12>} : (tensor<2x6xi64>) -> tensor<12xi64>
    %cross_entropy_loss = "aten.cross_entropy_loss"(%view_16, %view_17) : (tensor<12x24xf32>, tensor<12xi64>) -> tensor<f32>
    return %cross_entropy_loss : tensor<f32>
  }
}
