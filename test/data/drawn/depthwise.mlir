module attributes {aten.format = 1 : i64, aten.torch = "2.13.0"} {
  func.func @main(%arg0: tensor<12x1x3xf32> {aten.parameter = "d.weight"},
                  %arg1: tensor<12xf32> {aten.parameter = "d.bias"},
                  %arg2: tensor<6x12x1xf32> {aten.parameter = "p.weight"},
                  %arg3: tensor<6xf32> {aten.parameter = "p.bias"},
                  %arg4: tensor<2x12x6xf32> {aten.input = "x"})
      -> (tensor<f32> {aten.output = "loss"}) {
    %none = "aten.none"() : () -> none
    %convolution = "aten.convolution"(%arg4, %arg0, %arg1) {stride = array<i64: 1>, padding = array<i64: 1>, dilation = array<i64: 1>, transposed = false, output_padding = array<i64: 0>, groups = 12 : i64} : (tensor<2x12x6xf32>, tensor<12x1x3xf32>, tensor<12xf32>) -> tensor<2x12x6xf32>
    %silu = "aten.silu"(%convolution) : (tensor<2x12x6xf32>) -> tensor<2x12x6xf32>
    %convolution_1 = "aten.convolution"(%silu, %arg2, %arg3) {stride = array<i64: 1>, padding = array<i64: 0>, dilation = array<i64: 1>, transposed = false, output_padding = array<i64: 0>, groups = 1 : i64} : (tensor<2x12x6xf32>, tensor<6x12x1xf32>, tensor<6xf32>) -> tensor<2x6x6xf32>
    %pow_1 = "aten.pow.Tensor_Scalar"(%convolution_1) {exponent = 2 : i64} : (tensor<2x6x6xf32>) -> tensor<2x6x6xf32>
    %mean = "aten.mean"(%pow_1) : (tensor<2x6x6xf32>) -> tensor<f32>
    return %mean : tensor<f32>
  }
}
