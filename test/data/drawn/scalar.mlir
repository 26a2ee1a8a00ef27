module attributes {aten.format = 1 : i64, aten.torch = "2.13.0"} {
  func.func @main(%arg0: tensor<f32> {aten.parameter = "s"},
                  %arg1: tensor<f32> {aten.parameter = "t"},
                  %arg2: tensor<12x12xf32> {aten.parameter = "a.weight"},
                  %arg3: tensor<12xf32> {aten.parameter = "a.bias"},
                  %arg4: tensor<12x12xf32> {aten.parameter = "b.weight"},
                  %arg5: tensor<12xf32> {aten.parameter = "b.bias"},
                  %arg6: tensor<4x12xf32> {aten.input = "x"})
      -> (tensor<f32> {aten.output = "loss"}) {
    %none = "aten.none"() : () -> none
    %linear = "aten.linear"(%arg6, %arg2, %arg3) : (tensor<4x12xf32>, tensor<12x12xf32>, tensor<12xf32>) -> tensor<4x12xf32>
    %mul = "aten.mul.Tensor"(%linear, %arg0) : (tensor<4x12xf32>, tensor<f32>) -> tensor<4x12xf32>
    %tanh = "aten.tanh"(%mul) : (tensor<4x12xf32>) -> tensor<4x12xf32>
    %linear_1 = "aten.linear"(%tanh, %arg4, %arg5) : (tensor<4x12xf32>, tensor<12x12xf32>, tensor<12xf32>) -> tensor<4x12xf32>
    %mul_1 = "aten.mul.Tensor"(%linear_1, %arg0) : (tensor<4x12xf32>, tensor<f32>) -> tensor<4x12xf32>
    %pow_1 = "aten.pow.Tensor_Scalar"(%mul_1) {exponent = 2 : i64} : (tensor<4x12xf32>) -> tensor<4x12xf32>
    %mean = "aten.mean"(%pow_1) : (tensor<4x12xf32>) -> tensor<f32>
    %mul_2 = "aten.mul.Tensor"(%mean, %arg1) : (tensor<f32>, tensor<f32>) -> tensor<f32>
    return %mul_2 : tensor<f32>
  }
}
