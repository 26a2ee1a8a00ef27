module attributes {aten.format = 1 : i64, aten.torch = "2.13.0"} {
  func.func @main(%arg0: tensor<12x12xf32> {aten.parameter = "n.0.weight"},
                  %arg1: tensor<12xf32> {aten.parameter = "n.0.bias"},
                  %arg2: tensor<12x12xf32> {aten.parameter = "n.1.weight"},
                  %arg3: tensor<12xf32> {aten.parameter = "n.1.bias"},
                  %arg4: tensor<12x12xf32> {aten.parameter = "n.2.weight"},
                  %arg5: tensor<12xf32> {aten.parameter = "n.2.bias"},
                  %arg6: tensor<12x12xf32> {aten.parameter = "n.3.weight"},
                  %arg7: tensor<12xf32> {aten.parameter = "n.3.bias"},
                  %arg8: tensor<12x12xf32> {aten.parameter = "n.4.weight"},
                  %arg9: tensor<12xf32> {aten.parameter = "n.4.bias"},
                  %arg10: tensor<12x12xf32> {aten.parameter = "n.5.weight"},
                  %arg11: tensor<12xf32> {aten.parameter = "n.5.bias"},
                  %arg12: tensor<12x12xf32> {aten.parameter = "n.6.weight"},
                  %arg13: tensor<12xf32> {aten.parameter = "n.6.bias"},
                  %arg14: tensor<12x12xf32> {aten.parameter = "n.7.weight"},
                  %arg15: tensor<12xf32> {aten.parameter = "n.7.bias"},
                  %arg16: tensor<4x12xf32> {aten.input = "x"})
      -> (tensor<f32> {aten.output = "loss"}) {
    %none = "aten.none"() : () -> none
    %linear = "aten.linear"(%arg16, %arg0, %arg1) : (tensor<4x12xf32>, tensor<12x12xf32>, tensor<12xf32>) -> tensor<4x12xf32>
    %tanh = "aten.tanh"(%linear) : (tensor<4x12xf32>) -> tensor<4x12xf32>
    %add = "aten.add.Tensor"(%tanh, %arg16) : (tensor<4x12xf32>, tensor<4x12xf32>) -> tensor<4x12xf32>
    %linear_1 = "aten.linear"(%add, %arg2, %arg3) : (tensor<4x12xf32>, tensor<12x12xf32>, tensor<12xf32>) -> tensor<4x12xf32>
    %tanh_1 = "aten.tanh"(%linear_1) : (tensor<4x12xf32>) -> tensor<4x12xf32>
    %add_1 = "aten.add.Tensor"(%tanh_1, %add) : (tensor<4x12xf32>, tensor<4x12xf32>) -> tensor<4x12xf32>
    %linear_2 = "aten.linear"(%add_1, %arg4, %arg5) : (tensor<4x12xf32>, tensor<12x12xf32>, tensor<12xf32>) -> tensor<4x12xf32>
    %tanh_2 = "aten.tanh"(%linear_2) : (tensor<4x12xf32>) -> tensor<4x12xf32>
    %add_2 = "aten.add.Tensor"(%tanh_2, %add_1) : (tensor<4x12xf32>, tensor<4x12xf32>) -> tensor<4x12xf32>
    %linear_3 = "aten.linear"(%add_2, %arg6, %arg7) : (tensor<4x12xf32>, tensor<12x12xf32>, tensor<12xf32>) -> tensor<4x12xf32>
    %tanh_3 = "aten.tanh"(%linear_3) : (tensor<4x12xf32>) -> tensor<4x12xf32>
    %add_3 = "aten.add.Tensor"(%tanh_3, %add) : (tensor<4x12xf32>, tensor<4x12xf32>) -> tensor<4x12xf32>
    %linear_4 = "aten.linear"(%add_3, %arg8, %arg9) : (tensor<4x12xf32>, tensor<12x12xf32>, tensor<12xf32>) -> tensor<4x12xf32>
    %tanh_4 = "aten.tanh"(%linear_4) : (tensor<4x12xf32>) -> tensor<4x12xf32>
    %add_4 = "aten.add.Tensor"(%tanh_4, %add_1) : (tensor<4x12xf32>, tensor<4x12xf32>) -> tensor<4x12xf32>
    %linear_5 = "aten.linear"(%add_4, %arg10, %arg11) : (tensor<4x12xf32>, tensor<12x12xf32>, tensor<12xf32>) -> tensor<4x12xf32>
    %tanh_5 = "aten.tanh"(%linear_5) : (tensor<4x12xf32>) -> tensor<4x12xf32>
    %add_5 = "aten.add.Tensor"(%tanh_5, %add_2) : (tensor<4x12xf32>, tensor<4x12xf32>) -> tensor<4x12xf32>
    %linear_6 = "aten.linear"(%add_5, %arg12, %arg13) : (tensor<4x12xf32>, tensor<12x12xf32>, tensor<12xf32>) -> tensor<4x12xf32>
    %tanh_6 = "aten.tanh"(%linear_6) : (tensor<4x12xf32>) -> tensor<4x12xf32>
    %add_6 = "aten.add.Tensor"(%tanh_6, %add_3) : (tensor<4x12xf32>, tensor<4x12xf32>) -> tensor<4x12xf32>
    %linear_7 = "aten.linear"(%add_6, %arg14, %arg15) : (tensor<4x12xf32>, tensor<12x12xf32>, tensor<12xf32>) -> tensor<4x12xf32>
    %tanh_7 = "aten.tanh"(%linear_7) : (tensor<4x12xf32>) -> tensor<4x12xf32>
    %add_7 = "aten.add.Tensor"(%tanh_7, %add_4) : (tensor<4x12xf32>, tensor<4x12xf32>) -> tensor<4x12xf32>
    %add_8 = "aten.add.Tensor"(%add_7, %add) : (tensor<4x12xf32>, tensor<4x12xf32>) -> tensor<4x12xf32>
    %add_9 = "aten.add.Tensor"(%add_8, %add_1) : (tensor<4x12xf32>, tensor<4x12xf32>) -> tensor<4x12xf32>
    %pow_1 = "aten.pow.Tensor_Scalar"(%add_9) {exponent = 2 : i64} : (tensor<4x12xf32>) -> tensor<4x12xf32>
    %mean = "aten.mean"(%pow_1) : (tensor<4x12xf32>) -> tensor<f32>
    return %mean : tensor<f32>
  }
}
