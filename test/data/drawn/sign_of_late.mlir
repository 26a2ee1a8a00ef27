module attributes {aten.format = 1 : i64, aten.torch = "2.13.0", aten.values = "sign_of_late.safetensors"} {
  func.func @main(%arg0: tensor<12x12xf32> {aten.parameter = "a.weight"},
                  %arg1: tensor<12xf32> {aten.parameter = "a.bias"},
                  %arg2: tensor<12x12xf32> {aten.parameter = "b.weight"},
                  %arg3: tensor<12xf32> {aten.parameter = "b.bias"},
                  %arg4: tensor<4x12xf32> {aten.input = "x"})
      -> (tensor<f32> {aten.output = "loss"}) {
    %none = "aten.none"() : () -> none
    %detach = "aten.detach"(%arg2) : (tensor<12x12xf32>) -> tensor<12x12xf32>
    %select = "aten.select.int"(%detach) {dim = 0 : i64, index = 0 : i64} : (tensor<12x12xf32>) -> tensor<12xf32>
    %sign = "aten.sign"(%select) : (tensor<12xf32>) -> tensor<12xf32>
    %mul = "aten.mul.Tensor"(%arg4, %sign) : (tensor<4x12xf32>, tensor<12xf32>) -> tensor<4x12xf32>
    %linear = "aten.linear"(%mul, %arg0, %arg1) : (tensor<4x12xf32>, tensor<12x12xf32>, tensor<12xf32>) -> tensor<4x12xf32>
    %tanh = "aten.tanh"(%linear) : (tensor<4x12xf32>) -> tensor<4x12xf32>
    %linear_1 = "aten.linear"(%tanh, %arg2, %arg3) : (tensor<4x12xf32>, tensor<12x12xf32>, tensor<12xf32>) -> tensor<4x12xf32>
    %pow_1 = "aten.pow.Tensor_Scalar"(%linear_1) {exponent = 2 : i64} : (tensor<4x12xf32>) -> tensor<4x12xf32>
    %mean = "aten.mean"(%pow_1) : (tensor<4x12xf32>) -> tensor<f32>
    return %mean : tensor<f32>
  }
}
