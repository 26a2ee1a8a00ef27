module attributes {aten.format = 1 : i64, aten.torch = "2.13.0"} {
  func.func @main(%arg0: tensor<12xf32> {aten.parameter = "g"},
                  %arg1: tensor<12x12xf32> {aten.parameter = "a.weight"},
                  %arg2: tensor<12xf32> {aten.parameter = "a.bias"},
                  %arg3: tensor<12x12xf32> {aten.parameter = "b.weight"},
                  %arg4: tensor<12xf32> {aten.parameter = "b.bias"},
                  %arg5: tensor<12x12xf32> {aten.parameter = "c.weight"},
                  %arg6: tensor<12xf32> {aten.parameter = "c.bias"},
                  %arg7: tensor<4x12xf32> {aten.input = "x"})
      -> (tensor<f32> {aten.output = "loss"}) {
    %none = "aten.none"() : () -> none
    %mul = "aten.mul.Tensor"(%arg7, %arg0) : (tensor<4x12xf32>, tensor<12xf32>) -> tensor<4x12xf32>
    %linear = "aten.linear"(%mul, %arg1, %arg2) : (tensor<4x12xf32>, tensor<12x12xf32>, tensor<12xf32>) -> tensor<4x12xf32>
    %tanh = "aten.tanh"(%linear) : (tensor<4x12xf32>) -> tensor<4x12xf32>
    %mul_1 = "aten.mul.Tensor"(%tanh, %arg0) : (tensor<4x12xf32>, tensor<12xf32>) -> tensor<4x12xf32>
    %linear_1 = "aten.linear"(%mul_1, %arg3, %arg4) : (tensor<4x12xf32>, tensor<12x12xf32>, tensor<12xf32>) -> tensor<4x12xf32>
    %tanh_1 = "aten.tanh"(%linear_1) : (tensor<4x12xf32>) -> tensor<4x12xf32>
    %mul_2 = "aten.mul.Tensor"(%tanh_1, %arg0) : (tensor<4x12xf32>, tensor<12xf32>) -> tensor<4x12xf32>
    %linear_2 = "aten.linear"(%mul_2, %arg5, %arg6) : (tensor<4x12xf32>, tensor<12x12xf32>, tensor<12xf32>) -> tensor<4x12xf32>
    %mul_3 = "aten.mul.Tensor"(%linear_2, %arg0) : (tensor<4x12xf32>, tensor<12xf32>) -> tensor<4x12xf32>
    %pow_1 = "aten.pow.Tensor_Scalar"(%mul_3) {exponent = 2 : i64} : (tensor<4x12xf32>) -> tensor<4x12xf32>
    %mean = "aten.mean"(%pow_1) : (tensor<4x12xf32>) -> tensor<f32>
    return %mean : tensor<f32>
  }
}
