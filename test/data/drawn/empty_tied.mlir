module attributes {aten.format = 1 : i64, aten.torch = "2.13.0", aten.values = "empty_tied.safetensors"} {
  func.func @main(%arg0: tensor<12x0xf32> {aten.parameter = "z"},
                  %arg1: tensor<12x12xf32> {aten.parameter = "a.weight"},
                  %arg2: tensor<12xf32> {aten.parameter = "a.bias"},
                  %arg3: tensor<12x12xf32> {aten.parameter = "b.weight"},
                  %arg4: tensor<12xf32> {aten.parameter = "b.bias"},
                  %arg5: tensor<4x12xf32> {aten.input = "x"})
      -> (tensor<f32> {aten.output = "loss"}) {
    %none = "aten.none"() : () -> none
    %matmul = "aten.matmul"(%arg5, %arg0) : (tensor<4x12xf32>, tensor<12x0xf32>) -> tensor<4x0xf32>
    %sum_1 = "aten.sum.dim_IntList"(%matmul) {dim = array<i64>} : (tensor<4x0xf32>) -> tensor<f32>
    %linear = "aten.linear"(%arg5, %arg1, %arg2) : (tensor<4x12xf32>, tensor<12x12xf32>, tensor<12xf32>) -> tensor<4x12xf32>
    %tanh = "aten.tanh"(%linear) : (tensor<4x12xf32>) -> tensor<4x12xf32>
    %linear_1 = "aten.linear"(%tanh, %arg3, %arg4) : (tensor<4x12xf32>, tensor<12x12xf32>, tensor<12xf32>) -> tensor<4x12xf32>
    %pow_1 = "aten.pow.Tensor_Scalar"(%linear_1) {exponent = 2 : i64} : (tensor<4x12xf32>) -> tensor<4x12xf32>
    %mean = "aten.mean"(%pow_1) : (tensor<4x12xf32>) -> tensor<f32>
    %add = "aten.add.Tensor"(%sum_1, %mean) : (tensor<f32>, tensor<f32>) -> tensor<f32>
    %matmul_1 = "aten.matmul"(%arg5, %arg0) : (tensor<4x12xf32>, tensor<12x0xf32>) -> tensor<4x0xf32>
    %pow_2 = "aten.pow.Tensor_Scalar"(%matmul_1) {exponent = 2 : i64} : (tensor<4x0xf32>) -> tensor<4x0xf32>
    %sum_2 = "aten.sum.dim_IntList"(%pow_2) {dim = array<i64>} : (tensor<4x0xf32>) -> tensor<f32>
    %add_1 = "aten.add.Tensor"(%add, %sum_2) : (tensor<f32>, tensor<f32>) -> tensor<f32>
    return %add_1 : tensor<f32>
  }
}
