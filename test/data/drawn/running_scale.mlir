module attributes {aten.format = 1 : i64, aten.torch = "2.13.0", aten.values = "running_scale.safetensors"} {
  func.func @main(%arg0: tensor<12x12xf32> {aten.parameter = "a.weight"},
                  %arg1: tensor<12xf32> {aten.parameter = "a.bias"},
                  %arg2: tensor<12x12xf32> {aten.parameter = "b.weight"},
                  %arg3: tensor<12xf32> {aten.parameter = "b.bias"},
                  %arg4: tensor<12xf32> {aten.buffer = "seen"},
                  %arg5: tensor<4x12xf32> {aten.input = "x"})
      -> (tensor<12xf32> {aten.updates = "seen"}, tensor<f32> {aten.output = "loss"}) {
    %none = "aten.none"() : () -> none
    %pow_1 = "aten.pow.Tensor_Scalar"(%arg5) {exponent = 2 : i64} : (tensor<4x12xf32>) -> tensor<4x12xf32>
    %mean = "aten.mean.dim"(%pow_1) {dim = array<i64: 0>} : (tensor<4x12xf32>) -> tensor<12xf32>
    %detach = "aten.detach"(%mean) : (tensor<12xf32>) -> tensor<12xf32>
    %add = "aten.add.Tensor"(%arg4, %detach) : (tensor<12xf32>, tensor<12xf32>) -> tensor<12xf32>
    %add_1 = "aten.add.Tensor"(%add) {other = 1 : i64} : (tensor<12xf32>) -> tensor<12xf32>
    %div = "aten.div.Tensor"(%arg5, %add_1) : (tensor<4x12xf32>, tensor<12xf32>) -> tensor<4x12xf32>
    %linear = "aten.linear"(%div, %arg0, %arg1) : (tensor<4x12xf32>, tensor<12x12xf32>, tensor<12xf32>) -> tensor<4x12xf32>
    %tanh = "aten.tanh"(%linear) : (tensor<4x12xf32>) -> tensor<4x12xf32>
    %linear_1 = "aten.linear"(%tanh, %arg2, %arg3) : (tensor<4x12xf32>, tensor<12x12xf32>, tensor<12xf32>) -> tensor<4x12xf32>
    %pow_2 = "aten.pow.Tensor_Scalar"(%linear_1) {exponent = 2 : i64} : (tensor<4x12xf32>) -> tensor<4x12xf32>
    %mean_1 = "aten.mean"(%pow_2) : (tensor<4x12xf32>) -> tensor<f32>
    return %add, %mean_1 : tensor<12xf32>, tensor<f32>
  }
}
