module attributes {aten.format = 1 : i64, aten.torch = "2.13.0"} {
  func.func @main(%arg0: tensor<12x12xf32> {aten.parameter = "base.0.weight", aten.frozen},
                  %arg1: tensor<12xf32> {aten.parameter = "base.0.bias", aten.frozen},
                  %arg2: tensor<12x12xf32> {aten.parameter = "base.1.weight", aten.frozen},
                  %arg3: tensor<12xf32> {aten.parameter = "base.1.bias", aten.frozen},
                  %arg4: tensor<12x12xf32> {aten.parameter = "base.2.weight", aten.frozen},
                  %arg5: tensor<12xf32> {aten.parameter = "base.2.bias", aten.frozen},
                  %arg6: tensor<2x12xf32> {aten.parameter = "down.0.weight"},
                  %arg7: tensor<2x12xf32> {aten.parameter = "down.1.weight"},
                  %arg8: tensor<2x12xf32> {aten.parameter = "down.2.weight"},
                  %arg9: tensor<12x2xf32> {aten.parameter = "up.0.weight"},
                  %arg10: tensor<12x2xf32> {aten.parameter = "up.1.weight"},
                  %arg11: tensor<12x2xf32> {aten.parameter = "up.2.weight"},
                  %arg12: tensor<4x12xf32> {aten.input = "x"})
      -> (tensor<f32> {aten.output = "loss"}) {
    %none = "aten.none"() : () -> none
    %linear = "aten.linear"(%arg12, %arg0, %arg1) : (tensor<4x12xf32>, tensor<12x12xf32>, tensor<12xf32>) -> tensor<4x12xf32>
    %linear_1 = "aten.linear"(%arg12, %arg6) : (tensor<4x12xf32>, tensor<2x12xf32>) -> tensor<4x2xf32>
    %linear_2 = "aten.linear"(%linear_1, %arg9) : (tensor<4x2xf32>, tensor<12x2xf32>) -> tensor<4x12xf32>
    %add = "aten.add.Tensor"(%linear, %linear_2) : (tensor<4x12xf32>, tensor<4x12xf32>) -> tensor<4x12xf32>
    %tanh = "aten.tanh"(%add) : (tensor<4x12xf32>) -> tensor<4x12xf32>
    %linear_3 = "aten.linear"(%tanh, %arg2, %arg3) : (tensor<4x12xf32>, tensor<12x12xf32>, tensor<12xf32>) -> tensor<4x12xf32>
    %linear_4 = "aten.linear"(%tanh, %arg7) : (tensor<4x12xf32>, tensor<2x12xf32>) -> tensor<4x2xf32>
    %linear_5 = "aten.linear"(%linear_4, %arg10) : (tensor<4x2xf32>, tensor<12x2xf32>) -> tensor<4x12xf32>
    %add_1 = "aten.add.Tensor"(%linear_3, %linear_5) : (tensor<4x12xf32>, tensor<4x12xf32>) -> tensor<4x12xf32>
    %tanh_1 = "aten.tanh"(%add_1) : (tensor<4x12xf32>) -> tensor<4x12xf32>
    %linear_6 = "aten.linear"(%tanh_1, %arg4, %arg5) : (tensor<4x12xf32>, tensor<12x12xf32>, tensor<12xf32>) -> tensor<4x12xf32>
    %linear_7 = "aten.linear"(%tanh_1, %arg8) : (tensor<4x12xf32>, tensor<2x12xf32>) -> tensor<4x2xf32>
    %linear_8 = "aten.linear"(%linear_7, %arg11) : (tensor<4x2xf32>, tensor<12x2xf32>) -> tensor<4x12xf32>
    %add_2 = "aten.add.Tensor"(%linear_6, %linear_8) : (tensor<4x12xf32>, tensor<4x12xf32>) -> tensor<4x12xf32>
    %tanh_2 = "aten.tanh"(%add_2) : (tensor<4x12xf32>) -> tensor<4x12xf32>
    %pow_1 = "aten.pow.Tensor_Scalar"(%tanh_2) {exponent = 2 : i64} : (tensor<4x12xf32>) -> tensor<4x12xf32>
    %mean = "aten.mean"(%pow_1) : (tensor<4x12xf32>) -> tensor<f32>
    return %mean : tensor<f32>
  }
}
