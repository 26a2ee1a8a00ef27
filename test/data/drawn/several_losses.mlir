module attributes {aten.format = 1 : i64, aten.torch = "2.13.0"} {
  func.func @main(%arg0: tensor<12x12xf32> {aten.parameter = "a.weight"},
                  %arg1: tensor<12xf32> {aten.parameter = "a.bias"},
                  %arg2: tensor<12x12xf32> {aten.parameter = "b.weight"},
                  %arg3: tensor<12xf32> {aten.parameter = "b.bias"},
                  %arg4: tensor<12x12xf32> {aten.parameter = "c.weight"},
                  %arg5: tensor<12xf32> {aten.parameter = "c.bias"},
                  %arg6: tensor<12x12xf32> {aten.parameter = "h.weight"},
                  %arg7: tensor<12xf32> {aten.parameter = "h.bias"},
                  %arg8: tensor<12x12xf32> {aten.parameter = "i.weight"},
                  %arg9: tensor<12xf32> {aten.parameter = "i.bias"},
                  %arg10: tensor<4x12xf32> {aten.input = "x"})
      -> (tensor<f32> {aten.output = "loss"}) {
    %none = "aten.none"() : () -> none
    %linear = "aten.linear"(%arg10, %arg0, %arg1) : (tensor<4x12xf32>, tensor<12x12xf32>, tensor<12xf32>) -> tensor<4x12xf32>
    %tanh = "aten.tanh"(%linear) : (tensor<4x12xf32>) -> tensor<4x12xf32>
    %linear_1 = "aten.linear"(%tanh, %arg2, %arg3) : (tensor<4x12xf32>, tensor<12x12xf32>, tensor<12xf32>) -> tensor<4x12xf32>
    %tanh_1 = "aten.tanh"(%linear_1) : (tensor<4x12xf32>) -> tensor<4x12xf32>
    %linear_2 = "aten.linear"(%tanh, %arg6, %arg7) : (tensor<4x12xf32>, tensor<12x12xf32>, tensor<12xf32>) -> tensor<4x12xf32>
    %pow_1 = "aten.pow.Tensor_Scalar"(%linear_2) {exponent = 2 : i64} : (tensor<4x12xf32>) -> tensor<4x12xf32>
    %mean = "aten.mean"(%pow_1) : (tensor<4x12xf32>) -> tensor<f32>
    %linear_3 = "aten.linear"(%tanh_1, %arg8, %arg9) : (tensor<4x12xf32>, tensor<12x12xf32>, tensor<12xf32>) -> tensor<4x12xf32>
    %pow_2 = "aten.pow.Tensor_Scalar"(%linear_3) {exponent = 2 : i64} : (tensor<4x12xf32>) -> tensor<4x12xf32>
    %mean_1 = "aten.mean"(%pow_2) : (tensor<4x12xf32>) -> tensor<f32>
    %add = "aten.add.Tensor"(%mean, %mean_1) : (tensor<f32>, tensor<f32>) -> tensor<f32>
    %linear_4 = "aten.linear"(%tanh_1, %arg4, %arg5) : (tensor<4x12xf32>, tensor<12x12xf32>, tensor<12xf32>) -> tensor<4x12xf32>
    %pow_3 = "aten.pow.Tensor_Scalar"(%linear_4) {exponent = 2 : i64} : (tensor<4x12xf32>) -> tensor<4x12xf32>
    %mean_2 = "aten.mean"(%pow_3) : (tensor<4x12xf32>) -> tensor<f32>
    %add_1 = "aten.add.Tensor"(%add, %mean_2) : (tensor<f32>, tensor<f32>) -> tensor<f32>
    return %add_1 : tensor<f32>
  }
}
