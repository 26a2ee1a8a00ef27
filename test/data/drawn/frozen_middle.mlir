module attributes {aten.format = 1 : i64, aten.torch = "2.13.0"} {
  func.func @main(%arg0: tensor<12x12xf32> {aten.parameter = "a.weight"},
                  %arg1: tensor<12xf32> {aten.parameter = "a.bias"},
                  %arg2: tensor<12x12xf32> {aten.parameter = "b.weight", aten.frozen},
                  %arg3: tensor<12xf32> {aten.parameter = "b.bias", aten.frozen},
                  %arg4: tensor<12x12xf32> {aten.parameter = "c.weight", aten.frozen},
                  %arg5: tensor<12xf32> {aten.parameter = "c.bias", aten.frozen},
                  %arg6: tensor<12x12xf32> {aten.parameter = "d.weight"},
                  %arg7: tensor<12xf32> {aten.parameter = "d.bias"},
                  %arg8: tensor<4x12xf32> {aten.input = "x"})
      -> (tensor<f32> {aten.output = "loss"}) {
    %none = "aten.none"() : () -> none
    %linear = "aten.linear"(%arg8, %arg0, %arg1) : (tensor<4x12xf32>, tensor<12x12xf32>, tensor<12xf32>) -> tensor<4x12xf32>
    %tanh = "aten.tanh"(%linear) : (tensor<4x12xf32>) -> tensor<4x12xf32>
    %linear_1 = "aten.linear"(%tanh, %arg2, %arg3) : (tensor<4x12xf32>, tensor<12x12xf32>, tensor<12xf32>) -> tensor<4x12xf32>
    %tanh_1 = "aten.tanh"(%linear_1) : (tensor<4x12xf32>) -> tensor<4x12xf32>
    %linear_2 = "aten.linear"(%tanh_1, %arg4, %arg5) : (tensor<4x12xf32>, tensor<12x12xf32>, tensor<12xf32>) -> tensor<4x12xf32>
    %tanh_2 = "aten.tanh"(%linear_2) : (tensor<4x12xf32>) -> tensor<4x12xf32>
    %linear_3 = "aten.linear"(%tanh_2, %arg6, %arg7) : (tensor<4x12xf32>, tensor<12x12xf32>, tensor<12xf32>) -> tensor<4x12xf32>
    %pow_1 = "aten.pow.Tensor_Scalar"(%linear_3) {exponent = 2 : i64} : (tensor<4x12xf32>) -> tensor<4x12xf32>
    %mean = "aten.mean"(%pow_1) : (tensor<4x12xf32>) -> tensor<f32>
    return %mean : tensor<f32>
  }
}
