module attributes {aten.format = 1 : i64, aten.torch = "2.13.0", aten.values = "rnn_bidirectional.safetensors"} {
  func.func @main(%arg0: tensor<9x6xf32> {aten.parameter = "r.weight_ih_l0"},
                  %arg1: tensor<9x9xf32> {aten.parameter = "r.weight_hh_l0"},
                  %arg2: tensor<9xf32> {aten.parameter = "r.bias_ih_l0"},
                  %arg3: tensor<9xf32> {aten.parameter = "r.bias_hh_l0"},
                  %arg4: tensor<9x6xf32> {aten.parameter = "r.weight_ih_l0_reverse"},
                  %arg5: tensor<9x9xf32> {aten.parameter = "r.weight_hh_l0_reverse"},
                  %arg6: tensor<9xf32> {aten.parameter = "r.bias_ih_l0_reverse"},
                  %arg7: tensor<9xf32> {aten.parameter = "r.bias_hh_l0_reverse"},
                  %arg8: tensor<18x18xf32> {aten.parameter = "h.weight"},
                  %arg9: tensor<18xf32> {aten.parameter = "h.bias"},
                  %arg10: tensor<3x2x6xf32> {aten.input = "x"})
      -> (tensor<f32> {aten.output = "loss"}) {
    %full = "aten.full"() {size = array<i64: 2, 2, 9>, fill_value = 0 : i64, dtype = "f32"} : () -> tensor<2x2x9xf32>
    %none = "aten.none"() : () -> none
    %slice_1 = "aten.slice.Tensor"(%full) {dim = 0 : i64, start = 0 : i64, end = 1 : i64} : (tensor<2x2x9xf32>) -> tensor<1x2x9xf32>
    %slice_2 = "aten.slice.Tensor"(%full) {dim = 0 : i64, start = 1 : i64, end = 2 : i64} : (tensor<2x2x9xf32>) -> tensor<1x2x9xf32>
    %squeeze = "aten.squeeze.dims"(%slice_1) {dim = array<i64: 0>} : (tensor<1x2x9xf32>) -> tensor<2x9xf32>
    %squeeze_1 = "aten.squeeze.dims"(%slice_2) {dim = array<i64: 0>} : (tensor<1x2x9xf32>) -> tensor<2x9xf32>
    %linear = "aten.linear"(%arg10, %arg0, %arg2) : (tensor<3x2x6xf32>, tensor<9x6xf32>, tensor<9xf32>) -> tensor<3x2x9xf32>
    %unsqueeze = "aten.unsqueeze"(%squeeze) {dim = 0 : i64} : (tensor<2x9xf32>) -> tensor<1x2x9xf32>
    %slice_3 = "aten.slice.Tensor"(%linear) {dim = 0 : i64, start = 0 : i64, end = 1 : i64} : (tensor<3x2x9xf32>) -> tensor<1x2x9xf32>
    %slice_4 = "aten.slice.Tensor"(%linear) {dim = 0 : i64, start = 1 : i64, end = 2 : i64} : (tensor<3x2x9xf32>) -> tensor<1x2x9xf32>
    %slice_5 = "aten.slice.Tensor"(%linear) {dim = 0 : i64, start = 2 : i64, end = 3 : i64} : (tensor<3x2x9xf32>) -> tensor<1x2x9xf32>
    %squeeze_2 = "aten.squeeze.dims"(%slice_3) {dim = array<i64: 0>} : (tensor<1x2x9xf32>) -> tensor<2x9xf32>
    %squeeze_3 = "aten.squeeze.dims"(%slice_4) {dim = array<i64: 0>} : (tensor<1x2x9xf32>) -> tensor<2x9xf32>
    %squeeze_4 = "aten.squeeze.dims"(%slice_5) {dim = array<i64: 0>} : (tensor<1x2x9xf32>) -> tensor<2x9xf32>
    %linear_1 = "aten.linear"(%unsqueeze, %arg1, %arg3) : (tensor<1x2x9xf32>, tensor<9x9xf32>, tensor<9xf32>) -> tensor<1x2x9xf32>
    %add = "aten.add.Tensor"(%linear_1, %squeeze_2) : (tensor<1x2x9xf32>, tensor<2x9xf32>) -> tensor<1x2x9xf32>
    %relu = "aten.relu"(%add) : (tensor<1x2x9xf32>) -> tensor<1x2x9xf32>
    %linear_2 = "aten.linear"(%relu, %arg1, %arg3) : (tensor<1x2x9xf32>, tensor<9x9xf32>, tensor<9xf32>) -> tensor<1x2x9xf32>
    %add_1 = "aten.add.Tensor"(%linear_2, %squeeze_3) : (tensor<1x2x9xf32>, tensor<2x9xf32>) -> tensor<1x2x9xf32>
    %relu_1 = "aten.relu"(%add_1) : (tensor<1x2x9xf32>) -> tensor<1x2x9xf32>
    %linear_3 = "aten.linear"(%relu_1, %arg1, %arg3) : (tensor<1x2x9xf32>, tensor<9x9xf32>, tensor<9xf32>) -> tensor<1x2x9xf32>
    %add_2 = "aten.add.Tensor"(%linear_3, %squeeze_4) : (tensor<1x2x9xf32>, tensor<2x9xf32>) -> tensor<1x2x9xf32>
    %relu_2 = "aten.relu"(%add_2) : (tensor<1x2x9xf32>) -> tensor<1x2x9xf32>
    %cat = "aten.cat"(%relu, %relu_1, %relu_2) : (tensor<1x2x9xf32>, tensor<1x2x9xf32>, tensor<1x2x9xf32>) -> tensor<3x2x9xf32>
    %linear_4 = "aten.linear"(%arg10, %arg4, %arg6) : (tensor<3x2x6xf32>, tensor<9x6xf32>, tensor<9xf32>) -> tensor<3x2x9xf32>
    %flip = "aten.flip"(%linear_4) {dims = array<i64: 0>} : (tensor<3x2x9xf32>) -> tensor<3x2x9xf32>
    %unsqueeze_1 = "aten.unsqueeze"(%squeeze_1) {dim = 0 : i64} : (tensor<2x9xf32>) -> tensor<1x2x9xf32>
    %slice_6 = "aten.slice.Tensor"(%flip) {dim = 0 : i64, start = 0 : i64, end = 1 : i64} : (tensor<3x2x9xf32>) -> tensor<1x2x9xf32>
    %slice_7 = "aten.slice.Tensor"(%flip) {dim = 0 : i64, start = 1 : i64, end = 2 : i64} : (tensor<3x2x9xf32>) -> tensor<1x2x9xf32>
    %slice_8 = "aten.slice.Tensor"(%flip) {dim = 0 : i64, start = 2 : i64, end = 3 : i64} : (tensor<3x2x9xf32>) -> tensor<1x2x9xf32>
    %squeeze_6 = "aten.squeeze.dims"(%slice_6) {dim = array<i64: 0>} : (tensor<1x2x9xf32>) -> tensor<2x9xf32>
    %squeeze_7 = "aten.squeeze.dims"(%slice_7) {dim = array<i64: 0>} : (tensor<1x2x9xf32>) -> tensor<2x9xf32>
    %squeeze_8 = "aten.squeeze.dims"(%slice_8) {dim = array<i64: 0>} : (tensor<1x2x9xf32>) -> tensor<2x9xf32>
    %linear_5 = "aten.linear"(%unsqueeze_1, %arg5, %arg7) : (tensor<1x2x9xf32>, tensor<9x9xf32>, tensor<9xf32>) -> tensor<1x2x9xf32>
    %add_3 = "aten.add.Tensor"(%linear_5, %squeeze_6) : (tensor<1x2x9xf32>, tensor<2x9xf32>) -> tensor<1x2x9xf32>
    %relu_3 = "aten.relu"(%add_3) : (tensor<1x2x9xf32>) -> tensor<1x2x9xf32>
    %linear_6 = "aten.linear"(%relu_3, %arg5, %arg7) : (tensor<1x2x9xf32>, tensor<9x9xf32>, tensor<9xf32>) -> tensor<1x2x9xf32>
    %add_4 = "aten.add.Tensor"(%linear_6, %squeeze_7) : (tensor<1x2x9xf32>, tensor<2x9xf32>) -> tensor<1x2x9xf32>
    %relu_4 = "aten.relu"(%add_4) : (tensor<1x2x9xf32>) -> tensor<1x2x9xf32>
    %linear_7 = "aten.linear"(%relu_4, %arg5, %arg7) : (tensor<1x2x9xf32>, tensor<9x9xf32>, tensor<9xf32>) -> tensor<1x2x9xf32>
    %add_5 = "aten.add.Tensor"(%linear_7, %squeeze_8) : (tensor<1x2x9xf32>, tensor<2x9xf32>) -> tensor<1x2x9xf32>
    %relu_5 = "aten.relu"(%add_5) : (tensor<1x2x9xf32>) -> tensor<1x2x9xf32>
    %cat_1 = "aten.cat"(%relu_5, %relu_4, %relu_3) : (tensor<1x2x9xf32>, tensor<1x2x9xf32>, tensor<1x2x9xf32>) -> tensor<3x2x9xf32>
    %cat_2 = "aten.cat"(%cat, %cat_1) {dim = 2 : i64} : (tensor<3x2x9xf32>, tensor<3x2x9xf32>) -> tensor<3x2x18xf32>
    %linear_8 = "aten.linear"(%cat_2, %arg8, %arg9) : (tensor<3x2x18xf32>, tensor<18x18xf32>, tensor<18xf32>) -> tensor<3x2x18xf32>
    %pow_1 = "aten.pow.Tensor_Scalar"(%linear_8) {exponent = 2 : i64} : (tensor<3x2x18xf32>) -> tensor<3x2x18xf32>
    %mean = "aten.mean"(%pow_1) : (tensor<3x2x18xf32>) -> tensor<f32>
    return %mean : tensor<f32>
  }
}
