module attributes {aten.format = 1 : i64, aten.torch = "2.13.0"} {
  func.func @main(%arg0: tensor<24x12xf32> {aten.parameter = "e.weight"},
                  %arg1: tensor<5x12xf32> {aten.parameter = "f.weight"},
                  %arg2: tensor<12x12xf32> {aten.parameter = "a.weight"},
                  %arg3: tensor<12xf32> {aten.parameter = "a.bias"},
                  %arg4: tensor<12x12xf32> {aten.parameter = "b.weight"},
                  %arg5: tensor<12xf32> {aten.parameter = "b.bias"},
                  %arg6: tensor<4x3xi64> {aten.input = "x"},
                  %arg7: tensor<4xi64> {aten.input = "y"})
      -> (tensor<f32> {aten.output = "loss"}) {
    %none = "aten.none"() : () -> none
    %embedding = "aten.embedding"(%arg0, %arg6) : (tensor<24x12xf32>, tensor<4x3xi64>) -> tensor<4x3x12xf32>
    %sum_1 = "aten.sum.dim_IntList"(%embedding) {dim = array<i64: 1>} : (tensor<4x3x12xf32>) -> tensor<4x12xf32>
    %linear = "aten.linear"(%sum_1, %arg2, %arg3) : (tensor<4x12xf32>, tensor<12x12xf32>, tensor<12xf32>) -> tensor<4x12xf32>
    %tanh = "aten.tanh"(%linear) : (tensor<4x12xf32>) -> tensor<4x12xf32>
    %linear_1 = "aten.linear"(%tanh, %arg4, %arg5) : (tensor<4x12xf32>, tensor<12x12xf32>, tensor<12xf32>) -> tensor<4x12xf32>
    %embedding_1 = "aten.embedding"(%arg1, %arg7) : (tensor<5x12xf32>, tensor<4xi64>) -> tensor<4x12xf32>
    %mul = "aten.mul.Tensor"(%linear_1, %embedding_1) : (tensor<4x12xf32>, tensor<4x12xf32>) -> tensor<4x12xf32>
    %pow_1 = "aten.pow.Tensor_Scalar"(%mul) {exponent = 2 : i64} : (tensor<4x12xf32>) -> tensor<4x12xf32>
    %mean = "aten.mean"(%pow_1) : (tensor<4x12xf32>) -> tensor<f32>
    return %mean : tensor<f32>
  }
}
