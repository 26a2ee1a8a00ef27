module attributes {aten.format = 1 : i64, aten.torch = "2.13.0"} {
  func.func @main(%arg0: tensor<12xf32> {aten.parameter = "a.bias"},
                  %arg1: tensor<12x1xf32> {aten.parameter = "a.parametrizations.weight.original0"},
                  %arg2: tensor<12x12xf32> {aten.parameter = "a.parametrizations.weight.original1"},
                  %arg3: tensor<12xf32> {aten.parameter = "b.bias"},
                  %arg4: tensor<12x1xf32> {aten.parameter = "b.parametrizations.weight.original0"},
                  %arg5: tensor<12x12xf32> {aten.parameter = "b.parametrizations.weight.original1"},
                  %arg6: tensor<4x12xf32> {aten.input = "x"})
      -> (tensor<f32> {aten.output = "loss"}) {
    %none = "aten.none"() : () -> none
    %linalg_vector_norm = "aten.linalg_vector_norm"(%arg2) {ord = 2 : i64, dim = array<i64: 1>, keepdim = true} : (tensor<12x12xf32>) -> tensor<12x1xf32>
    %div = "aten.div.Tensor"(%arg1, %linalg_vector_norm) : (tensor<12x1xf32>, tensor<12x1xf32>) -> tensor<12x1xf32>
    %mul = "aten.mul.Tensor"(%arg2, %div) : (tensor<12x12xf32>, tensor<12x1xf32>) -> tensor<12x12xf32>
    %linear = "aten.linear"(%arg6, %mul, %arg0) : (tensor<4x12xf32>, tensor<12x12xf32>, tensor<12xf32>) -> tensor<4x12xf32>
    %relu = "aten.relu"(%linear) : (tensor<4x12xf32>) -> tensor<4x12xf32>
    %linalg_vector_norm_1 = "aten.linalg_vector_norm"(%arg5) {ord = 2 : i64, dim = array<i64: 1>, keepdim = true} : (tensor<12x12xf32>) -> tensor<12x1xf32>
    %div_1 = "aten.div.Tensor"(%arg4, %linalg_vector_norm_1) : (tensor<12x1xf32>, tensor<12x1xf32>) -> tensor<12x1xf32>
    %mul_1 = "aten.mul.Tensor"(%arg5, %div_1) : (tensor<12x12xf32>, tensor<12x1xf32>) -> tensor<12x12xf32>
    %linear_1 = "aten.linear"(%relu, %mul_1, %arg3) : (tensor<4x12xf32>, tensor<12x12xf32>, tensor<12xf32>) -> tensor<4x12xf32>
    %pow_1 = "aten.pow.Tensor_Scalar"(%linear_1) {exponent = 2 : i64} : (tensor<4x12xf32>) -> tensor<4x12xf32>
    %mean = "aten.mean"(%pow_1) : (tensor<4x12xf32>) -> tensor<f32>
    return %mean : tensor<f32>
  }
}
