module attributes {aten.format = 1 : i64, aten.torch = "2.13.0"} {
  func.func @main(%arg0: tensor<24x12xf32> {aten.parameter = "a.q.weight"},
                  %arg1: tensor<24xf32> {aten.parameter = "a.q.bias"},
                  %arg2: tensor<12x24xf32> {aten.parameter = "a.o.weight"},
                  %arg3: tensor<12xf32> {aten.parameter = "a.o.bias"},
                  %arg4: tensor<8x12xf32> {aten.parameter = "a.k.weight"},
                  %arg5: tensor<8xf32> {aten.parameter = "a.k.bias"},
                  %arg6: tensor<8x12xf32> {aten.parameter = "a.v.weight"},
                  %arg7: tensor<8xf32> {aten.parameter = "a.v.bias"},
                  %arg8: tensor<16x12xf32> {aten.parameter = "b.q.weight"},
                  %arg9: tensor<16xf32> {aten.parameter = "b.q.bias"},
                  %arg10: tensor<12x16xf32> {aten.parameter = "b.o.weight"},
                  %arg11: tensor<12xf32> {aten.parameter = "b.o.bias"},
                  %arg12: tensor<4x12xf32> {aten.parameter = "b.k.weight"},
                  %arg13: tensor<4xf32> {aten.parameter = "b.k.bias"},
                  %arg14: tensor<4x12xf32> {aten.parameter = "b.v.weight"},
                  %arg15: tensor<4xf32> {aten.parameter = "b.v.bias"},
                  %arg16: tensor<2x6x12xf32> {aten.input = "x"})
      -> (tensor<f32> {aten.output = "loss"}) {
    %none = "aten.none"() : () -> none
    %linear = "aten.linear"(%arg16, %arg0, %arg1) : (tensor<2x6x12xf32>, tensor<24x12xf32>, tensor<24xf32>) -> tensor<2x6x24xf32>
    %view = "aten.view"(%linear) {size = array<i64: 2, 6, -1, 4>} : (tensor<2x6x24xf32>) -> tensor<2x6x6x4xf32>
    %permute = "aten.permute"(%view) {dims = array<i64: 0, 2, 1, 3>} : (tensor<2x6x6x4xf32>) -> tensor<2x6x6x4xf32>
    %linear_1 = "aten.linear"(%arg16, %arg4, %arg5) : (tensor<2x6x12xf32>, tensor<8x12xf32>, tensor<8xf32>) -> tensor<2x6x8xf32>
    %view_1 = "aten.view"(%linear_1) {size = array<i64: 2, 6, -1, 4>} : (tensor<2x6x8xf32>) -> tensor<2x6x2x4xf32>
    %permute_1 = "aten.permute"(%view_1) {dims = array<i64: 0, 2, 1, 3>} : (tensor<2x6x2x4xf32>) -> tensor<2x2x6x4xf32>
    %linear_2 = "aten.linear"(%arg16, %arg6, %arg7) : (tensor<2x6x12xf32>, tensor<8x12xf32>, tensor<8xf32>) -> tensor<2x6x8xf32>
    %view_2 = "aten.view"(%linear_2) {size = array<i64: 2, 6, -1, 4>} : (tensor<2x6x8xf32>) -> tensor<2x6x2x4xf32>
    %permute_2 = "aten.permute"(%view_2) {dims = array<i64: 0, 2, 1, 3>} : (tensor<2x6x2x4xf32>) -> tensor<2x2x6x4xf32>
    %scaled_dot_product_attention = "aten.scaled_dot_product_attention"(%permute, %permute_1, %permute_2) {dropout_p = 0.0 : f64, is_causal = true, enable_gqa = true} : (tensor<2x6x6x4xf32>, tensor<2x2x6x4xf32>, tensor<2x2x6x4xf32>) -> tensor<2x6x6x4xf32>
    %permute_3 = "aten.permute"(%scaled_dot_product_attention) {dims = array<i64: 0, 2, 1, 3>} : (tensor<2x6x6x4xf32>) -> tensor<2x6x6x4xf32>
    %view_3 = "aten.view"(%permute_3) {size = array<i64: 2, 6, 24>} : (tensor<2x6x6x4xf32>) -> tensor<2x6x24xf32>
    %linear_3 = "aten.linear"(%view_3, %arg2, %arg3) : (tensor<2x6x24xf32>, tensor<12x24xf32>, tensor<12xf32>) -> tensor<2x6x12xf32>
    %add = "aten.add.Tensor"(%arg16, %linear_3) : (tensor<2x6x12xf32>, tensor<2x6x12xf32>) -> tensor<2x6x12xf32>
    %linear_4 = "aten.linear"(%add, %arg8, %arg9) : (tensor<2x6x12xf32>, tensor<16x12xf32>, tensor<16xf32>) -> tensor<2x6x16xf32>
    %view_4 = "aten.view"(%linear_4) {size = array<i64: 2, 6, -1, 4>} : (tensor<2x6x16xf32>) -> tensor<2x6x4x4xf32>
    %permute_4 = "aten.permute"(%view_4) {dims = array<i64: 0, 2, 1, 3>} : (tensor<2x6x4x4xf32>) -> tensor<2x4x6x4xf32>
    %linear_5 = "aten.linear"(%add, %arg12, %arg13) : (tensor<2x6x12xf32>, tensor<4x12xf32>, tensor<4xf32>) -> tensor<2x6x4xf32>
    %view_5 = "aten.view"(%linear_5) {size = array<i64: 2, 6, -1, 4>} : (tensor<2x6x4xf32>) -> tensor<2x6x1x4xf32>
    %permute_5 = "aten.permute"(%view_5) {dims = array<i64: 0, 2, 1, 3>} : (tensor<2x6x1x4xf32>) -> tensor<2x1x6x4xf32>
    %linear_6 = "aten.linear"(%add, %arg14, %arg15) : (tensor<2x6x12xf32>, tensor<4x12xf32>, tensor<4xf32>) -> tensor<2x6x4xf32>
    %view_6 = "aten.view"(%linear_6) {size = array<i64: 2, 6, -1, 4>} : (tensor<2x6x4xf32>) -> tensor<2x6x1x4xf32>
    %permute_6 = "aten.permute"(%view_6) {dims = array<i64: 0, 2, 1, 3>} : (tensor<2x6x1x4xf32>) -> tensor<2x1x6x4xf32>
    %scaled_dot_product_attention_1 = "aten.scaled_dot_product_attention"(%permute_4, %permute_5, %permute_6) {dropout_p = 0.0 : f64, is_causal = true, enable_gqa = true} : (tensor<2x4x6x4xf32>, tensor<2x1x6x4xf32>, tensor<2x1x6x4xf32>) -> tensor<2x4x6x4xf32>
    %permute_7 = "aten.permute"(%scaled_dot_product_attention_1) {dims = array<i64: 0, 2, 1, 3>} : (tensor<2x4x6x4xf32>) -> tensor<2x6x4x4xf32>
    %view_7 = "aten.view"(%permute_7) {size = array<i64: 2, 6, 16>} : (tensor<2x6x4x4xf32>) -> tensor<2x6x16xf32>
    %linear_7 = "aten.linear"(%view_7, %arg10, %arg11) : (tensor<2x6x16xf32>, tensor<12x16xf32>, tensor<12xf32>) -> tensor<2x6x12xf32>
    %pow_1 = "aten.pow.Tensor_Scalar"(%linear_7) {exponent = 2 : i64} : (tensor<2x6x12xf32>) -> tensor<2x6x12xf32>
    %mean = "aten.mean"(%pow_1) : (tensor<2x6x12xf32>) -> tensor<f32>
    return %mean : tensor<f32>
  }
}
