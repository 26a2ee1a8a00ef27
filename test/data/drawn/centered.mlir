module attributes {aten.format = 1 : i64, aten.torch = "2.13.0"} {
  func.func @main(%arg0: tensor<12x12xf32> {aten.parameter = "a.weight"},
                  %arg1: tensor<12xf32> {aten.parameter = "a.bias"},
                  %arg2: tensor<12x12xf32> {aten.parameter = "b.weight"},
                  %arg3: tensor<12xf32> {aten.parameter = "b.bias"},
                  %arg4: tensor<4x12xf32> {aten.input = "x"})
      -> (tensor<f32> {aten.output = "loss"}) {
    %none = "aten.none"() : () -> none
    %mean = "aten.mean.dim"(%arg0) {dim = array<i64: 1>, keepdim = true} : (tensor<12x12xf32>) -> tensor<12x1xf32>
    %sub = "aten.sub.Tensor"(%arg0, %mean) : (tensor<12x12xf32>, tensor<12x1xf32>) -> tensor<12x12xf32>
    %linear = "aten.linear"(%arg4, %sub) : (tensor<4x12xf32>, tensor<12x12xf32>) -> tensor<4x12xf32>
    %relu = "aten.relu"(%linear) : (tensor<4x12xf32>) -> tensor<4x12xf32>
    %linear_1 = "aten.linear"(%relu, %sub) : (tensor<4x12xf32>, tensor<12x12xf32>) -> tensor<4x12xf32>
    %linear_2 = "aten.linear"(%linear_1, %arg2, %arg3) : (tensor<4x12xf32>, tensor<12x12xf32>, tensor<12xf32>) -> tensor<4x12xf32>
    %pow_1 = "aten.pow.Tensor_Scalar"(%linear_2) {exponent = 2 : i64} : (tensor<4x12xf32>) -> tensor<4x12xf32>
    %mean_1 = "aten.mean"(%pow_1) : (tensor<4x12xf32>) -> tensor<f32>
    return %mean_1 : tensor<f32>
  }
}
