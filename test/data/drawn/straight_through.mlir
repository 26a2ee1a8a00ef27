module attributes {aten.format = 1 : i64, aten.torch = "2.13.0", aten.values = "straight_through.safetensors"} {
  func.func @main(%arg0: tensor<12x12xf32> {aten.parameter = "a.weight"},
                  %arg1: tensor<12xf32> {aten.parameter = "a.bias"},
                  %arg2: tensor<12x12xf32> {aten.parameter = "b.weight"},
                  %arg3: tensor<12xf32> {aten.parameter = "b.bias"},
                  %arg4: tensor<4x12xf32> {aten.input = "x"})
      -> (tensor<f32> {aten.output = "loss"}) {
    %none = "aten.none"() : () -> none
    %detach = "aten.detach"(%arg0) : (tensor<12x12xf32>) -> tensor<12x12xf32>
    %abs_1 = "aten.abs"(%detach) : (tensor<12x12xf32>) -> tensor<12x12xf32>
    %mean = "aten.mean"(%abs_1) : (tensor<12x12xf32>) -> tensor<f32>
    %sign = "aten.sign"(%arg0) : (tensor<12x12xf32>) -> tensor<12x12xf32>
    %mul = "aten.mul.Tensor"(%sign, %mean) : (tensor<12x12xf32>, tensor<f32>) -> tensor<12x12xf32>
    %sub = "aten.sub.Tensor"(%mul, %arg0) : (tensor<12x12xf32>, tensor<12x12xf32>) -> tensor<12x12xf32>
    %detach_1 = "aten.detach"(%sub) : (tensor<12x12xf32>) -> tensor<12x12xf32>
    %add = "aten.add.Tensor"(%arg0, %detach_1) : (tensor<12x12xf32>, tensor<12x12xf32>) -> tensor<12x12xf32>
    %linear = "aten.linear"(%arg4, %add) : (tensor<4x12xf32>, tensor<12x12xf32>) -> tensor<4x12xf32>
    %tanh = "aten.tanh"(%linear) : (tensor<4x12xf32>) -> tensor<4x12xf32>
    %detach_2 = "aten.detach"(%arg2) : (tensor<12x12xf32>) -> tensor<12x12xf32>
    %abs_2 = "aten.abs"(%detach_2) : (tensor<12x12xf32>) -> tensor<12x12xf32>
    %mean_1 = "aten.mean"(%abs_2) : (tensor<12x12xf32>) -> tensor<f32>
    %sign_1 = "aten.sign"(%arg2) : (tensor<12x12xf32>) -> tensor<12x12xf32>
    %mul_1 = "aten.mul.Tensor"(%sign_1, %mean_1) : (tensor<12x12xf32>, tensor<f32>) -> tensor<12x12xf32>
    %sub_1 = "aten.sub.Tensor"(%mul_1, %arg2) : (tensor<12x12xf32>, tensor<12x12xf32>) -> tensor<12x12xf32>
    %detach_3 = "aten.detach"(%sub_1) : (tensor<12x12xf32>) -> tensor<12x12xf32>
    %add_1 = "aten.add.Tensor"(%arg2, %detach_3) : (tensor<12x12xf32>, tensor<12x12xf32>) -> tensor<12x12xf32>
    %linear_1 = "aten.linear"(%tanh, %add_1) : (tensor<4x12xf32>, tensor<12x12xf32>) -> tensor<4x12xf32>
    %pow_1 = "aten.pow.Tensor_Scalar"(%linear_1) {exponent = 2 : i64} : (tensor<4x12xf32>) -> tensor<4x12xf32>
    %mean_2 = "aten.mean"(%pow_1) : (tensor<4x12xf32>) -> tensor<f32>
    return %mean_2 : tensor<f32>
  }
}
