module attributes {aten.format = 1 : i64, aten.torch = "2.13.0"} {
  func.func @main(%arg0: tensor<12x12xf32> {aten.parameter = "w"},
                  %arg1: tensor<12x12xf32> {aten.parameter = "v"},
                  %arg2: tensor<4x12xf32> {aten.input = "x"})
      -> (tensor<f32> {aten.output = "loss"}) {
    %none = "aten.none"() : () -> none
    %matmul = "aten.matmul"(%arg2, %arg0) : (tensor<4x12xf32>, tensor<12x12xf32>) -> tensor<4x12xf32>
    %tanh = "aten.tanh"(%matmul) : (tensor<4x12xf32>) -> tensor<4x12xf32>
    %matmul_1 = "aten.matmul"(%tanh, %arg1) : (tensor<4x12xf32>, tensor<12x12xf32>) -> tensor<4x12xf32>
    %tanh_1 = "aten.tanh"(%matmul_1) : (tensor<4x12xf32>) -> tensor<4x12xf32>
    %permute = "aten.permute"(%arg0) {dims = array<i64: 1, 0>} : (tensor<12x12xf32>) -> tensor<12x12xf32>
    %matmul_2 = "aten.matmul"(%tanh_1, %permute) : (tensor<4x12xf32>, tensor<12x12xf32>) -> tensor<4x12xf32>
    %pow_1 = "aten.pow.Tensor_Scalar"(%matmul_2) {exponent = 2 : i64} : (tensor<4x12xf32>) -> tensor<4x12xf32>
    %mean = "aten.mean"(%pow_1) : (tensor<4x12xf32>) -> tensor<f32>
    return %mean : tensor<f32>
  }
}
