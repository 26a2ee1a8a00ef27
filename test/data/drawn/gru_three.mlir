module attributes {aten.format = 1 : i64, aten.torch = "2.13.0", aten.values = "gru_three.safetensors"} {
  func.func @main(%arg0: tensor<9x6xf32> {aten.parameter = "r.weight_ih_l0"},
                  %arg1: tensor<9x3xf32> {aten.parameter = "r.weight_hh_l0"},
                  %arg2: tensor<9x6xf32> {aten.parameter = "r.weight_ih_l0_reverse"},
                  %arg3: tensor<9x3xf32> {aten.parameter = "r.weight_hh_l0_reverse"},
                  %arg4: tensor<6x6xf32> {aten.parameter = "h.weight"},
                  %arg5: tensor<6xf32> {aten.parameter = "h.bias"},
                  %arg6: tensor<3x2x6xf32> {aten.input = "x"})
      -> (tensor<f32> {aten.output = "loss"}) {
    %full = "aten.full"() {size = array<i64: 2, 3, 3>, fill_value = 0 : i64, dtype = "f32"} : () -> tensor<2x3x3xf32>
    %none = "aten.none"() : () -> none
    %slice_1 = "aten.slice.Tensor"(%full) {dim = 0 : i64, start = 0 : i64, end = 1 : i64} : (tensor<2x3x3xf32>) -> tensor<1x3x3xf32>
    %slice_2 = "aten.slice.Tensor"(%full) {dim = 0 : i64, start = 1 : i64, end = 2 : i64} : (tensor<2x3x3xf32>) -> tensor<1x3x3xf32>
    %squeeze = "aten.squeeze.dims"(%slice_1) {dim = array<i64: 0>} : (tensor<1x3x3xf32>) -> tensor<3x3xf32>
    %squeeze_1 = "aten.squeeze.dims"(%slice_2) {dim = array<i64: 0>} : (tensor<1x3x3xf32>) -> tensor<3x3xf32>
    %permute = "aten.permute"(%arg6) {dims = array<i64: 1, 0, 2>} : (tensor<3x2x6xf32>) -> tensor<2x3x6xf32>
    %linear = "aten.linear"(%permute, %arg0) : (tensor<2x3x6xf32>, tensor<9x6xf32>) -> tensor<2x3x9xf32>
    %unsqueeze = "aten.unsqueeze"(%squeeze) {dim = 0 : i64} : (tensor<3x3xf32>) -> tensor<1x3x3xf32>
    %slice_3 = "aten.slice.Tensor"(%linear) {dim = 0 : i64, start = 0 : i64, end = 1 : i64} : (tensor<2x3x9xf32>) -> tensor<1x3x9xf32>
    %slice_4 = "aten.slice.Tensor"(%linear) {dim = 0 : i64, start = 1 : i64, end = 2 : i64} : (tensor<2x3x9xf32>) -> tensor<1x3x9xf32>
    %squeeze_2 = "aten.squeeze.dims"(%slice_3) {dim = array<i64: 0>} : (tensor<1x3x9xf32>) -> tensor<3x9xf32>
    %squeeze_3 = "aten.squeeze.dims"(%slice_4) {dim = array<i64: 0>} : (tensor<1x3x9xf32>) -> tensor<3x9xf32>
    %split_with_sizes:3 = "aten.split_with_sizes"(%squeeze_2) {split_sizes = array<i64: 3, 3, 3>, dim = 1 : i64} : (tensor<3x9xf32>) -> (tensor<3x3xf32>, tensor<3x3xf32>, tensor<3x3xf32>)
    %linear_1 = "aten.linear"(%unsqueeze, %arg1) : (tensor<1x3x3xf32>, tensor<9x3xf32>) -> tensor<1x3x9xf32>
    %split_with_sizes_1:3 = "aten.split_with_sizes"(%linear_1) {split_sizes = array<i64: 3, 3, 3>, dim = 2 : i64} : (tensor<1x3x9xf32>) -> (tensor<1x3x3xf32>, tensor<1x3x3xf32>, tensor<1x3x3xf32>)
    %add = "aten.add.Tensor"(%split_with_sizes_1#0, %split_with_sizes#0) : (tensor<1x3x3xf32>, tensor<3x3xf32>) -> tensor<1x3x3xf32>
    %sigmoid = "aten.sigmoid"(%add) : (tensor<1x3x3xf32>) -> tensor<1x3x3xf32>
    %add_1 = "aten.add.Tensor"(%split_with_sizes_1#1, %split_with_sizes#1) : (tensor<1x3x3xf32>, tensor<3x3xf32>) -> tensor<1x3x3xf32>
    %sigmoid_1 = "aten.sigmoid"(%add_1) : (tensor<1x3x3xf32>) -> tensor<1x3x3xf32>
    %mul = "aten.mul.Tensor"(%split_with_sizes_1#2, %sigmoid) : (tensor<1x3x3xf32>, tensor<1x3x3xf32>) -> tensor<1x3x3xf32>
    %add_2 = "aten.add.Tensor"(%split_with_sizes#2, %mul) : (tensor<3x3xf32>, tensor<1x3x3xf32>) -> tensor<1x3x3xf32>
    %tanh = "aten.tanh"(%add_2) : (tensor<1x3x3xf32>) -> tensor<1x3x3xf32>
    %sub = "aten.sub.Tensor"(%unsqueeze, %tanh) : (tensor<1x3x3xf32>, tensor<1x3x3xf32>) -> tensor<1x3x3xf32>
    %mul_1 = "aten.mul.Tensor"(%sub, %sigmoid_1) : (tensor<1x3x3xf32>, tensor<1x3x3xf32>) -> tensor<1x3x3xf32>
    %add_3 = "aten.add.Tensor"(%mul_1, %tanh) : (tensor<1x3x3xf32>, tensor<1x3x3xf32>) -> tensor<1x3x3xf32>
    %split_with_sizes_2:3 = "aten.split_with_sizes"(%squeeze_3) {split_sizes = array<i64: 3, 3, 3>, dim = 1 : i64} : (tensor<3x9xf32>) -> (tensor<3x3xf32>, tensor<3x3xf32>, tensor<3x3xf32>)
    %linear_2 = "aten.linear"(%add_3, %arg1) : (tensor<1x3x3xf32>, tensor<9x3xf32>) -> tensor<1x3x9xf32>
    %split_with_sizes_3:3 = "aten.split_with_sizes"(%linear_2) {split_sizes = array<i64: 3, 3, 3>, dim = 2 : i64} : (tensor<1x3x9xf32>) -> (tensor<1x3x3xf32>, tensor<1x3x3xf32>, tensor<1x3x3xf32>)
    %add_4 = "aten.add.Tensor"(%split_with_sizes_3#0, %split_with_sizes_2#0) : (tensor<1x3x3xf32>, tensor<3x3xf32>) -> tensor<1x3x3xf32>
    %sigmoid_2 = "aten.sigmoid"(%add_4) : (tensor<1x3x3xf32>) -> tensor<1x3x3xf32>
    %add_5 = "aten.add.Tensor"(%split_with_sizes_3#1, %split_with_sizes_2#1) : (tensor<1x3x3xf32>, tensor<3x3xf32>) -> tensor<1x3x3xf32>
    %sigmoid_3 = "aten.sigmoid"(%add_5) : (tensor<1x3x3xf32>) -> tensor<1x3x3xf32>
    %mul_2 = "aten.mul.Tensor"(%split_with_sizes_3#2, %sigmoid_2) : (tensor<1x3x3xf32>, tensor<1x3x3xf32>) -> tensor<1x3x3xf32>
    %add_6 = "aten.add.Tensor"(%split_with_sizes_2#2, %mul_2) : (tensor<3x3xf32>, tensor<1x3x3xf32>) -> tensor<1x3x3xf32>
    %tanh_1 = "aten.tanh"(%add_6) : (tensor<1x3x3xf32>) -> tensor<1x3x3xf32>
    %sub_1 = "aten.sub.Tensor"(%add_3, %tanh_1) : (tensor<1x3x3xf32>, tensor<1x3x3xf32>) -> tensor<1x3x3xf32>
    %mul_3 = "aten.mul.Tensor"(%sub_1, %sigmoid_3) : (tensor<1x3x3xf32>, tensor<1x3x3xf32>) -> tensor<1x3x3xf32>
    %add_7 = "aten.add.Tensor"(%mul_3, %tanh_1) : (tensor<1x3x3xf32>, tensor<1x3x3xf32>) -> tensor<1x3x3xf32>
    %cat = "aten.cat"(%add_3, %add_7) : (tensor<1x3x3xf32>, tensor<1x3x3xf32>) -> tensor<2x3x3xf32>
    %linear_3 = "aten.linear"(%permute, %arg2) : (tensor<2x3x6xf32>, tensor<9x6xf32>) -> tensor<2x3x9xf32>
    %flip = "aten.flip"(%linear_3) {dims = array<i64: 0>} : (tensor<2x3x9xf32>) -> tensor<2x3x9xf32>
    %unsqueeze_1 = "aten.unsqueeze"(%squeeze_1) {dim = 0 : i64} : (tensor<3x3xf32>) -> tensor<1x3x3xf32>
    %slice_5 = "aten.slice.Tensor"(%flip) {dim = 0 : i64, start = 0 : i64, end = 1 : i64} : (tensor<2x3x9xf32>) -> tensor<1x3x9xf32>
    %slice_6 = "aten.slice.Tensor"(%flip) {dim = 0 : i64, start = 1 : i64, end = 2 : i64} : (tensor<2x3x9xf32>) -> tensor<1x3x9xf32>
    %squeeze_5 = "aten.squeeze.dims"(%slice_5) {dim = array<i64: 0>} : (tensor<1x3x9xf32>) -> tensor<3x9xf32>
    %squeeze_6 = "aten.squeeze.dims"(%slice_6) {dim = array<i64: 0>} : (tensor<1x3x9xf32>) -> tensor<3x9xf32>
    %split_with_sizes_4:3 = "aten.split_with_sizes"(%squeeze_5) {split_sizes = array<i64: 3, 3, 3>, dim = 1 : i64} : (tensor<3x9xf32>) -> (tensor<3x3xf32>, tensor<3x3xf32>, tensor<3x3xf32>)
    %linear_4 = "aten.linear"(%unsqueeze_1, %arg3) : (tensor<1x3x3xf32>, tensor<9x3xf32>) -> tensor<1x3x9xf32>
    %split_with_sizes_5:3 = "aten.split_with_sizes"(%linear_4) {split_sizes = array<i64: 3, 3, 3>, dim = 2 : i64} : (tensor<1x3x9xf32>) -> (tensor<1x3x3xf32>, tensor<1x3x3xf32>, tensor<1x3x3xf32>)
    %add_8 = "aten.add.Tensor"(%split_with_sizes_5#0, %split_with_sizes_4#0) : (tensor<1x3x3xf32>, tensor<3x3xf32>) -> tensor<1x3x3xf32>
    %sigmoid_4 = "aten.sigmoid"(%add_8) : (tensor<1x3x3xf32>) -> tensor<1x3x3xf32>
    %add_9 = "aten.add.Tensor"(%split_with_sizes_5#1, %split_with_sizes_4#1) : (tensor<1x3x3xf32>, tensor<3x3xf32>) -> tensor<1x3x3xf32>
    %sigmoid_5 = "aten.sigmoid"(%add_9) : (tensor<1x3x3xf32>) -> tensor<1x3x3xf32>
    %mul_4 = "aten.mul.Tensor"(%split_with_sizes_5#2, %sigmoid_4) : (tensor<1x3x3xf32>, tensor<1x3x3xf32>) -> tensor<1x3x3xf32>
    %add_10 = "aten.add.Tensor"(%split_with_sizes_4#2, %mul_4) : (tensor<3x3xf32>, tensor<1x3x3xf32>) -> tensor<1x3x3xf32>
    %tanh_2 = "aten.tanh"(%add_10) : (tensor<1x3x3xf32>) -> tensor<1x3x3xf32>
    %sub_2 = "aten.sub.Tensor"(%unsqueeze_1, %tanh_2) : (tensor<1x3x3xf32>, tensor<1x3x3xf32>) -> tensor<1x3x3xf32>
    %mul_5 = "aten.mul.Tensor"(%sub_2, %sigmoid_5) : (tensor<1x3x3xf32>, tensor<1x3x3xf32>) -> tensor<1x3x3xf32>
    %add_11 = "aten.add.Tensor"(%mul_5, %tanh_2) : (tensor<1x3x3xf32>, tensor<1x3x3xf32>) -> tensor<1x3x3xf32>
    %split_with_sizes_6:3 = "aten.split_with_sizes"(%squeeze_6) {split_sizes = array<i64: 3, 3, 3>, dim = 1 : i64} : (tensor<3x9xf32>) -> (tensor<3x3xf32>, tensor<3x3xf32>, tensor<3x3xf32>)
    %linear_5 = "aten.linear"(%add_11, %arg3) : (tensor<1x3x3xf32>, tensor<9x3xf32>) -> tensor<1x3x9xf32>
    %split_with_sizes_7:3 = "aten.split_with_sizes"(%linear_5) {split_sizes = array<i64: 3, 3, 3>, dim = 2 : i64} : (tensor<1x3x9xf32>) -> (tensor<1x3x3xf32>, tensor<1x3x3xf32>, tensor<1x3x3xf32>)
    %add_12 = "aten.add.Tensor"(%split_with_sizes_7#0, %split_with_sizes_6#0) : (tensor<1x3x3xf32>, tensor<3x3xf32>) -> tensor<1x3x3xf32>
    %sigmoid_6 = "aten.sigmoid"(%add_12) : (tensor<1x3x3xf32>) -> tensor<1x3x3xf32>
    %add_13 = "aten.add.Tensor"(%split_with_sizes_7#1, %split_with_sizes_6#1) : (tensor<1x3x3xf32>, tensor<3x3xf32>) -> tensor<1x3x3xf32>
    %sigmoid_7 = "aten.sigmoid"(%add_13) : (tensor<1x3x3xf32>) -> tensor<1x3x3xf32>
    %mul_6 = "aten.mul.Tensor"(%split_with_sizes_7#2, %sigmoid_6) : (tensor<1x3x3xf32>, tensor<1x3x3xf32>) -> tensor<1x3x3xf32>
    %add_14 = "aten.add.Tensor"(%split_with_sizes_6#2, %mul_6) : (tensor<3x3xf32>, tensor<1x3x3xf32>) -> tensor<1x3x3xf32>
    %tanh_3 = "aten.tanh"(%add_14) : (tensor<1x3x3xf32>) -> tensor<1x3x3xf32>
    %sub_3 = "aten.sub.Tensor"(%add_11, %tanh_3) : (tensor<1x3x3xf32>, tensor<1x3x3xf32>) -> tensor<1x3x3xf32>
    %mul_7 = "aten.mul.Tensor"(%sub_3, %sigmoid_7) : (tensor<1x3x3xf32>, tensor<1x3x3xf32>) -> tensor<1x3x3xf32>
    %add_15 = "aten.add.Tensor"(%mul_7, %tanh_3) : (tensor<1x3x3xf32>, tensor<1x3x3xf32>) -> tensor<1x3x3xf32>
    %cat_1 = "aten.cat"(%add_15, %add_11) : (tensor<1x3x3xf32>, tensor<1x3x3xf32>) -> tensor<2x3x3xf32>
    %cat_2 = "aten.cat"(%cat, %cat_1) {dim = 2 : i64} : (tensor<2x3x3xf32>, tensor<2x3x3xf32>) -> tensor<2x3x6xf32>
    %permute_1 = "aten.permute"(%cat_2) {dims = array<i64: 1, 0, 2>} : (tensor<2x3x6xf32>) -> tensor<3x2x6xf32>
    %linear_6 = "aten.linear"(%permute_1, %arg4, %arg5) : (tensor<3x2x6xf32>, tensor<6x6xf32>, tensor<6xf32>) -> tensor<3x2x6xf32>
    %pow_1 = "aten.pow.Tensor_Scalar"(%linear_6) {exponent = 2 : i64} : (tensor<3x2x6xf32>) -> tensor<3x2x6xf32>
    %mean = "aten.mean"(%pow_1) : (tensor<3x2x6xf32>) -> tensor<f32>
    return %mean : tensor<f32>
  }
}
