module attributes {aten.format = 1 : i64, aten.torch = "2.13.0"} {
  func.func @main(%arg0: tensor<4x6x3xf32> {aten.parameter = "a.weight"},
                  %arg1: tensor<6xf32> {aten.parameter = "a.bias"},
                  %arg2: tensor<4x6x3xf32> {aten.parameter = "b.weight"},
                  %arg3: tensor<4xf32> {aten.parameter = "b.bias"},
                  %arg4: tensor<2x4x6xf32> {aten.input = "x"})
      -> (tensor<f32> {aten.output = "loss"}) {
    %none = "aten.none"() : () -> none
    %convolution = "aten.convolution"(%arg4, %arg0, %arg1) {stride = array<i64: 2>, padding = array<i64: 0>, dilation = array<i64: 1>, transposed = true, output_padding = array<i64: 0>, groups = 1 : i64} : (tensor<2x4x6xf32>, tensor<4x6x3xf32>, tensor<6xf32>) -> tensor<2x6x13xf32>
    %tanh = "aten.tanh"(%convolution) : (tensor<2x6x13xf32>) -> tensor<2x6x13xf32>
    %convolution_1 = "aten.convolution"(%tanh, %arg2, %arg3) {stride = array<i64: 1>, padding = array<i64: 0>, dilation = array<i64: 1>, transposed = false, output_padding = array<i64: 0>, groups = 1 : i64} : (tensor<2x6x13xf32>, tensor<4x6x3xf32>, tensor<4xf32>) -> tensor<2x4x11xf32>
    %pow_1 = "aten.pow.Tensor_Scalar"(%convolution_1) {exponent = 2 : i64} : (tensor<2x4x11xf32>) -> tensor<2x4x11xf32>
    %mean = "aten.mean"(%pow_1) : (tensor<2x4x11xf32>) -> tensor<f32>
    return %mean : tensor<f32>
  }
}
