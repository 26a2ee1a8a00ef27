module attributes {aten.format = 1 : i64, aten.torch = "2.13.0"} {
  func.func @main(%arg0: tensor<12x12xf32> {aten.parameter = "a.weight"},
                  %arg1: tensor<12xf32> {aten.parameter = "a.bias"},
                  %arg2: tensor<12x12xf32> {aten.parameter = "b.weight"},
                  %arg3: tensor<12xf32> {aten.parameter = "b.bias"},
                  %arg4: tensor<4x12xf32> {aten.input = "x"})
      -> (tensor<f32> {aten.output = "loss"}) {
    %none = "aten.none"() : () -> none
    %linear = "aten.linear"(%arg4, %arg0, %arg1) : (tensor<4x12xf32>, tensor<12x12xf32>, tensor<12xf32>) -> tensor<4x12xf32>
    %tanh = "aten.tanh"(%linear) : (tensor<4x12xf32>) -> tensor<4x12xf32>
    %linear_1 = "aten.linear"(%tanh, %arg2, %arg3) : (tensor<4x12xf32>, tensor<12x12xf32>, tensor<12xf32>) -> tensor<4x12xf32>
    %pow_1 = "aten.pow.Tensor_Scalar"(%linear_1) {exponent = 2 : i64} : (tensor<4x12xf32>) -> tensor<4x12xf32>
    %mean = "aten.mean"(%pow_1) : (tensor<4x12xf32>) -> tensor<f32>
    %linalg_vector_norm = "aten.linalg_vector_norm"(%arg0) : (tensor<12x12xf32>) -> tensor<f32>
    %mul = "aten.mul.Tensor"(%linalg_vector_norm) {other = 0.1 : f64} : (tensor<f32>) -> tensor<f32>
    %add = "aten.add.Tensor"(%mean, %mul) : (tensor<f32>, tensor<f32>) -> tensor<f32>
    %abs_1 = "aten.abs"(%arg2) : (tensor<12x12xf32>) -> tensor<12x12xf32>
    %max_1 = "aten.max"(%abs_1) : (tensor<12x12xf32>) -> tensor<f32>
    %mul_1 = "aten.mul.Tensor"(%max_1) {other = 0.1 : f64} : (tensor<f32>) -> tensor<f32>
    %add_1 = "aten.add.Tensor"(%add, %mul_1) : (tensor<f32>, tensor<f32>) -> tensor<f32>
    return %add_1 : tensor<f32>
  }
}
