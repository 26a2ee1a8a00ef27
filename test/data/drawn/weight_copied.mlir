module attributes {aten.format = 1 : i64, aten.torch = "2.13.0", aten.values = "weight_copied.safetensors"} {
  func.func @main(%arg0: tensor<12x12xf32> {aten.parameter = "a.weight"},
                  %arg1: tensor<12xf32> {aten.parameter = "a.bias"},
                  %arg2: tensor<12x12xf32> {aten.parameter = "b.weight"},
                  %arg3: tensor<12xf32> {aten.parameter = "b.bias"},
                  %arg4: tensor<12x12xf32> {aten.buffer = "last"},
                  %arg5: tensor<4x12xf32> {aten.input = "x"})
      -> (tensor<12x12xf32> {aten.updates = "last"}, tensor<f32> {aten.output = "loss"}) {
    %none = "aten.none"() : () -> none
    %detach = "aten.detach"(%arg2) : (tensor<12x12xf32>) -> tensor<12x12xf32>
    %linear = "aten.linear"(%arg5, %arg0, %arg1) : (tensor<4x12xf32>, tensor<12x12xf32>, tensor<12xf32>) -> tensor<4x12xf32>
    %tanh = "aten.tanh"(%linear) : (tensor<4x12xf32>) -> tensor<4x12xf32>
    %linear_1 = "aten.linear"(%tanh, %arg2, %arg3) : (tensor<4x12xf32>, tensor<12x12xf32>, tensor<12xf32>) -> tensor<4x12xf32>
    %pow_1 = "aten.pow.Tensor_Scalar"(%linear_1) {exponent = 2 : i64} : (tensor<4x12xf32>) -> tensor<4x12xf32>
    %mean = "aten.mean"(%pow_1) : (tensor<4x12xf32>) -> tensor<f32>
    return %detach, %mean : tensor<12x12xf32>, tensor<f32>
  }
}
