module attributes {aten.format = 1 : i64, aten.torch = "2.13.0"} {
  func.func @main(%arg0: tensor<12x3x3xf32> {aten.parameter = "a.weight"},
                  %arg1: tensor<12xf32> {aten.parameter = "a.bias"},
                  %arg2: tensor<12xf32> {aten.parameter = "n.weight"},
                  %arg3: tensor<12xf32> {aten.parameter = "n.bias"},
                  %arg4: tensor<2x12x1xf32> {aten.parameter = "b.weight"},
                  %arg5: tensor<2xf32> {aten.parameter = "b.bias"},
                  %arg6: tensor<2x3x6xf32> {aten.input = "x"})
      -> (tensor<f32> {aten.output = "loss"}) {
    %none = "aten.none"() : () -> none
    %convolution = "aten.convolution"(%arg6, %arg0, %arg1) {stride = array<i64: 1>, padding = array<i64: 0>, dilation = array<i64: 1>, transposed = false, output_padding = array<i64: 0>, groups = 1 : i64} : (tensor<2x3x6xf32>, tensor<12x3x3xf32>, tensor<12xf32>) -> tensor<2x12x4xf32>
    %native_group_norm:3 = "aten.native_group_norm"(%convolution, %arg2, %arg3) {N = 2 : i64, C = 12 : i64, HxW = 4 : i64, group = 3 : i64, eps = 1.0e-05 : f64} : (tensor<2x12x4xf32>, tensor<12xf32>, tensor<12xf32>) -> (tensor<2x12x4xf32>, tensor<2x3xf32>, tensor<2x3xf32>)
    %convolution_1 = "aten.convolution"(%native_group_norm#0, %arg4, %arg5) {stride = array<i64: 1>, padding = array<i64: 0>, dilation = array<i64: 1>, transposed = false, output_padding = array<i64: 0>, groups = 1 : i64} : (tensor<2x12x4xf32>, tensor<2x12x1xf32>, tensor<2xf32>) -> tensor<2x2x4xf32>
    %pow_1 = "aten.pow.Tensor_Scalar"(%convolution_1) {exponent = 2 : i64} : (tensor<2x2x4xf32>) -> tensor<2x2x4xf32>
    %mean = "aten.mean"(%pow_1) : (tensor<2x2x4xf32>) -> tensor<f32>
    return %mean : tensor<f32>
  }
}
