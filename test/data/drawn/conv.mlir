module attributes {aten.format = 1 : i64, aten.torch = "2.13.0"} {
  func.func @main(%arg0: tensor<6x3x3x3xf32> {aten.parameter = "a.weight"},
                  %arg1: tensor<6xf32> {aten.parameter = "a.bias"},
                  %arg2: tensor<6x6x3x3xf32> {aten.parameter = "b.weight"},
                  %arg3: tensor<6xf32> {aten.parameter = "b.bias"},
                  %arg4: tensor<5x24xf32> {aten.parameter = "f.weight"},
                  %arg5: tensor<5xf32> {aten.parameter = "f.bias"},
                  %arg6: tensor<2x3x6x6xf32> {aten.input = "x"})
      -> (tensor<f32> {aten.output = "loss"}) {
    %none = "aten.none"() : () -> none
    %convolution = "aten.convolution"(%arg6, %arg0, %arg1) {stride = array<i64: 1, 1>, padding = array<i64: 1, 1>, dilation = array<i64: 1, 1>, transposed = false, output_padding = array<i64: 0, 0>, groups = 1 : i64} : (tensor<2x3x6x6xf32>, tensor<6x3x3x3xf32>, tensor<6xf32>) -> tensor<2x6x6x6xf32>
    %relu = "aten.relu"(%convolution) : (tensor<2x6x6x6xf32>) -> tensor<2x6x6x6xf32>
    %convolution_1 = "aten.convolution"(%relu, %arg2, %arg3) {stride = array<i64: 2, 2>, padding = array<i64: 0, 0>, dilation = array<i64: 1, 1>, transposed = false, output_padding = array<i64: 0, 0>, groups = 1 : i64} : (tensor<2x6x6x6xf32>, tensor<6x6x3x3xf32>, tensor<6xf32>) -> tensor<2x6x2x2xf32>
    %relu_1 = "aten.relu"(%convolution_1) : (tensor<2x6x2x2xf32>) -> tensor<2x6x2x2xf32>
    %view = "aten.view"(%relu_1) {size = array<i64: 2, 24>} : (tensor<2x6x2x2xf32>) -> tensor<2x24xf32>
    %linear = "aten.linear"(%view, %arg4, %arg5) : (tensor<2x24xf32>, tensor<5x24xf32>, tensor<5xf32>) -> tensor<2x5xf32>
    %pow_1 = "aten.pow.Tensor_Scalar"(%linear) {exponent = 2 : i64} : (tensor<2x5xf32>) -> tensor<2x5xf32>
    %mean = "aten.mean"(%pow_1) : (tensor<2x5xf32>) -> tensor<f32>
    return %mean : tensor<f32>
  }
}
