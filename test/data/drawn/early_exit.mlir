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
                  %arg10: tensor<4x12xf32> {aten.parameter = "h.weight"},
                  %arg11: tensor<4xf32> {aten.parameter = "h.bias"},
                  %arg12: tensor<4x12xf32> {aten.input = "x"})
      -> (tensor<f32> {aten.output = "loss"}) {
    %none = "aten.none"() : () -> none
    %linear = "aten.linear"(%arg12, %arg0, %arg1) : (tensor<4x12xf32>, tensor<12x12xf32>, tensor<12xf32>) -> tensor<4x12xf32>
    %tanh = "aten.tanh"(%linear) : (tensor<4x12xf32>) -> tensor<4x12xf32>
    %linear_1 = "aten.linear"(%tanh, %arg10, %arg11) : (tensor<4x12xf32>, tensor<4x12xf32>, tensor<4xf32>) -> tensor<4x4xf32>
    %pow_1 = "aten.pow.Tensor_Scalar"(%linear_1) {exponent = 2 : i64} : (tensor<4x4xf32>) -> tensor<4x4xf32>
    %mean = "aten.mean"(%pow_1) : (tensor<4x4xf32>) -> tensor<f32>
    %mul = "aten.mul.Tensor"(%mean) {other = 1 : i64} : (tensor<f32>) -> tensor<f32>
    %add = "aten.add.Tensor"(%mul) {other = 0 : i64} : (tensor<f32>) -> tensor<f32>
    %linear_2 = "aten.linear"(%tanh, %arg2, %arg3) : (tensor<4x12xf32>, tensor<12x12xf32>, tensor<12xf32>) -> tensor<4x12xf32>
    %tanh_1 = "aten.tanh"(%linear_2) : (tensor<4x12xf32>) -> tensor<4x12xf32>
    %linear_3 = "aten.linear"(%tanh_1, %arg10, %arg11) : (tensor<4x12xf32>, tensor<4x12xf32>, tensor<4xf32>) -> tensor<4x4xf32>
    %pow_2 = "aten.pow.Tensor_Scalar"(%linear_3) {exponent = 2 : i64} : (tensor<4x4xf32>) -> tensor<4x4xf32>
    %mean_1 = "aten.mean"(%pow_2) : (tensor<4x4xf32>) -> tensor<f32>
    %mul_1 = "aten.mul.Tensor"(%mean_1) {other = 2 : i64} : (tensor<f32>) -> tensor<f32>
    %add_1 = "aten.add.Tensor"(%add, %mul_1) : (tensor<f32>, tensor<f32>) -> tensor<f32>
    %linear_4 = "aten.linear"(%tanh_1, %arg4, %arg5) : (tensor<4x12xf32>, tensor<12x12xf32>, tensor<12xf32>) -> tensor<4x12xf32>
    %tanh_2 = "aten.tanh"(%linear_4) : (tensor<4x12xf32>) -> tensor<4x12xf32>
    %linear_5 = "aten.linear"(%tanh_2, %arg10, %arg11) : (tensor<4x12xf32>, tensor<4x12xf32>, tensor<4xf32>) -> tensor<4x4xf32>
    %pow_3 = "aten.pow.Tensor_Scalar"(%linear_5) {exponent = 2 : i64} : (tensor<4x4xf32>) -> tensor<4x4xf32>
    %mean_2 = "aten.mean"(%pow_3) : (tensor<4x4xf32>) -> tensor<f32>
    %mul_2 = "aten.mul.Tensor"(%mean_2) {other = 3 : i64} : (tensor<f32>) -> tensor<f32>
    %add_2 = "aten.add.Tensor"(%add_1, %mul_2) : (tensor<f32>, tensor<f32>) -> tensor<f32>
    %linear_6 = "aten.linear"(%tanh_2, %arg6, %arg7) : (tensor<4x12xf32>, tensor<12x12xf32>, tensor<12xf32>) -> tensor<4x12xf32>
    %tanh_3 = "aten.tanh"(%linear_6) : (tensor<4x12xf32>) -> tensor<4x12xf32>
    %linear_7 = "aten.linear"(%tanh_3, %arg10, %arg11) : (tensor<4x12xf32>, tensor<4x12xf32>, tensor<4xf32>) -> tensor<4x4xf32>
    %pow_4 = "aten.pow.Tensor_Scalar"(%linear_7) {exponent = 2 : i64} : (tensor<4x4xf32>) -> tensor<4x4xf32>
    %mean_3 = "aten.mean"(%pow_4) : (tensor<4x4xf32>) -> tensor<f32>
    %mul_3 = "aten.mul.Tensor"(%mean_3) {other = 4 : i64} : (tensor<f32>) -> tensor<f32>
    %add_3 = "aten.add.Tensor"(%add_2, %mul_3) : (tensor<f32>, tensor<f32>) -> tensor<f32>
    %linear_8 = "aten.linear"(%tanh_3, %arg8, %arg9) : (tensor<4x12xf32>, tensor<12x12xf32>, tensor<12xf32>) -> tensor<4x12xf32>
    %tanh_4 = "aten.tanh"(%linear_8) : (tensor<4x12xf32>) -> tensor<4x12xf32>
    %linear_9 = "aten.linear"(%tanh_4, %arg10, %arg11) : (tensor<4x12xf32>, tensor<4x12xf32>, tensor<4xf32>) -> tensor<4x4xf32>
    %pow_5 = "aten.pow.Tensor_Scalar"(%linear_9) {exponent = 2 : i64} : (tensor<4x4xf32>) -> tensor<4x4xf32>
    %mean_4 = "aten.mean"(%pow_5) : (tensor<4x4xf32>) -> tensor<f32>
    %mul_4 = "aten.mul.Tensor"(%mean_4) {other = 5 : i64} : (tensor<f32>) -> tensor<f32>
    %add_4 = "aten.add.Tensor"(%add_3, %mul_4) : (tensor<f32>, tensor<f32>) -> tensor<f32>
    return %add_4 : tensor<f32>
  }
}
