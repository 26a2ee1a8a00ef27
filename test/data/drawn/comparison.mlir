module attributes {aten.format = 1 : i64, aten.torch = "2.13.0", aten.values = "comparison.safetensors"} {
  func.func @main(%arg0: tensor<12x12xf32> {aten.parameter = "w"},
                  %arg1: tensor<12x12xf32> {aten.parameter = "v"},
                  %arg2: tensor<12x12xf32> {aten.parameter = "a.weight"},
                  %arg3: tensor<12xf32> {aten.parameter = "a.bias"},
                  %arg4: tensor<4x12xf32> {aten.input = "x"})
      -> (tensor<f32> {aten.output = "loss"}) {
    %none = "aten.none"() : () -> none
    %gt = "aten.gt.Scalar"(%arg0) {other = 0 : i64} : (tensor<12x12xf32>) -> tensor<12x12xi1>
    %_to_copy = "aten._to_copy"(%gt) {dtype = "f32"} : (tensor<12x12xi1>) -> tensor<12x12xf32>
    %matmul = "aten.matmul"(%arg4, %arg0) : (tensor<4x12xf32>, tensor<12x12xf32>) -> tensor<4x12xf32>
    %tanh = "aten.tanh"(%matmul) : (tensor<4x12xf32>) -> tensor<4x12xf32>
    %linear = "aten.linear"(%tanh, %arg2, %arg3) : (tensor<4x12xf32>, tensor<12x12xf32>, tensor<12xf32>) -> tensor<4x12xf32>
    %tanh_1 = "aten.tanh"(%linear) : (tensor<4x12xf32>) -> tensor<4x12xf32>
    %matmul_1 = "aten.matmul"(%tanh_1, %arg1) : (tensor<4x12xf32>, tensor<12x12xf32>) -> tensor<4x12xf32>
    %select = "aten.select.int"(%_to_copy) {dim = 0 : i64, index = 0 : i64} : (tensor<12x12xf32>) -> tensor<12xf32>
    %mul = "aten.mul.Tensor"(%matmul_1, %select) : (tensor<4x12xf32>, tensor<12xf32>) -> tensor<4x12xf32>
    %pow_1 = "aten.pow.Tensor_Scalar"(%mul) {exponent = 2 : i64} : (tensor<4x12xf32>) -> tensor<4x12xf32>
    %mean = "aten.mean"(%pow_1) : (tensor<4x12xf32>) -> tensor<f32>
    return %mean : tensor<f32>
  }
}
