module attributes {aten.format = 1 : i64, aten.torch = "2.13.0"} {
  func.func @main(%arg0: tensor<12x12xf32> {aten.parameter = "w"},
                  %arg1: tensor<12x12xf32> {aten.parameter = "a.weight"},
                  %arg2: tensor<12xf32> {aten.parameter = "a.bias"},
                  %arg3: tensor<4x12xf32> {aten.input = "x"})
      -> (tensor<f32> {aten.output = "loss"}) {
    %none = "aten.none"() : () -> none
    %matmul = "aten.matmul"(%arg3, %arg0) : (tensor<4x12xf32>, tensor<12x12xf32>) -> tensor<4x12xf32>
    %tanh = "aten.tanh"(%matmul) : (tensor<4x12xf32>) -> tensor<4x12xf32>
    %linear = "aten.linear"(%tanh, %arg1, %arg2) : (tensor<4x12xf32>, tensor<12x12xf32>, tensor<12xf32>) -> tensor<4x12xf32>
    %matmul_1 = "aten.matmul"(%linear, %arg0) : (tensor<4x12xf32>, tensor<12x12xf32>) -> tensor<4x12xf32>
    %tanh_1 = "aten.tanh"(%matmul_1) : (tensor<4x12xf32>) -> tensor<4x12xf32>
    %matmul_2 = "aten.matmul"(%tanh_1, %arg0) : (tensor<4x12xf32>, tensor<12x12xf32>) -> tensor<4x12xf32>
    %tanh_2 = "aten.tanh"(%matmul_2) : (tensor<4x12xf32>) -> tensor<4x12xf32>
    %pow_1 = "aten.pow.Tensor_Scalar"(%tanh_2) {exponent = 2 : i64} : (tensor<4x12xf32>) -> tensor<4x12xf32>
    %mean = "aten.mean"(%pow_1) : (tensor<4x12xf32>) -> tensor<f32>
    return %mean : tensor<f32>
  }
}
