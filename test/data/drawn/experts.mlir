module attributes {aten.format = 1 : i64, aten.torch = "2.13.0"} {
  func.func @main(%arg0: tensor<3x12xf32> {aten.parameter = "g.weight"},
                  %arg1: tensor<3xf32> {aten.parameter = "g.bias"},
                  %arg2: tensor<8x12xf32> {aten.parameter = "e.0.0.weight"},
                  %arg3: tensor<8xf32> {aten.parameter = "e.0.0.bias"},
                  %arg4: tensor<12x8xf32> {aten.parameter = "e.0.2.weight"},
                  %arg5: tensor<12xf32> {aten.parameter = "e.0.2.bias"},
                  %arg6: tensor<8x12xf32> {aten.parameter = "e.1.0.weight"},
                  %arg7: tensor<8xf32> {aten.parameter = "e.1.0.bias"},
                  %arg8: tensor<12x8xf32> {aten.parameter = "e.1.2.weight"},
                  %arg9: tensor<12xf32> {aten.parameter = "e.1.2.bias"},
                  %arg10: tensor<8x12xf32> {aten.parameter = "e.2.0.weight"},
                  %arg11: tensor<8xf32> {aten.parameter = "e.2.0.bias"},
                  %arg12: tensor<12x8xf32> {aten.parameter = "e.2.2.weight"},
                  %arg13: tensor<12xf32> {aten.parameter = "e.2.2.bias"},
                  %arg14: tensor<2x6x12xf32> {aten.input = "x"})
      -> (tensor<f32> {aten.output = "loss"}) {
    %none = "aten.none"() : () -> none
    %linear = "aten.linear"(%arg14, %arg0, %arg1) : (tensor<2x6x12xf32>, tensor<3x12xf32>, tensor<3xf32>) -> tensor<2x6x3xf32>
    %softmax = "aten.softmax.int"(%linear) {dim = -1 : i64} : (tensor<2x6x3xf32>) -> tensor<2x6x3xf32>
    %slice_1 = "aten.slice.Tensor"(%softmax) {dim = 2 : i64, start = 0 : i64, end = 1 : i64} : (tensor<2x6x3xf32>) -> tensor<2x6x1xf32>
    %linear_1 = "aten.linear"(%arg14, %arg2, %arg3) : (tensor<2x6x12xf32>, tensor<8x12xf32>, tensor<8xf32>) -> tensor<2x6x8xf32>
    %gelu = "aten.gelu"(%linear_1) : (tensor<2x6x8xf32>) -> tensor<2x6x8xf32>
    %linear_2 = "aten.linear"(%gelu, %arg4, %arg5) : (tensor<2x6x8xf32>, tensor<12x8xf32>, tensor<12xf32>) -> tensor<2x6x12xf32>
    %mul = "aten.mul.Tensor"(%slice_1, %linear_2) : (tensor<2x6x1xf32>, tensor<2x6x12xf32>) -> tensor<2x6x12xf32>
    %slice_2 = "aten.slice.Tensor"(%softmax) {dim = 2 : i64, start = 1 : i64, end = 2 : i64} : (tensor<2x6x3xf32>) -> tensor<2x6x1xf32>
    %linear_3 = "aten.linear"(%arg14, %arg6, %arg7) : (tensor<2x6x12xf32>, tensor<8x12xf32>, tensor<8xf32>) -> tensor<2x6x8xf32>
    %gelu_1 = "aten.gelu"(%linear_3) : (tensor<2x6x8xf32>) -> tensor<2x6x8xf32>
    %linear_4 = "aten.linear"(%gelu_1, %arg8, %arg9) : (tensor<2x6x8xf32>, tensor<12x8xf32>, tensor<12xf32>) -> tensor<2x6x12xf32>
    %mul_1 = "aten.mul.Tensor"(%slice_2, %linear_4) : (tensor<2x6x1xf32>, tensor<2x6x12xf32>) -> tensor<2x6x12xf32>
    %slice_3 = "aten.slice.Tensor"(%softmax) {dim = 2 : i64, start = 2 : i64, end = 3 : i64} : (tensor<2x6x3xf32>) -> tensor<2x6x1xf32>
    %linear_5 = "aten.linear"(%arg14, %arg10, %arg11) : (tensor<2x6x12xf32>, tensor<8x12xf32>, tensor<8xf32>) -> tensor<2x6x8xf32>
    %gelu_2 = "aten.gelu"(%linear_5) : (tensor<2x6x8xf32>) -> tensor<2x6x8xf32>
    %linear_6 = "aten.linear"(%gelu_2, %arg12, %arg13) : (tensor<2x6x8xf32>, tensor<12x8xf32>, tensor<12xf32>) -> tensor<2x6x12xf32>
    %mul_2 = "aten.mul.Tensor"(%slice_3, %linear_6) : (tensor<2x6x1xf32>, tensor<2x6x12xf32>) -> tensor<2x6x12xf32>
    %stack = "aten.stack"(%mul, %mul_1, %mul_2) : (tensor<2x6x12xf32>, tensor<2x6x12xf32>, tensor<2x6x12xf32>) -> tensor<3x2x6x12xf32>
    %sum_1 = "aten.sum.dim_IntList"(%stack) {dim = array<i64: 0>} : (tensor<3x2x6x12xf32>) -> tensor<2x6x12xf32>
    %add = "aten.add.Tensor"(%arg14, %sum_1) : (tensor<2x6x12xf32>, tensor<2x6x12xf32>) -> tensor<2x6x12xf32>
    %pow_1 = "aten.pow.Tensor_Scalar"(%add) {exponent = 2 : i64} : (tensor<2x6x12xf32>) -> tensor<2x6x12xf32>
    %mean = "aten.mean"(%pow_1) : (tensor<2x6x12xf32>) -> tensor<f32>
    return %mean : tensor<f32>
  }
}
