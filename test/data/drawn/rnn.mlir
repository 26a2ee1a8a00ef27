module attributes {aten.format = 1 : i64, aten.torch = "2.13.0"} {
  func.func @main(%arg0: tensor<12x6xf32> {aten.parameter = "r.weight_ih_l0"},
                  %arg1: tensor<12x12xf32> {aten.parameter = "r.weight_hh_l0"},
                  %arg2: tensor<12xf32> {aten.parameter = "r.bias_ih_l0"},
                  %arg3: tensor<12xf32> {aten.parameter = "r.bias_hh_l0"},
                  %arg4: tensor<12x12xf32> {aten.parameter = "h.weight"},
                  %arg5: tensor<12xf32> {aten.parameter = "h.bias"},
                  %arg6: tensor<3x2x6xf32> {aten.input = "x"})
      -> (tensor<f32> {aten.output = "loss"}) {
    %full = "aten.full"() {size = array<i64: 1, 2, 12>, fill_value = 0 : i64, dtype = "f32"} : () -> tensor<1x2x12xf32>
    %none = "aten.none"() : () -> none
    %slice_1 = "aten.slice.Tensor"(%full) {dim = 0 : i64, start = 0 : i64, end = 1 : i64} : (tensor<1x2x12xf32>) -> tensor<1x2x12xf32>
    %squeeze = "aten.squeeze.dims"(%slice_1) {dim = array<i64: 0>} : (tensor<1x2x12xf32>) -> tensor<2x12xf32>
    %linear = "aten.linear"(%arg6, %arg0, %arg2) : (tensor<3x2x6xf32>, tensor<12x6xf32>, tensor<12xf32>) -> tensor<3x2x12xf32>
    %unsqueeze = "aten.unsqueeze"(%squeeze) {dim = 0 : i64} : (tensor<2x12xf32>) -> tensor<1x2x12xf32>
    %slice_2 = "aten.slice.Tensor"(%linear) {dim = 0 : i64, start = 0 : i64, end = 1 : i64} : (tensor<3x2x12xf32>) -> tensor<1x2x12xf32>
    %slice_3 = "aten.slice.Tensor"(%linear) {dim = 0 : i64, start = 1 : i64, end = 2 : i64} : (tensor<3x2x12xf32>) -> tensor<1x2x12xf32>
    %slice_4 = "aten.slice.Tensor"(%linear) {dim = 0 : i64, start = 2 : i64, end = 3 : i64} : (tensor<3x2x12xf32>) -> tensor<1x2x12xf32>
    %squeeze_1 = "aten.squeeze.dims"(%slice_2) {dim = array<i64: 0>} : (tensor<1x2x12xf32>) -> tensor<2x12xf32>
    %squeeze_2 = "aten.squeeze.dims"(%slice_3) {dim = array<i64: 0>} : (tensor<1x2x12xf32>) -> tensor<2x12xf32>
    %squeeze_3 = "aten.squeeze.dims"(%slice_4) {dim = array<i64: 0>} : (tensor<1x2x12xf32>) -> tensor<2x12xf32>
    %linear_1 = "aten.linear"(%unsqueeze, %arg1, %arg3) : (tensor<1x2x12xf32>, tensor<12x12xf32>, tensor<12xf32>) -> tensor<1x2x12xf32>
    %add = "aten.add.Tensor"(%linear_1, %squeeze_1) : (tensor<1x2x12xf32>, tensor<2x12xf32>) -> tensor<1x2x12xf32>
    %tanh = "aten.tanh"(%add) : (tensor<1x2x12xf32>) -> tensor<1x2x12xf32>
    %linear_2 = "aten.linear"(%tanh, %arg1, %arg3) : (tensor<1x2x12xf32>, tensor<12x12xf32>, tensor<12xf32>) -> tensor<1x2x12xf32>
    %add_1 = "aten.add.Tensor"(%linear_2, %squeeze_2) : (tensor<1x2x12xf32>, tensor<2x12xf32>) -> tensor<1x2x12xf32>
    %tanh_1 = "aten.tanh"(%add_1) : (tensor<1x2x12xf32>) -> tensor<1x2x12xf32>
    %linear_3 = "aten.linear"(%tanh_1, %arg1, %arg3) : (tensor<1x2x12xf32>, tensor<12x12xf32>, tensor<12xf32>) -> tensor<1x2x12xf32>
    %add_2 = "aten.add.Tensor"(%linear_3, %squeeze_3) : (tensor<1x2x12xf32>, tensor<2x12xf32>) -> tensor<1x2x12xf32>
    %tanh_2 = "aten.tanh"(%add_2) : (tensor<1x2x12xf32>) -> tensor<1x2x12xf32>
    %cat = "aten.cat"(%tanh, %tanh_1, %tanh_2) : (tensor<1x2x12xf32>, tensor<1x2x12xf32>, tensor<1x2x12xf32>) -> tensor<3x2x12xf32>
    %linear_4 = "aten.linear"(%cat, %arg4, %arg5) : (tensor<3x2x12xf32>, tensor<12x12xf32>, tensor<12xf32>) -> tensor<3x2x12xf32>
    %pow_1 = "aten.pow.Tensor_Scalar"(%linear_4) {exponent = 2 : i64} : (tensor<3x2x12xf32>) -> tensor<3x2x12xf32>
    %mean = "aten.mean"(%pow_1) : (tensor<3x2x12xf32>) -> tensor<f32>
    return %mean : tensor<f32>
  }
}
