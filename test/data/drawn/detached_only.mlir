module attributes {aten.format = 1 : i64, aten.torch = "2.13.0", aten.values = "detached_only.safetensors"} {
  func.func @main(%arg0: tensor<12xf32> {aten.parameter = "u"},
                  %arg1: tensor<12x12xf32> {aten.parameter = "a.weight"},
                  %arg2: tensor<12xf32> {aten.parameter = "a.bias"},
                  %arg3: tensor<12x12xf32> {aten.parameter = "b.weight"},
                  %arg4: tensor<12xf32> {aten.parameter = "b.bias"},
                  %arg5: tensor<4x12xf32> {aten.input = "x"})
      -> (tensor<f32> {aten.output = "loss"}) {
    %none = "aten.none"() : () -> none
    %linear = "aten.linear"(%arg5, %arg1, %arg2) : (tensor<4x12xf32>, tensor<12x12xf32>, tensor<12xf32>) -> tensor<4x12xf32>
    %tanh = "aten.tanh"(%linear) : (tensor<4x12xf32>) -> tensor<4x12xf32>
    %detach = "aten.detach"(%arg0) : (tensor<12xf32>) -> tensor<12xf32>
    %mul = "aten.mul.Tensor"(%tanh, %detach) : (tensor<4x12xf32>, tensor<12xf32>) -> tensor<4x12xf32>
    %linear_1 = "aten.linear"(%mul, %arg3, %arg4) : (tensor<4x12xf32>, tensor<12x12xf32>, tensor<12xf32>) -> tensor<4x12xf32>
    %detach_1 = "aten.detach"(%arg0) : (tensor<12xf32>) -> tensor<12xf32>
    %mul_1 = "aten.mul.Tensor"(%linear_1, %detach_1) : (tensor<4x12xf32>, tensor<12xf32>) -> tensor<4x12xf32>
    %pow_1 = "aten.pow.Tensor_Scalar"(%mul_1) {exponent = 2 : i64} : (tensor<4x12xf32>) -> tensor<4x12xf32>
    %mean = "aten.mean"(%pow_1) : (tensor<4x12xf32>) -> tensor<f32>
    return %mean : tensor<f32>
  }
}
