module attributes {aten.format = 1 : i64, aten.torch = "2.13.0", aten.values = "average_teacher.safetensors"} {
  func.func @main(%arg0: tensor<12x12xf32> {aten.parameter = "a.weight"},
                  %arg1: tensor<12xf32> {aten.parameter = "a.bias"},
                  %arg2: tensor<12x12xf32> {aten.parameter = "b.weight"},
                  %arg3: tensor<12xf32> {aten.parameter = "b.bias"},
                  %arg4: tensor<12x12xf32> {aten.buffer = "average"},
                  %arg5: tensor<4x12xf32> {aten.input = "x"})
      -> (tensor<12x12xf32> {aten.updates = "average"}, tensor<f32> {aten.output = "loss"}) {
    %none = "aten.none"() : () -> none
    %mul = "aten.mul.Tensor"(%arg4) {other = 0.9 : f64} : (tensor<12x12xf32>) -> tensor<12x12xf32>
    %mul_1 = "aten.mul.Tensor"(%arg0) {other = 0.1 : f64} : (tensor<12x12xf32>) -> tensor<12x12xf32>
    %add = "aten.add.Tensor"(%mul, %mul_1) : (tensor<12x12xf32>, tensor<12x12xf32>) -> tensor<12x12xf32>
    %detach = "aten.detach"(%add) : (tensor<12x12xf32>) -> tensor<12x12xf32>
    %linear = "aten.linear"(%arg5, %arg0, %arg1) : (tensor<4x12xf32>, tensor<12x12xf32>, tensor<12xf32>) -> tensor<4x12xf32>
    %tanh = "aten.tanh"(%linear) : (tensor<4x12xf32>) -> tensor<4x12xf32>
    %linear_1 = "aten.linear"(%tanh, %arg2, %arg3) : (tensor<4x12xf32>, tensor<12x12xf32>, tensor<12xf32>) -> tensor<4x12xf32>
    %linear_2 = "aten.linear"(%arg5, %detach) : (tensor<4x12xf32>, tensor<12x12xf32>) -> tensor<4x12xf32>
    %tanh_1 = "aten.tanh"(%linear_2) : (tensor<4x12xf32>) -> tensor<4x12xf32>
    %sub = "aten.sub.Tensor"(%linear_1, %tanh_1) : (tensor<4x12xf32>, tensor<4x12xf32>) -> tensor<4x12xf32>
    %pow_1 = "aten.pow.Tensor_Scalar"(%sub) {exponent = 2 : i64} : (tensor<4x12xf32>) -> tensor<4x12xf32>
    %mean = "aten.mean"(%pow_1) : (tensor<4x12xf32>) -> tensor<f32>
    return %add, %mean : tensor<12x12xf32>, tensor<f32>
  }
}
