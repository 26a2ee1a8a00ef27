module attributes {aten.format = 1 : i64, aten.torch = "2.13.0"} {
  func.func @main(%arg0: tensor<36x6xf32> {aten.parameter = "r.weight_ih_l0"},
                  %arg1: tensor<36x12xf32> {aten.parameter = "r.weight_hh_l0"},
                  %arg2: tensor<36xf32> {aten.parameter = "r.bias_ih_l0"},
                  %arg3: tensor<36xf32> {aten.parameter = "r.bias_hh_l0"},
                  %arg4: tensor<36x12xf32> {aten.parameter = "r.weight_ih_l1"},
                  %arg5: tensor<36x12xf32> {aten.parameter = "r.weight_hh_l1"},
                  %arg6: tensor<36xf32> {aten.parameter = "r.bias_ih_l1"},
                  %arg7: tensor<36xf32> {aten.parameter = "r.bias_hh_l1"},
                  %arg8: tensor<12x12xf32> {aten.parameter = "h.weight"},
                  %arg9: tensor<12xf32> {aten.parameter = "h.bias"},
                  %arg10: tensor<3x2x6xf32> {aten.input = "x"})
      -> (tensor<f32> {aten.output = "loss"}) {
    %full = "aten.full"() {size = array<i64: 2, 2, 12>, fill_value = 0 : i64, dtype = "f32"} : () -> tensor<2x2x12xf32>
    %none = "aten.none"() : () -> none
    %slice_1 = "aten.slice.Tensor"(%full) {dim = 0 : i64, start = 0 : i64, end = 1 : i64} : (tensor<2x2x12xf32>) -> tensor<1x2x12xf32>
    %slice_2 = "aten.slice.Tensor"(%full) {dim = 0 : i64, start = 1 : i64, end = 2 : i64} : (tensor<2x2x12xf32>) -> tensor<1x2x12xf32>
    %squeeze = "aten.squeeze.dims"(%slice_1) {dim = array<i64: 0>} : (tensor<1x2x12xf32>) -> tensor<2x12xf32>
    %squeeze_1 = "aten.squeeze.dims"(%slice_2) {dim = array<i64: 0>} : (tensor<1x2x12xf32>) -> tensor<2x12xf32>
    %linear = "aten.linear"(%arg10, %arg0, %arg2) : (tensor<3x2x6xf32>, tensor<36x6xf32>, tensor<36xf32>) -> tensor<3x2x36xf32>
    %unsqueeze = "aten.unsqueeze"(%squeeze) {dim = 0 : i64} : (tensor<2x12xf32>) -> tensor<1x2x12xf32>
    %slice_3 = "aten.slice.Tensor"(%linear) {dim = 0 : i64, start = 0 : i64, end = 1 : i64} : (tensor<3x2x36xf32>) -> tensor<1x2x36xf32>
    %slice_4 = "aten.slice.Tensor"(%linear) {dim = 0 : i64, start = 1 : i64, end = 2 : i64} : (tensor<3x2x36xf32>) -> tensor<1x2x36xf32>
    %slice_5 = "aten.slice.Tensor"(%linear) {dim = 0 : i64, start = 2 : i64, end = 3 : i64} : (tensor<3x2x36xf32>) -> tensor<1x2x36xf32>
    %squeeze_2 = "aten.squeeze.dims"(%slice_3) {dim = array<i64: 0>} : (tensor<1x2x36xf32>) -> tensor<2x36xf32>
    %squeeze_3 = "aten.squeeze.dims"(%slice_4) {dim = array<i64: 0>} : (tensor<1x2x36xf32>) -> tensor<2x36xf32>
    %squeeze_4 = "aten.squeeze.dims"(%slice_5) {dim = array<i64: 0>} : (tensor<1x2x36xf32>) -> tensor<2x36xf32>
    %split_with_sizes:3 = "aten.split_with_sizes"(%squeeze_2) {split_sizes = array<i64: 12, 12, 12>, dim = 1 : i64} : (tensor<2x36xf32>) -> (tensor<2x12xf32>, tensor<2x12xf32>, tensor<2x12xf32>)
    %linear_1 = "aten.linear"(%unsqueeze, %arg1, %arg3) : (tensor<1x2x12xf32>, tensor<36x12xf32>, tensor<36xf32>) -> tensor<1x2x36xf32>
    %split_with_sizes_1:3 = "aten.split_with_sizes"(%linear_1) {split_sizes = array<i64: 12, 12, 12>, dim = 2 : i64} : (tensor<1x2x36xf32>) -> (tensor<1x2x12xf32>, tensor<1x2x12xf32>, tensor<1x2x12xf32>)
    %add = "aten.add.Tensor"(%split_with_sizes_1#0, %split_with_sizes#0) : (tensor<1x2x12xf32>, tensor<2x12xf32>) -> tensor<1x2x12xf32>
    %sigmoid = "aten.sigmoid"(%add) : (tensor<1x2x12xf32>) -> tensor<1x2x12xf32>
    %add_1 = "aten.add.Tensor"(%split_with_sizes_1#1, %split_with_sizes#1) : (tensor<1x2x12xf32>, tensor<2x12xf32>) -> tensor<1x2x12xf32>
    %sigmoid_1 = "aten.sigmoid"(%add_1) : (tensor<1x2x12xf32>) -> tensor<1x2x12xf32>
    %mul = "aten.mul.Tensor"(%split_with_sizes_1#2, %sigmoid) : (tensor<1x2x12xf32>, tensor<1x2x12xf32>) -> tensor<1x2x12xf32>
    %add_2 = "aten.add.Tensor"(%split_with_sizes#2, %mul) : (tensor<2x12xf32>, tensor<1x2x12xf32>) -> tensor<1x2x12xf32>
    %tanh = "aten.tanh"(%add_2) : (tensor<1x2x12xf32>) -> tensor<1x2x12xf32>
    %sub = "aten.sub.Tensor"(%unsqueeze, %tanh) : (tensor<1x2x12xf32>, tensor<1x2x12xf32>) -> tensor<1x2x12xf32>
    %mul_1 = "aten.mul.Tensor"(%sub, %sigmoid_1) : (tensor<1x2x12xf32>, tensor<1x2x12xf32>) -> tensor<1x2x12xf32>
    %add_3 = "aten.add.Tensor"(%mul_1, %tanh) : (tensor<1x2x12xf32>, tensor<1x2x12xf32>) -> tensor<1x2x12xf32>
    %split_with_sizes_2:3 = "aten.split_with_sizes"(%squeeze_3) {split_sizes = array<i64: 12, 12, 12>, dim = 1 : i64} : (tensor<2x36xf32>) -> (tensor<2x12xf32>, tensor<2x12xf32>, tensor<2x12xf32>)
    %linear_2 = "aten.linear"(%add_3, %arg1, %arg3) : (tensor<1x2x12xf32>, tensor<36x12xf32>, tensor<36xf32>) -> tensor<1x2x36xf32>
    %split_with_sizes_3:3 = "aten.split_with_sizes"(%linear_2) {split_sizes = array<i64: 12, 12, 12>, dim = 2 : i64} : (tensor<1x2x36xf32>) -> (tensor<1x2x12xf32>, tensor<1x2x12xf32>, tensor<1x2x12xf32>)
    %add_4 = "aten.add.Tensor"(%split_with_sizes_3#0, %split_with_sizes_2#0) : (tensor<1x2x12xf32>, tensor<2x12xf32>) -> tensor<1x2x12xf32>
    %sigmoid_2 = "aten.sigmoid"(%add_4) : (tensor<1x2x12xf32>) -> tensor<1x2x12xf32>
    %add_5 = "aten.add.Tensor"(%split_with_sizes_3#1, %split_with_sizes_2#1) : (tensor<1x2x12xf32>, tensor<2x12xf32>) -> tensor<1x2x12xf32>
    %sigmoid_3 = "aten.sigmoid"(%add_5) : (tensor<1x2x12xf32>) -> tensor<1x2x12xf32>
    %mul_2 = "aten.mul.Tensor"(%split_with_sizes_3#2, %sigmoid_2) : (tensor<1x2x12xf32>, tensor<1x2x12xf32>) -> tensor<1x2x12xf32>
    %add_6 = "aten.add.Tensor"(%split_with_sizes_2#2, %mul_2) : (tensor<2x12xf32>, tensor<1x2x12xf32>) -> tensor<1x2x12xf32>
    %tanh_1 = "aten.tanh"(%add_6) : (tensor<1x2x12xf32>) -> tensor<1x2x12xf32>
    %sub_1 = "aten.sub.Tensor"(%add_3, %tanh_1) : (tensor<1x2x12xf32>, tensor<1x2x12xf32>) -> tensor<1x2x12xf32>
    %mul_3 = "aten.mul.Tensor"(%sub_1, %sigmoid_3) : (tensor<1x2x12xf32>, tensor<1x2x12xf32>) -> tensor<1x2x12xf32>
    %add_7 = "aten.add.Tensor"(%mul_3, %tanh_1) : (tensor<1x2x12xf32>, tensor<1x2x12xf32>) -> tensor<1x2x12xf32>
    %split_with_sizes_4:3 = "aten.split_with_sizes"(%squeeze_4) {split_sizes = array<i64: 12, 12, 12>, dim = 1 : i64} : (tensor<2x36xf32>) -> (tensor<2x12xf32>, tensor<2x12xf32>, tensor<2x12xf32>)
    %linear_3 = "aten.linear"(%add_7, %arg1, %arg3) : (tensor<1x2x12xf32>, tensor<36x12xf32>, tensor<36xf32>) -> tensor<1x2x36xf32>
    %split_with_sizes_5:3 = "aten.split_with_sizes"(%linear_3) {split_sizes = array<i64: 12, 12, 12>, dim = 2 : i64} : (tensor<1x2x36xf32>) -> (tensor<1x2x12xf32>, tensor<1x2x12xf32>, tensor<1x2x12xf32>)
    %add_8 = "aten.add.Tensor"(%split_with_sizes_5#0, %split_with_sizes_4#0) : (tensor<1x2x12xf32>, tensor<2x12xf32>) -> tensor<1x2x12xf32>
    %sigmoid_4 = "aten.sigmoid"(%add_8) : (tensor<1x2x12xf32>) -> tensor<1x2x12xf32>
    %add_9 = "aten.add.Tensor"(%split_with_sizes_5#1, %split_with_sizes_4#1) : (tensor<1x2x12xf32>, tensor<2x12xf32>) -> tensor<1x2x12xf32>
    %sigmoid_5 = "aten.sigmoid"(%add_9) : (tensor<1x2x12xf32>) -> tensor<1x2x12xf32>
    %mul_4 = "aten.mul.Tensor"(%split_with_sizes_5#2, %sigmoid_4) : (tensor<1x2x12xf32>, tensor<1x2x12xf32>) -> tensor<1x2x12xf32>
    %add_10 = "aten.add.Tensor"(%split_with_sizes_4#2, %mul_4) : (tensor<2x12xf32>, tensor<1x2x12xf32>) -> tensor<1x2x12xf32>
    %tanh_2 = "aten.tanh"(%add_10) : (tensor<1x2x12xf32>) -> tensor<1x2x12xf32>
    %sub_2 = "aten.sub.Tensor"(%add_7, %tanh_2) : (tensor<1x2x12xf32>, tensor<1x2x12xf32>) -> tensor<1x2x12xf32>
    %mul_5 = "aten.mul.Tensor"(%sub_2, %sigmoid_5) : (tensor<1x2x12xf32>, tensor<1x2x12xf32>) -> tensor<1x2x12xf32>
    %add_11 = "aten.add.Tensor"(%mul_5, %tanh_2) : (tensor<1x2x12xf32>, tensor<1x2x12xf32>) -> tensor<1x2x12xf32>
    %cat = "aten.cat"(%add_3, %add_7, %add_11) : (tensor<1x2x12xf32>, tensor<1x2x12xf32>, tensor<1x2x12xf32>) -> tensor<3x2x12xf32>
    %linear_4 = "aten.linear"(%cat, %arg4, %arg6) : (tensor<3x2x12xf32>, tensor<36x12xf32>, tensor<36xf32>) -> tensor<3x2x36xf32>
    %unsqueeze_1 = "aten.unsqueeze"(%squeeze_1) {dim = 0 : i64} : (tensor<2x12xf32>) -> tensor<1x2x12xf32>
    %slice_6 = "aten.slice.Tensor"(%linear_4) {dim = 0 : i64, start = 0 : i64, end = 1 : i64} : (tensor<3x2x36xf32>) -> tensor<1x2x36xf32>
    %slice_7 = "aten.slice.Tensor"(%linear_4) {dim = 0 : i64, start = 1 : i64, end = 2 : i64} : (tensor<3x2x36xf32>) -> tensor<1x2x36xf32>
    %slice_8 = "aten.slice.Tensor"(%linear_4) {dim = 0 : i64, start = 2 : i64, end = 3 : i64} : (tensor<3x2x36xf32>) -> tensor<1x2x36xf32>
    %squeeze_6 = "aten.squeeze.dims"(%slice_6) {dim = array<i64: 0>} : (tensor<1x2x36xf32>) -> tensor<2x36xf32>
    %squeeze_7 = "aten.squeeze.dims"(%slice_7) {dim = array<i64: 0>} : (tensor<1x2x36xf32>) -> tensor<2x36xf32>
    %squeeze_8 = "aten.squeeze.dims"(%slice_8) {dim = array<i64: 0>} : (tensor<1x2x36xf32>) -> tensor<2x36xf32>
    %split_with_sizes_6:3 = "aten.split_with_sizes"(%squeeze_6) {split_sizes = array<i64: 12, 12, 12>, dim = 1 : i64} : (tensor<2x36xf32>) -> (tensor<2x12xf32>, tensor<2x12xf32>, tensor<2x12xf32>)
    %linear_5 = "aten.linear"(%unsqueeze_1, %arg5, %arg7) : (tensor<1x2x12xf32>, tensor<36x12xf32>, tensor<36xf32>) -> tensor<1x2x36xf32>
    %split_with_sizes_7:3 = "aten.split_with_sizes"(%linear_5) {split_sizes = array<i64: 12, 12, 12>, dim = 2 : i64} : (tensor<1x2x36xf32>) -> (tensor<1x2x12xf32>, tensor<1x2x12xf32>, tensor<1x2x12xf32>)
    %add_12 = "aten.add.Tensor"(%split_with_sizes_7#0, %split_with_sizes_6#0) : (tensor<1x2x12xf32>, tensor<2x12xf32>) -> tensor<1x2x12xf32>
    %sigmoid_6 = "aten.sigmoid"(%add_12) : (tensor<1x2x12xf32>) -> tensor<1x2x12xf32>
    %add_13 = "aten.add.Tensor"(%split_with_sizes_7#1, %split_with_sizes_6#1) : (tensor<1x2x12xf32>, tensor<2x12xf32>) -> tensor<1x2x12xf32>
    %sigmoid_7 = "aten.sigmoid"(%add_13) : (tensor<1x2x12xf32>) -> tensor<1x2x12xf32>
    %mul_6 = "aten.mul.Tensor"(%split_with_sizes_7#2, %sigmoid_6) : (tensor<1x2x12xf32>, tensor<1x2x12xf32>) -> tensor<1x2x12xf32>
    %add_14 = "aten.add.Tensor"(%split_with_sizes_6#2, %mul_6) : (tensor<2x12xf32>, tensor<1x2x12xf32>) -> tensor<1x2x12xf32>
    %tanh_3 = "aten.tanh"(%add_14) : (tensor<1x2x12xf32>) -> tensor<1x2x12xf32>
    %sub_3 = "aten.sub.Tensor"(%unsqueeze_1, %tanh_3) : (tensor<1x2x12xf32>, tensor<1x2x12xf32>) -> tensor<1x2x12xf32>
    %mul_7 = "aten.mul.Tensor"(%sub_3, %sigmoid_7) : (tensor<1x2x12xf32>, tensor<1x2x12xf32>) -> tensor<1x2x12xf32>
    %add_15 = "aten.add.Tensor"(%mul_7, %tanh_3) : (tensor<1x2x12xf32>, tensor<1x2x12xf32>) -> tensor<1x2x12xf32>
    %split_with_sizes_8:3 = "aten.split_with_sizes"(%squeeze_7) {split_sizes = array<i64: 12, 12, 12>, dim = 1 : i64} : (tensor<2x36xf32>) -> (tensor<2x12xf32>, tensor<2x12xf32>, tensor<2x12xf32>)
    %linear_6 = "aten.linear"(%add_15, %arg5, %arg7) : (tensor<1x2x12xf32>, tensor<36x12xf32>, tensor<36xf32>) -> tensor<1x2x36xf32>
    %split_with_sizes_9:3 = "aten.split_with_sizes"(%linear_6) {split_sizes = array<i64: 12, 12, 12>, dim = 2 : i64} : (tensor<1x2x36xf32>) -> (tensor<1x2x12xf32>, tensor<1x2x12xf32>, tensor<1x2x12xf32>)
    %add_16 = "aten.add.Tensor"(%split_with_sizes_9#0, %split_with_sizes_8#0) : (tensor<1x2x12xf32>, tensor<2x12xf32>) -> tensor<1x2x12xf32>
    %sigmoid_8 = "aten.sigmoid"(%add_16) : (tensor<1x2x12xf32>) -> tensor<1x2x12xf32>
    %add_17 = "aten.add.Tensor"(%split_with_sizes_9#1, %split_with_sizes_8#1) : (tensor<1x2x12xf32>, tensor<2x12xf32>) -> tensor<1x2x12xf32>
    %sigmoid_9 = "aten.sigmoid"(%add_17) : (tensor<1x2x12xf32>) -> tensor<1x2x12xf32>
    %mul_8 = "aten.mul.Tensor"(%split_with_sizes_9#2, %sigmoid_8) : (tensor<1x2x12xf32>, tensor<1x2x12xf32>) -> tensor<1x2x12xf32>
    %add_18 = "aten.add.Tensor"(%split_with_sizes_8#2, %mul_8) : (tensor<2x12xf32>, tensor<1x2x12xf32>) -> tensor<1x2x12xf32>
    %tanh_4 = "aten.tanh"(%add_18) : (tensor<1x2x12xf32>) -> tensor<1x2x12xf32>
    %sub_4 = "aten.sub.Tensor"(%add_15, %tanh_4) : (tensor<1x2x12xf32>, tensor<1x2x12xf32>) -> tensor<1x2x12xf32>
    %mul_9 = "aten.mul.Tensor"(%sub_4, %sigmoid_9) : (tensor<1x2x12xf32>, tensor<1x2x12xf32>) -> tensor<1x2x12xf32>
    %add_19 = "aten.add.Tensor"(%mul_9, %tanh_4) : (tensor<1x2x12xf32>, tensor<1x2x12xf32>) -> tensor<1x2x12xf32>
    %split_with_sizes_10:3 = "aten.split_with_sizes"(%squeeze_8) {split_sizes = array<i64: 12, 12, 12>, dim = 1 : i64} : (tensor<2x36xf32>) -> (tensor<2x12xf32>, tensor<2x12xf32>, tensor<2x12xf32>)
    %linear_7 = "aten.linear"(%add_19, %arg5, %arg7) : (tensor<1x2x12xf32>, tensor<36x12xf32>, tensor<36xf32>) -> tensor<1x2x36xf32>
    %split_with_sizes_11:3 = "aten.split_with_sizes"(%linear_7) {split_sizes = array<i64: 12, 12, 12>, dim = 2 : i64} : (tensor<1x2x36xf32>) -> (tensor<1x2x12xf32>, tensor<1x2x12xf32>, tensor<1x2x12xf32>)
    %add_20 = "aten.add.Tensor"(%split_with_sizes_11#0, %split_with_sizes_10#0) : (tensor<1x2x12xf32>, tensor<2x12xf32>) -> tensor<1x2x12xf32>
    %sigmoid_10 = "aten.sigmoid"(%add_20) : (tensor<1x2x12xf32>) -> tensor<1x2x12xf32>
    %add_21 = "aten.add.Tensor"(%split_with_sizes_11#1, %split_with_sizes_10#1) : (tensor<1x2x12xf32>, tensor<2x12xf32>) -> tensor<1x2x12xf32>
    %sigmoid_11 = "aten.sigmoid"(%add_21) : (tensor<1x2x12xf32>) -> tensor<1x2x12xf32>
    %mul_10 = "aten.mul.Tensor"(%split_with_sizes_11#2, %sigmoid_10) : (tensor<1x2x12xf32>, tensor<1x2x12xf32>) -> tensor<1x2x12xf32>
    %add_22 = "aten.add.Tensor"(%split_with_sizes_10#2, %mul_10) : (tensor<2x12xf32>, tensor<1x2x12xf32>) -> tensor<1x2x12xf32>
    %tanh_5 = "aten.tanh"(%add_22) : (tensor<1x2x12xf32>) -> tensor<1x2x12xf32>
    %sub_5 = "aten.sub.Tensor"(%add_19, %tanh_5) : (tensor<1x2x12xf32>, tensor<1x2x12xf32>) -> tensor<1x2x12xf32>
    %mul_11 = "aten.mul.Tensor"(%sub_5, %sigmoid_11) : (tensor<1x2x12xf32>, tensor<1x2x12xf32>) -> tensor<1x2x12xf32>
    %add_23 = "aten.add.Tensor"(%mul_11, %tanh_5) : (tensor<1x2x12xf32>, tensor<1x2x12xf32>) -> tensor<1x2x12xf32>
    %cat_1 = "aten.cat"(%add_15, %add_19, %add_23) : (tensor<1x2x12xf32>, tensor<1x2x12xf32>, tensor<1x2x12xf32>) -> tensor<3x2x12xf32>
    %linear_8 = "aten.linear"(%cat_1, %arg8, %arg9) : (tensor<3x2x12xf32>, tensor<12x12xf32>, tensor<12xf32>) -> tensor<3x2x12xf32>
    %pow_1 = "aten.pow.Tensor_Scalar"(%linear_8) {exponent = 2 : i64} : (tensor<3x2x12xf32>) -> tensor<3x2x12xf32>
    %mean = "aten.mean"(%pow_1) : (tensor<3x2x12xf32>) -> tensor<f32>
    return %mean : tensor<f32>
  }
}
