module attributes {aten.format = 1 : i64, aten.torch = "2.13.0", aten.values = "shared_layer.safetensors"} {
  func.func @main(%arg0: tensor<12x12xf32> {aten.parameter = "a.weight"},
                  %arg1: tensor<12xf32> {aten.parameter = "a.bias"},
                  %arg2: tensor<12x12xf32> {aten.parameter = "b.weight"},
                  %arg3: tensor<12xf32> {aten.parameter = "b.bias"},
                  %arg4: tensor<4x12xf32> {aten.input = "x"})
      -> (tensor<f32> {aten.output = "loss"}) {
    %none = "aten.none"() : () -> none
    %linear = "aten.linear"(%arg4, %arg0, %arg1) : (tensor<4x12xf32>, tensor<12x12xf32>, tensor<12xf32>) -> tensor<4x12xf32>
    %tanh = "aten.tanh"(%linear) : (tensor<4x12xf32>) -> tensor<4x12xf32>
    %linear_1 = "aten.linear"(%tanh, %arg0, %arg1) : (tensor<4x12xf32>, tensor<12x12xf32>, tensor<12xf32>) -> tensor<4x12xf32>
    %tanh_1 = "aten.tanh"(%linear_1) : (tensor<4x12xf32>) -> tensor<4x12xf32>
    %linear_2 = "aten.linear"(%tanh_1, %arg0, %arg1) : (tensor<4x12xf32>, tensor<12x12xf32>, tensor<12xf32>) -> tensor<4x12xf32>
    %tanh_2 = "aten.tanh"(%linear_2) : (tensor<4x12xf32>) -> tensor<4x12xf32>
    %linear_3 = "aten.linear"(%tanh_2, %arg0, %arg1) : (tensor<4x12xf32>, tensor<12x12xf32>, tensor<12xf32>) -> tensor<4x12xf32>
    %tanh_3 = "aten.tanh"(%linear_3) : (tensor<4x12xf32>) -> tensor<4x12xf32>
    %linear_4 = "aten.linear"(%tanh_3, %arg0, %arg1) : (tensor<4x12xf32>, tensor<12x12xf32>, tensor<12xf32>) -> tensor<4x12xf32>
    %tanh_4 = "aten.tanh"(%linear_4) : (tensor<4x12xf32>) -> tensor<4x12xf32>
    %linear_5 = "aten.linear"(%tanh_4, %arg0, %arg1) : (tensor<4x12xf32>, tensor<12x12xf32>, tensor<12xf32>) -> tensor<4x12xf32>
    %tanh_5 = "aten.tanh"(%linear_5) : (tensor<4x12xf32>) -> tensor<4x12xf32>
    %linear_6 = "aten.linear"(%tanh_5, %arg2, %arg3) : (tensor<4x12xf32>, tensor<12x12xf32>, tensor<12xf32>) -> tensor<4x12xf32>
    %pow_1 = "aten.pow.Tensor_Scalar"(%linear_6) {exponent = 2 : i64} : (tensor<4x12xf32>) -> tensor<4x12xf32>
    %mean = "aten.mean"(%pow_1) : (tensor<4x12xf32>) -> tensor<f32>
    return %mean : tensor<f32>
  }
}
