module attributes {aten.format = 1 : i64, aten.torch = "2.13.0", aten.values = "detached_tied.safetensors"} {
  func.func @main(%arg0: tensor<12x12xf32> {aten.parameter = "w"},
                  %arg1: tensor<12x12xf32> {aten.parameter = "v"},
                  %arg2: tensor<4x12xf32> {aten.input = "x"})
      -> (tensor<f32> {aten.output = "loss"}) {
    %none = "aten.none"() : () -> none
    %detach = "aten.detach"(%arg0) : (tensor<12x12xf32>) -> tensor<12x12xf32>
    %matmul = "aten.matmul"(%arg2, %detach) : (tensor<4x12xf32>, tensor<12x12xf32>) -> tensor<4x12xf32>
    %tanh = "aten.tanh"(%matmul) : (tensor<4x12xf32>) -> tensor<4x12xf32>
    %matmul_1 = "aten.matmul"(%tanh, %arg1) : (tensor<4x12xf32>, tensor<12x12xf32>) -> tensor<4x12xf32>
    %tanh_1 = "aten.tanh"(%matmul_1) : (tensor<4x12xf32>) -> tensor<4x12xf32>
    %matmul_2 = "aten.matmul"(%tanh_1, %arg0) : (tensor<4x12xf32>, tensor<12x12xf32>) -> tensor<4x12xf32>
    %pow_1 = "aten.pow.Tensor_Scalar"(%matmul_2) {exponent = 2 : i64} : (tensor<4x12xf32>) -> tensor<4x12xf32>
    %mean = "aten.mean"(%pow_1) : (tensor<4x12xf32>) -> tensor<f32>
    return %mean : tensor<f32>
  }
}
