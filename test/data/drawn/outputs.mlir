module attributes {aten.format = 1 : i64, aten.torch = "2.13.0"} {
  func.func @main(%arg0: tensor<12x12xf32> {aten.parameter = "a.weight"},
                  %arg1: tensor<12xf32> {aten.parameter = "a.bias"},
                  %arg2: tensor<12x12xf32> {aten.parameter = "b.weight"},
                  %arg3: tensor<12xf32> {aten.parameter = "b.bias"},
                  %arg4: tensor<4x12xf32> {aten.input = "x"})
      -> (tensor<f32> {aten.output = "output0"}, tensor<4x12xf32> {aten.output = "output1"}, tensor<4x12xf32> {aten.output = "output2"}, tensor<4x12xf32> {aten.output = "output3"}) {
    %none = "aten.none"() : () -> none
    %linear = "aten.linear"(%arg4, %arg0, %arg1) : (tensor<4x12xf32>, tensor<12x12xf32>, tensor<12xf32>) -> tensor<4x12xf32>
    %tanh = "aten.tanh"(%linear) : (tensor<4x12xf32>) -> tensor<4x12xf32>
    %linear_1 = "aten.linear"(%tanh, %arg2, %arg3) : (tensor<4x12xf32>, tensor<12x12xf32>, tensor<12xf32>) -> tensor<4x12xf32>
    %pow_1 = "aten.pow.Tensor_Scalar"(%linear_1) {exponent = 2 : i64} : (tensor<4x12xf32>) -> tensor<4x12xf32>
    %mean = "aten.mean"(%pow_1) : (tensor<4x12xf32>) -> tensor<f32>
    %softmax = "aten.softmax.int"(%linear_1) {dim = -1 : i64} : (tensor<4x12xf32>) -> tensor<4x12xf32>
    %select = "aten.select.int"(%arg0) {dim = 0 : i64, index = 0 : i64} : (tensor<12x12xf32>) -> tensor<12xf32>
    %mul = "aten.mul.Tensor"(%tanh, %select) : (tensor<4x12xf32>, tensor<12xf32>) -> tensor<4x12xf32>
    %detach = "aten.detach"(%arg2) : (tensor<12x12xf32>) -> tensor<12x12xf32>
    %matmul = "aten.matmul"(%linear_1, %detach) : (tensor<4x12xf32>, tensor<12x12xf32>) -> tensor<4x12xf32>
    return %mean, %softmax, %mul, %matmul : tensor<f32>, tensor<4x12xf32>, tensor<4x12xf32>, tensor<4x12xf32>
  }
}
