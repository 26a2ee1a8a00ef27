module attributes {aten.format = 1 : i64, aten.torch = "2.13.0", aten.values = "spectral_conv.safetensors"} {
  func.func @main(%arg0: tensor<6xf32> {aten.parameter = "a.bias"},
                  %arg1: tensor<6x4x3xf32> {aten.parameter = "a.parametrizations.weight.original"},
                  %arg2: tensor<2x6x1xf32> {aten.parameter = "b.weight"},
                  %arg3: tensor<2xf32> {aten.parameter = "b.bias"},
                  %arg4: tensor<6xf32> {aten.buffer = "a.parametrizations.weight.0._u"},
                  %arg5: tensor<12xf32> {aten.buffer = "a.parametrizations.weight.0._v"},
                  %arg6: tensor<2x4x6xf32> {aten.input = "x"})
      -> (tensor<6xf32> {aten.updates = "a.parametrizations.weight.0._u"}, tensor<12xf32> {aten.updates = "a.parametrizations.weight.0._v"}, tensor<f32> {aten.output = "loss"}) {
    %none = "aten.none"() : () -> none
    %view = "aten.view"(%arg1) {size = array<i64: 6, 12>} : (tensor<6x4x3xf32>) -> tensor<6x12xf32>
    %mul = "aten.mul.Tensor"(%view, %arg5) : (tensor<6x12xf32>, tensor<12xf32>) -> tensor<6x12xf32>
    %sum_1 = "aten.sum.dim_IntList"(%mul) {dim = array<i64: 1>} : (tensor<6x12xf32>) -> tensor<6xf32>
    %linalg_vector_norm = "aten.linalg_vector_norm"(%sum_1) {ord = 2.0 : f64, dim = array<i64: 0>, keepdim = true} : (tensor<6xf32>) -> tensor<1xf32>
    %clamp = "aten.clamp"(%linalg_vector_norm) {min = 1.0e-12 : f64} : (tensor<1xf32>) -> tensor<1xf32>
    %expand_1 = "aten.expand"(%clamp) {size = array<i64: 6>} : (tensor<1xf32>) -> tensor<6xf32>
    %div = "aten.div.Tensor"(%sum_1, %expand_1) : (tensor<6xf32>, tensor<6xf32>) -> tensor<6xf32>
    %permute = "aten.permute"(%view) {dims = array<i64: 1, 0>} : (tensor<6x12xf32>) -> tensor<12x6xf32>
    %mul_1 = "aten.mul.Tensor"(%permute, %div) : (tensor<12x6xf32>, tensor<6xf32>) -> tensor<12x6xf32>
    %sum_2 = "aten.sum.dim_IntList"(%mul_1) {dim = array<i64: 1>} : (tensor<12x6xf32>) -> tensor<12xf32>
    %linalg_vector_norm_1 = "aten.linalg_vector_norm"(%sum_2) {ord = 2.0 : f64, dim = array<i64: 0>, keepdim = true} : (tensor<12xf32>) -> tensor<1xf32>
    %clamp_1 = "aten.clamp"(%linalg_vector_norm_1) {min = 1.0e-12 : f64} : (tensor<1xf32>) -> tensor<1xf32>
    %expand_3 = "aten.expand"(%clamp_1) {size = array<i64: 12>} : (tensor<1xf32>) -> tensor<12xf32>
    %div_1 = "aten.div.Tensor"(%sum_2, %expand_3) : (tensor<12xf32>, tensor<12xf32>) -> tensor<12xf32>
    %detach = "aten.detach"(%div) : (tensor<6xf32>) -> tensor<6xf32>
    %detach_1 = "aten.detach"(%div_1) : (tensor<12xf32>) -> tensor<12xf32>
    %clone = "aten.clone"(%detach) : (tensor<6xf32>) -> tensor<6xf32>
    %clone_1 = "aten.clone"(%detach_1) : (tensor<12xf32>) -> tensor<12xf32>
    %mul_2 = "aten.mul.Tensor"(%view, %clone_1) : (tensor<6x12xf32>, tensor<12xf32>) -> tensor<6x12xf32>
    %sum_3 = "aten.sum.dim_IntList"(%mul_2) {dim = array<i64: 1>} : (tensor<6x12xf32>) -> tensor<6xf32>
    %mul_3 = "aten.mul.Tensor"(%clone, %sum_3) : (tensor<6xf32>, tensor<6xf32>) -> tensor<6xf32>
    %sum_4 = "aten.sum.dim_IntList"(%mul_3) {dim = array<i64>} : (tensor<6xf32>) -> tensor<f32>
    %div_2 = "aten.div.Tensor"(%arg1, %sum_4) : (tensor<6x4x3xf32>, tensor<f32>) -> tensor<6x4x3xf32>
    %convolution = "aten.convolution"(%arg6, %div_2, %arg0) {stride = array<i64: 1>, padding = array<i64: 0>, dilation = array<i64: 1>, transposed = false, output_padding = array<i64: 0>, groups = 1 : i64} : (tensor<2x4x6xf32>, tensor<6x4x3xf32>, tensor<6xf32>) -> tensor<2x6x4xf32>
    %relu = "aten.relu"(%convolution) : (tensor<2x6x4xf32>) -> tensor<2x6x4xf32>
    %convolution_1 = "aten.convolution"(%relu, %arg2, %arg3) {stride = array<i64: 1>, padding = array<i64: 0>, dilation = array<i64: 1>, transposed = false, output_padding = array<i64: 0>, groups = 1 : i64} : (tensor<2x6x4xf32>, tensor<2x6x1xf32>, tensor<2xf32>) -> tensor<2x2x4xf32>
    %pow_1 = "aten.pow.Tensor_Scalar"(%convolution_1) {exponent = 2 : i64} : (tensor<2x2x4xf32>) -> tensor<2x2x4xf32>
    %mean = "aten.mean"(%pow_1) : (tensor<2x2x4xf32>) -> tensor<f32>
    return %div, %div_1, %mean : tensor<6xf32>, tensor<12xf32>, tensor<f32>
  }
}
