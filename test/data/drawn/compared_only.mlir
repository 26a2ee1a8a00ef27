module attributes {aten.format = 1 : i64, aten.torch = "2.13.0", aten.values = "compared_only.safetensors"} {
  func.func @main(%arg0: tensor<3xf32> {aten.parameter = "s"},
                  %arg1: tensor<12x12xf32> {aten.parameter = "a.weight"},
                  %arg2: tensor<12xf32> {aten.parameter = "a.bias"},
                  %arg3: tensor<12x12xf32> {aten.parameter = "b.weight"},
                  %arg4: tensor<12xf32> {aten.parameter = "b.bias"},
                  %arg5: tensor<4x12xf32> {aten.input = "x"})
      -> (tensor<f32> {aten.output = "loss"}) {
    %none = "aten.none"() : () -> none
    %linear = "aten.linear"(%arg5, %arg1, %arg2) : (tensor<4x12xf32>, tensor<12x12xf32>, tensor<12xf32>) -> tensor<4x12xf32>
    %tanh = "aten.tanh"(%linear) : (tensor<4x12xf32>) -> tensor<4x12xf32>
    %linear_1 = "aten.linear"(%tanh, %arg3, %arg4) : (tensor<4x12xf32>, tensor<12x12xf32>, tensor<12xf32>) -> tensor<4x12xf32>
    %pow_1 = "aten.pow.Tensor_Scalar"(%linear_1) {exponent = 2 : i64} : (tensor<4x12xf32>) -> tensor<4x12xf32>
    %mean = "aten.mean"(%pow_1) : (tensor<4x12xf32>) -> tensor<f32>
    %sum_1 = "aten.sum.dim_IntList"(%arg0) {dim = array<i64>} : (tensor<3xf32>) -> tensor<f32>
    %gt = "aten.gt.Scalar"(%sum_1) {other = 0 : i64} : (tensor<f32>) -> tensor<i1>
    %mul = "aten.mul.Tensor"(%mean, %gt) : (tensor<f32>, tensor<i1>) -> tensor<f32>
    return %mul : tensor<f32>
  }
}
