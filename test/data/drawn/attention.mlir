module attributes {aten.format = 1 : i64, aten.torch = "2.13.0"} {
  func.func @main(%arg0: tensor<12x12xf32> {aten.parameter = "a.q.weight"},
                  %arg1: tensor<12xf32> {aten.parameter = "a.q.bias"},
                  %arg2: tensor<12x12xf32> {aten.parameter = "a.o.weight"},
                  %arg3: tensor<12xf32> {aten.parameter = "a.o.bias"},
                  %arg4: tensor<12x12xf32> {aten.parameter = "a.k.weight"},
                  %arg5: tensor<12xf32> {aten.parameter = "a.k.bias"},
                  %arg6: tensor<12x12xf32> {aten.parameter = "a.v.weight"},
                  %arg7: tensor<12xf32> {aten.parameter = "a.v.bias"},
                  %arg8: tensor<12xf32> {aten.parameter = "n.weight"},
                  %arg9: tensor<12xf32> {aten.parameter = "n.bias"},
                  %arg10: tensor<2x6x12xf32> {aten.input = "x"})
      -> (tensor<f32> {aten.output = "loss"}) {
    %none = "aten.none"() : () -> none
    %layer_norm = "aten.layer_norm"(%arg10, %arg8, %arg9) {normalized_shape = array<i64: 12>, eps = 1.0e-05 : f64, cudnn_enable = false} : (tensor<2x6x12xf32>, tensor<12xf32>, tensor<12xf32>) -> tensor<2x6x12xf32>
    %linear = "aten.linear"(%layer_norm, %arg0, %arg1) : (tensor<2x6x12xf32>, tensor<12x12xf32>, tensor<12xf32>) -> tensor<2x6x12xf32>
    %view = "aten.view"(%linear) {size = array<i64: 2, 6, -1, 4>} : (tensor<2x6x12xf32>) -> tensor<2x6x3x4xf32>
    %permute = "aten.permute"(%view) {dims = array<i64: 0, 2, 1, 3>} : (tensor<2x6x3x4xf32>) -> tensor<2x3x6x4xf32>
    %linear_1 = "aten.linear"(%layer_norm, %arg4, %arg5) : (tensor<2x6x12xf32>, tensor<12x12xf32>, tensor<12xf32>) -> tensor<2x6x12xf32>
    %view_1 = "aten.view"(%linear_1) {size = array<i64: 2, 6, -1, 4>} : (tensor<2x6x12xf32>) -> tensor<2x6x3x4xf32>
    %permute_1 = "aten.permute"(%view_1) {dims = array<i64: 0, 2, 1, 3>} : (tensor<2x6x3x4xf32>) -> tensor<2x3x6x4xf32>
    %linear_2 = "aten.linear"(%layer_norm, %arg6, %arg7) : (tensor<2x6x12xf32>, tensor<12x12xf32>, tensor<12xf32>) -> tensor<2x6x12xf32>
    %view_2 = "aten.view"(%linear_2) {size = array<i64: 2, 6, -1, 4>} : (tensor<2x6x12xf32>) -> tensor<2x6x3x4xf32>
    %permute_2 = "aten.permute"(%view_2) {dims = array<i64: 0, 2, 1, 3>} : (tensor<2x6x3x4xf32>) -> tensor<2x3x6x4xf32>
    %scaled_dot_product_attention = "aten.scaled_dot_product_attention"(%permute, %permute_1, %permute_2) {dropout_p = 0.0 : f64, is_causal = true} : (tensor<2x3x6x4xf32>, tensor<2x3x6x4xf32>, tensor<2x3x6x4xf32>) -> tensor<2x3x6x4xf32>
    %permute_3 = "aten.permute"(%scaled_dot_product_attention) {dims = array<i64: 0, 2, 1, 3>} : (tensor<2x3x6x4xf32>) -> tensor<2x6x3x4xf32>
    %view_3 = "aten.view"(%permute_3) {size = array<i64: 2, 6, 12>} : (tensor<2x6x3x4xf32>) -> tensor<2x6x12xf32>
    %linear_3 = "aten.linear"(%view_3, %arg2, %arg3) : (tensor<2x6x12xf32>, tensor<12x12xf32>, tensor<12xf32>) -> tensor<2x6x12xf32>
    %add = "aten.add.Tensor"(%arg10, %linear_3) : (tensor<2x6x12xf32>, tensor<2x6x12xf32>) -> tensor<2x6x12xf32>
    %pow_1 = "aten.pow.Tensor_Scalar"(%add) {exponent = 2 : i64} : (tensor<2x6x12xf32>) -> tensor<2x6x12xf32>
    %mean = "aten.mean"(%pow_1) : (tensor<2x6x12xf32>) -> tensor<f32>
    return %mean : tensor<f32>
  }
}
