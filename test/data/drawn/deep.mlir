module attributes {aten.format = 1 : i64, aten.torch = "2.13.0"} {
  func.func @main(%arg0: tensor<12x12xf32> {aten.parameter = "n.0.0.weight"},
                  %arg1: tensor<12xf32> {aten.parameter = "n.0.0.bias"},
                  %arg2: tensor<12x12xf32> {aten.parameter = "n.1.0.weight"},
                  %arg3: tensor<12xf32> {aten.parameter = "n.1.0.bias"},
                  %arg4: tensor<12x12xf32> {aten.parameter = "n.2.0.weight"},
                  %arg5: tensor<12xf32> {aten.parameter = "n.2.0.bias"},
                  %arg6: tensor<12x12xf32> {aten.parameter = "n.3.0.weight"},
                  %arg7: tensor<12xf32> {aten.parameter = "n.3.0.bias"},
                  %arg8: tensor<12x12xf32> {aten.parameter = "n.4.0.weight"},
                  %arg9: tensor<12xf32> {aten.parameter = "n.4.0.bias"},
                  %arg10: tensor<12x12xf32> {aten.parameter = "n.5.0.weight"},
                  %arg11: tensor<12xf32> {aten.parameter = "n.5.0.bias"},
                  %arg12: tensor<12x12xf32> {aten.parameter = "n.6.0.weight"},
                  %arg13: tensor<12xf32> {aten.parameter = "n.6.0.bias"},
                  %arg14: tensor<12x12xf32> {aten.parameter = "n.7.0.weight"},
                  %arg15: tensor<12xf32> {aten.parameter = "n.7.0.bias"},
                  %arg16: tensor<4x12xf32> {aten.input = "x"})
      -> (tensor<f32> {aten.output = "loss"}) {
    %none = "aten.none"() : () -> none
    %linear = "aten.linear"(%arg16, %arg0, %arg1) : (tensor<4x12xf32>, tensor<12x12xf32>, tensor<12xf32>) -> tensor<4x12xf32>
    %gelu = "aten.gelu"(%linear) : (tensor<4x12xf32>) -> tensor<4x12xf32>
    %linear_1 = "aten.linear"(%gelu, %arg2, %arg3) : (tensor<4x12xf32>, tensor<12x12xf32>, tensor<12xf32>) -> tensor<4x12xf32>
    %gelu_1 = "aten.gelu"(%linear_1) : (tensor<4x12xf32>) -> tensor<4x12xf32>
    %linear_2 = "aten.linear"(%gelu_1, %arg4, %arg5) : (tensor<4x12xf32>, tensor<12x12xf32>, tensor<12xf32>) -> tensor<4x12xf32>
    %gelu_2 = "aten.gelu"(%linear_2) : (tensor<4x12xf32>) -> tensor<4x12xf32>
    %linear_3 = "aten.linear"(%gelu_2, %arg6, %arg7) : (tensor<4x12xf32>, tensor<12x12xf32>, tensor<12xf32>) -> tensor<4x12xf32>
    %gelu_3 = "aten.gelu"(%linear_3) : (tensor<4x12xf32>) -> tensor<4x12xf32>
    %linear_4 = "aten.linear"(%gelu_3, %arg8, %arg9) : (tensor<4x12xf32>, tensor<12x12xf32>, tensor<12xf32>) -> tensor<4x12xf32>
    %gelu_4 = "aten.gelu"(%linear_4) : (tensor<4x12xf32>) -> tensor<4x12xf32>
    %linear_5 = "aten.linear"(%gelu_4, %arg10, %arg11) : (tensor<4x12xf32>, tensor<12x12xf32>, tensor<12xf32>) -> tensor<4x12xf32>
    %gelu_5 = "aten.gelu"(%linear_5) : (tensor<4x12xf32>) -> tensor<4x12xf32>
    %linear_6 = "aten.linear"(%gelu_5, %arg12, %arg13) : (tensor<4x12xf32>, tensor<12x12xf32>, tensor<12xf32>) -> tensor<4x12xf32>
    %gelu_6 = "aten.gelu"(%linear_6) : (tensor<4x12xf32>) -> tensor<4x12xf32>
    %linear_7 = "aten.linear"(%gelu_6, %arg14, %arg15) : (tensor<4x12xf32>, tensor<12x12xf32>, tensor<12xf32>) -> tensor<4x12xf32>
    %gelu_7 = "aten.gelu"(%linear_7) : (tensor<4x12xf32>) -> tensor<4x12xf32>
    %pow_1 = "aten.pow.Tensor_Scalar"(%gelu_7) {exponent = 2 : i64} : (tensor<4x12xf32>) -> tensor<4x12xf32>
    %mean = "aten.mean"(%pow_1) : (tensor<4x12xf32>) -> tensor<f32>
    return %mean : tensor<f32>
  }
}
